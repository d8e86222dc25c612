/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lowers limits as the job_submit plugin wished. Order: first the trigger in slurmctld that raises the limit again, then, when
 * slurmctld has saved the trigger, the limit. So no job has a lowered limit without a trigger. If the daemon or slurmctld dies
 * in between, the job keeps its user's limit.
 *
 * One request changes both limit and admin_comment, so slurmctld's job record alone tells the state. A job whose limit differs
 * from its submitted limit is left alone: somebody else has changed it.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_LOWER_H
#define PRECEDENT_PREDICTOR_LIMITS_LOWER_H

#include "predictor/cluster/daemon_env.h"

/*
 * slurmctld saves its state five seconds after a change at the latest, jobs before triggers. A trigger is set on a job that is
 * saved (slurmctld refuses to start when it finds a saved trigger of a job that is not), a limit when the trigger is.
 */
#define LIMIT_LOWER_SAVED_S 8
/* Time budget of one poll; the next poll goes on. One part in 20 of PollInterval, at most ... */
#define LIMIT_LOWER_BUDGET_MS 500
/*
 * Triggers at one time. slurmctld starts a process for each trigger when the job ends, also when that is long before the limit.
 * While slurmctld starts processes, its clients wait.
 */
#define LIMIT_LOWER_TRIGGERS_MAX 64
#define LIMIT_LOWER_CHECK_S	  60  /* between two looks at whether all that are short have their triggers */
#define LIMIT_LOWER_RETRY_S	  300 /* after slurmctld did not let a limit be set */

struct limit_lower;

struct limit_lower *limit_lower_create(void); /* NULL: no memory */
void limit_lower_destroy(struct limit_lower *s);
/* slurmctld was away: it may have lost its latest triggers. */
void limit_lower_doubt(struct limit_lower *s);
/* With each poll. s NULL, or not may_lower: no limit is lowered. */
void limit_lower_poll(struct limit_lower *s, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now,
		      bool may_lower);

/* May this job be given, at `now`, the limit that is wished for? */
bool limit_lower_is_due(const struct cluster_job *job, const struct job_comment *c, uint32_t poll_interval_s, int64_t now);

#endif
