/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits shortened by no more than OverTimeLimit: see overtime.h. */
#include <stdlib.h>

#include "common/duration.h"
#include "predictor/limits/overtime.h"
#include "predictor/limits/soft.h"
#include "predictor/store/runs.h"

/* ---- what to do ---- */

static double ran_s(const struct cluster_job *job, int64_t now)
{
	return (double)(now - job->start_time) - job->suspended_s;
}

bool limit_meets_reservation(const struct cluster_job *job, const struct store_limit *row, const struct overtime *o,
			     uint32_t period_s, int64_t now)
{
	return job->phase == CLUSTER_PENDING && o->reserved_at && o->reserved_at < now + 60 * (int64_t)row->asked_min + 2 * period_s;
}

/* The comment that the plugin wrote is there. Somebody who has replaced it may have had a reason. */
static bool comment_is_whole(const struct cluster_job *job, const struct store_limit *row)
{
	return job->ours && job->ours->wish_min == row->wish_min && job->ours->user_limit_min == row->asked_min;
}

static bool may_be_short(const struct cluster_job *job, const struct store_limit *row)
{
	return comment_is_whole(job, row) && !job->het && !job->barred && !job->time_min_min && !job->deadline;
}

/* Tasks of an array that wait share one job record. */
static bool may_shorten_now(const struct cluster_job *job, uint32_t limit_min, uint32_t period_s, int64_t now)
{
	if (job->phase == CLUSTER_PENDING)
		return !job->array_job;
	return job->phase == CLUSTER_RUNNING && ran_s(job, now) + 2 * period_s < 60.0 * limit_min;
}

static bool ends_soon(const struct cluster_job *job, const struct store_limit *row, uint32_t period_s, int64_t now)
{
	return job->phase == CLUSTER_RUNNING &&
	       60.0 * row->asked_min - ran_s(job, now) < LIMIT_OVERTIME_END_S + 2.0 * period_s;
}

enum limit_overtime_act limit_overtime_judge(const struct store_limit *row, const struct cluster_job *job, const struct overtime *o,
					     bool may_shorten, uint32_t period_s, int64_t now, uint32_t *limit_min)
{
	bool changed = row->set_min != DURATION_UNSET && job->limit_min == row->set_min;
	uint32_t least = overtime_least_min(row->asked_min, o->overtime_min);
	bool allowed = may_be_short(job, row) && !limit_meets_reservation(job, row, o, period_s, now);

	if (job->phase == CLUSTER_ENDED)
		return LIMIT_OVERTIME_FORGET;
	if (changed) {
		*limit_min = row->asked_min;
		if (!may_shorten || !allowed || row->set_min < least)
			return LIMIT_OVERTIME_RESTORE;
		*limit_min = least;
		/* With an OverTimeLimit above U, the job may run on as any other job of the site. */
		return least < row->set_min && row->asked_min > o->overtime_min && ends_soon(job, row, period_s, now)
			       ? LIMIT_OVERTIME_SHORTEN
			       : LIMIT_OVERTIME_LEAVE;
	}
	if (job->limit_min != row->asked_min || row->seen)
		return LIMIT_OVERTIME_FORGET;
	*limit_min = row->wish_min > least ? row->wish_min : least;
	return may_shorten && allowed && *limit_min < row->asked_min && may_shorten_now(job, *limit_min, period_s, now)
		       ? LIMIT_OVERTIME_SHORTEN
		       : LIMIT_OVERTIME_LEAVE;
}

/* ---- a look ---- */

struct look {
	const struct daemon_env *env;
	const struct cluster_snapshot *snap;
	const struct overtime_table *table;
	int64_t now;
	struct errbuf why;
};

/* The limit of the run as people are shown it. DURATION_UNSET: not changed by Precedent. first: only if none was noted. */
static int run_note(struct look *l, uint32_t jobid, uint32_t limit_min, bool first)
{
	struct store_run run;
	int rc = store_run_get(l->env->store, jobid, &run, &l->why);

	if (rc <= 0 || run.end_state[0] || (first && run.limit_min != DURATION_UNSET))
		return rc < 0 ? -1 : 0;
	if (l->env->counts)
		l->env->counts->limited += run.limit_min == DURATION_UNSET && limit_min != DURATION_UNSET;
	run.limit_min = limit_min;
	return store_run_put(l->env->store, &run, &l->why);
}

static int limit_set(struct look *l, const struct cluster_job *job, uint32_t limit_min, const char *what)
{
	const struct cluster_ops *ops = l->env->ops;
	char from[DURATION_TEXT_MAX], to[DURATION_TEXT_MAX];
	struct errbuf why;

	duration_format_minutes(from, sizeof(from), job->limit_min);
	duration_format_minutes(to, sizeof(to), limit_min);
	if (ops->set_limit(ops->arg, job->job_id, limit_min, NULL, &why) < 0) {
		daemon_say(l->env, LOG_LEVEL_WARN, "job %u: limit cannot be %s from %s to %s: %s", job->job_id, what, from, to, why.text);
		return -1;
	}
	daemon_say(l->env, LOG_LEVEL_INFO, "job %u: limit %s from %s to %s", job->job_id, what, from, to);
	return 0;
}

