/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_evidence.h. Runs are looked at from the latest back, at most LOOK_MAX of them: show is for one job. */
#include <stdlib.h>
#include <string.h>

#include "predictor/accuracy/accuracy.h"
#include "predictor/query/answer_evidence.h"
#include "predictor/accuracy/baseline.h"

#define LOOK_MAX 2000

/* ---- earlier errors ---- */

struct earlier {
	const struct store_run *of;
	struct store_run *list;
	size_t n;
};

static int earlier_add(const struct store_run *r, void *arg)
{
	struct earlier *e = arg;

	if (accuracy_run_counts(r) && r->end_time > 0 && r->end_time < e->of->submit_time)
		e->list[e->n++] = *r;
	return 0;
}

/* key NULL: the whole family. */
static json_t *errors_json(const struct earlier *e, const char *candidate, const char *key)
{
	struct accuracy_sample *samples = calloc(e->n, sizeof(*samples));
	const struct accuracy_sample **list = calloc(e->n, sizeof(*list));
	struct accuracy_row row = {0};
	json_t *o = NULL;
	size_t n = 0;

	for (size_t i = 0; samples && list && i < e->n; i++) {
		if (strcmp(e->list[i].candidate, candidate) || (key && strcmp(e->list[i].key, key)))
			continue;
		accuracy_sample_of(&e->list[i], &samples[n]);
		list[n] = &samples[n];
		n++;
	}
	if (n && accuracy_row_make(list, n, &row, NULL) == 0)
		o = json_pack("{s:I, s:f, s:f, s:I, s:I}", "n", (json_int_t)n, "median_error", row.of[ACCURACY_PRECEDENT].median,
			      "worst_error", row.of[ACCURACY_PRECEDENT].worst, "inside", (json_int_t)row.inside, "under",
			      (json_int_t)row.under);
	free(samples);
	free(list);
	return o;
}

json_t *answer_past_errors(const struct answer_env *env, const struct store_run *r, struct errbuf *errp)
{
	struct store_run_filter f = {.uid = r->uid, .family = r->family[0] ? r->family : NULL, .finished = true, .predicted = true,
				     .max = LOOK_MAX};
	struct earlier e = {.of = r, .list = f.family ? calloc(LOOK_MAX, sizeof(*e.list)) : NULL};
	json_t *all = json_object();

	if (f.family && !e.list) {
		err_set(errp, "no memory");
		goto fail;
	}
	if (f.family && store_runs_each(env->store, &f, earlier_add, &e, errp) < 0)
		goto fail;
	for (size_t i = 0; i < e.n; i++) {
		const char *name = e.list[i].candidate;
		json_t *o, *family, *job;

		if (json_object_get(all, name))
			continue;
		family = errors_json(&e, name, NULL);
		job = errors_json(&e, name, r->key);
		o = json_pack("{s:o?, s:o?}", "job", job, "family", family);
		if (!o || json_object_set_new(all, name, o) < 0)
			break; /* a name that is no UTF-8, or no memory: it goes without */
	}
	free(e.list);
	return all;
fail:
	free(e.list);
	json_decref(all);
	return NULL;
}

/* ---- baselines ---- */

struct lookback {
	const struct store_run *of;
	struct baseline_run runs[LOOK_MAX + 1];
	size_t n, at; /* at: of the run itself; LOOK_MAX + 1 until it was seen */
};

static int lookback_add(const struct store_run *r, void *arg)
{
	struct lookback *l = arg;
	struct baseline_run *b = &l->runs[l->n];
	bool seen = r->end_state[0] && strcmp(r->end_state, "UNKNOWN") && strcmp(r->end_state, "REQUEUED");

	*b = (struct baseline_run){.jobid = r->jobid, .uid = r->uid, .submit_time = r->submit_time, .end_time = seen ? r->end_time : 0,
				   .elapsed_s = r->elapsed_s};
	baseline_key(r->key, b->key);
	if (r->jobid == l->of->jobid && r->submit_time == l->of->submit_time)
		l->at = l->n;
	l->n++;
	return 0;
}

static json_t *seconds_or_null(double s, double request_s)
{
	return s <= 0 ? json_null() : json_real(request_s > 0 && s > request_s ? request_s : s);
}

json_t *answer_baselines(const struct answer_env *env, const struct store_run *r, struct errbuf *errp)
{
	struct store_run_filter f = {.uid = r->uid, .max = LOOK_MAX};
	struct lookback *l = calloc(1, sizeof(*l));
	struct baseline *said = calloc(LOOK_MAX + 1, sizeof(*said)), mine = {0, 0};
	struct accuracy_sample own;
	json_t *o = NULL;

	if (!l || !said) {
		err_set(errp, "no memory");
		goto out;
	}
	l->of = r;
	l->at = LOOK_MAX + 1;
	if (store_runs_each(env->store, &f, lookback_add, l, errp) < 0 || baseline_compute(l->runs, l->n, said, errp) < 0)
		goto out;
	if (l->at < l->n)
		mine = said[l->at];
	accuracy_sample_of(r, &own);
	o = json_pack("{s:o, s:o, s:o}", "request", seconds_or_null(own.said_s[ACCURACY_REQUEST], 0), "last_two_user",
		      seconds_or_null(mine.user_s, own.said_s[ACCURACY_REQUEST]), "last_two_job",
		      seconds_or_null(mine.key_s, own.said_s[ACCURACY_REQUEST]));
out:
	free(l);
	free(said);
	return o;
}
