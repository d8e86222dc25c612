/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Points computed by a model of runs: see points.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/inputs/build.h"
#include "model/inputs/foresee.h"
#include "model/inputs/points_choose.h"
#include "model/inputs/run_times.h"

/* The variables of the model: the axes but for ranks. */
struct points_vars {
	uint32_t n;
	unsigned from[FEATURE_VARS_MAX]; /* by variable: which input it is */
	struct runs_var var[FEATURE_VARS_MAX];
	double value[FEATURE_VARS_MAX][POINTS_RUNS_MAX];
};

static int vars_take(const struct points_run *run, unsigned n, const struct points_axis *axis, unsigned n_axes, struct points_vars *v,
		     struct errbuf *err)
{
	for (unsigned k = 0; k < n_axes; k++) {
		if (!axis[k].var)
			continue;
		if (v->n == FEATURE_VARS_MAX)
			return err_set(err, "%u inputs vary, and a model has at most %d", n_axes, FEATURE_VARS_MAX);
		v->from[v->n] = axis[k].var;
		snprintf(v->var[v->n].name, sizeof(v->var[v->n].name), "v%u", axis[k].var);
		for (unsigned i = 0; i < n; i++)
			v->value[v->n][i] = run[i].vars[axis[k].var];
		v->var[v->n].value = v->value[v->n];
		v->var[v->n].n_value = n;
		v->n++;
	}
	return 0;
}

/* NULL with the reason. */
static struct model *model_learn(const struct points_run *run, unsigned n, const struct points_vars *v, struct errbuf *err)
{
	const char *path[POINTS_RUNS_MAX];
	struct runs r = {0};
	struct learnt l = {0};
	struct run_times times = {0};
	struct model *m = NULL;
	int rc;

	for (unsigned i = 0; i < n; i++)
		path[i] = run[i].trace;
	rc = runs_open(&r, path, n, v->var, v->n, err);
	for (unsigned i = 0; !rc && i < n; i++)
		if (r.run[i].n_ranks != run[i].vars[0])
			rc = err_set(err, "%u ranks ran where the job asked for %.9g", r.run[i].n_ranks, run[i].vars[0]);
	if (!rc && learn_runs(&r, UINT32_MAX, 0, &l, err) == 0 && run_times_learn(&l, &times, err) == 0)
		m = inputs_build(&l, &times, err);
	run_times_free(&times);
	learnt_free(&l);
	runs_close(&r);
	return m;
}

/* 0, or -1 with the reason if the model refuses. */
static int point_compute(const struct model *m, const struct points_vars *v, struct points_point *p, struct errbuf *why)
{
	const char *name[FEATURE_VARS_MAX];
	double value[FEATURE_VARS_MAX], lo, hi, own;
	char crowded[200];
	struct foresee f = {0};
	int rc;

	for (uint32_t i = 0; i < v->n; i++) {
		name[i] = v->var[i].name;
		value[i] = p->vars[v->from[i]];
	}
	p->seconds = 0;
	if (!(p->vars[0] >= 1 && p->vars[0] <= FORESEE_RANKS_MAX))
		return err_set(why, "%.9g ranks", p->vars[0]);
	rc = foresee_open(&f, m, (uint32_t)p->vars[0], name, value, v->n, false, why);
	if (!rc)
		rc = foresee_place(&f, 0, why);
	for (uint32_t r = 0; !rc && r < f.ranks; r++) {
		rc = foresee_rank(&f, r, NULL, &own, NULL, why);
		p->seconds = fmax(p->seconds, own);
	}
	if (!rc) {
		p->error = foresee_error(&f);
		if (m->place.known && foresee_crowded(&f, crowded, sizeof(crowded)))
			rc = err_set(why, "%s", crowded);
		else if (foresee_far(&f, &lo, &hi) || !isfinite(p->error) || !(p->seconds > 0))
			rc = err_set(why, "the time is a guess: %g s, within %g", p->seconds, p->error);
	}
	foresee_close(&f);
	return rc;
}

/* Each point is whole before it is counted: another process may read *out at any time. */
static void points_fill(const struct model *m, const struct points_vars *v, const struct points *chosen, struct points *out,
			struct errbuf *why)
{
	out->n_vars = chosen->n_vars;
	for (unsigned i = 0; i < chosen->n; i++) {
		struct points_point *p = &out->p[out->n];

		*p = chosen->p[i];
		if (point_compute(m, v, p, why) == 0)
			__atomic_store_n(&out->n, out->n + 1, __ATOMIC_RELEASE);
	}
}

int points_compute(const struct points_run *run, unsigned n, struct points *out, struct errbuf *err)
{
	struct points_axis axis[IDENTITY_VARS_MAX];
	struct points_vars *v = calloc(1, sizeof(*v));
	struct model *m = NULL;
	unsigned n_axes;
	struct points chosen;
	struct errbuf why = {""};
	int rc = v ? 0 : err_set(err, "no memory");

	out->n = 0;
	if (!rc && (n < RUNS_MIN || n > POINTS_RUNS_MAX))
		rc = err_set(err, "%u runs, and %d to %d are needed", n, RUNS_MIN, POINTS_RUNS_MAX);
	n_axes = rc ? 0 : points_axes(run, n, axis);
	if (!rc && n_axes > POINTS_AXES_MAX)
		rc = err_set(err, "%u inputs vary, and a model has at most %d", n_axes, FEATURE_VARS_MAX);
	if (!rc)
		rc = vars_take(run, n, axis, n_axes, v, err);
	if (!rc && !(m = model_learn(run, n, v, err)))
		rc = -1;
	if (!rc) {
		points_choose(run, n, axis, n_axes, &chosen);
		points_fill(m, v, &chosen, out, &why);
		if (!out->n)
			rc = err_set(err, "the model refuses all inputs: %.200s", why.text);
	}
	model_destroy(m);
	free(v);
	return rc;
}
