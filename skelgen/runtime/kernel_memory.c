/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernels that the memory limits, but for the streams. Arrays are first written in the order of their later use. So a
 * kernel finds the caches in their steady state from its first round on.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/kernel_work.h"

#define PAGE        4096
#define STRING_CALL 256  /* units at once: C libraries keep longer copies out of the caches */
#define FILL_BYTE   0x3f /* eight of them are a normal number */

int kernel_array_open(struct kernel_array *a, uint64_t bytes)
{
	void *p;
	uint64_t third;

	if (posix_memalign(&p, PAGE, bytes) != 0)
		return -1;
	*a = (struct kernel_array){.a = p, .n = bytes / sizeof(double)};
	third = a->n / 3;
	for (uint64_t i = 0; i < third; i++)
		for (uint64_t part = 0; part < 3; part++)
			a->a[part * third + i] = 1.0 + (double)part;
	return 0;
}

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* One round through all lines, in an order that no prefetcher finds. */
int kernel_chain_open(struct kernel_chain *c, uint64_t bytes)
{
	uint32_t n = (uint32_t)(bytes / LINE_BYTES), *order = malloc((size_t)n * sizeof *order);
	const size_t words = LINE_BYTES / sizeof(void *);
	uint64_t x = 88172645463325252ull;
	void *p;

	if (order == NULL || posix_memalign(&p, PAGE, bytes) != 0) {
		free(order);
		return -1;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(draw(&x) % (i + 1)), keep = order[i];

		order[i] = order[j];
		order[j] = keep;
	}
	*c = (struct kernel_chain){.line = p, .n = n};
	for (uint32_t i = 0; i < n; i++)
		c->line[order[i] * words] = &c->line[order[i + 1 < n ? i + 1 : 0] * words];
	c->at = &c->line[order[0] * words];
	free(order);
	return 0;
}

__attribute__((noinline)) void kernel_chase(struct kernel *k, int c, uint64_t units)
{
	struct kernel_chain *chain = &k->chain[kernel_level(c)];
	void **at = chain->at;

	for (uint64_t u = 0; u < units; u++) {
		at = *at;
		HIDE_INTEGER(at);
	}
	chain->at = at;
}

/* Columns of a table, and rows with gaps: three lines, seven lines, a page and a line, in turn for a while each. */
__attribute__((noinline)) void kernel_stride(struct kernel *k, uint64_t units)
{
	static const uint32_t lines[4] = {3, 65, 7, 65};
	struct kernel_array *s = &k->stream[LEVEL_MEM];
	uint64_t at = s->jump, turn = s->turn;

	for (uint64_t u = 0; u < units; u++) {
		double *p = s->a + at;

		*p = 0.5 * *p + 1.0;
		at += lines[(turn++ >> 8) & 3] * LINE_DOUBLES;
		if (at >= s->n)
			at = (at - s->n + LINE_DOUBLES) % s->n;
		HIDE_MEMORY(p);
	}
	s->jump = at;
	s->turn = turn;
}

/* Units that one call takes from `at`, in doubles, of `end`. */
static uint64_t call_units(uint64_t left, uint64_t at, uint64_t end)
{
	uint64_t n = (end - at) / STRING_DOUBLES;

	n = n < left ? n : left;
	return n < STRING_CALL ? n : STRING_CALL;
}

/* By the C library of this machine, which chooses its way there: instructions for strings, vectors of this width or that. */
__attribute__((noinline)) void kernel_fill(struct kernel *k, int c, uint64_t units)
{
	struct kernel_array *s = &k->stream[kernel_level(c)];
	struct kernel_string *at = &k->string[kernel_level(c)];
	const uint64_t end = s->n / STRING_DOUBLES * STRING_DOUBLES;

	at->units += units;
	for (uint64_t left = units, n; left; left -= n) {
		n = call_units(left, at->fill, end);
		memset(s->a + at->fill, FILL_BYTE, n * STRING_DOUBLES * sizeof(double));
		HIDE_MEMORY(s->a);
		at->fill += n * STRING_DOUBLES;
		if (at->fill == end)
			at->fill = 0;
	}
}

/* The second half of the array onto the first. */
__attribute__((noinline)) void kernel_copy(struct kernel *k, int c, uint64_t units)
{
	struct kernel_array *s = &k->stream[kernel_level(c)];
	struct kernel_string *at = &k->string[kernel_level(c)];
	const uint64_t end = s->n / 2 / STRING_DOUBLES * STRING_DOUBLES;

	at->units += units;
	for (uint64_t left = units, n; left; left -= n) {
		n = call_units(left, at->copy, end);
		memcpy(s->a + at->copy, s->a + s->n / 2 + at->copy, n * STRING_DOUBLES * sizeof(double));
		HIDE_MEMORY(s->a);
		at->copy += n * STRING_DOUBLES;
		if (at->copy == end)
			at->copy = 0;
	}
}
