/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = overtime. A job asked for U minutes, and the smallest OverTimeLimit of its partitions is O. The job gets a limit
 * L >= U - O. slurmctld ends the job at L + O, so never before U. This holds with all of Precedent dead: no raise is needed.
 * Shortly before U - O is over, the limit is lowered to U - O, so that the job ends at U.
 *
 * Jobs that were not shortened run on by OverTimeLimit. With EndAtAsked they are cancelled when U is over. Nothing of them is
 * changed before that: a job may look at its limit.
 *
 * The user's limit is in the store, and is read from nowhere else. A limit that somebody else has changed is left alone.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_OVERTIME_H
#define PRECEDENT_PREDICTOR_LIMITS_OVERTIME_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/cluster/overtime.h"
#include "predictor/store/limits.h"

#define LIMIT_OVERTIME_END_S 30 /* before U - O, besides two looks, the limit is lowered to U - O */

/* EndAtAsked: so long after U a job is cancelled. slurmctld, which looks at limits every 30 s, ends shortened jobs before. */
#define LIMIT_END_LATE_S  60
#define LIMIT_ENDS_A_LOOK 64
#define LIMIT_OVERTIME_REFUSALS 8 /* of one look: a plugin of the site may refuse all. The next look goes on with other jobs. */
#define LIMIT_OVERTIME_MS_IN_S 50 /* of each second until the next look, for limits that are not changed yet */

enum limit_overtime_act {
	LIMIT_OVERTIME_LEAVE,
	LIMIT_OVERTIME_SHORTEN, /* to *limit_min, below what the user asked */
	LIMIT_OVERTIME_RESTORE, /* the user's limit */
	LIMIT_OVERTIME_FORGET,	/* the job has ended, or its limit is not ours */
};

/* What to do about this job at `now`. o: of its partitions; may_shorten: by the configuration. */
enum limit_overtime_act limit_overtime_judge(const struct store_limit *row, const struct cluster_job *job, const struct overtime *o,
					     bool may_shorten, uint32_t period_s, int64_t now, uint32_t *limit_min);

/* Might the job, started by the next look, meet a reservation before its user's own limit? Of pending jobs. */
bool limit_meets_reservation(const struct cluster_job *job, const struct store_limit *row, const struct overtime *o,
			     uint32_t period_s, int64_t now);
/* Has the job had asked_min, by slurmctld's end of its limit and by its start, and LIMIT_END_LATE_S more? */
bool limit_end_is_due(const struct cluster_job *job, uint32_t asked_min, int64_t now);
/* A job that the plugin wished a limit for was seen for the first time. Returns 0, or -1 on error. */
int limit_overtime_meet(const struct daemon_env *env, const struct cluster_job *job, struct errbuf *errp);
/* With each look. Under another guard, jobs that this guard or the soft guard has changed are restored. */
void limit_overtime_poll(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now);

#endif
