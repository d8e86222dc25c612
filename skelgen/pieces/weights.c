/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See weights.h. Least squares with bounds, by coordinate descent: each step sets one weight to its best value. */
#include "skelgen/pieces/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP, MPI, WAITS, SITES, SUMS = SITES + 2 * SEGMENT_DIMENSIONS };

#define FIRM    100.0 /* computation and time in calls count so much more than a site: a skeleton's error is common to all of either */
#define KEEP    0.1   /* so much less counts how far a weight is from the first one: it decides where the sums do not */
#define ROUNDS  1000  /* random pieces need 50 to 300 */
#define STOP    1e-6  /* relative change of a weight in a round */
#define TIME_ROUNDS 50 /* bounds are met one after the other; half of them suffice for random pieces */

struct calibration {
	const struct segments *s;
	const uint32_t *segment; /* by piece */
	uint32_t n;
	double *first, *weight;  /* by piece */
	double (*sum)[SUMS];     /* by piece: shares of the run's time and of its calls that may wait */
	double missing[SUMS];    /* of the run, less the pieces by their weights */
};

static double waits_of(const struct segment *g)
{
	double sum = 0;

	for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
		sum += (double)g->waits[d];
	return sum;
}

static double waits_of_run(const struct segments *s)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += waits_of(&s->at[i]);
	return fmax(1, sum);
}

static void sums_of(const struct segment *g, double ns, double waits, double sum[SUMS])
{
	sum[GAP] = g->gap_ns / ns;
	sum[MPI] = fmax(0, g->ns - g->gap_ns) / ns;
	sum[WAITS] = waits_of(g) / waits;
	for (int d = 0; d < SEGMENT_DIMENSIONS; d++) {
		sum[SITES + d] = g->share[d] * g->ns / ns;
		sum[SITES + SEGMENT_DIMENSIONS + d] = (double)g->waits[d] / waits;
	}
}

static void missing_find(struct calibration *c)
{
	double waits = waits_of_run(c->s), sum[SUMS];

	for (uint32_t i = 0; i < c->s->n; i++) {
		sums_of(&c->s->at[i], c->s->ns, waits, sum);
		for (int a = 0; a < SUMS; a++)
			c->missing[a] += sum[a];
	}
	for (uint32_t k = 0; k < c->n; k++) {
		sums_of(&c->s->at[c->segment[k]], c->s->ns, waits, c->sum[k]);
		for (int a = 0; a < SUMS; a++)
			c->missing[a] -= c->weight[k] * c->sum[k][a];
	}
}

/* Set the weight of piece k to its best value within its bounds. Returns the relative change. */
static double weight_set(struct calibration *c, uint32_t k)
{
	const double *sum = c->sum[k];
	const double first = c->first[k], before = c->weight[k];
	double share = c->s->at[c->segment[k]].ns / c->s->ns, keep = KEEP * share * share;
	double gain = keep * (first - before), square = keep, best;

	for (int a = 0; a < SUMS; a++) {
		double counts = a == GAP || a == MPI ? FIRM : 1;

		gain += counts * sum[a] * c->missing[a];
		square += counts * sum[a] * sum[a];
	}
	best = square > 0 ? before + gain / square : before;
	best = fmin(fmax(best, fmax(1, first / WEIGHT_CHANGE)), first * WEIGHT_CHANGE);
	for (int a = 0; a < SUMS; a++)
		c->missing[a] -= (best - before) * sum[a];
	c->weight[k] = best;
	return fabs(best - before) / before;
}

/* Bounds may leave the time of the run a little off: all weights above 1 are changed by one factor. */
static void time_keep(const struct segments *s, const uint32_t *segment, uint32_t n, double *weight)
{
	for (int round = 0; round < TIME_ROUNDS; round++) {
		double fixed = 0, free = 0, factor;

		for (uint32_t i = 0; i < n; i++) {
			const struct segment *g = &s->at[segment[i]];

			*(g->alone || weight[i] <= 1 ? &fixed : &free) += weight[i] * g->ns;
		}
		factor = free > 0 ? (s->ns - fixed) / free : 1;
		for (uint32_t i = 0; i < n; i++)
			if (!s->at[segment[i]].alone && weight[i] > 1)
				weight[i] = fmax(1, weight[i] * factor);
		if (fabs(factor - 1) < 1e-12)
			return;
	}
}

void weights_calibrate(const struct segments *s, const uint32_t *segment, uint32_t n, double *weight)
{
	struct calibration c = {.s = s, .segment = segment, .n = n, .weight = weight};
	double change = INFINITY;

	c.first = calloc(n + 1u, sizeof *c.first);
	c.sum = calloc(n + 1u, sizeof *c.sum);
	if (c.first != NULL && c.sum != NULL && s->ns > 0) { /* without memory, weights stay as sampling gives them */
		memcpy(c.first, weight, n * sizeof *weight);
		missing_find(&c);
		for (int round = 0; round < ROUNDS && change > STOP; round++) {
			change = 0;
			for (uint32_t k = 0; k < n; k++)
				if (!s->at[segment[k]].alone)
					change = fmax(change, weight_set(&c, k));
		}
		time_keep(s, segment, n, weight);
	}
	free(c.first);
	free(c.sum);
}

struct weights_balance weights_balance_of(const struct segments *s, const uint32_t *segment, uint32_t n, const double *weight)
{
	double waits = waits_of_run(s), run[SUMS] = {0}, pieces[SUMS] = {0}, sum[SUMS];

	for (uint32_t i = 0; i < s->n; i++) {
		sums_of(&s->at[i], s->ns, waits, sum);
		for (int a = 0; a < SITES; a++)
			run[a] += sum[a];
	}
	for (uint32_t k = 0; k < n; k++) {
		sums_of(&s->at[segment[k]], s->ns, waits, sum);
		for (int a = 0; a < SITES; a++)
			pieces[a] += weight[k] * sum[a];
	}
	for (int a = 0; a < SITES; a++)
		pieces[a] = run[a] > 0 ? pieces[a] / run[a] : 1;
	return (struct weights_balance){pieces[GAP], pieces[MPI], pieces[WAITS]};
}
