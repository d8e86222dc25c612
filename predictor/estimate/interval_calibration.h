/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What earlier predictions were worth: how far each kind of evidence was off, and by what intervals must be multiplied so that
 * they hold nine runs of ten. Both from runs with the interval that was told for them. Pure.
 *
 * The factor is the quantile of |actual - predicted| / half width over past runs (as in conformal prediction), half widths as
 * they were before they were scaled. Runs are looked at in levels, from the most alike (family, candidate, kind of evidence)
 * to the least (the user's others on the candidate): each is used only as far as those before it leave too few. What was
 * believed before any run, that the interval is right, counts as a few runs.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_INTERVAL_CALIBRATION_H
#define PRECEDENT_PREDICTOR_ESTIMATE_INTERVAL_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/estimate/estimate.h"

#define INTERVAL_CALIBRATION_QUANTILE  0.92 /* a little above what is to be reached, since runs are few */
#define INTERVAL_CALIBRATION_ENOUGH	   12.0 /* runs, by weight, before a less alike level is not looked at */
#define INTERVAL_CALIBRATION_SCALE_MIN 0.25
#define INTERVAL_CALIBRATION_SCALE_MAX 10.0
#define INTERVAL_CALIBRATION_LEVELS	   3
#define INTERVAL_CALIBRATION_RUNS	   64 /* at most, of a level */

/* A run that was predicted, or not (pred_s 0), the latest first. */
struct interval_calibration_run {
	const char *key; /* borrowed */
	double actual_s;
	bool at_least; /* ended before its end */
	int kind;      /* enum estimate_kind of what was told, -1: not known */
	double pred_s, lo_s, hi_s, scale;
};

struct interval_calibration_level {
	const struct interval_calibration_run *runs;
	size_t n;
	int kind; /* only runs of this kind; -1: of any */
};

/* 1 where nothing is known. */
double interval_calibration_scale(const struct interval_calibration_level *levels, size_t n_levels);
/* Multiply the half widths; never below ESTIMATE_MIN_REL. Returns by how much the upper one really grew. */
double interval_calibration_apply(struct estimate *e, double scale);

/* Sums over programs of squared relative errors, by kind of what was told; of ESTIMATE_HISTORY what past runs alone would
 * have said of the latest run of each program but `own` (NULL: of each), whose runs speak for themselves. */
struct interval_calibration_errors {
	unsigned n[ESTIMATE_KINDS];
	double sq[ESTIMATE_KINDS];
};
void interval_calibration_errors_of(const struct interval_calibration_run *runs, size_t n, const char *own, struct interval_calibration_errors *out);

#endif
