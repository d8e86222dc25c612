/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift of a kin, by the model over inputs of what ran before. Pure; what the daemon does with it is drift_family_follow (follow.h). */
#ifndef PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H
#define PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H

#include "predictor/estimate/drift.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/learn/ended_run.h"

/*
 * runs: of one kin on one candidate, the latest first, with when they were submitted. True: two of the last three, with different
 * numbers, left on the same side what the law of the runs before them says within the range of those; *d is what is known then.
 * scale: by which its intervals are multiplied (interval_calibration.h).
 */
bool drift_family_judge(struct drift *d, const struct param_family_run *runs, const int64_t *submitted, size_t n, double scale, int64_t now);
/* A run has ended: judges its parameter family. After a drift, family estimates and models count only runs since the change. */
int drift_family_follow(struct ended_run *r, struct errbuf *errp);

#endif
