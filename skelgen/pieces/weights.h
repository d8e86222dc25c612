/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights of the pieces of an excerpt. The computation, the time in calls and the number of calls of the whole run are known.
 * The weights are changed as little as possible so that the pieces stand for just these sums.
 * Source: Deville, Sarndal, "Calibration estimators in survey sampling", Journal of the American Statistical Association 87, 1992,
 * with the linear distance. This is the regression estimator of Cochran, "Sampling techniques", 1977, chapter 7.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_WEIGHTS_H
#define PRECEDENT_SKELGEN_PIECES_WEIGHTS_H

#include "skelgen/pieces/segments.h"

#define WEIGHT_CHANGE 3.0 /* a weight becomes at most so many times larger or smaller: a large one multiplies chance */

/* Sums of the pieces by their weights over those of the run; 1: the pieces stand for just the run. */
struct weights_balance {
	double gap, mpi, calls;
};

/* segment: of each piece. weight: at least 1 each, as sampling gives it; changed. Pieces that stand for themselves keep 1. The sum
 * of all times stays the time of the run. */
void weights_calibrate(const struct segments *s, const uint32_t *segment, uint32_t n, double *weight);
struct weights_balance weights_balance_of(const struct segments *s, const uint32_t *segment, uint32_t n, const double *weight);

#endif
