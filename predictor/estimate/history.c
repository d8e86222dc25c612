/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past runs as evidence, alone and as a correction of the probes' estimate: see estimate.h. A run that was ended early is a
 * lower bound. Within the interval the bound counts as the mean of the normal distribution above it. Beyond the interval it
 * refutes the prediction until ESTIMATE_OUTVOTED whole runs have followed.
 */
#include <math.h>
#include <string.h>

#include "predictor/estimate/estimate.h"

#define HISTORY_DECAY 0.7 /* weight of a run relative to the one after it */
#define HISTORY_COVER 5	  /* the interval covers this many of the latest runs */
#define MIN_SIGMA     0.01
/* What is believed of the spread of runs before any was seen: this relative deviation, as of so many runs. */
#define PRIOR_SIGMA 0.04
#define PRIOR_RUNS  2.0
/*
 * Half width in deviations: nine tenths of Student's t with three degrees of freedom. Two runs and the prior have as many.
 */
#define RUNS_HALF   2.4

enum run_evidence run_evidence_of(const char *end_state, unsigned restarts)
{
	/* What was still running when it was ended. A run that failed may have done so at any time, for its own reasons. */
	static const char *const cut_short[] = {"TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL", "DEADLINE"};

	if (!strcmp(end_state, "COMPLETED"))
		return restarts ? RUN_LOWER_BOUND : RUN_WHOLE;
	for (size_t i = 0; i < sizeof(cut_short) / sizeof(cut_short[0]); i++)
		if (!strcmp(end_state, cut_short[i]))
			return RUN_LOWER_BOUND;
	return RUN_NO_EVIDENCE;
}

/* ---- whole runs ---- */

struct history {
	size_t n;
	double mean, sigma; /* sigma relative to the mean, for one more run */
	double min, max;    /* of the latest HISTORY_COVER */
	double pred_rms;    /* relative error of the predictions given then */
	size_t n_pred;
};

static int summarise(const struct estimate_past *past, size_t n, double spread, struct history *h, struct errbuf *err)
{
	double sum_w = 0, sum_ww = 0, sum = 0, sq = 0, pred_sq = 0, runs, believed = spread > 0 ? spread : PRIOR_SIGMA;

	*h = (struct history){.n = n < ESTIMATE_HISTORY_MAX ? n : ESTIMATE_HISTORY_MAX, .min = INFINITY};
	for (size_t i = 0; i < h->n; i++) {
		double a = past[i].actual_s, w = pow(HISTORY_DECAY, (double)i);

		if (!isfinite(a) || a <= 0)
			return err_set(err, "a past run took %g s", a);
		sum_w += w;
		sum_ww += w * w;
		sum += w * a;
		if (i < HISTORY_COVER) {
			h->min = fmin(h->min, a);
			h->max = fmax(h->max, a);
		}
		if (past[i].pred_s > 0) {
			pred_sq += (past[i].pred_s - a) * (past[i].pred_s - a) / (a * a);
			h->n_pred++;
		}
	}
	if (!h->n)
		return 0;
	h->mean = sum / sum_w;
	for (size_t i = 0; i < h->n; i++)
		sq += pow(HISTORY_DECAY, (double)i) * pow(past[i].actual_s - h->mean, 2);
	/* For one more run: few runs show less spread than there is, and leave their own mean in doubt. */
	runs = sum_w * sum_w / sum_ww;
	sq = runs * sq / sum_w / (h->mean * h->mean) + PRIOR_RUNS * believed * believed;
	if (h->n >= 2)
		h->sigma = fmax(MIN_SIGMA, sqrt(sq / (PRIOR_RUNS + runs - 1) * (1 + 1 / runs)));
	h->pred_rms = h->n_pred ? sqrt(pred_sq / (double)h->n_pred) : 0;
	return 0;
}

/* The interval around out->mean_s: half_rel, but at least what the latest runs needed. */
static void set_interval(struct estimate *out, double half_rel, const struct history *h)
{
	half_rel = fmax(half_rel, ESTIMATE_MIN_REL);
	out->lo_s = fmax(0, fmin(out->mean_s * (1 - half_rel), h->min));
	out->hi_s = fmax(out->mean_s * (1 + half_rel), h->max);
}

/* What past runs say alone, and how much of an estimate that is. */
struct share {
	struct estimate history;
	double weight;
};

static void share_set(struct share *share, const struct history *h, double sigma, double weight)
{
	double half = 2 * sigma * h->mean;

	share->history = (struct estimate){h->mean, fmax(0, h->mean - half), h->mean + half, ESTIMATE_HISTORY, (unsigned)h->n};
	share->weight = weight;
}

static int whole_history(const struct estimate_past *past, size_t n, double spread, struct estimate *out, struct share *share,
			 struct errbuf *err)
{
	struct history h;

	if (summarise(past, n, spread, &h, err) < 0)
		return -1;
	if (h.n < 2)
		return err_set(err, "%zu past run%s on this partition: two are needed", h.n,
			       h.n == 1 ? "" : "s");
	*out = (struct estimate){.mean_s = h.mean, .kind = ESTIMATE_HISTORY, .n = (unsigned)h.n};
	set_interval(out, RUNS_HALF * h.sigma, &h);
	share_set(share, &h, h.sigma, 1);
	return 0;
}

static int whole_blend(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
		       struct estimate *out, struct share *share, struct errbuf *err)
{
	double base_rel, base_sigma, history_sigma, wb, wh, half;
	struct history h;

