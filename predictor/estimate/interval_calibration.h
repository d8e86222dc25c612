/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibrates intervals by past predictions: the error of each kind of evidence, and the factor by which half widths are
 * multiplied so that intervals hold nine runs of ten. Pure.
 *
 * The factor is a quantile of |actual - predicted| / half width over past runs, with half widths as they were before scaling
 * (split conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005). Runs come in
 * levels. The first level is the most alike: same family, candidate and kind of evidence. The last level is the user's other
 * programs on the candidate. A level is used only if the levels before it have too few runs. A prior of factor one counts as a
 * few runs.
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
	int kind;      /* enum estimate_kind of the prediction, -1: not known */
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
void interval_calibration_errors_of(const struct interval_calibration_run *runs, size_t n, const char *own,
				    struct interval_calibration_errors *out);

#endif
