/* SPDX-License-Identifier: GPL-2.0-or-later */
/* First the trigger, then the limit: see lower.h. */
#include <math.h>
#include <stdlib.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/limits/lower.h"
#include "predictor/store/runs.h"

/* A job whose trigger is set and whose limit is not as yet. */
struct waiting {
	uint32_t job_id;
	int64_t submit_time;
	int64_t armed; /* slurmctld has had its trigger since then at least; later than now: tried in vain */
};

struct limit_lower {
	size_t n, n_next, room;
	struct waiting *waiting, *next; /* by job id; of the last look, and as this one leaves them */
	int64_t checked;		/* 0: there is doubt */
	int64_t pause_until;
};

/* One look. */
struct look {
	struct limit_lower *s;
	const struct daemon_env *env;
	const struct cluster_snapshot *snap;
	int64_t now;
	uint32_t *armed; /* ids, ascending */
	size_t n_armed;
	double until_ms;
	bool may_lower;
	unsigned failed, tried;
	struct errbuf why;
};

struct limit_lower *limit_lower_create(void)
{
	return calloc(1, sizeof(struct limit_lower));
}

void limit_lower_destroy(struct limit_lower *s)
{
	if (!s)
		return;
	free(s->waiting);
	free(s->next);
	free(s);
}

void limit_lower_doubt(struct limit_lower *s)
{
	if (s)
		s->checked = s->pause_until = 0;
}

/* ---- which jobs ---- */

static bool is_saved(const struct cluster_job *job, int64_t now)
{
	int64_t since = job->array_job ? job->start_time : job->submit_time;

	return now - since >= LIMIT_LOWER_SAVED_S;
}

/* It must not be in need of more time at once. */
static bool has_time(const struct cluster_job *job, uint32_t limit_min, uint32_t poll_interval_s, int64_t now)
{
	double ran_s = (double)(now - job->start_time) - job->suspended_s;

	return limit_min * 60.0 - ran_s > limit_raise_threshold_s(poll_interval_s, limit_min) + 2.0 * poll_interval_s;
}

bool limit_lower_is_due(const struct cluster_job *job, const struct job_comment *c, uint32_t poll_interval_s, int64_t now)
{
	/* A plan by similar runs (plugin/decide_similar.c) shortens no limit. */
	if (c->act != ACT_PREDICT || c->wish_min == DURATION_UNSET || c->wish_min == DURATION_UNLIMITED || c->limit_min != DURATION_UNSET ||
	    c->user_limit_min == DURATION_UNSET || c->wish_min >= c->user_limit_min || job->limit_min != c->user_limit_min ||
	    job->time_min_min > c->wish_min)
		return false;
	if (job->phase == CLUSTER_RUNNING)
		return is_saved(job, now) && has_time(job, c->wish_min, poll_interval_s, now);
	/* Waiting tasks of an array share one job record: they would get the limit, but not the trigger. */
	return job->phase == CLUSTER_PENDING && !job->array_job && !job->barred && is_saved(job, now);
}

static bool is_due(const struct look *l, const struct cluster_job *job)
{
	return job->ours && limit_lower_is_due(job, job->ours, daemon_period_s(l->env), l->now);
}

static bool is_short(const struct cluster_job *job)
{
	return job->phase != CLUSTER_ENDED && job->ours && limit_is_ours(job, job->ours);
}

/* ---- triggers ---- */

static int compare_id(const void *key, const void *element)
{
	uint32_t x = *(const uint32_t *)key, y = *(const uint32_t *)element;

	return (x > y) - (x < y);
}

static bool is_armed(const struct look *l, uint32_t job_id)
{
	return l->n_armed && bsearch(&job_id, l->armed, l->n_armed, sizeof(*l->armed), compare_id);
}

static bool time_left(const struct look *l)
{
	return l->env->ops->clock_ms(l->env->ops->arg) < l->until_ms;
}

static int trigger_set(struct look *l, const struct cluster_job *job)
{
	l->tried++;
	if (l->env->ops->arm(l->env->ops->arg, job->job_id, LIMIT_RAISE_ARM_S, &l->why) == 0)
		return 0;
	l->failed++;
	return -1;
}

/* Jobs with a lowered limit first: a slurmctld that was killed may have lost their triggers. */
static void check_short(struct look *l)
{
	for (size_t i = 0; i < l->snap->n; i++) {
		const struct cluster_job *job = &l->snap->jobs[i];

		if (!is_short(job) || is_armed(l, job->job_id))
			continue;
		if (!time_left(l))
			return;
		trigger_set(l, job);
	}
	if (!l->failed)
		l->s->checked = l->now;
}

/* ---- limits ---- */

/* At once: `precedent queue` takes another limit for the user's. */
static void note_limit(const struct look *l, uint32_t job_id, uint32_t limit_min)
{
	struct store_run run;
	struct errbuf why;

	if (!l->env->store || store_run_get(l->env->store, job_id, &run, &why) <= 0 || run.end_state[0] || run.limit_min != DURATION_UNSET)
		return;
	run.limit_min = limit_min;
	if (store_run_put(l->env->store, &run, &why) == 0 && l->env->counts)
		l->env->counts->limited++;
}

