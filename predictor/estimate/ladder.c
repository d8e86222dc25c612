/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates from runs that resemble a job: see ladder.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/ladder.h"

/* The constants were chosen on the first half of each log in doc/evaluation/benefit.md, and are judged on the second
 * half. */
#define LADDER_FADE  0.8  /* of a past miss, for each later run */
#define LADDER_AGE   0.85 /* of a run's weight, for each later run of its group */
#define LADDER_TAIL  0.05
#define LADDER_WIDTH 1.4  /* least half width of the interval, in past misses */
#define PRIOR_MISSES 2.0  /* a group is taken to have missed by prior_miss so often before its first run */
#define MISS_LEAST   0.05 /* the runs of one program differ by 5 % for reasons that nobody sees */
#define SAMPLES_MAX  (LADDER_RUNGS * LADDER_RUNS)

static const char *const names[LADDER_RUNGS] = {"script", "command", "numbers", "name", "shape", "user", "account"};
/*
 * The assumed error of a group's first prediction, as |ln(run time / predicted)|. Wider groups have larger errors. The
 * logs have no scripts, so "script" has the error of "command", and "numbers" the error of "name".
 */
static const double prior_miss[LADDER_RUNGS] = {0.7, 0.7, 1.0, 1.0, 1.2, 1.6, 2.2};

struct sample {
	double seconds, weight;
	bool censored;
};

const char *ladder_rung_name(enum ladder_rung rung)
{
	return rung < LADDER_RUNGS ? names[rung] : "?";
}

enum ladder_end ladder_end_of(const char *end_state, double elapsed_s)
{
	static const char *const stopped[] = {"TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL", "DEADLINE"};

	if (!(elapsed_s > 0) || !isfinite(elapsed_s))
		return LADDER_NOTHING;
	if (!strcmp(end_state, "COMPLETED"))
		return LADDER_WHOLE;
	for (size_t i = 0; i < sizeof(stopped) / sizeof(stopped[0]); i++)
		if (!strcmp(end_state, stopped[i]))
			return LADDER_AT_LEAST;
	if (strcmp(end_state, "FAILED") && strcmp(end_state, "OUT_OF_MEMORY"))
		return LADDER_NOTHING;
	return elapsed_s < LADDER_EARLY_S ? LADDER_EARLY : LADDER_WHOLE;
}

/* ---- samples ---- */

/* Longer runs last; of equal ones those that ended by themselves first, as Kaplan and Meier have it. */
static bool is_after(const struct sample *x, const struct sample *y)
{
	return x->seconds != y->seconds ? x->seconds > y->seconds : x->censored > y->censored;
}

/* Equal samples keep their order. A place is found by bisection, since moving is cheaper than comparing. */
static void samples_sort(struct sample *s, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		struct sample one = s[i];
		unsigned low = 0, high = i;

		if (!is_after(&s[i - 1], &one))
			continue;
		while (low < high) {
			unsigned middle = (low + high) / 2;

			if (is_after(&s[middle], &one))
				high = middle;
			else
				low = middle + 1;
		}
		memmove(s + low + 1, s + low, (i - low) * sizeof(*s));
		s[low] = one;
	}
}

/* Append the group's runs with a total weight of `weight`. Returns how many. */
static unsigned samples_take(const struct ladder_group *g, double weight, struct sample *out)
{
	double w = 1, sum = 0;

	for (unsigned i = 0; i < g->n; i++, w *= LADDER_AGE)
		sum += w;
	w = weight / sum;
	for (unsigned i = 0; i < g->n; i++, w *= LADDER_AGE)
		out[i] = (struct sample){g->seconds[i], w, g->censored >> i & 1};
	return g->n;
}

/* Each lower bound gives its weight to longer runs, in proportion. The longest of all stays where it is. */
static void samples_settle(struct sample *s, unsigned n)
{
	double behind = 0, factor = 1;

	samples_sort(s, n);
	for (unsigned i = 0; i < n; i++)
		behind += s[i].weight;
	for (unsigned i = 0; i < n; i++) {
		double weight = s[i].weight;

		behind -= weight;
		s[i].weight = weight * factor;
		if (s[i].censored && i + 1 < n) {
			s[i].weight = 0;
			factor *= 1 + weight / behind;
		}
	}
}

