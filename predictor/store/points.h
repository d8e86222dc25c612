/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed points of a kin on a candidate (model/inputs/points.h), as its latest probe gave them. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_POINTS_H
#define PRECEDENT_PREDICTOR_STORE_POINTS_H

#include "common/comment.h"
#include "predictor/spool/result.h"
#include "predictor/store/store.h"

struct store_points {
	unsigned n;
	struct result_point p[RESULT_MAX_POINTS];
	uint32_t job; /* whose probe gave them */
	int64_t updated;
};

/* Replaces the points of the kin there. */
int store_points_put(struct store *s, const char *kin, const char *candidate, const struct store_points *p, struct errbuf *err);
/* 1 found, 0 none: then *out is empty. */
int store_points_get(struct store *s, const char *kin, const char *candidate, struct store_points *out, struct errbuf *err);

#endif
