/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fits the model over inputs of a parameter family again after each run: see scaling_follow.h; the fit is in
 * estimate/scaling_fit.c. On a candidate with too few runs, the estimates of other members from their skeletons there stand in
 * for runs. On a candidate without computed points, the points of another candidate count. The fit scales them by their ratio to
 * the runs and estimates there. The spread of these ratios makes the intervals wider.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/scaling_follow.h"
#include "predictor/estimate/combine.h"
#include "predictor/estimate/param_family.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/learn/past_accuracy.h"
#include "predictor/store/evidence.h"
#include "predictor/store/kin.h"
#include "predictor/store/points.h"
#include "predictor/store/records.h"

#define MEMBERS_MAX  SCALING_POINTS_MAX
#define OWN_MAX	     (SCALING_RUNS_MAX - MEMBERS_MAX)
#define COMPUTED_WORDS "in part to %u points computed by the program's model from its traces"
#define PROBED_WORDS "in part from what the skeletons of runs elsewhere gave there"
#define ELSEWHERE_WORDS "in part to %s%u points computed for another partition"
#define SKELETONS_WORDS "skeletons of runs elsewhere and " /* one line of explain */

/* One fit on one candidate. */
struct fitting {
	struct ended_run *run;
	/* Its members' runs; behind them what the skeletons of members gave that have not run there. */
	struct param_family_run runs[SCALING_RUNS_MAX];
	size_t n;
	struct store_past elsewhere[SCALING_RUNS_MAX]; /* runs of such members, which `runs` borrows from */
	size_t n_members;
	double width; /* sum of their relative half widths */
	struct store_points computed; /* `points` borrows from here */
	bool computed_elsewhere;      /* on another candidate */
	struct scaling_point points[RESULT_MAX_POINTS];
	struct scaling_model model;
	struct store_model kept[STORE_ESTIMATES_MAX]; /* the laws before */
};

static bool has_run(const struct fitting *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->runs[i].key, key))
			return true;
	return false;
}

static bool is_probed(const struct estimate *e)
{
	return e->kind == ESTIMATE_SKELETON || e->kind == ESTIMATE_PARTIAL;
}

/* The probes' part of an estimate: a model must not be fitted to an earlier model. 1 found, 0 no probes, -1 fault. */
static int probed_get(struct store *s, const char *key, const struct store_estimate *row, struct estimate *out, struct errbuf *errp)
{
	struct combine_part part[COMBINE_PARTS];
	int n;

	*out = row->e;
	if (is_probed(out))
		return 1;
	n = store_evidence_get(s, key, row->candidate, part, COMBINE_PARTS, errp);
	for (int i = 0; i < n; i++) {
		*out = part[i].e;
		if (is_probed(out))
			return 1;
	}
	return n < 0 ? -1 : 0;
}

/* 1 taken, 0 its probes gave no estimate there, -1 fault. */
static int member_take(struct fitting *f, const struct store_past *p, struct errbuf *errp)
{
	struct store_lookup found;
	struct estimate e;
	int rc = store_lookup(f->run->env->store, p->key, &found, errp);

	for (unsigned i = 0; rc == 1 && i < found.n_estimates; i++) {
		int known;

		if (strcmp(found.estimates[i].candidate, f->run->row->candidate) || found.estimates[i].stale)
			continue;
		known = probed_get(f->run->env->store, p->key, &found.estimates[i], &e, errp);
		if (known <= 0 || estimate_check(&e, NULL) < 0)
			return known < 0 ? -1 : 0;
		f->runs[f->n++] = (struct param_family_run){p->key, p->vars, e.mean_s, false};
		f->n_members++;
		f->width += (e.hi_s - e.lo_s) / 2 / e.mean_s;
		return 1;
	}
	return rc < 0 ? -1 : 0;
}

static int members_take(struct fitting *f, struct errbuf *errp)
{
	const struct precedent_conf *conf = f->run->env->conf;
	size_t used = 0;

	f->n = f->n < OWN_MAX ? f->n : OWN_MAX; /* or they leave no room */
	for (size_t c = 0; c < conf->n_candidates; c++) {
		struct store_past_filter of = {.candidate = conf->candidates[c].name, .kin = f->run->row->kin};
		int n;

		if (!strcmp(of.candidate, f->run->row->candidate) || used == SCALING_RUNS_MAX)
			continue;
		n = store_past_read(f->run->env->store, &of, f->elsewhere + used, SCALING_RUNS_MAX - used, errp);
		for (int i = 0; i < n && f->n_members < MEMBERS_MAX; i++) {
			const struct store_past *p = &f->elsewhere[used + (size_t)i];

			if (p->vars[0] && !p->array_job && !has_run(f, p->key) && member_take(f, p, errp) < 0)
				return -1;
		}
		if (n < 0)
			return -1;
		used += (size_t)n;
	}
	return 0;
}

