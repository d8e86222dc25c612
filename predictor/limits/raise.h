/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raises the limit of a running job that Precedent has lowered, in steps and in time, up to the user's limit. So no job ends by
 * a limit that Precedent has set.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_RAISE_H
#define PRECEDENT_PREDICTOR_LIMITS_RAISE_H

#include "predictor/cluster/daemon_env.h"

/* slurmctld itself raises the limit this long before the end when the daemon is dead. It looks every 15 to 20 s, so this
 * leaves it time; the daemon, whose threshold is two looks earlier, comes first. */
#define LIMIT_RAISE_ARM_S 60

/* Seconds before the end from which a job gets more time: two looks before LIMIT_RAISE_ARM_S, or a tenth of its limit. */
double limit_raise_threshold_s(uint32_t poll_interval_s, uint32_t limit_min);

/* A limit of fewer minutes is raised as soon as the job starts, or at its first looks. */
uint32_t limit_raise_least_min(uint32_t poll_interval_s);

/* The next limit: a quarter more, and enough that the job is not due again at the next poll, at most the user's limit
 * (DURATION_UNLIMITED or DURATION_UNSET: no bound). */
uint32_t limit_raise_next_min(uint32_t poll_interval_s, uint32_t limit_min, uint32_t user_limit_min);

/*
 * Should this job, at `now`, have more time? *limit_min: the new limit. known_min: the limit that Precedent last set. A job
 * with another limit is left alone, as somebody else has set it. Exception: with --time-min the scheduler may have chosen a
 * lower one.
 */
bool limit_raise_is_due(const struct cluster_job *job, uint32_t known_min, uint32_t user_limit_min, uint32_t poll_interval_s,
			int64_t now, uint32_t *limit_min);

/* Look at every running job and give more time where it is due. Works from the admin_comments alone, without the store: the
 * next look finds the raised limit and notes it. Returns whether slurmctld refused a raise. */
bool limit_raise_poll(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now);

/* What slurmctld's trigger does, once and for all: the user's own limit at once. Also of a suspended job, which slurmctld's clock
 * takes for one near its end, and of one that is queued again: the trigger does not fire a second time. */
bool limit_raise_by_trigger(const struct cluster_job *job, uint32_t *limit_min);

/* Has Precedent shortened this job, so that its limit may have to be raised? */
bool limit_is_lowered(const struct job_comment *c);
/* And is its limit still the one that Precedent has set? */
bool limit_is_ours(const struct cluster_job *job, const struct job_comment *c);

#define LIMIT_COMMENT_MAX 4096
/* The admin_comment with the new limit *limit_min. If the comment has no room, returns NULL, and *limit_min is the user's
 * limit: a limit that the comment does not tell is never raised again. */
const char *limit_comment(const struct cluster_job *job, uint32_t *limit_min, char buf[LIMIT_COMMENT_MAX]);

#endif