static double samples_quantile(const struct sample *s, unsigned n, double q)
{
	double sum = 0, at = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		sum += s[i].weight;
	for (i = 0; i + 1 < n; i++) {
		at += s[i].weight;
		if (at >= q * sum)
			break;
	}
	return s[i].seconds;
}

/* ---- a group ---- */

static bool has_whole(const struct ladder_group *g)
{
	return g && g->n && (g->censored & ((1u << g->n) - 1)) != (1u << g->n) - 1;
}

static double group_median(const struct ladder_group *g)
{
	struct sample s[LADDER_RUNS];
	unsigned n = samples_take(g, 1, s);

	samples_settle(s, n);
	return samples_quantile(s, n, 0.5);
}

/* A lower bound below the median misses nothing. */
static void group_miss(struct ladder_group *g, double elapsed_s, bool censored)
{
	double miss = has_whole(g) ? log(elapsed_s / group_median(g)) : 0;

	if (!has_whole(g) || (censored && miss < 0))
		return;
	g->miss_sq = (float)(LADDER_FADE * g->miss_sq + miss * miss);
	g->misses = (float)(LADDER_FADE * g->misses + 1);
}

void ladder_group_add(struct ladder_group *g, double elapsed_s, enum ladder_end end)
{
	if (end == LADDER_NOTHING)
		return;
	g->early = (uint16_t)(g->early << 1 | (end == LADDER_EARLY));
	g->ended += g->ended < LADDER_RUNS;
	if (end == LADDER_EARLY)
		return;
	elapsed_s = fmin(fmax(elapsed_s, 1), 1e9);
	group_miss(g, elapsed_s, end == LADDER_AT_LEAST);
	memmove(g->seconds + 1, g->seconds, sizeof(g->seconds) - sizeof(g->seconds[0]));
	g->seconds[0] = (float)elapsed_s;
	g->censored = (uint16_t)(g->censored << 1 | (end == LADDER_AT_LEAST));
	g->n += g->n < LADDER_RUNS;
}

bool ladder_group_valid(const struct ladder_group *g)
{
	if (g->n > LADDER_RUNS || g->ended > LADDER_RUNS || !(g->miss_sq >= 0) || !(g->misses >= 0) ||
	    !isfinite(g->miss_sq) || !isfinite(g->misses))
		return false;
	for (unsigned i = 0; i < g->n; i++)
		if (!(g->seconds[i] >= 1 && g->seconds[i] <= 1e9f))
			return false;
	return true;
}

/* ---- the ladder ---- */

/* The mean squared miss of the group, with its prior. */
static double rung_miss_sq(enum ladder_rung rung, const struct ladder_group *g)
{
	double prior = PRIOR_MISSES * prior_miss[rung] * prior_miss[rung];

	return (prior + g->miss_sq) / (PRIOR_MISSES + g->misses) + MISS_LEAST * MISS_LEAST;
}

static void shares_of(const struct ladder_group *g, struct ladder_estimate *out)
{
	out->early_share = (double)__builtin_popcount(g->early) / g->ended;
	out->limit_share = (double)__builtin_popcount(g->censored & ((1u << g->n) - 1)) / g->n;
}

int ladder_predict(const struct ladder_group *const groups[LADDER_RUNGS], struct ladder_estimate *out)
{
	double best = 0, sum = 0, miss = 0;
	struct sample s[SAMPLES_MAX];
	unsigned n = 0;

	*out = (struct ladder_estimate){.rung = LADDER_RUNGS};
	for (unsigned rung = 0; rung < LADDER_RUNGS; rung++) {
		double miss_sq, weight;

		if (!has_whole(groups[rung]))
			continue;
		if (!n)
			shares_of(groups[rung], out);
		miss_sq = rung_miss_sq(rung, groups[rung]);
		weight = 1 / miss_sq;
		n += samples_take(groups[rung], weight, s + n);
		sum += weight;
		miss += weight * miss_sq;
		if (weight > best) {
			best = weight;
			out->rung = rung;
			out->runs = groups[rung]->n;
		}
	}
	if (!n)
		return -1;
	miss = LADDER_WIDTH * sqrt(miss / sum);
	samples_settle(s, n);
	out->mean_s = samples_quantile(s, n, 0.5);
	out->lo_s = fmin(samples_quantile(s, n, LADDER_TAIL), out->mean_s * exp(-miss));
	out->hi_s = fmax(samples_quantile(s, n, 1 - LADDER_TAIL), out->mean_s * exp(miss));
	return 0;
}
