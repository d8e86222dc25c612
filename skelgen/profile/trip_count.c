/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long rows are: see mix_row.h. */
#include "skelgen/profile/trip_count.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HITS_LEAST 8   /* fewer say nothing */
#define LONGEST    1e9 /* iterations */
#define AHEAD      300 /* instructions that a processor of these years is ahead by */

/* What sets the flags that the branch to the head looks at; NULL: nothing, or there is no such branch. */
static const struct mix_op *closing_of(const struct mix_body *b)
{
	uint32_t i = b->n;

	while (i-- > 0 && (b->op[i].kind != MIX_BRANCH || b->op[i].target != b->op[0].offset))
		;
	if (i == UINT32_MAX)
		return NULL;
	while (i-- > 0)
		if (b->op[i].writes >> MIX_REG_FLAGS & 1)
			return &b->op[i];
	return NULL;
}

/* The value of a register as an instruction sees it that looks at so many bytes. */
static double seen(const struct mix_hit *h, uint8_t reg, uint8_t width)
{
	uint64_t v = h->reg[reg];

	return width == 4 ? (double)(int32_t)v : (double)(int64_t)v;
}

/* What moves to its end, and the register that holds the end, or MIX_NO_REG: a number is compared with. */
static bool find_counter(const struct mix_body *b, const struct mix_op *op, const uint64_t *value, uint8_t *counter,
			 uint8_t *end, double *step)
{
	*counter = *end = MIX_NO_REG;
	for (uint8_t r = 0; r < MIX_REG_VECTOR && r < TSAMPLE_REGS; r++) {
		struct mix_op use = {.base = r, .index = MIX_NO_REG, .bytes = 8};
		struct mix_motion m;

		if (!(op->reads >> r & 1))
			continue;
		m = mix_motion_of(b, &use, value);
		if (m.order == MIX_EVEN && m.step && *counter == MIX_NO_REG) {
			*counter = r;
			*step = (double)m.step;
		} else if (m.order == MIX_STILL && *end == MIX_NO_REG) {
			*end = r;
		} else {
			return false;
		}
	}
	return *counter != MIX_NO_REG && *counter != 4 && (op->against_known || *end != MIX_NO_REG);
}

/* Of a row that waits, the first iterations were done while the row before ended, and take no time: row * mix_row_waits(row)
 * iterations are met, on average half of them left. Solved for the row. */
static double row_of(double left, double instructions)
{
	return left + sqrt(left * left + 2 * left * AHEAD / instructions);
}

/* A register before instruction k of those before the loop, of which the last is the first, as it was at that sample: what the loop leaves as it
 * was. False: not known. */
static bool value_before(const struct mix_body *b, uint32_t k, uint8_t reg, const struct mix_hit *h, int64_t *value)
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

/* What the counter begins a row with. False: not known. */
static bool find_start(const struct mix_body *b, uint8_t counter, const struct mix_hit *h, int64_t *start)
{
	uint32_t k = 0;
	const struct mix_op *op = b->before;
	int64_t base = 0, index = 0;

	while (k < b->n_before && !(b->before[k].writes >> counter & 1))
		k++;
	if (k == b->n_before)
		return false;
	op += k;
	*start = op->to;
	if (op->sets)
		return true;
	if (op->copy_of != MIX_NO_REG)
		return value_before(b, k, op->copy_of, h, start);
	if (!op->lea || op->relative || (op->base != MIX_NO_REG && !value_before(b, k, op->base, h, &base)) ||
	    (op->index != MIX_NO_REG && !value_before(b, k, op->index, h, &index)))
		return false;
	*start = (int64_t)((uint64_t)op->disp + (uint64_t)base + (uint64_t)index * (op->scale ? op->scale : 1));
	return true;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The row in which most of the time goes, by where it begins and ends; 0: these are not known at most samples. */
static double row_known(const struct mix_body *b, const struct mix_op *op, const struct mix_hit *hit, uint32_t n, uint8_t counter, uint8_t end,
			double step)
{
	double *row = malloc(n * sizeof(*row)), is = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; row && i < n; i++) {
		double stop = end == MIX_NO_REG ? (double)op->against : seen(&hit[i], end, op->looks);
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

double mix_row(const struct mix_body *b, const struct mix_hit *hit, uint32_t n)
{
	const struct mix_op *op = b->is_loop && b->n ? closing_of(b) : NULL;
	double sum = 0, step = 0, least = LONGEST, most = 0, known;
	uint8_t counter, end;
	uint32_t used = 0;

	if (!op || op->load || !op->looks || !n || !find_counter(b, op, hit[0].reg, &counter, &end, &step))
		return 0;
	known = row_known(b, op, hit, n, counter, end, step);
	if (known > 0)
		return known;
	for (uint32_t i = 0; i < n; i++) {
		double stop = end == MIX_NO_REG ? (double)op->against : seen(&hit[i], end, op->looks);
		double left = (stop - seen(&hit[i], counter, op->looks)) / step;

		if (left < 0 || left > LONGEST)
			continue;
		sum += left;
		least = fmin(least, left);
		most = fmax(most, left);
		used++;
	}
	/* What never moves is no counter. */
	return used >= HITS_LEAST && most > least ? fmax(1, row_of(sum / used, b->n)) : 0;
}

double mix_row_waits(double row, double instructions)
{
	return row > 0 ? row / (row + AHEAD / fmax(1, instructions)) : 1;
}

bool mix_row_is_counted(const struct mix_body *b, uint32_t branch, const uint64_t *value)
{
	uint32_t head = mix_body_at(b, b->op[branch].target), n = branch - head + 1;
	struct mix_body *inner;
	const struct mix_op *op;
	uint8_t counter, end;
	bool counted;
	double step;

	if (head == UINT32_MAX || head > branch)
		return false;
	inner = malloc(offsetof(struct mix_body, op) + n * sizeof(b->op[0]));
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