/* The store first: if the daemon dies in between, a short limit is still known to be ours. */
static int shorten(struct look *l, const struct store_limit *row, const struct cluster_job *job, uint32_t limit_min)
{
	struct store_limit next = *row;

	next.set_min = limit_min;
	next.seen = next.soft = false;
	if (store_limit_put(l->env->store, &next, &l->why) < 0)
		return -1;
	return limit_set(l, job, limit_min, "set") < 0 ? store_limit_put(l->env->store, row, &l->why) : 0;
}

/* A refused restoration is tried again with each look. The job reaches its user's limit in any case. */
static int restore(struct look *l, const struct store_limit *row, const struct cluster_job *job)
{
	if (limit_set(l, job, row->asked_min, "restored") < 0)
		return 0;
	if (run_note(l, job->job_id, row->asked_min, false) < 0)
		return -1;
	return store_limit_drop(l->env->store, row->jobid, &l->why);
}

static int forget(struct look *l, const struct store_limit *row, const struct cluster_job *job)
{
	if (job && job->phase != CLUSTER_ENDED) {
		daemon_say(l->env, LOG_LEVEL_INFO, "job %u: its limit was changed by somebody else, and is left alone", row->jobid);
		if (run_note(l, row->jobid, DURATION_UNSET, false) < 0)
			return -1;
	}
	return store_limit_drop(l->env->store, row->jobid, &l->why);
}

static int row_follow(struct look *l, const struct store_limit *row)
{
	const struct cluster_job *job = cluster_job_find(l->snap, row->jobid);
	/* The mode of the job was decided at submission. */
	enum limit_guard guard = conf_guard(l->env->conf, l->table->soft_works);
	struct store_limit seen = *row;
	struct overtime o;
	uint32_t limit_min;

	if (!job || job->submit_time < row->submit_time)
		return forget(l, row, NULL);
	o = overtime_of(l->table, job->partition);
	/* A limit that was shortened before the guard was changed is restored first. */
	if (row->set_min == DURATION_UNSET ? guard == GUARD_SOFT : row->soft)
		return limit_soft_follow(l->env, row, job,
					 guard == GUARD_SOFT && l->table->soft_works &&
						 !limit_meets_reservation(job, row, &o, daemon_period_s(l->env), l->now),
					 &l->why);
	switch (limit_overtime_judge(row, job, &o, guard == GUARD_OVERTIME, daemon_period_s(l->env), l->now, &limit_min)) {
	case LIMIT_OVERTIME_SHORTEN:
		return shorten(l, row, job, limit_min);
	case LIMIT_OVERTIME_RESTORE:
		return restore(l, row, job);
	case LIMIT_OVERTIME_FORGET:
		return forget(l, row, job);
	case LIMIT_OVERTIME_LEAVE:
		break;
	}
	if (row->seen || job->limit_min != row->set_min)
		return 0;
	seen.seen = true;
	return run_note(l, row->jobid, job->limit_min, true) < 0 ? -1 : store_limit_put(l->env->store, &seen, &l->why);
}

int limit_overtime_meet(const struct daemon_env *env, const struct cluster_job *job, struct errbuf *errp)
{
	const struct job_comment *c = job->ours;
	struct store_limit row = {.jobid = job->job_id, .submit_time = job->submit_time, .asked_min = c->user_limit_min,
				  .wish_min = c->wish_min, .set_min = DURATION_UNSET};

	if (env->conf->limit_guard == GUARD_RAISE || c->wish_min == DURATION_UNSET || c->user_limit_min >= DURATION_UNSET ||
	    c->limit_min != DURATION_UNSET || job->limit_min != c->user_limit_min || job->phase == CLUSTER_ENDED)
		return 0;
	return store_limit_put(env->store, &row, errp);
}

void limit_overtime_poll(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now)
{
	struct overtime_table table = {0};
	struct look l = {.env = env, .snap = snap, .table = &table, .now = now, .why = {""}};
	struct store_limit *rows = NULL;
	size_t n = 0;

	if (!env->store)
		return;
	if (store_limits_load(env->store, &rows, &n, &l.why) < 0 || (n && env->ops->overtime(env->ops->arg, &table, &l.why) < 0)) {
		daemon_say(env, LOG_LEVEL_WARN, "limits stay as they are: %s", l.why.text);
		n = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (row_follow(&l, &rows[i]) < 0)
			daemon_say(env, LOG_LEVEL_WARN, "job %u: limit: %s", rows[i].jobid, l.why.text);
	free(rows);
}
