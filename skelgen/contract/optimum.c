/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of C are filled from the last to the first, each in order of rising period. C[i][i+p] is final
 * when loops of period p are tried, because C[i][i+p] depends on shorter periods only. A body that is itself
 * a loop is not tried: the inner body at a higher count costs no more.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/optimum.h"

#define MAX_ROOTS 64u /* primitive periods at one place; their lengths grow geometrically */

static int optimum_reserve(struct optimum *o, uint32_t n, struct errbuf *err)
{
	size_t side = (size_t)n + 1;

	if (n <= o->cap && o->cost)
		return 0;
	free(o->cost);
	free(o->match);
	o->cost = malloc(side * side * sizeof(*o->cost));
	o->match = malloc(side * sizeof(*o->match));
	o->cap = n;
	if (!o->cost || !o->match)
		return err_set(err, "contraction: out of memory for the search of short bodies");
	return 0;
}

/* Is s[i..i+p) a power of a shorter root found at i? */
static bool is_power(const uint32_t *match, const uint32_t *root, uint32_t n_roots, uint32_t p)
{
	for (uint32_t k = 0; k < n_roots; k++)
		if (p % root[k] == 0 && match[root[k]] >= p - root[k])
			return true;
	return false;
}

/* The three loops that take all the time are worth vectors. */
#define HOT __attribute__((optimize("O3")))

HOT static void match_step(uint32_t *restrict match, const uint32_t *restrict s, uint32_t n)
{
	for (uint32_t p = 1; p < n; p++)
		match[p] = s[0] == s[p] ? match[p] + 1 : 0;
}

HOT static void row_start(int16_t *restrict row, const int16_t *restrict next, int16_t weight, uint32_t from,
			  uint32_t n)
{
	for (uint32_t j = from; j <= n; j++)
		row[j] = (int16_t)(weight + next[j]);
}

HOT static void try_loop(int16_t *restrict row, const int16_t *restrict rest, int16_t body, uint32_t from,
			 uint32_t n)
{
	for (uint32_t j = from; j <= n; j++) {
		int16_t c = (int16_t)(body + rest[j]);

		row[j] = c < row[j] ? c : row[j];
	}
}

/* Fill the row of i; match[] is that of i. */
static void optimum_row(struct optimum *o, uint32_t i, int16_t weight)
{
	uint32_t n = o->n, side = n + 1, root[MAX_ROOTS], n_roots = 0;
	int16_t *row = o->cost + (size_t)i * side;

	row[i] = 0;
	row_start(row, row + side, weight, i + 1, n);
	for (uint32_t p = 1; i + 2 * p <= n; p++) {
		if (o->match[p] < p || is_power(o->match, root, n_roots, p))
			continue;
		if (n_roots < MAX_ROOTS)
			root[n_roots++] = p;
		for (uint32_t t = 2; (t - 1) * p <= o->match[p]; t++) {
			try_loop(row, o->cost + (size_t)(i + t * p) * side, row[i + p], i + t * p, n);
			o->work += n - i - t * p + 8;
		}
	}
}

/* After a quarter of the rows the rest can be foreseen: rows grow, so that it is at least as the square. */
static bool too_dear(uint64_t spent, uint32_t rows, uint32_t n, uint64_t limit)
{
	if (spent > limit)
		return true;
	return rows >= n / 4 && spent * n / rows > limit / n * rows;
}

int optimum_search(struct optimum *o, const uint32_t *s, const uint32_t *weight, uint32_t n, uint64_t limit,
		   struct errbuf *err)
{
	uint64_t begin, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += weight[i];
	if (n > OPTIMUM_MAX || (uint64_t)n * n > limit || sum > INT16_MAX)
		return 0;
	if (optimum_reserve(o, n, err))
		return -1;
	memcpy(o->s, s, (size_t)n * sizeof(*s));
	o->n = n;
	memset(o->match, 0, ((size_t)n + 1) * sizeof(*o->match));
	o->cost[(size_t)n * (n + 1) + n] = 0;
	o->work += (uint64_t)n * n;
	begin = o->work;
	for (uint32_t i = n; i-- > 0;) {
		match_step(o->match, s + i, n - i);
		optimum_row(o, i, (int16_t)weight[i]);
		if (too_dear(o->work - begin, n - i, n, limit))
			return 0;
	}
	return 1;
}

uint32_t optimum_first(const struct optimum *o, uint32_t i, uint32_t j, uint32_t *period)
{
	uint32_t side = o->n + 1, best_span = 0, best_count = 0;
	const int16_t *row = o->cost + (size_t)i * side;

	for (uint32_t p = 1; i + 2 * p <= j; p++) {
		uint32_t reach = p;

		for (uint32_t t = 2; i + t * p <= j; t++) {
			while (reach < t * p && o->s[i + reach] == o->s[i + reach - p])
				reach++;
			if (reach < t * p)
				break;
			if (t * p > best_span &&
			    row[i + p] + o->cost[(size_t)(i + t * p) * side + j] == row[j]) {
				best_span = t * p;
				best_count = t;
				*period = p;
			}
		}
	}
	return best_count;
}

void optimum_destroy(struct optimum *o)
{
	if (!o)
		return;
	free(o->cost);
	free(o->match);
	*o = (struct optimum){0};
}
