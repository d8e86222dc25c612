/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights of the pieces of an excerpt. Some sums of the whole run are known: computation, time in calls, calls that may wait, and
 * time and such calls at each call site. The weights are changed so that the pieces stand for about these sums. Pieces lack
 * some call sites, so that not all sums can be met at once.
 * Source: Deville, Sarndal, "Calibration estimators in survey sampling", Journal of the American Statistical Association 87, 1992.
 * With soft sums: Rao, Singh, "A ridge-shrinkage method for range-restricted weight calibration in survey sampling", Proceedings
 * of the Section on Survey Research Methods, American Statistical Association, 1997.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_WEIGHTS_H
#define PRECEDENT_SKELGEN_PIECES_WEIGHTS_H

#include "skelgen/pieces/segments.h"

#define WEIGHT_CHANGE 3.0 /* a weight becomes at most so many times larger or smaller: a large one multiplies chance */

/* Sums of the pieces by their weights over those of the run; 1: the pieces stand for just the run. */
struct weights_balance {
	double gap, mpi, waits; /* waits: calls that may wait for another rank */
};

/* segment: of each piece. weight: at least 1 each, as sampling gives it; changed. Pieces that stand for themselves keep 1. The sum
 * of all times stays the time of the run. */
void weights_calibrate(const struct segments *s, const uint32_t *segment, uint32_t n, double *weight);
struct weights_balance weights_balance_of(const struct segments *s, const uint32_t *segment, uint32_t n, const double *weight);

#endif
