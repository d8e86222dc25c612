/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See weights.h. Each round solves the linear problem for the weights of the round before, and bounds the weights. */
#include "skelgen/pieces/weights.h"

#include <math.h>
#include <string.h>

#define KNOWN     3     /* sums of the run */
#define ROUNDS    50    /* half of them suffice for random pieces */
#define STEP      2.0   /* a weight changes in a round by at most this factor */
#define SINGULAR  1e-9  /* of the diagonal: pieces are alike in this sum, and weights cannot change it */

struct known {
	double of[KNOWN]; /* computation, time in calls, calls */
};

static struct known known_of(const struct segment *g)
{
	return (struct known){{g->gap_ns, fmax(0, g->ns - g->gap_ns), (double)g->events}};
}

static void known_add(struct known *sum, const struct known *k, double weight)
{
	for (int a = 0; a < KNOWN; a++)
		sum->of[a] += weight * k->of[a];
}

static struct known sum_all(const struct segments *s)
{
	struct known sum = {{0}};

	for (uint32_t i = 0; i < s->n; i++) {
		struct known k = known_of(&s->at[i]);

		known_add(&sum, &k, 1);
	}
	return sum;
}

static struct known sum_pieces(const struct segments *s, const uint32_t *segment, uint32_t n, const double *weight)
{
	struct known sum = {{0}};

	for (uint32_t i = 0; i < n; i++) {
		struct known k = known_of(&s->at[segment[i]]);

		known_add(&sum, &k, weight[i]);
	}
	return sum;
}

/* Solves m x = m[.][KNOWN] by elimination. x is 0 in directions in which m is singular. */
static void solve(double m[KNOWN][KNOWN + 1], double x[KNOWN])
{
	double diagonal[KNOWN];

	for (int a = 0; a < KNOWN; a++)
		diagonal[a] = m[a][a];
	for (int a = 0; a < KNOWN; a++) {
		if (!(m[a][a] > SINGULAR * diagonal[a])) {
			for (int b = 0; b < KNOWN; b++)
				m[a][b] = m[b][a] = 0;
			m[a][KNOWN] = 0;
			m[a][a] = 1;
			continue;
		}
		for (int b = 0; b < KNOWN; b++) {
			double f = b != a ? m[b][a] / m[a][a] : 0;

			for (int c = a; c <= KNOWN; c++)
				m[b][c] -= f * m[a][c];
		}
	}
	for (int a = 0; a < KNOWN; a++)
		x[a] = m[a][KNOWN] / m[a][a];
}

static void round_make(const struct segments *s, const uint32_t *segment, uint32_t n, const struct known *run,
		       const double *first, double *weight)
{
	struct known now = sum_pieces(s, segment, n, weight);
	double m[KNOWN][KNOWN + 1] = {{0}}, x[KNOWN], share[KNOWN];

	for (int a = 0; a < KNOWN; a++)
		m[a][KNOWN] = run->of[a] > 0 ? 1 - now.of[a] / run->of[a] : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct known k = known_of(&s->at[segment[i]]);

		for (int a = 0; a < KNOWN; a++)
			share[a] = run->of[a] > 0 ? k.of[a] / run->of[a] : 0;
		for (int a = 0; !s->at[segment[i]].alone && a < KNOWN; a++)
			for (int b = 0; b < KNOWN; b++)
				m[a][b] += weight[i] * share[a] * share[b];
	}
	solve(m, x);
	for (uint32_t i = 0; i < n; i++) {
		struct known k = known_of(&s->at[segment[i]]);
		double change = 1;

		for (int a = 0; a < KNOWN; a++)
			change += run->of[a] > 0 ? x[a] * k.of[a] / run->of[a] : 0;
		if (s->at[segment[i]].alone)
			continue;
		weight[i] *= fmin(fmax(change, 1 / STEP), STEP);
		weight[i] = fmin(fmax(weight[i], fmax(1, first[i] / WEIGHT_CHANGE)), first[i] * WEIGHT_CHANGE);
	}
}

/* Bounds may leave the time of the run a little off: all weights above 1 are changed by one factor. */
static void time_keep(const struct segments *s, const uint32_t *segment, uint32_t n, double *weight)
{
	for (int round = 0; round < ROUNDS; round++) {
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
	struct known run = sum_all(s);
	double first[SEGMENTS_MOST];

	if (n > SEGMENTS_MOST)
		return;
	memcpy(first, weight, n * sizeof *first);
	for (int round = 0; round < ROUNDS; round++)
		round_make(s, segment, n, &run, first, weight);
	time_keep(s, segment, n, weight);
}

struct weights_balance weights_balance_of(const struct segments *s, const uint32_t *segment, uint32_t n, const double *weight)
{
	struct known run = sum_all(s), now = sum_pieces(s, segment, n, weight);
	double of[KNOWN];

	for (int a = 0; a < KNOWN; a++)
		of[a] = run.of[a] > 0 ? now.of[a] / run.of[a] : 1;
	return (struct weights_balance){of[0], of[1], of[2]};
}
