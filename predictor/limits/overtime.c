/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits shortened by no more than OverTimeLimit: see overtime.h. */
#include <stdlib.h>

#include "common/duration.h"
#include "predictor/limits/overtime.h"
#include "predictor/limits/raise.h"
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

/* A plan by similar runs (plugin/decide_similar.c) shortens no limit. */
static bool may_be_short(const struct cluster_job *job, const struct store_limit *row)
{
	return comment_is_whole(job, row) && job->ours->act == ACT_PREDICT && !job->het && !job->barred && !job->time_min_min && !job->deadline;
}

/* Tasks of an array that wait share one job record. */
static bool may_shorten_now(const struct cluster_job *job, uint32_t limit_min, uint32_t period_s, int64_t now)
{
	if (job->phase == CLUSTER_PENDING)
		return !job->array_job;
	return job->phase == CLUSTER_RUNNING && ran_s(job, now) + 2 * period_s < 60.0 * limit_min;
}

/* slurmctld moves no end into the past: once U - O is over, a lower limit ends a job OverTimeLimit from now on. */
static bool least_is_near(const struct cluster_job *job, uint32_t least_min, uint32_t period_s, int64_t now)
{
	return job->phase == CLUSTER_RUNNING && 60.0 * least_min - ran_s(job, now) < LIMIT_OVERTIME_END_S + 2.0 * period_s &&
	       ran_s(job, now) < 60.0 * job->limit_min;
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
		return least < row->set_min && row->asked_min > o->overtime_min && least_is_near(job, least, period_s, now)
			       ? LIMIT_OVERTIME_SHORTEN
			       : LIMIT_OVERTIME_LEAVE;
	}
	if (job->limit_min != row->asked_min)
		return LIMIT_OVERTIME_FORGET;
	*limit_min = row->wish_min > least ? row->wish_min : least;
	return may_shorten && allowed && !row->seen && *limit_min < row->asked_min && may_shorten_now(job, *limit_min, period_s, now)
		       ? LIMIT_OVERTIME_SHORTEN
		       : LIMIT_OVERTIME_LEAVE;
}

/* ---- a look ---- */

struct look {
	const struct daemon_env *env;
	const struct cluster_snapshot *snap;
	struct overtime_table *table;
	int64_t now;
	struct limit_tally tally;
	double until_ms; /* when no further limit is changed */
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
	struct errbuf *why = &l->tally.why;

