/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When and how far to raise a shortened limit: see raise.h. */
#include "common/duration.h"
#include "predictor/limits/raise.h"

double limit_raise_threshold_s(uint32_t poll_interval_s, uint32_t limit_min)
{
	double polls = 2.0 * poll_interval_s + LIMIT_RAISE_ARM_S, tenth = limit_min * 60.0 / 10;

	return polls > tenth ? polls : tenth;
}

uint32_t limit_raise_next_min(uint32_t poll_interval_s, uint32_t limit_min, uint32_t user_limit_min)
{
	/* With this much more it is not due at the next look, even if the last one came when no time was left. */
	uint32_t step = limit_min / 4 + 1, least = (3 * poll_interval_s + LIMIT_RAISE_ARM_S + 59) / 60;
	uint64_t next = (uint64_t)limit_min + (step > least ? step : least);

	if (user_limit_min != DURATION_UNSET && user_limit_min != DURATION_UNLIMITED && next > user_limit_min)
		next = user_limit_min;
	return next < DURATION_UNSET ? (uint32_t)next : DURATION_UNLIMITED;
}

uint32_t limit_raise_least_min(uint32_t poll_interval_s)
{
	return (4 * poll_interval_s + LIMIT_RAISE_ARM_S + 59) / 60;
}

bool limit_is_lowered(const struct job_comment *c)
{
	return c->limit_min != DURATION_UNSET && c->limit_min != DURATION_UNLIMITED &&
	       (c->user_limit_min == DURATION_UNSET || c->limit_min < c->user_limit_min);
}

static bool is_known(const struct cluster_job *job, uint32_t known_min)
{
	return job->limit_min == known_min || (job->limit_min < known_min && job->time_min_min);
}

static uint32_t user_limit(const struct job_comment *c)
{
	return c->user_limit_min == DURATION_UNSET ? DURATION_UNLIMITED : c->user_limit_min;
}

bool limit_is_ours(const struct cluster_job *job, const struct job_comment *c)
{
	return limit_is_lowered(c) && is_known(job, c->limit_min);
}

const char *limit_comment(const struct cluster_job *job, uint32_t *limit_min, char buf[LIMIT_COMMENT_MAX])
{
	if (comment_set_limit(job->admin_comment, *limit_min, buf, LIMIT_COMMENT_MAX) > 0)
		return buf;
	*limit_min = user_limit(job->ours);
	return NULL;
}

static bool ends_soon(const struct cluster_job *job, uint32_t poll_interval_s, int64_t now)
{
	return job->phase == CLUSTER_RUNNING && !job->preempted && job->end_time &&
	       (double)(job->end_time - now) < limit_raise_threshold_s(poll_interval_s, job->limit_min);
}

bool limit_raise_is_due(const struct cluster_job *job, uint32_t known_min, uint32_t user_limit_min, uint32_t poll_interval_s,
			int64_t now, uint32_t *limit_min)
{
	uint32_t limit = job->limit_min;

	if (limit == DURATION_UNSET || limit == DURATION_UNLIMITED || !ends_soon(job, poll_interval_s, now))
		return false;
	if (!is_known(job, known_min))
		return false;
	if (user_limit_min != DURATION_UNSET && user_limit_min != DURATION_UNLIMITED && limit >= user_limit_min)
		return false;
	*limit_min = limit_raise_next_min(poll_interval_s, limit, user_limit_min);
	return *limit_min > limit;
}

bool limit_raise_by_trigger(const struct cluster_job *job, uint32_t *limit_min)
{
	if (job->phase == CLUSTER_ENDED || !job->ours || !limit_is_ours(job, job->ours))
		return false;
	*limit_min = user_limit(job->ours);
	return job->limit_min < *limit_min;
}

/* Returns false if slurmctld refused. */
static bool job_raise(const struct daemon_env *env, const struct cluster_job *job, int64_t now)
{
	const struct job_comment *c = job->ours;
	char from[DURATION_TEXT_MAX], to[DURATION_TEXT_MAX], buf[LIMIT_COMMENT_MAX];
	const char *comment;
	struct errbuf why;
	uint32_t next;

	if (!limit_raise_is_due(job, c->limit_min, c->user_limit_min, daemon_period_s(env), now, &next))
		return true;
	comment = limit_comment(job, &next, buf);
	duration_format_minutes(from, sizeof(from), job->limit_min);
	duration_format_minutes(to, sizeof(to), next);
	if (env->ops->set_limit(env->ops->arg, job->job_id, next, comment, &why) < 0) {
		daemon_say(env, LOG_LEVEL_ERROR, "job %u: limit cannot be raised from %s to %s: %s", job->job_id, from, to,
			   why.text);
		return false;
	}
	daemon_say(env, LOG_LEVEL_INFO, "job %u: limit raised from %s to %s, key %.8s (runs longer than predicted)",
		   job->job_id, from, to, c->key);
	return true;
}

bool limit_raise_poll(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now)
{
	bool refused = false;

	for (size_t i = 0; i < snap->n; i++) {
		const struct cluster_job *job = &snap->jobs[i];

		if (job->ours && limit_is_lowered(job->ours) && ends_soon(job, daemon_period_s(env), now))
			refused |= !job_raise(env, job, now);
	}
	return refused;
}
