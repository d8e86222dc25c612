/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long rows are: see mix_row.h. */
#include "skelgen/mix_row.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HITS_LEAST 8   /* fewer say nothing */
#define LONGEST    1e9 /* iterations */
#define AHEAD      300 /* instructions that a processor of these years is ahead by */

/* The branch that leads to the head, and before it what sets the flags that it looks at. */
static const struct mix_op *closing(const struct mix_body *b)
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

double mix_row(const struct mix_body *b, const struct mix_hit *hit, uint32_t n)
{
	const struct mix_op *op = b->is_loop && b->n ? closing(b) : NULL;
	double sum = 0, step = 0, least = LONGEST, most = 0;
	uint8_t counter, end;
	uint32_t used = 0;

	if (!op || op->load || !op->looks || !n || !find_counter(b, op, hit[0].reg, &counter, &end, &step))
		return 0;
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
	op = closing(inner);
	counted = op && op->looks && find_counter(inner, op, value, &counter, &end, &step);
	free(inner);
	return counted;
}
