/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trip counts: see trip_count.h. */
#include "skelgen/profile/trip_count.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/profile/address_stride.h"

#define HITS_LEAST 8   /* fewer say nothing */
#define LONGEST    1e9 /* iterations */
#define AHEAD      300 /* instructions that a processor of these years is ahead by */

/* The instruction that sets the flags of the branch to the head; NULL: none, or there is no such branch. */
static const struct loop_op *closing_of(const struct loop_body *b)
{
	uint32_t i = b->n;

	while (i-- > 0 && (b->op[i].kind != OP_BRANCH || b->op[i].target != b->op[0].offset))
		;
	if (i == UINT32_MAX)
		return NULL;
	while (i-- > 0)
		if (b->op[i].writes >> LOOP_REG_FLAGS & 1)
			return &b->op[i];
	return NULL;
}

/* The value of a register as an instruction sees it that looks at so many bytes. */
static double seen(const struct loop_sample *h, uint8_t reg, uint8_t width)
{
	uint64_t v = h->reg[reg];

	return width == 4 ? (double)(int32_t)v : (double)(int64_t)v;
}

/* The counter of the loop, and the register of its end; LOOP_NO_REG: the end is a number. */
static bool find_counter(const struct loop_body *b, const struct loop_op *op, const uint64_t *value, uint8_t *counter,
			 uint8_t *end, double *step)
{
	*counter = *end = LOOP_NO_REG;
	for (uint8_t r = 0; r < LOOP_REG_VECTOR && r < TSAMPLE_REGS; r++) {
		struct loop_op use = {.base = r, .index = LOOP_NO_REG, .bytes = 8};
		struct address_stride m;

		if (!(op->reads >> r & 1))
			continue;
		m = address_stride_of(b, &use, value);
		if (m.order == STRIDE_EVEN && m.step && *counter == LOOP_NO_REG) {
			*counter = r;
			*step = (double)m.step;
		} else if (m.order == STRIDE_NONE && *end == LOOP_NO_REG) {
			*end = r;
		} else {
			return false;
		}
	}
	return *counter != LOOP_NO_REG && *counter != 4 && (op->against_known || *end != LOOP_NO_REG);
}

/* The first iterations of a row overlap with the end of the row before. So samples meet row * trip_count_waits(row) iterations, with
 * half of these left on average. Solved for the row. */
static double row_of(double left, double instructions)
{
	return left + sqrt(left * left + 2 * left * AHEAD / instructions);
}

/* The value of a register before instruction k of those before the loop. It is the value at the sample if neither the loop nor these
 * instructions change the register. False: not known. */
static bool value_before(const struct loop_body *b, uint32_t k, uint8_t reg, const struct loop_sample *h, int64_t *value)
{
	for (uint32_t i = 0; i < k; i++)
		if (b->before[i].writes >> reg & 1)
			return false;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->op[i].writes >> reg & 1)
			return false;
	*value = (int64_t)h->reg[reg];
	return reg < TSAMPLE_REGS;
}

/* The value of the counter at the begin of a row. False: not known. */
static bool find_start(const struct loop_body *b, uint8_t counter, const struct loop_sample *h, int64_t *start)
{
	uint32_t k = 0;
	const struct loop_op *op = b->before;
	int64_t base = 0, index = 0;

	while (k < b->n_before && !(b->before[k].writes >> counter & 1))
		k++;
	if (k == b->n_before)
		return false;
	op += k;
	*start = op->to;
	if (op->sets)
		return true;
	if (op->copy_of != LOOP_NO_REG)
		return value_before(b, k, op->copy_of, h, start);
	if (!op->lea || op->relative || (op->base != LOOP_NO_REG && !value_before(b, k, op->base, h, &base)) ||
	    (op->index != LOOP_NO_REG && !value_before(b, k, op->index, h, &index)))
		return false;
	*start = (int64_t)((uint64_t)op->disp + (uint64_t)base + (uint64_t)index * (op->scale ? op->scale : 1));
	return true;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median row by its first and last value of the counter; 0: these are unknown at most samples. */
static double row_known(const struct loop_body *b, const struct loop_op *op, const struct loop_sample *hit, uint32_t n, uint8_t counter, uint8_t end,
			double step)
{
	double *row = malloc(n * sizeof(*row)), is = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; row && i < n; i++) {
		double stop = end == LOOP_NO_REG ? (double)op->against : seen(&hit[i], end, op->looks);
		int64_t start;

		if (!find_start(b, counter, &hit[i], &start))
			continue;
		row[used] = ceil((stop - (op->looks == 4 ? (double)(int32_t)start : (double)start)) / step);
		if (row[used] >= fmax(1, (stop - seen(&hit[i], counter, op->looks)) / step) && row[used] < LONGEST)
			used++;
	}
	if (row && used > n / 2) {
		qsort(row, used, sizeof(*row), by_size);
		is = row[used / 2];
	}
	free(row);
	return is;
}

double trip_count(const struct loop_body *b, const struct loop_sample *hit, uint32_t n)
{
	const struct loop_op *op = b->is_loop && b->n ? closing_of(b) : NULL;
	double sum = 0, step = 0, least = LONGEST, most = 0, known;
	uint8_t counter, end;
	uint32_t used = 0;

	if (!op || op->load || !op->looks || !n || !find_counter(b, op, hit[0].reg, &counter, &end, &step))
		return 0;
	known = row_known(b, op, hit, n, counter, end, step);
	if (known > 0)
		return known;
	for (uint32_t i = 0; i < n; i++) {
		double stop = end == LOOP_NO_REG ? (double)op->against : seen(&hit[i], end, op->looks);
		double left = (stop - seen(&hit[i], counter, op->looks)) / step;

		if (left < 0 || left > LONGEST)
			continue;
		sum += left;
		least = fmin(least, left);
		most = fmax(most, left);
		used++;
	}
	/* A counter moves. */
	return used >= HITS_LEAST && most > least ? fmax(1, row_of(sum / used, b->n)) : 0;
}

double trip_count_waits(double row, double instructions)
{
	return row > 0 ? row / (row + AHEAD / fmax(1, instructions)) : 1;
}

bool trip_count_is_counted(const struct loop_body *b, uint32_t branch, const uint64_t *value)
{
	uint32_t head = loop_body_at(b, b->op[branch].target), n = branch - head + 1;
	struct loop_body *inner;
	const struct loop_op *op;
	uint8_t counter, end;
	bool counted;
	double step;

	if (head == UINT32_MAX || head > branch)
		return false;
	inner = malloc(offsetof(struct loop_body, op) + n * sizeof(b->op[0]));
	if (!inner)
		return false;
	inner->is_loop = true;
	inner->n = n;
	memcpy(inner->op, &b->op[head], n * sizeof(b->op[0]));
	op = closing_of(inner);
	counted = op && op->looks && find_counter(inner, op, value, &counter, &end, &step);
	free(inner);
	return counted;
}
