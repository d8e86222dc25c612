/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift of a parameter family, by its model over inputs (estimate/scaling_model.h). */
#ifndef PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H
#define PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H

#include "predictor/estimate/drift.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/learn/ended_run.h"

/*
 * Judges the runs of one parameter family on one candidate, the latest first; submitted: when. scale: factor of the model's
 * intervals (interval_calibration.h). Returns true if two of the last three runs, with different numbers, lie outside the
 * intervals of the model of the earlier runs on the same side. *d is then the new state.
 */
bool drift_family_judge(struct drift *d, const struct param_family_run *runs, const int64_t *submitted, size_t n, double scale,
			int64_t now);
/* A run has ended: judges its parameter family. After a drift, family estimates and models count only runs since the change. */
int drift_family_follow(struct ended_run *r, struct errbuf *errp);

#endif