	if (summarise(past, n, spread, &h, err) < 0)
		return -1;
	if (!(base->mean_s > 0))
		return err_set(err, "the estimate makes no sense: %g s", base->mean_s);
	if (!h.n) {
		*out = *base;
		return 0;
	}
	base_rel = fmax(base->hi_s - base->mean_s, base->mean_s - base->lo_s) / base->mean_s;
	/* The half width is two sigma, but at least the error of past predictions. */
	base_sigma = fmax(fmax(base_rel / 2, MIN_SIGMA), h.pred_rms);
	history_sigma = h.n >= 2 ? h.sigma : spread > 0 ? fmin(base_sigma, spread) : base_sigma;
	wb = 1 / (base_sigma * base_sigma);
	wh = (double)h.n / (history_sigma * history_sigma);
	*out = (struct estimate){.kind = ESTIMATE_BLEND, .n = (unsigned)h.n};
	out->mean_s = (wb * base->mean_s + wh * h.mean) / (wb + wh);
	/*
	 * A single run has no spread: the interval then covers the run and the prediction.
	 */
	half = h.n >= 2 ? 2 * history_sigma : fmax(base_rel, fabs(h.mean - base->mean_s) / 2 / out->mean_s);
	set_interval(out, half, &h);
	share_set(share, &h, history_sigma, wh / (wb + wh));
	return 0;
}

/* ---- runs that were ended before their end ---- */

/* Mean of a normal distribution above `at`, for at >= mean. */
static double mean_above(double mean, double sigma, double at)
{
	double z = (at - mean) / sigma, density = exp(-z * z / 2) / sqrt(2 * M_PI), above = erfc(z / M_SQRT2) / 2;

	return above > 1e-12 ? mean + sigma * density / above : at;
}

/* Raises the estimate by one lower bound within the interval. newer: whole runs after this run; each lowers the weight. */
static void raise_by(struct estimate *e, double at_least_s, unsigned newer)
{
	double sigma = fmax((e->hi_s - e->mean_s) / 2, MIN_SIGMA * e->mean_s), above = mean_above(e->mean_s, sigma, at_least_s);
	double w = pow(HISTORY_DECAY, newer), shift = (above - e->mean_s) * w / (1 + e->n + w);

	e->mean_s += shift;
	e->hi_s += shift;
}

static int apply_bounds(struct estimate *e, const struct estimate_past *past, size_t n, struct errbuf *err)
{
	unsigned newer = 0;

	for (size_t i = 0; i < n && newer < ESTIMATE_OUTVOTED; i++) {
		if (!past[i].at_least) {
			newer++;
			continue;
		}
		if (!isfinite(past[i].actual_s) || past[i].actual_s <= 0)
			return err_set(err, "a past run took %g s", past[i].actual_s);
		if (past[i].actual_s > e->hi_s)
			return err_set(err, "a run was ended after %.0f s, beyond the %.0f s that were to be expected: how long "
					    "it would have taken is not known", past[i].actual_s, e->hi_s);
		if (past[i].actual_s > e->mean_s)
			raise_by(e, past[i].actual_s, newer);
	}
	return 0;
}

static size_t whole_runs(const struct estimate_past *past, size_t n, struct estimate_past whole[ESTIMATE_HISTORY_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < n && count < ESTIMATE_HISTORY_MAX; i++)
		if (!past[i].at_least)
			whole[count++] = past[i];
	return count;
}

static int from_history(const struct estimate_past *past, size_t n, double spread, struct estimate *out, struct share *share,
			struct errbuf *err)
{
	struct estimate_past whole[ESTIMATE_HISTORY_MAX];

	if (whole_history(whole, whole_runs(past, n, whole), spread, out, share, err) < 0 || apply_bounds(out, past, n, err) < 0)
		return -1;
	return estimate_check(out, err);
}

int estimate_from_history(const struct estimate_past *past, size_t n, struct estimate *out, struct errbuf *err)
{
	struct share share;

	return from_history(past, n, PRIOR_SIGMA, out, &share, err);
}

double estimate_spread(double sq_sum, unsigned n)
{
	return fmax(MIN_SIGMA, sqrt((PRIOR_RUNS * PRIOR_SIGMA * PRIOR_SIGMA + sq_sum) / (PRIOR_RUNS + n)));
}

int estimate_blend_weighed(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			   struct estimate *out, struct estimate *history, double *weight, struct errbuf *err)
{
	struct estimate_past whole[ESTIMATE_HISTORY_MAX];
	struct share share = {.weight = 0};
	int rv;

	if (!base)
		rv = from_history(past, n, spread, out, &share, err);
	else if (whole_blend(base, whole, whole_runs(past, n, whole), spread, out, &share, err) < 0 || apply_bounds(out, past, n, err) < 0)
		rv = -1;
	else
		rv = estimate_check(out, err);
	*history = share.history;
	*weight = share.weight;
	return rv;
}

int estimate_blend_believing(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			     struct estimate *out, struct errbuf *err)
{
	struct estimate history;
	double weight;

	return estimate_blend_weighed(base, past, n, spread, out, &history, &weight, err);
}

int estimate_blend(const struct estimate *base, const struct estimate_past *past, size_t n, struct estimate *out,
		   struct errbuf *err)
{
	return estimate_blend_believing(base, past, n, 0, out, err);
}
