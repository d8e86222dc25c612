/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strides of addresses, and their footprint: see address_stride.h. */
#include <math.h>
#include <stdlib.h>

#include "skelgen/profile/address_stride.h"

#define DEPTH     6         /* registers that one follows from another */
#define FAR       (1ull << 36) /* bytes: never one area */
#define APART     (1u << 20) /* bytes between two areas of memory at least, */
#define APART_BY  64        /* and so many times what is usual between two addresses */
#define REPEATS   4         /* pairs of equal addresses that tell how many addresses there are */
#define SPARSE    16        /* times as much memory in the span as the pairs tell: then samples miss most of an array */

/* The stack moves little. Addresses relative to the program counter do not move. */
static bool is_fixed(uint8_t r)
{
	return r == LOOP_NO_REG || r == 4;
}

static struct address_stride wild(bool chained)
{
	return (struct address_stride){.order = STRIDE_IRREGULAR, .chained = chained};
}

/* Does the register's next value come from its present one, by way of loads? */
static bool is_chained(const struct loop_body *b, uint64_t from, uint8_t reg, int depth)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct loop_op *op = &b->op[i];

		if (!(op->writes >> reg & 1))
			continue;
		if (op->reads >> (from & 63) & 1)
			return true;
		for (uint8_t r = 0; depth > 0 && r < LOOP_REG_VECTOR; r++)
			if (r != reg && (op->reads >> r & 1) && is_chained(b, from, r, depth - 1))
				return true;
	}
	return false;
}

static struct address_stride reg_stride(const struct loop_body *b, uint8_t reg, const uint64_t *value, int depth);

static struct address_stride sum(struct address_stride a, struct address_stride b, int64_t scale)
{
	if (a.order == STRIDE_IRREGULAR || b.order == STRIDE_IRREGULAR)
		return wild(a.chained || b.chained);
	a.step += b.step * scale;
	a.order = a.order > b.order ? a.order : b.order;
	return a;
}

/* A register with one writer that is no step. */
static struct address_stride follow(const struct loop_body *b, const struct loop_op *w, uint8_t reg, const uint64_t *value,
				int depth)
{
	if (w->load || depth == 0)
		return wild(w->load && is_chained(b, reg, reg, 2));
	if (w->copy_of != LOOP_NO_REG)
		return w->copy_of == reg ? (struct address_stride){0} : reg_stride(b, w->copy_of, value, depth - 1);
	if (w->lea)
		return w->base == reg || w->index == reg ? wild(false)
			: sum(w->base == LOOP_NO_REG ? (struct address_stride){0} : reg_stride(b, w->base, value, depth - 1),
			      w->index == LOOP_NO_REG ? (struct address_stride){0} : reg_stride(b, w->index, value, depth - 1),
			      w->scale);
	return wild(is_chained(b, reg, reg, 2));
}

static struct address_stride reg_stride(const struct loop_body *b, uint8_t reg, const uint64_t *value, int depth)
{
	struct address_stride m = {.order = STRIDE_NONE};
	const struct loop_op *other = NULL;
	bool loads = false;

	if (is_fixed(reg))
		return m;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct loop_op *op = &b->op[i];

		if (!(op->writes >> reg & 1))
			continue;
		if (op->adds && !op->load) {
			m.order = STRIDE_EVEN;
			if (op->add_reg == LOOP_NO_REG)
				m.step += op->add;
			else if (depth > 0 && reg_stride(b, op->add_reg, value, depth - 1).order == STRIDE_NONE)
				m.step += value ? (int64_t)value[op->add_reg] : 0;
			else
				return wild(false);
			continue;
		}
		loads |= op->load;
		if (other || m.order == STRIDE_EVEN)
			return wild(loads && is_chained(b, reg, reg, 2));
		other = op;
	}
	if (other && m.order == STRIDE_EVEN)
		return wild(loads && is_chained(b, reg, reg, 2));
	return other ? follow(b, other, reg, value, depth) : m;
}

struct address_stride address_stride_of(const struct loop_body *b, const struct loop_op *op, const uint64_t *value)
{
	struct address_stride base = {0}, index = {0};

	if (op->relative && op->index == LOOP_NO_REG)
		return base;
	/* Without a loop only the instruction itself is known. */
	if (!b->is_loop)
		return is_fixed(op->base) || op->base == 5 ? base
			: op->bytes >= 16 ? (struct address_stride){.order = STRIDE_EVEN, .step = op->bytes} : wild(false);
	if (op->base != LOOP_NO_REG && op->base < LOOP_REG_VECTOR)
		base = reg_stride(b, op->base, value, DEPTH);
	if (op->index != LOOP_NO_REG)
		index = op->index < LOOP_REG_VECTOR ? reg_stride(b, op->index, value, DEPTH) : wild(false);
	return sum(base, index, op->scale ? op->scale : 1);
}

/* ---- footprints ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_gap(const uint64_t *a, uint32_t n, uint64_t *room)
{
	uint32_t k = 0;

	for (uint32_t i = 1; i < n; i++)
		if (a[i] != a[i - 1])
			room[k++] = a[i] - a[i - 1];
	if (!k)
		return 0;
	qsort(room, k, sizeof(*room), by_value);
	return (double)room[k / 2];
}

double address_footprint(uint64_t *a, uint32_t n, uint64_t grain, bool in_order)
{
	uint64_t *room = malloc((n + 1u) * sizeof(*room));
	double usual, bytes = 0, pairs = 0;
	uint32_t first = 0, same = 1, places = 0;

	if (!room || n < 2) {
		free(room);
		return n ? (double)grain : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		a[i] &= ~(grain - 1);
	qsort(a, n, sizeof(*a), by_value);
	usual = median_gap(a, n, room);
	free(room);
	for (uint32_t i = 1; i <= n; i++) {
		if (i < n && a[i] == a[i - 1])
			same++;
		else {
			pairs += (double)same * (same - 1) / 2;
			same = 1;
			places++;
		}
		if (i == n || a[i] - a[i - 1] > FAR ||
		    ((double)(a[i] - a[i - 1]) > APART && (double)(a[i] - a[i - 1]) > APART_BY * usual)) {
			double k = i - first, span = (double)(a[i - 1] - a[first]);

			bytes += (double)grain + (k > 2 ? span * (k + 1) / (k - 1) : span);
			first = i;
		}
	}
	/* Grains are met again as often as chance has it among so many (birthday problem). A loop that goes through them in order
	 * may take as long each time. Samples come at even intervals. They then meet the loop at the same places more
	 * often than chance has it. If most places were met once, the pairs tell nothing. */
	if (pairs >= REPEATS) {
		double few = (double)n * (n - 1) / 2 / pairs * (double)grain;

		bytes = in_order && (places > n / 2 || few * SPARSE > bytes) ? bytes : fmin(bytes, few);
	}
	return bytes;
}
