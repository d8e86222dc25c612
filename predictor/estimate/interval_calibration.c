/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier predictions were worth: see interval_calibration.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/identity.h"
#include "predictor/estimate/interval_calibration.h"

#define AGE_DECAY   0.98 /* weight of a run relative to the one after it */
#define PRIOR_PARTS 16
#define PRIOR_RUNS  16.0 /* what was believed before counts as so many: one run alone widens nothing, two do ... */
#define PRIOR_HALF  12.0 /* ... and after this many as half of them */
#define LOOK	    8	/* earlier runs of a program that its latest is compared with */

struct score {
	double value, weight;
};

/* What is believed: errors are normal, and the interval is right. The half-normal's quantiles at (i + 0.5) / PRIOR_PARTS, as
 * multiples of the one at INTERVAL_CALIBRATION_QUANTILE (1.7507). */
static const double prior_scores[PRIOR_PARTS] = {0.0224, 0.0673, 0.1126, 0.1586, 0.2057, 0.2542, 0.3047, 0.3576,
						 0.4138, 0.4744, 0.5408, 0.6155, 0.7025, 0.8099, 0.9573, 1.2303};

static int score_compare(const void *a, const void *b)
{
	double x = ((const struct score *)a)->value, y = ((const struct score *)b)->value;

	return (x > y) - (x < y);
}

/* By how many half widths, as they were before scaling, it was off. False: the run says nothing. */
static bool score_of(const struct interval_calibration_run *r, double *value)
{
	double off = r->actual_s - r->pred_s, half = off > 0 ? r->hi_s - r->pred_s : r->pred_s - r->lo_s;
	double scale = r->scale > 0 ? r->scale : 1;

	if (!(r->pred_s > 0) || !isfinite(off) || !(half > 0))
		return false;
	*value = fabs(off) * scale / half;
	/* one that was cut short is off by that much or more: counted where it is outside already */
	return !r->at_least || (off > 0 && *value > scale);
}

static size_t level_add(const struct interval_calibration_level *level, double room, struct score *out, double *weight)
{
	double w = 1, sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < level->n && n < INTERVAL_CALIBRATION_RUNS; i++) {
		if ((level->kind >= 0 && level->runs[i].kind != level->kind) || !score_of(&level->runs[i], &out[n].value))
			continue;
		out[n++].weight = w;
		sum += w;
		w *= AGE_DECAY;
	}
	for (size_t i = 0; i < n && sum > room; i++)
		out[i].weight *= room / sum;
	*weight += fmin(sum, room);
	return n;
}

static double quantile(struct score *s, size_t n, double total)
{
	double at = 0;

	qsort(s, n, sizeof(*s), score_compare);
	for (size_t i = 0; i < n; i++) {
		at += s[i].weight;
		if (at >= INTERVAL_CALIBRATION_QUANTILE * total)
			return s[i].value;
	}
	return n ? s[n - 1].value : 1;
}

double interval_calibration_scale(const struct interval_calibration_level *levels, size_t n_levels)
{
	struct score s[INTERVAL_CALIBRATION_LEVELS * INTERVAL_CALIBRATION_RUNS + PRIOR_PARTS];
	double weight = 0, prior;
	size_t n = 0;

	for (size_t i = 0; i < n_levels && i < INTERVAL_CALIBRATION_LEVELS && weight < INTERVAL_CALIBRATION_ENOUGH; i++)
		n += level_add(&levels[i], i ? INTERVAL_CALIBRATION_ENOUGH - weight : INFINITY, s + n, &weight);
	if (!n)
		return 1;
	prior = PRIOR_RUNS / (1 + weight / PRIOR_HALF);
	for (size_t i = 0; i < PRIOR_PARTS; i++)
		s[n++] = (struct score){prior_scores[i], prior / PRIOR_PARTS};
	return fmin(INTERVAL_CALIBRATION_SCALE_MAX, fmax(INTERVAL_CALIBRATION_SCALE_MIN, quantile(s, n, weight + prior)));
}

double interval_calibration_apply(struct estimate *e, double scale)
{
	double least = ESTIMATE_MIN_REL * e->mean_s, up = e->hi_s - e->mean_s;

	e->lo_s = fmax(0, e->mean_s - fmax(least, (e->mean_s - e->lo_s) * scale));
	e->hi_s = e->mean_s + fmax(least, up * scale);
	return up > 0 ? (e->hi_s - e->mean_s) / up : 1;
}

/* ---- errors by kind ---- */

/* Of one program: runs[first] is its latest. */
static void program_errors(const struct interval_calibration_run *runs, size_t n, size_t first, bool own,
			   struct interval_calibration_errors *out)
{
	unsigned count[ESTIMATE_KINDS] = {0}, earlier = 0;
	double sq[ESTIMATE_KINDS] = {0}, sum = 0;

	for (size_t i = first; i < n; i++) {
		const struct interval_calibration_run *r = &runs[i];

		if (!identity_key_same(r->key, runs[first].key) || r->at_least || !(r->actual_s > 0))
			continue;
		if (r->pred_s > 0 && r->kind >= 0 && r->kind < ESTIMATE_KINDS && r->kind != ESTIMATE_HISTORY) {
			sq[r->kind] += pow(r->pred_s / r->actual_s - 1, 2);
			count[r->kind]++;
		}
		if (i > first && earlier < LOOK) {
			sum += r->actual_s;
			earlier++;
		}
	}
	if (!own && earlier >= 2 && !runs[first].at_least && runs[first].actual_s > 0) {
		sq[ESTIMATE_HISTORY] = pow(sum / earlier / runs[first].actual_s - 1, 2);
		count[ESTIMATE_HISTORY] = 1;
	}
	for (unsigned k = 0; k < ESTIMATE_KINDS; k++) {
		if (!count[k])
			continue;
		out->sq[k] += sq[k] / count[k];
		out->n[k]++;
	}
}

static bool met_before(const struct interval_calibration_run *runs, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (identity_key_same(runs[j].key, runs[i].key))
			return true;
	return false;
}

void interval_calibration_errors_of(const struct interval_calibration_run *runs, size_t n, const char *own,
				    struct interval_calibration_errors *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < n; i++)
		if (!met_before(runs, i))
			program_errors(runs, n, i, own && identity_key_same(own, runs[i].key), out);
}