static int row_put(struct fitting *f, const char *reason, struct errbuf *errp)
{
	struct store_model row = {.runs = f->model.runs, .points = f->model.points, .scale = 1, .updated = f->run->now};
	const struct past_accuracy *accuracy = ended_run_accuracy(f->run, errp);

	if (!accuracy)
		return -1;
	row.scale = past_accuracy_scale(accuracy, ESTIMATE_MODEL);
	memcpy(row.kin, f->run->row->kin, sizeof(row.kin));
	snprintf(row.candidate, sizeof(row.candidate), "%s", f->run->row->candidate);
	snprintf(row.reason, sizeof(row.reason), "%.300s", reason);
	scaling_format(&f->model, row.law, sizeof(row.law));
	if (!row.law[0] && !row.reason[0])
		snprintf(row.reason, sizeof(row.reason), "the model is too long to be kept");
	return store_model_put(f->run->env->store, &row, errp);
}

/* The half widths of the skeletons' estimates are added to the error of the fit, as skeletons err together. */
static void model_widen(struct scaling_model *model, double rel)
{
	for (unsigned i = 0; i < model->n_shapes; i++)
		model->s[i].error = hypot(model->s[i].error, rel / 2);
}

/*
 * Of a candidate, but for points from traces of runs that count no more. If it has none, out->updated is since when no older points
 * count: a later probe could compute none, or later runs were not as before. 0: older ones count.
 */
static int points_get(struct fitting *f, const char *candidate, struct store_points *out, struct errbuf *errp)
{
	struct store *s = f->run->env->store;
	struct drift drift;

	if (store_drift_get(s, f->run->row->kin, candidate, &drift, errp) < 0 ||
	    store_points_get(s, f->run->row->kin, candidate, out, errp) < 0)
		return -1;
	if (out->updated < drift.since) {
		out->n = 0;
		out->updated = drift.since;
	}
	return 0;
}

/* The latest ones of another candidate that still count here. */
static int points_elsewhere(struct fitting *f, struct errbuf *errp)
{
	const struct precedent_conf *conf = f->run->env->conf;
	struct store_points there;

	for (size_t c = 0; c < conf->n_candidates; c++) {
		if (!strcmp(conf->candidates[c].name, f->run->row->candidate))
			continue;
		if (points_get(f, conf->candidates[c].name, &there, errp) < 0)
			return -1;
		if (there.n && there.updated >= f->computed.updated) {
			f->computed = there;
			f->computed_elsewhere = true;
		}
	}
	return 0;
}

static int points_read(struct fitting *f, struct errbuf *errp)
{
	if (f->run->row->array_job)
		return 0;
	if (points_get(f, f->run->row->candidate, &f->computed, errp) < 0 || (!f->computed.n && points_elsewhere(f, errp) < 0))
		return -1;
	for (unsigned i = 0; i < f->computed.n; i++)
		f->points[i] = (struct scaling_point){f->computed.p[i].vars, f->computed.p[i].seconds, f->computed.p[i].claim};
	return 0;
}

/* What the model was fitted to beside runs, in words. "": nothing. */
static void remark_put(const struct fitting *f, struct errbuf *out)
{
	out->text[0] = '\0';
	if (f->model.computed && f->computed_elsewhere)
		err_set(out, ELSEWHERE_WORDS, f->n_members ? SKELETONS_WORDS : "", f->model.computed);
	else if (f->model.computed)
		err_set(out, COMPUTED_WORDS, f->model.computed);
	else if (f->n_members)
		err_set(out, PROBED_WORDS);
}

static int fit_try(struct fitting *f, struct errbuf *why)
{
	bool array = f->run->row->array_job != 0;

	return scaling_fit_with(f->runs, f->n, array ? NULL : f->points, f->computed.n, &f->model, why);
}

/* With skeletons' estimates in place of runs. *why is of the fit without them. */
static int members_try(struct fitting *f, struct errbuf *why, struct errbuf *errp)
{
	struct errbuf probed;

	if (members_take(f, errp) < 0)
		return -1;
	if (f->n_members && fit_try(f, &probed) == 0) {
		model_widen(&f->model, f->width / (double)f->n_members);
		remark_put(f, why);
	}
	return 0;
}

