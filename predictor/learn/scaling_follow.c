/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model over inputs of a kin, anew after each run of it: see scaling_follow.h; the fit is in scaling_fit.c. On a candidate
 * where too few of them have run, what the skeletons of the others gave there stands in for runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/scaling_follow.h"
#include "predictor/estimate/param_family.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/learn/past_accuracy.h"

#define MEMBERS_MAX  SCALING_POINTS_MAX
#define OWN_MAX	     (SCALING_RUNS_MAX - MEMBERS_MAX)
#define PROBED_WORDS "in part from what the skeletons of runs elsewhere gave there"

struct looks {
	const struct daemon_env *env;
	const struct store_run *run;
	int64_t now;
	struct scaling_runs own; /* tasks of arrays have one input more: what ran last says of which the model is */
	/* Programs that have not run there, and have an estimate for it. */
	struct store_past elsewhere[SCALING_RUNS_MAX];
	size_t n_members;
	double width; /* sum of their relative half widths */
	struct scaling_model model;
};

static bool has_run(const struct looks *l, const char *key)
{
	for (size_t i = 0; i < l->own.n; i++)
		if (!strcmp(l->own.runs[i].key, key))
			return true;
	return false;
}

/* 1 taken, 0 it has no estimate there, -1 fault. */
static int member_take(struct looks *l, const struct store_past *p, const char *candidate, struct errbuf *errp)
{
	struct store_lookup found;
	int rc = store_lookup(l->env->store, p->key, &found, errp);

	for (unsigned i = 0; rc == 1 && i < found.n_estimates; i++) {
		const struct estimate *e = &found.estimates[i].e;

		if (strcmp(found.estimates[i].candidate, candidate) || found.estimates[i].stale || estimate_check(e, NULL) < 0)
			continue;
		l->own.runs[l->own.n++] = (struct param_family_run){p->key, p->vars, e->mean_s, false};
		l->n_members++;
		l->width += (e->hi_s - e->lo_s) / 2 / e->mean_s;
		return 1;
	}
	return rc < 0 ? -1 : 0;
}

static int members_take(struct looks *l, const char *candidate, struct errbuf *errp)
{
	const struct precedent_conf *conf = l->env->conf;
	size_t used = 0;

	l->own.n = l->own.n < OWN_MAX ? l->own.n : OWN_MAX; /* or they leave no room */
	l->n_members = 0;
	l->width = 0;
	for (size_t c = 0; c < conf->n_candidates; c++) {
		struct store_past_filter f = {.candidate = conf->candidates[c].name, .kin = l->run->kin};
		int n;

		if (!strcmp(f.candidate, candidate) || used == SCALING_RUNS_MAX)
			continue;
		n = store_past_read(l->env->store, &f, l->elsewhere + used, SCALING_RUNS_MAX - used, errp);
		for (int i = 0; i < n && l->n_members < MEMBERS_MAX; i++) {
			const struct store_past *p = &l->elsewhere[used + (size_t)i];

			if (p->vars[0] && !p->array_job && !has_run(l, p->key) && member_take(l, p, candidate, errp) < 0)
				return -1;
		}
		if (n < 0)
			return -1;
		used += (size_t)n;
	}
	return 0;
}

static int row_put(struct looks *l, const char *candidate, const char *reason, struct errbuf *errp)
{
	struct store_model row = {.runs = l->model.runs, .points = l->model.points, .scale = 1, .updated = l->now};
	struct past_accuracy *accuracy = past_accuracy_gather(l->env->store, l->run->uid, l->run->family, NULL, candidate, errp);

	if (!accuracy)
		return -1;
	row.scale = past_accuracy_scale(accuracy, ESTIMATE_MODEL);
	past_accuracy_free(accuracy);
	memcpy(row.kin, l->run->kin, sizeof(row.kin));
	snprintf(row.candidate, sizeof(row.candidate), "%s", candidate);
	snprintf(row.reason, sizeof(row.reason), "%.300s", reason);
	scaling_format(&l->model, row.law, sizeof(row.law));
	if (!row.law[0] && !row.reason[0])
		snprintf(row.reason, sizeof(row.reason), "the model is too long to be kept");
	return store_model_put(l->env->store, &row, errp);
}

/* Skeletons err together: what they claim of themselves comes on top of what the fit shows. */
static void model_widen(struct scaling_model *model, double rel)
{
	for (unsigned i = 0; i < model->n_shapes; i++)
		model->s[i].error = hypot(model->s[i].error, rel / 2);
}

static int candidate_fit(struct looks *l, const char *candidate, struct errbuf *errp)
{
	struct scaling_runs_filter of = {l->run->kin, candidate, l->run->array_job != 0, NULL, 0};
	struct errbuf why = {""}, probed;
	struct drift drift;

	if (store_drift_get(l->env->store, l->run->kin, candidate, &drift, errp) < 0)
		return -1;
	of.since = of.array ? 0 : drift.since;
	if (scaling_runs_read(l->env->store, &of, &l->own, errp) < 0)
		return -1;
	if (scaling_fit(l->own.runs, l->own.n, &l->model, &why) == 0)
		why.text[0] = '\0';
	else if (of.since)
		err_prefix(&why, "the last runs were not as the model said, and what ran before counts no more");
	else if (l->model.points < SCALING_POINTS_MIN && !l->run->array_job) {
		if (members_take(l, candidate, errp) < 0)
			return -1;
		if (l->n_members && scaling_fit(l->own.runs, l->own.n, &l->model, &probed) == 0) {
			model_widen(&l->model, l->width / (double)l->n_members);
			err_set(&why, PROBED_WORDS);
		}
	}
	l->model.array = l->run->array_job != 0;
	/* of most programs there is but one, and nothing to be kept; where there was a model it must not stay */
	return l->model.points >= PARAM_FAMILY_PROGRAMS_MIN || of.since ? row_put(l, candidate, why.text, errp) : 0;
}

static int follow_candidates(const struct daemon_env *env, const struct store_run *run, bool all, int64_t now, struct errbuf *errp)
{
	struct looks *l;
	int rv = 0;

	if (!run->kin[0] || !run->vars[0])
		return 0;
	l = malloc(sizeof(*l));
	if (!l)
		return err_set(errp, "no memory for past runs");
	l->env = env;
	l->run = run;
	l->now = now;
	for (size_t c = 0; all && !rv && c < env->conf->n_candidates; c++)
		rv = candidate_fit(l, env->conf->candidates[c].name, errp);
	if (!all)
		rv = candidate_fit(l, run->candidate, errp);
	free(l);
	return rv < 0 ? -1 : 0;
}

int scaling_follow(const struct daemon_env *env, const struct store_run *run, int64_t now, struct errbuf *errp)
{
	return follow_candidates(env, run, false, now, errp);
}

int scaling_follow_probed(const struct daemon_env *env, const struct store_program *p, int64_t now, struct errbuf *errp)
{
	struct store_run run;
	int rc = store_run_get(env->store, p->source_job, &run, errp);

	if (rc <= 0 || strcmp(run.key, p->key) || run.uid != p->uid)
		return rc < 0 ? -1 : 0;
	return follow_candidates(env, &run, true, now, errp);
}
