/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of an array have ended, and others wait. The waiting tasks share one job record, whose id is the array's. Under LimitGuard
 * = soft the record gets the plan that it would get if it were submitted now, also if it had none. Only the wish in the store is
 * changed here. The next look carries it out (soft.h), and takes back a plan that is no shorter than the user's limit.
 *
 * Under the other guards the wish of the submission stays. There a wish shortens limits, and of waiting arrays none is.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_REPLAN_H
#define PRECEDENT_PREDICTOR_LIMITS_REPLAN_H

#include "predictor/cluster/daemon_env.h"

/* Arrays of which a task has ended since the last look. Zeroed is empty. */
struct limit_replan {
	uint32_t *array_jobs;
	size_t n, room;
};

/* If memory runs out, this array keeps its plan until another of its tasks ends. */
void limit_replan_note(struct limit_replan *r, uint32_t array_job);
/* After the look has learned from all that have ended, outside transactions. Empties r. */
void limit_replan_poll(struct limit_replan *r, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now);

#endif
