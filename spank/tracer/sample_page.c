/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes samples to a page: places, and the machine code around them. See sample.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/tracer/sample.h"
#include "spank/tracer/sample_impl.h"
#include "spank/tracer/site.h"

#define CODE_AROUND 1024        /* bytes before and after a program counter */
#define CODE_BYTES  (256u << 10) /* bytes of code per rank */
#define CODE_RANKS  16          /* for the first ranks; the others mostly run the same program, */
#define CODE_OTHERS (4u << 10)  /* and keep the code of their hottest places only */

/* A program counter with the number of its samples. */
struct place {
	uint64_t pc;
	uint32_t n, index; /* index: in the page */
	uint32_t module;
	uintptr_t base, lo, hi;
};

void sample_thin(struct sample_kept *kept, uint32_t *n)
{
	static bool stays[SAMPLE_THREADS + 1]; /* static, since the program's stack may be small; not thread-safe */
	static struct trace_sample gone[SAMPLE_THREADS + 1];
	uint32_t k = 0;

	memset(stays, 0, sizeof(stays));
	memset(gone, 0, sizeof(gone));
	/* Backwards: the last sample of a thread stays, since no later sample could cover its time. */
	for (uint32_t i = *n; i-- > 0;) {
		struct trace_sample *s = &kept[i].s;

		kept[i].drop = false;
		if (s->flags & TSAMPLE_BORDER)
			continue;
		stays[s->thread] = !stays[s->thread];
		kept[i].drop = !stays[s->thread];
	}
	for (uint32_t i = 0; i < *n; i++) {
		struct sample_kept one = kept[i];
		struct trace_sample *g = &gone[one.s.thread];

		one.s.cpu_ns += g->cpu_ns;
		one.s.delayed_ns += g->delayed_ns;
		one.s.asleep_ns += g->asleep_ns;
		for (int c = 0; c < TCOUNTER_N; c++)
			one.s.counter[c] += g->counter[c];
		memset(g, 0, sizeof(*g));
		if (one.drop)
			*g = one.s;
		else
			kept[k++] = one;
	}
	*n = k;
}