static void set_limit(struct look *l, const struct cluster_job *job, struct waiting *w)
{
	const struct job_comment *c = job->ours;
	char from[DURATION_TEXT_MAX], to[DURATION_TEXT_MAX], buf[LIMIT_COMMENT_MAX];
	uint32_t limit = c->wish_min;
	const char *comment = limit_comment(job, &limit, buf);
	struct errbuf why;

	if (!comment) /* no room to say so */
		return;
	duration_format_minutes(from, sizeof(from), job->limit_min);
	duration_format_minutes(to, sizeof(to), limit);
	if (l->env->ops->set_limit(l->env->ops->arg, job->job_id, limit, comment, &why) < 0) {
		w->armed = l->now + LIMIT_LOWER_RETRY_S;
		daemon_say(l->env, LOG_LEVEL_WARN, "job %u: limit cannot be set from %s to %s: %s", job->job_id, from, to, why.text);
		return;
	}
	daemon_say(l->env, LOG_LEVEL_INFO, "job %u: limit set from %s to %s, key %.8s", job->job_id, from, to, c->key);
	note_limit(l, job->job_id, limit);
}

static struct waiting *remembered(const struct look *l, const struct cluster_job *job)
{
	struct limit_lower *s = l->s;
	struct waiting *w = s->n ? bsearch(&job->job_id, s->waiting, s->n, sizeof(*w), compare_id) : NULL;

	return w && w->submit_time == job->submit_time && w->armed <= l->now + LIMIT_LOWER_RETRY_S ? w : NULL;
}

/* The next step for a job with a wished limit. */
static void follow_wish(struct look *l, const struct cluster_job *job)
{
	const struct waiting *before = remembered(l, job);
	struct waiting w = {job->job_id, job->submit_time, before ? before->armed : l->now};

	if (!is_armed(l, job->job_id)) {
		if (l->now < l->s->pause_until || l->n_armed + l->tried >= LIMIT_LOWER_TRIGGERS_MAX || !time_left(l) ||
		    trigger_set(l, job) < 0)
			return;
		w.armed = l->now;
	} else if (l->now - w.armed >= LIMIT_LOWER_SAVED_S && time_left(l)) {
		set_limit(l, job, &w);
	}
	l->s->next[l->s->n_next++] = w;
}

static int make_room(struct limit_lower *s, size_t n)
{
	struct waiting *more;

	if (n <= s->room)
		return 0;
	more = realloc(s->waiting, n * sizeof(*more));
	if (!more)
		return -1;
	s->waiting = more;
	more = realloc(s->next, n * sizeof(*more));
	if (!more)
		return -1;
	s->next = more;
	s->room = n;
	return 0;
}

static void follow_wishes(struct look *l)
{
	struct limit_lower *s = l->s;
	struct waiting *swap;

	s->n_next = 0;
	for (size_t i = 0; i < l->snap->n; i++) {
		if (is_due(l, &l->snap->jobs[i]))
			follow_wish(l, &l->snap->jobs[i]);
	}
	swap = s->waiting;
	s->waiting = s->next;
	s->next = swap;
	s->n = s->n_next;
}

/* ---- a look ---- */

static size_t count_due(const struct look *l)
{
	size_t n = 0;

	if (!l->may_lower)
		return 0;
	for (size_t i = 0; i < l->snap->n; i++)
		n += is_due(l, &l->snap->jobs[i]);
	return n;
}

static bool check_is_due(const struct look *l)
{
	return !l->s->checked || l->now - l->s->checked >= LIMIT_LOWER_CHECK_S || l->now < l->s->checked;
}

static void limits_poll(struct look *l)
{
	const struct cluster_ops *ops = l->env->ops;
	double period_s = daemon_period_s(l->env), poll_s = l->env->conf->poll_interval_s ? l->env->conf->poll_interval_s : 1;
	double budget_ms = fmin(50 * period_s, LIMIT_LOWER_BUDGET_MS * fmax(1, period_s / poll_s)); /* as much of the time with a longer period */
	bool check = check_is_due(l);
	size_t n = count_due(l);

	if (!n)
		l->s->n = 0;
	if ((!n && !check) || make_room(l->s, n) < 0)
		return;
	if (ops->armed(ops->arg, LIMIT_RAISE_ARM_S, &l->armed, &l->n_armed, &l->why) < 0) {
		if (l->now >= l->s->pause_until)
			daemon_say(l->env, LOG_LEVEL_WARN, "slurmctld does not tell its triggers: %s; no limit is set", l->why.text);
		l->s->pause_until = l->now + LIMIT_LOWER_CHECK_S;
		return;
	}
	l->until_ms = ops->clock_ms(ops->arg) + budget_ms;
	if (check)
		check_short(l);
	if (n)
		follow_wishes(l);
	if (!l->failed)
		return;
	l->s->pause_until = l->now + LIMIT_LOWER_CHECK_S;
	daemon_say(l->env, LOG_LEVEL_WARN, "%u of %u triggers for the case that precedentd dies cannot be set: %s", l->failed,
		   l->tried, l->why.text);
}

void limit_lower_poll(struct limit_lower *s, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now,
		      bool may_lower)
{
	struct look l = {.s = s, .env = env, .snap = snap, .now = now, .may_lower = may_lower, .why = {""}};

	if (!s)
		return;
	limits_poll(&l);
	free(l.armed);
}
