/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latest searches for shapes of a scaling model, by their input. After most runs, the medians at the points are the same as
 * before. The same points are then fitted for the family, for each member, and to judge the latest runs.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_SCALING_MEMO_H
#define PRECEDENT_PREDICTOR_ESTIMATE_SCALING_MEMO_H

#include "predictor/estimate/scaling_model.h"

/* What a search found. */
struct scaling_found {
	unsigned n, points;
	struct scaling_shape s[SCALING_SHAPES_MAX]; /* weight: logarithm; the greatest first */
};

/* Keeps the greatest weights. */
void scaling_found_add(struct scaling_found *f, const struct scaling_shape *s);

#define SCALING_MEMO_INPUT (1 + SCALING_POINTS_MAX * (SCALING_VARS_MAX + 1))

/* input: the n numbers that decide the search, n <= SCALING_MEMO_INPUT. Returns false if no such search is kept. */
bool scaling_memo_get(const double *input, size_t n, struct scaling_found *out);
void scaling_memo_put(const double *input, size_t n, const struct scaling_found *found);

#endif
