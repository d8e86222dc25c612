/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setting the limit that the job_submit plugin wished for, so that no job is ever short without a trigger in slurmctld that
 * takes it back: first the trigger, and only when slurmctld has it, and has had the time to save it, the limit. What dies in
 * between leaves the job its user's own limit.
 *
 * The same step that changes the limit says so in the admin_comment, so slurmctld's record of the job alone tells how far things
 * are. A job is left as it is when its limit is not the one that it was submitted with: somebody else has changed it.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_LOWER_H
#define PRECEDENT_PREDICTOR_LIMITS_LOWER_H

#include "predictor/cluster/daemon_env.h"

/*
 * slurmctld saves its state five seconds after a change at the latest, jobs before triggers. A trigger is set on a job that is
 * saved (slurmctld refuses to start when it finds a saved trigger of a job that is not), a limit when the trigger is.
 */
#define LIMIT_LOWER_SAVED_S 8
/* Of a look, after which the next one goes on: thousands of jobs may come at once. One part in 20 of PollInterval, at most ... */
#define LIMIT_LOWER_BUDGET_MS 500
#define LIMIT_LOWER_CHECK_S	  60  /* between two looks at whether all that are short have their triggers */
#define LIMIT_LOWER_RETRY_S	  300 /* after slurmctld did not let a limit be set */

struct limit_lower;

struct limit_lower *limit_lower_create(void); /* NULL: no memory */
void limit_lower_destroy(struct limit_lower *s);
/* slurmctld was away: it may have lost its latest triggers. */
void limit_lower_doubt(struct limit_lower *s);
/* With each poll. s NULL: no limit is lowered. */
void limit_lower_poll(struct limit_lower *s, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now);

/* May this job be given, at `now`, the limit that is wished for? */
bool limit_lower_is_due(const struct cluster_job *job, const struct job_comment *c, uint32_t poll_interval_s, int64_t now);

#endif
