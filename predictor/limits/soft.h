/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = soft. Under SchedulerParameters=time_min_as_soft_limit (Slurm 23.11), backfill plans a job with its time_min, and
 * slurmctld ends it at its time_limit. So a job keeps its user's limit, and gets the planned time as time_min. Nobody has to do
 * anything later. A time_min of ours is taken back where it could do harm: without the parameter backfill lowers the limit to
 * it, and backfill tests reservations with it.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_SOFT_H
#define PRECEDENT_PREDICTOR_LIMITS_SOFT_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/limits.h"

enum limit_soft_act {
	LIMIT_SOFT_LEAVE,
	LIMIT_SOFT_SET,	   /* time_min to the wish */
	LIMIT_SOFT_CLEAR,  /* ours, and wanted no more */
	LIMIT_SOFT_FORGET, /* the job has ended, or somebody else has changed it */
};

/* What slurmctld did with the limits that were to be lowered in one look. */
struct limit_tally {
	unsigned obeyed, refused;
	struct errbuf why; /* of the last refusal */
};

/* Is the job's time_min one that Precedent has set? */
bool limit_soft_is_ours(const struct store_limit *row, const struct cluster_job *job);
/* What to do about this job. may_set: by the configuration, the parameter and reservations. */
enum limit_soft_act limit_soft_judge(const struct store_limit *row, const struct cluster_job *job, bool may_set);
/* Does it, and counts a time_min that was to be set. Returns 0, or -1 if the store failed. */
int limit_soft_follow(const struct daemon_env *env, const struct store_limit *row, const struct cluster_job *job, bool may_set,
		      struct limit_tally *tally, struct errbuf *errp);

#endif