static int by_pc(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int by_heat(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : by_pc(a, b);
}

/* The distinct program counters inside modules, in order. Returns NULL if memory runs out. */
static struct place *find_places(uint32_t *n)
{
	struct place *p = calloc(sampling.n + 1u, sizeof(*p));
	uint32_t k = 0, kept = 0;

	for (uint32_t i = 0; p && i < sampling.n; i++)
		if (!(sampling.kept[i].s.flags & TSAMPLE_BORDER))
			p[k++] = (struct place){.pc = sampling.kept[i].pc, .n = 1};
	if (k)
		qsort(p, k, sizeof(*p), by_pc);
	for (uint32_t i = 0; i < k; i++) {
		int m;

		if (kept && p[kept - 1].pc == p[i].pc) {
			p[kept - 1].n++;
			continue;
		}
		m = site_module(p[i].pc, &p[i].base, &p[i].lo, &p[i].hi);
		if (m < 0)
			continue;
		p[kept] = p[i];
		p[kept].index = kept;
		p[kept++].module = (uint32_t)m;
	}
	*n = kept;
	return p;
}

/*
 * Read a piece of code as far as it is mapped. The kernel copies it into a pipe, since the program may have
 * unmapped it. (qemu-user has no process_vm_readv.)
 */
static void read_code(struct trace_code *c, const struct place *p, uintptr_t from, uintptr_t to)
{
	size_t len = to - from;
	ssize_t n = 1;
	int fd[2];

	*c = (struct trace_code){.module = p->module, .offset = from - p->base, .bytes = malloc(len)};
	if (!c->bytes || pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	while (n > 0 && c->len < len) {
		n = write(fd[1], (const void *)(from + c->len), len - c->len < PIPE_BUF ? len - c->len : PIPE_BUF);
		n = n > 0 ? read(fd[0], c->bytes + c->len, (size_t)n) : 0;
		c->len += n > 0 ? (uint32_t)n : 0;
	}
	close(fd[0]);
	close(fd[1]);
}

/* Collect the code around the places of p, in order of address. Returns its size. c == NULL: only compute the
 * size. */
static uint64_t gather_code(const struct place *p, uint32_t n, struct trace_code *c, uint32_t *n_code)
{
	uint64_t bytes = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < n;) {
		uintptr_t from = p[i].pc - p[i].lo > CODE_AROUND ? p[i].pc - CODE_AROUND : p[i].lo, to = from;
		uint32_t first = i;

		do
			to = p[i].hi - p[i].pc > CODE_AROUND ? p[i].pc + CODE_AROUND : p[i].hi;
		while (++i < n && p[i].module == p[first].module && p[i].lo == p[first].lo &&
		       p[i].pc - CODE_AROUND <= to);
		bytes += to - from;
		if (c)
			read_code(&c[k++], &p[first], from, to);
	}
	if (c)
		*n_code = k;
	return bytes;
}

static int by_module(const void *a, const void *b)
{
	const struct trace_code *x = a, *y = b;

	return x->module != y->module ? (x->module > y->module) - (x->module < y->module)
				      : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Collect the code of as many places as there is room for, the hottest first. */
static void choose_code(const struct place *place, uint32_t n, uint32_t rank, struct trace_samples *s)
{
	uint64_t room = rank < CODE_RANKS ? CODE_BYTES : CODE_OTHERS;
	struct place *p = malloc((n + 1u) * sizeof(*p));

	if (!p)
		return;
	memcpy(p, place, n * sizeof(*p));
	while (n && gather_code(p, n, NULL, NULL) > room) {
		qsort(p, n, sizeof(*p), by_heat);
		n -= (n + 7) / 8;
		qsort(p, n, sizeof(*p), by_pc);
	}
	s->code = calloc(n + 1u, sizeof(*s->code));
	if (s->code)
		gather_code(p, n, s->code, &s->n_code);
	if (s->n_code)
		qsort(s->code, s->n_code, sizeof(*s->code), by_module);
	free(p);
}

/* Sizes ("32K") of the caches of the first processor that hold data. */
static void read_caches(uint64_t *size)
{
	for (int i = 0; i < 8; i++) {
		static const char *const what[] = {"level", "type", "size"};
		char path[96], text[3][32] = {""};
		unsigned long long v;
		int level;

		for (int k = 0; k < 3; k++) {
			FILE *f;

			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, what[k]);
			f = fopen(path, "re");
			if (f && !fgets(text[k], sizeof(text[k]), f))
				text[k][0] = '\0';
			if (f)
				fclose(f);
		}
		level = atoi(text[0]);
		if (level < 1 || level > 4 || text[1][0] == 'I' || sscanf(text[2], "%llu", &v) != 1)
			continue;
		v *= strchr(text[2], 'M') ? 1u << 20 : 1u << 10;
		level = level > TSAMPLE_LEVELS ? TSAMPLE_LEVELS : level;
		size[level - 1] = v > size[level - 1] ? v : size[level - 1];
	}
}

static void fill_samples(const struct place *p, uint32_t n, struct trace_samples *s)
{
	for (uint32_t i = 0; i < sampling.n; i++) {
		const struct sample_kept *k = &sampling.kept[i];
		const struct place key = {.pc = k->pc}, *found = NULL;

		if (!(k->s.flags & TSAMPLE_BORDER) && !(found = bsearch(&key, p, n, sizeof(*p), by_pc)))
			continue; /* code generated at run time */
		s->sample[s->n] = k->s;
		s->sample[s->n++].place = found ? found->index : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		s->place[i] = (struct trace_place){.module = p[i].module, .offset = p[i].pc - p[i].base};
	s->n_place = n;
}

void sample_encode(struct buf *out)
{
	struct trace_samples s = {.n_thread = sampling.n_thread, .period_ns = sampling.period_ns,
				  .counters = sampling.counted};
	struct place *p;
	uint32_t n;

	if (!sampling.kept || !(p = find_places(&n)))
		return;
	s.sample = calloc(sampling.n + 1u, sizeof(*s.sample));
	s.place = calloc(n + 1u, sizeof(*s.place));
	if (s.sample && s.place) {
		fill_samples(p, n, &s);
		choose_code(p, n, sampling.rank, &s);
		read_caches(s.cache);
		trace_samples_encode(&s, out);
	}
	trace_samples_free(&s);
	free(p);
}