	duration_format_minutes(from, sizeof(from), job->limit_min);
	duration_format_minutes(to, sizeof(to), limit_min);
	if (ops->set_limit(ops->arg, job->job_id, limit_min, NULL, why) < 0) {
		daemon_say(l->env, LOG_LEVEL_WARN, "job %u: limit cannot be %s from %s to %s: %s", job->job_id, what, from, to, why->text);
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
	if (limit_set(l, job, limit_min, "set") == 0) {
		l->tally.obeyed++;
		return run_note(l, job->job_id, limit_min, true); /* at once: `precedent queue` takes another limit for the user's */
	}
	l->tally.refused++;
	return store_limit_put(l->env->store, row, &l->why);
}

/*
 * A refused restoration is tried again with each look. The job reaches its user's limit in any case. The row stays: a slurmctld that
 * is killed before it has saved the limit comes back with the short one.
 */
static int restore(struct look *l, const struct store_limit *row, const struct cluster_job *job)
{
	struct store_limit restored = *row;

	if (limit_set(l, job, row->asked_min, "restored") < 0)
		return 0;
	if (run_note(l, job->job_id, row->asked_min, false) < 0)
		return -1;
	restored.seen = true;
	return store_limit_put(l->env->store, &restored, &l->why);
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

/* A job that asked for more than accounting allows waits, or an administrator lets it run. With less it would start by itself. */
static bool is_too_long(const struct overtime_table *t, const struct cluster_job *job, uint32_t asked_min, uint32_t longest_min)
{
	uint32_t other = t->longest_min ? t->longest_min(job->account, job->qos) : 0;

	return (other && asked_min > other) || (longest_min && asked_min > longest_min);
}

/*
 * Without time_min_as_soft_limit, backfill lowers the limit of a job that it starts, to its time_min at the least. A user who changes
 * the limit takes our time_min away in the same step (the plugin's job_modify).
 */
static bool lowered_by_backfill(const struct store_limit *row, const struct cluster_job *job)
{
	return row->soft && row->set_min != DURATION_UNSET && limit_soft_is_ours(row, job) && job->limit_min < row->asked_min &&
	       job->limit_min >= job->time_min_min && (job->phase == CLUSTER_RUNNING || job->phase == CLUSTER_SUSPENDED);
}

/* Of a burst of jobs, the next look takes the rest. */
static bool is_full(const struct look *l)
{
	return l->tally.refused == LIMIT_OVERTIME_REFUSALS || l->env->ops->clock_ms(l->env->ops->arg) >= l->until_ms;
}

static int soft_follow(struct look *l, const struct store_limit *row, const struct cluster_job *job, const struct overtime *o)
{
	bool may_set = conf_guard(l->env->conf, l->table->soft_works) == GUARD_SOFT && l->table->soft_works &&
		       !limit_meets_reservation(job, row, o, daemon_period_s(l->env), l->now);

	/* An array that is planned anew. A time_min that has to go does not wait. */
	if (row->set_min != DURATION_UNSET && limit_soft_judge(row, job, may_set) == LIMIT_SOFT_SET && is_full(l))
		return 0;
	return limit_soft_follow(l->env, row, job, may_set, &l->tally, &l->why);
}

static int row_follow(struct look *l, const struct store_limit *row)
{
	const struct cluster_job *job = cluster_job_find(l->snap, row->jobid);
	/* The mode of the job was decided at submission. */
	enum limit_guard guard = conf_guard(l->env->conf, l->table->soft_works);
	struct store_limit seen = *row;
	struct overtime o;
	uint32_t limit_min;

	if (!job || job->submit_time < row->submit_time) {
		/* The job may have had this limit. run_lost() asks slurmdbd about shortened runs only. */
		if (row->set_min != DURATION_UNSET && !row->soft && run_note(l, row->jobid, row->set_min, true) < 0)
			return -1;
		return forget(l, row, NULL);
	}
	/* Limits that are changed already do not wait. */
	if (row->set_min == DURATION_UNSET && job->phase != CLUSTER_ENDED && is_full(l))
		return 0;
	o = overtime_of(l->table, job->partition);
	if (is_too_long(l->table, job, row->asked_min, o.longest_min))
		o.overtime_min = 0;
	if (lowered_by_backfill(row, job)) {
		if (run_note(l, row->jobid, job->limit_min, true) < 0)
			return -1;
		return limit_set(l, job, row->asked_min, "restored") < 0 ? 0 : run_note(l, row->jobid, row->asked_min, false);
	}
	/* A limit that was shortened before the guard was changed is restored first. */
	if (limit_soft_is_ours(row, job) || (row->set_min == DURATION_UNSET ? guard == GUARD_SOFT : row->soft))
		return soft_follow(l, row, job, &o);
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

/* ---- EndAtAsked ---- */

bool limit_end_is_due(const struct cluster_job *job, uint32_t asked_min, int64_t now)
{
	int64_t more_s = asked_min > job->limit_min ? 60 * (int64_t)(asked_min - job->limit_min) : 0;

	return job->phase == CLUSTER_RUNNING && asked_min < DURATION_UNSET && job->end_time &&
	       now >= job->end_time + more_s + LIMIT_END_LATE_S && ran_s(job, now) >= 60.0 * asked_min + LIMIT_END_LATE_S;
}

/* The user's limit of a job that this guard or another one has shortened, else the job's. Returns 0, or -1 if the store failed. */
static int asked_find(struct look *l, const struct cluster_job *job, uint32_t *asked_min)
{
	struct store_limit row;
	struct store_run run;
	int row_found = store_limit_get(l->env->store, job->job_id, &row, &l->why);
	int run_found = row_found < 0 ? -1 : store_run_get(l->env->store, job->job_id, &run, &l->why);

	if (run_found < 0)
		return -1;
	*asked_min = job->limit_min;
	if (row_found && row.set_min == job->limit_min && row.asked_min > *asked_min)
		*asked_min = row.asked_min;
	if (run_found && run.limit_min == job->limit_min && run.user_limit_min > *asked_min)
		*asked_min = run.user_limit_min;
	if (job->ours && limit_is_lowered(job->ours) && job->ours->user_limit_min > *asked_min)
		*asked_min = job->ours->user_limit_min;
	return 0;
}

/* Slurm has no other way: a limit that is lowered now ends the job OverTimeLimit later (least_is_near). */
static void job_end(struct look *l, const struct cluster_job *job, uint32_t asked_min)
{
	const struct cluster_ops *ops = l->env->ops;
	char asked[DURATION_TEXT_MAX];
	struct errbuf why;

	duration_format_minutes(asked, sizeof(asked), asked_min);
	if (ops->cancel(ops->arg, job->job_id, &why) < 0)
		daemon_say(l->env, LOG_LEVEL_WARN, "job %u: cannot be ended at its limit of %s: %s", job->job_id, asked, why.text);
	else
		daemon_say(l->env, LOG_LEVEL_INFO, "job %u: cancelled, as its limit of %s is over (EndAtAsked)", job->job_id, asked);
}

/* Reads what has to be known before a job is ended. Returns 1, 0 if none may be ended, or -1 on error. */
static int ends_begin(struct look *l, int64_t *slurm_now)
{
	const struct cluster_ops *ops = l->env->ops;

	if (!l->table->n && ops->overtime(ops->arg, l->table, &l->why) < 0)
		return -1;
	if (conf_guard(l->env->conf, l->table->soft_works) != GUARD_OVERTIME)
		return 0;
	*slurm_now = ops->time_s(ops->arg);
	return *slurm_now ? 1 : err_set(&l->why, "slurmctld does not tell its time");
}

/* A job has had its time by the clocks of both, this host and slurmctld's. */
static int ends_follow(struct look *l)
{
	unsigned ended = 0;
	int64_t slurm_now = 0;
	uint32_t asked_min;

	for (size_t i = 0; i < l->snap->n && ended < LIMIT_ENDS_A_LOOK; i++) {
		const struct cluster_job *job = &l->snap->jobs[i];

		if (!limit_end_is_due(job, job->limit_min, l->now))
			continue;
		if (!slurm_now) {
			int rc = ends_begin(l, &slurm_now);

			if (rc <= 0)
				return rc;
		}
		if (!overtime_of(l->table, job->partition).run_on)
			continue;
		if (asked_find(l, job, &asked_min) < 0)
			return -1;
		if (limit_end_is_due(job, asked_min, l->now) && limit_end_is_due(job, asked_min, slurm_now)) {
			job_end(l, job, asked_min);
			ended++;
		}
	}
	return 0;
}

/* For precedent doctor: a job_submit plugin of the site may refuse all changes. */
static void note_refusal(struct look *l)
{
	struct limit_tally *t = &l->tally;

	if ((t->obeyed || t->refused) &&
	    store_limits_note_set(l->env->store, STORE_LIMITS_REFUSED, t->obeyed ? "" : t->why.text, &l->why) < 0)
		daemon_say(l->env, LOG_LEVEL_WARN, "limits: %s", l->why.text);
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
	if (n)
		l.until_ms = env->ops->clock_ms(env->ops->arg) + LIMIT_OVERTIME_MS_IN_S * daemon_period_s(env);
	/* Each look begins elsewhere: the same jobs may be refused each time. */
	for (size_t i = 0; i < n; i++) {
		const struct store_limit *row = &rows[(i + ((uint32_t)now * 2654435761u >> 8)) % n];

		if (row_follow(&l, row) < 0)
			daemon_say(env, LOG_LEVEL_WARN, "job %u: limit: %s", row->jobid, l.why.text);
	}
	note_refusal(&l);
	if (env->conf->end_at_asked && ends_follow(&l) < 0)
		daemon_say(env, LOG_LEVEL_WARN, "jobs run on by OverTimeLimit: %s", l.why.text);
	free(rows);
}
