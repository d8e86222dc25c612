/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift of a kin, by the model over inputs of what ran before. Pure; what the daemon does with it is follow_drift_kin (follow.h). */
#ifndef PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H
#define PRECEDENT_PREDICTOR_LEARN_DRIFT_FAMILY_H

#include "predictor/estimate/drift.h"
#include "predictor/estimate/scaling_model.h"

/*
 * runs: of one kin on one candidate, the latest first, with when they were submitted. True: two of the last three, with different
 * numbers, left on the same side what the law of the runs before them says within the range of those; *d is what is known then.
 * scale: by which its intervals are multiplied (coverage.h).
 */
bool drift_kin_judge(struct drift *d, const struct kin_run *runs, const int64_t *submitted, size_t n, double scale, int64_t now);

#endif
