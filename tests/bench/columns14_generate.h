/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes 14-column text traces as a simulated branch and bound would: processors work, wait, send subproblems to each other
 * and receive them some marks later. The same numbers give the same file. Used by the benchmark and by tests.
 */
#ifndef PRECEDENT_TESTS_BENCH_COLUMNS14_GENERATE_H
#define PRECEDENT_TESTS_BENCH_COLUMNS14_GENERATE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GENERATE_LATENCY 512u    /* marks a message takes at most, usually fewer than 32 */
#define GENERATE_DENSITY 0.11    /* records per processor and mark: 700 MB for 2,000 x 89,209 */
#define GENERATE_BLOCK   (1u << 20)

struct generate_message {
	uint32_t src, dst, tag, amount, next;
};

struct generate {
	FILE *f;
	char *buf;
	size_t len;
	uint64_t random, records;
	uint32_t n, longest; /* processors; marks between two changes at most */
	uint64_t *change;    /* per processor: mark of the next one */
	uint32_t *tasks;
	struct generate_message *m; /* in flight: a list per mark of arrival, 0 is none */
	uint32_t n_m, cap_m, free_m, due[GENERATE_LATENCY];
};

static inline uint32_t generate_random(struct generate *g, uint32_t n)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return (uint32_t)(((g->random >> 32) * n) >> 32);
}

static inline void generate_number(struct generate *g, uint64_t v, char behind)
{
	char digit[20];
	int n = 0;

	do
		digit[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		g->buf[g->len++] = digit[--n];
	g->buf[g->len++] = behind;
}

static inline void generate_parameters(struct generate *g, const struct generate_message *m, uint32_t peer)
{
	if (!m) {
		memcpy(g->buf + g->len, "0 0 0 0 ", 8);
		g->len += 8;
		return;
	}
	generate_number(g, peer, ' ');
	generate_number(g, m->tag, ' ');
	generate_number(g, m->amount, ' ');
	generate_number(g, 0, ' ');
}

static inline void generate_record(struct generate *g, uint64_t t, uint32_t p, uint32_t command,
				   const struct generate_message *sent, const struct generate_message *arrived)
{
	generate_number(g, t, ' ');
	generate_number(g, p, ' ');
	generate_number(g, command, ' ');
	generate_parameters(g, sent, sent ? sent->dst : 0);
	generate_number(g, arrived != NULL, ' ');
	generate_parameters(g, arrived, arrived ? arrived->src : 0);
	generate_number(g, g->tasks[p], ' ');
	generate_number(g, !generate_random(g, 5000), '\n');
	g->records++;
	if (g->len > GENERATE_BLOCK - 512) {
		fwrite(g->buf, 1, g->len, g->f);
		g->len = 0;
	}
}

static inline void generate_send(struct generate *g, uint64_t t, uint32_t p)
{
	uint32_t latency = generate_random(g, 50) ? 1 + generate_random(g, 31) : 1 + generate_random(g, GENERATE_LATENCY - 1);
	struct generate_message m = {.src = p, .dst = generate_random(g, g->n), .tag = generate_random(g, 3),
				     .amount = 1 + generate_random(g, 8)};
	uint32_t *due = &g->due[(t + latency) % GENERATE_LATENCY], i = g->free_m;

	generate_record(g, t, p, 2, &m, NULL);
	if (i) {
		g->free_m = g->m[i].next;
	} else {
		if (g->n_m == g->cap_m && !(g->m = realloc(g->m, (g->cap_m *= 2) * sizeof(m))))
			abort();
		i = g->n_m++;
	}
	m.next = *due;
	g->m[i] = m;
	*due = i;
}

static inline void generate_mark(struct generate *g, uint64_t t)
{
	uint32_t *due = &g->due[t % GENERATE_LATENCY], from = (uint32_t)(t * 7919 % g->n);

	for (uint32_t i = *due, next; i; i = next) {
		struct generate_message m = g->m[i];

		next = m.next;
		g->m[i].next = g->free_m;
		g->free_m = i;
		g->tasks[m.dst] += m.amount;
		generate_record(g, t, m.dst, 3, NULL, &m);
		if (g->change[m.dst] <= t)
			g->change[m.dst] = t + 1;
	}
	*due = 0;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t p = k + from < g->n ? k + from : k + from - g->n, what;

		if (g->change[p] > t)
			continue;
		what = t ? generate_random(g, 8) : 1;
		g->change[p] = t + 1 + generate_random(g, g->longest);
		if (what < 1) {
			generate_send(g, t, p);
		} else {
			g->tasks[p] -= g->tasks[p] > 0;
			generate_record(g, t, p, what < 6, NULL, NULL);
		}
	}
}

/* The number of records written to f; 0 without memory or when f could not be written. density: records per processor and
 * mark, below 1. Every processor has a record at mark 0, and the last mark has one. */
static inline uint64_t columns14_generate(FILE *f, uint32_t processors, uint64_t marks, double density, uint64_t seed)
{
	struct generate g = {.f = f, .n = processors, .random = seed * 0x9e3779b97f4a7c15ull + 88172645463325252ull,
			     .longest = (uint32_t)(2 * 9 / (8 * density)), .n_m = 1, .cap_m = 1024};

	g.longest -= g.longest > 1;
	g.longest += !g.longest;
	g.buf = malloc(GENERATE_BLOCK);
	g.change = calloc(processors, sizeof(*g.change));
	g.tasks = calloc(processors, sizeof(*g.tasks));
	g.m = malloc(g.cap_m * sizeof(*g.m));
	if (g.buf && g.change && g.tasks && g.m) {
		for (uint64_t t = 0; t < marks; t++) {
			if (t == marks - 1)
				g.change[t % processors] = t;
			generate_mark(&g, t);
		}
		fwrite(g.buf, 1, g.len, f);
	}
	free(g.buf);
	free(g.change);
	free(g.tasks);
	free(g.m);
	return ferror(f) || fflush(f) ? 0 : g.records;
}

#endif