/* Has the candidate a law from earlier? 1 yes, 0 no, -1 fault. */
static int has_law(struct fitting *f, struct errbuf *errp)
{
	int n = store_model_lookup(f->run->env->store, f->run->row->kin, f->kept, STORE_ESTIMATES_MAX, errp);

	for (int i = 0; i < n; i++)
		if (!strcmp(f->kept[i].candidate, f->run->row->candidate) && f->kept[i].law[0])
			return 1;
	return n < 0 ? -1 : 0;
}

static int candidate_fit(struct fitting *f, struct errbuf *errp)
{
	const struct scaling_runs *members = ended_run_members(f->run, errp);
	bool array = f->run->row->array_job != 0, drifted;
	struct errbuf why = {""};
	int kept = 1;

	if (!members || points_read(f, errp) < 0)
		return -1;
	drifted = !array && ended_run_family_drift(f->run, errp)->since;
	f->n = members->n;
	memcpy(f->runs, members->runs, members->n * sizeof(f->runs[0]));
	if (fit_try(f, &why) == 0)
		remark_put(f, &why);
	else if (drifted)
		err_prefix(&why, "the last runs were not as the model said, and what ran before counts no more");
	else if (!array && (f->model.points < SCALING_POINTS_MIN || f->computed_elsewhere) && members_try(f, &why, errp) < 0)
		return -1;
	f->model.array = array;
	/* Of most programs there is but one, and nothing to be kept. Where there was a law, it must not stay. */
	if (f->model.points < PARAM_FAMILY_PROGRAMS_MIN && !drifted)
		kept = has_law(f, errp);
	return kept > 0 ? row_put(f, why.text, errp) : kept;
}

int scaling_follow(struct ended_run *r, struct errbuf *errp)
{
	struct fitting *f;
	int rv;

	if (!r->row->kin[0] || !r->row->vars[0])
		return 0;
	f = malloc(sizeof(*f)); /* large; of its lists only entries that were filled are read */
	if (!f)
		return err_set(errp, "no memory for past runs");
	f->run = r;
	f->n = f->n_members = f->computed.n = 0;
	f->computed_elsewhere = false;
	f->width = 0;
	rv = candidate_fit(f, errp);
	free(f);
	return rv < 0 ? -1 : 0;
}

/* Points of the program's record: they become seconds of whole jobs, as its own job took longer than MPI_Init to MPI_Finalize. */
static int points_take(const struct daemon_env *env, const struct store_program *p, const struct store_run *run, int64_t now,
		       struct errbuf *errp)
{
	double vars[SCALING_VARS_MAX], beside;
	struct store_points points = {.job = p->source_job, .updated = now};
	unsigned n_vars = scaling_vars_parse(run->vars, vars);
	struct result *r = malloc(sizeof(*r));
	bool told; /* also that there are none: older ones do not count then */
	int rv;

	if (!r)
		return err_set(errp, "no memory for a record");
	rv = store_record_get(env->store, p->key, p->source_candidate, r, errp);
	beside = rv == 1 && r->traces_n ? fmax(0, p->source_elapsed_s - r->traces[0].mpi_s) : 0;
	for (unsigned i = 0; rv == 1 && n_vars && i < r->points_n; i++) {
		struct result_point *to = &points.p[points.n];

		*to = r->points[i];
		if (scaling_vars_parse(to->vars, vars) != n_vars)
			continue;
		to->claim *= to->seconds / (to->seconds + beside);
		to->seconds += beside;
		points.n++;
	}
	if (rv == 1 && (r->points_n || r->unpoint[0]))
		daemon_say(env, LOG_LEVEL_INFO, "key %.8s: %u points computed from traces of its kin%s%s", p->key, points.n,
			   r->unpoint[0] ? ": " : "", r->unpoint);
	told = rv == 1 && (points.n || r->unpoint[0]);
	free(r);
	return rv < 0 || (told && store_points_put(env->store, run->kin, p->source_candidate, &points, errp) < 0) ? -1 : 0;
}

int scaling_follow_probed(const struct daemon_env *env, const struct store_program *p, int64_t now, struct errbuf *errp)
{
	struct store_run run;
	const char *place;
	int rc = store_run_get(env->store, p->source_job, &run, errp), rv = 0;

	if (rc <= 0 || strcmp(run.key, p->key) || run.uid != p->uid)
		return rc < 0 ? -1 : 0;
	if (run.kin[0] && !run.array_job)
		rv = points_take(env, p, &run, now, errp);
	for (size_t c = 0; !rv && (place = conf_place_at(env->conf, c, p->source_candidate)); c++) {
		struct ended_run there = {.env = env, .row = &run, .now = now};

		snprintf(run.candidate, sizeof(run.candidate), "%s", place);
		rv = scaling_follow(&there, errp);
		ended_run_forget(&there);
	}
	return rv;
}
