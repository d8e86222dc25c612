/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See replan.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/duration.h"
#include "predictor/cluster/places.h"
#include "predictor/limits/raise.h"
#include "predictor/limits/replan.h"
#include "predictor/limits/soft.h"
#include "predictor/store/present.h"

void limit_replan_note(struct limit_replan *r, uint32_t array_job)
{
	if (r->n && r->array_jobs[r->n - 1] == array_job)
		return;
	if (ARRAY_ROOM(r->array_jobs, r->room, r->n + 1) == 0)
		r->array_jobs[r->n++] = array_job;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * Is the job's limit within MaxTime of its partitions? A longer one makes a job wait, and a time_min would start it. given: has
 * the job a limit of its own, or DefaultTime, too? See cap_fits and limit_is_given in plugin/decide.c. The limit in the comment
 * may be that of a partition. Doubt counts as a no.
 */
static int limit_fits(const struct daemon_env *env, const struct cluster_job *job, bool given, struct errbuf *errp)
{
	bool defaults = true, own = true;
	char name[CONF_NAME_MAX];

	for (const char *p = job->partition; *p;) {
		size_t n = strcspn(p, ",");
		struct store_partition part;
		int rc;

		if (!n || n >= sizeof(name))
			return 0;
		memcpy(name, p, n);
		name[n] = '\0';
		rc = store_partition_get(env->store, name, &part, errp);
		if (rc <= 0)
			return rc < 0 ? -1 : !given;
		if (job->limit_min > part.max_min)
			return 0;
		defaults = defaults && part.default_min != DURATION_UNSET;
		own = own && job->limit_min != (part.default_min != DURATION_UNSET ? part.default_min : part.max_min);
		p += n + (p[n] == ',');
	}
	return !given || defaults || own;
}

/*
 * May a job that has no plan get one? If its comment has a wish, it had one, and somebody has changed the job since. The comment
 * of a traced job tells the limit that its user named (plugin/decide.c).
 */
static bool may_begin(const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;

	return c->mode >= MODE_LIMIT && c->wish_min == DURATION_UNSET && c->limit_min == DURATION_UNSET &&
	       c->user_limit_min < DURATION_UNSET && job->limit_min == c->user_limit_min && !job->time_min_min && !job->het &&
	       !job->deadline && !job->barred;
}

/* Nobody else has changed the job since it was planned. */
static bool may_go_on(const struct store_limit *row, const struct cluster_job *job)
{
	return row->submit_time == job->submit_time && row->asked_min == job->limit_min &&
	       (row->soft || row->set_min == DURATION_UNSET) && limit_soft_judge(row, job, true) != LIMIT_SOFT_FORGET;
}

static int plan_anew(const struct daemon_env *env, const struct cluster_job *job, int64_t now, struct errbuf *errp)
{
	const struct store_waiting waits = {job->ours->key, job->uid, job->partition, job->features, true};
	char text[DURATION_TEXT_MAX], comment[LIMIT_COMMENT_MAX];
	struct store_limit row = {.jobid = job->job_id, .submit_time = job->submit_time, .asked_min = job->limit_min,
				  .wish_min = job->limit_min, .set_min = DURATION_UNSET}, known;
	struct store_estimate e;
	int rc = store_limit_get(env->store, job->job_id, &known, errp);
	uint32_t old;
	bool given;

	if (rc > 0)
		row = known;
	given = rc == 0 && job->ours->act != ACT_TRACE;
	rc = rc > 0 ? may_go_on(&row, job) : rc < 0 ? -1 : may_begin(job);
	if (rc > 0)
		rc = limit_fits(env, job, given, errp);
	if (rc > 0)
		rc = store_present(env->store, env->conf, &waits, now, &e, errp);
	if (rc <= 0)
		return rc;
	old = row.wish_min < row.asked_min ? row.wish_min : row.asked_min;
	row.wish_min = places_replan_min(env->conf, e.e.hi_s, row.asked_min, old);
	if (row.wish_min == old || comment_set_wish(job->admin_comment, row.wish_min, comment, sizeof(comment)) < 0)
		return 0;
	duration_format_minutes(text, sizeof(text), row.wish_min);
	daemon_say(env, LOG_LEVEL_INFO, "job %u: tasks of the array have ended, the others are planned with %s", job->job_id,
		   text);
	return store_limit_put(env->store, &row, errp);
}

void limit_replan_poll(struct limit_replan *r, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now)
{
	struct overtime_table table = {0};
	struct errbuf why;
	uint32_t last = 0;
	bool asked = false;

	if (r->n) /* else array_jobs is NULL */
		qsort(r->array_jobs, r->n, sizeof(*r->array_jobs), by_id);
	for (size_t i = 0; i < r->n; i++) {
		const struct cluster_job *job = r->array_jobs[i] == last ? NULL : cluster_job_find(snap, r->array_jobs[i]);

		last = r->array_jobs[i];
		if (!job || job->phase != CLUSTER_PENDING || job->array_job != job->job_id || !job->ours || !job->ours->key[0])
			continue;
		if (!asked && env->ops->overtime(env->ops->arg, &table, &why) < 0)
			break;
		asked = true;
		if (conf_guard(env->conf, table.soft_works) != GUARD_SOFT || !table.soft_works)
			break;
		if (plan_anew(env, job, now, &why) < 0)
			daemon_say(env, LOG_LEVEL_WARN, "job %u: plan of the waiting tasks: %s", job->job_id, why.text);
	}
	free(r->array_jobs);
	*r = (struct limit_replan){0};
}
