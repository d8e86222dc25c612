/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lag, the model of its algorithm, and the direct approximation: see lag.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/induce/compile.h"
#include "model/induce/fit.h"
#include "model/induce/learn.h"
#include "model/induce/value.h"
#include "tests/bench/model/lab.h"
#include "tests/bench/model/lag.h"

#define RUNS	    8
#define DIRECT_RUNS 240
#define ASKED	    200
#define FAR	    20
#define STEPS_MOST  400
#define LAG_MOST    300

int lag_run(const double *in, struct journal *j, double *y, struct errbuf *err)
{
	int64_t start = 0, step = 0, end = 0;
	double v = in[LAG_Y0];

	if (j) {
		start = journal_point(j, "start", err);
		step = journal_point(j, "step", err);
		end = journal_point(j, "end", err);
		if (start < 0 || step < 0 || end < 0 || journal_begin(j, in, err) < 0 || journal_add(j, (uint32_t)start, 0, &v, err) < 0)
			return -1;
	}
	for (double i = 0; i < in[LAG_STEPS]; i++) {
		if (j && journal_add(j, (uint32_t)step, 0, &v, err) < 0)
			return -1;
		v = v + (LAG_GAIN * in[LAG_U] - v) / in[LAG_T];
	}
	if (j && journal_add(j, (uint32_t)end, 0, &v, err) < 0)
		return -1;
	*y = v;
	return 0;
}

struct journal *lag_journal(struct errbuf *err)
{
	static const char *const inputs[] = {"y0", "u", "T", "steps"}, *const vars[] = {"y"};

	return journal_create(inputs, LAG_INPUTS, vars, 1, err);
}

void lag_inputs(uint64_t seed, uint32_t n, double most_steps, double (*in)[LAG_INPUTS])
{
	for (uint32_t i = 0; i < n; i++) {
		in[i][LAG_Y0] = 5 * lab_random(&seed);
		in[i][LAG_U] = -1 + 3 * lab_random(&seed);
		in[i][LAG_T] = floor(20 + (LAG_MOST - 20) * lab_random(&seed));
		in[i][LAG_STEPS] = floor(10 + (most_steps - 10) * lab_random(&seed));
	}
}

/* ---- the model of the algorithm ---- */

static struct model *algorithm_learn(struct errbuf *err)
{
	struct journal *j = lag_journal(err);
	double in[RUNS][LAG_INPUTS], y;
	struct model *m = NULL;

	lag_inputs(1, RUNS, STEPS_MOST, in);
	if (!j)
		return NULL;
	for (uint32_t i = 0; i < RUNS; i++)
		if (lag_run(in[i], j, &y, err) < 0)
			goto out;
	m = model_learn(j, NULL, err);
out:
	journal_destroy(j);
	return m;
}

static int model_miss(const struct model *m, const double *in, double *miss, struct errbuf *err)
{
	struct model_result r = {0};
	double y, said;

	r.var = &said;
	if (lag_run(in, NULL, &y, err) < 0 || model_interpret(m, in, 1, NULL, NULL, &r, err) < 0)
		return -1;
	*miss = fabs(said - y);
	return 0;
}

/* ---- the direct approximation ---- */

/* The function that the model's own fit finds from inputs to the last y, among the same features. */
struct direct {
	struct model *m;
	struct model_graph g;
	struct model_feature feature[LAG_INPUTS + 2];
	struct model_fn fn;
	struct fit_quality q;
};

static void direct_features(struct direct *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < LAG_INPUTS; i++)
		d->feature[n++] = (struct model_feature){MODEL_INPUT, i, 0};
	d->feature[n++] = (struct model_feature){MODEL_INVERSE, LAG_T, 0};
	d->feature[n++] = (struct model_feature){MODEL_INVERSE, LAG_STEPS, 0};
	d->g = (struct model_graph){.n_features = n, .feature = d->feature};
}

static int direct_learn(struct direct *d, struct errbuf *err)
{
	double(*in)[LAG_INPUTS] = calloc(DIRECT_RUNS, sizeof(*in));
	double *value = calloc((LAG_INPUTS + 3) * (size_t)DIRECT_RUNS, sizeof(double)), *y = value, *col[LAG_INPUTS + 2];
	uint32_t group[DIRECT_RUNS], feature[LAG_INPUTS + 2];
	struct fit_table t = {DIRECT_RUNS, LAG_INPUTS + 2, col, feature, group, NULL};
	int rc = -1;

	direct_features(d);
	d->m = model_create();
	if (!in || !value || !d->m) {
		err_set(err, "no memory for the direct approximation");
		goto out;
	}
	lag_inputs(2, DIRECT_RUNS, STEPS_MOST, in);
	for (uint32_t i = 0; i < DIRECT_RUNS; i++) {
		struct model_state s = {.input = in[i]};

		group[i] = i;
		if (lag_run(in[i], NULL, &y[i], err) < 0)
			goto out;
		for (uint32_t c = 0; c < d->g.n_features; c++) {
			feature[c] = c;
			col[c] = value + (c + 1ull) * DIRECT_RUNS;
			col[c][i] = model_feature_value(&d->g, c, &s);
		}
	}
	rc = fit_function(&t, y, false, d->m, &d->fn, &d->q, err);
out:
	free(in);
	free(value);
	return rc;
}

static double direct_value(const struct direct *d, const double *in)
{
	struct model_state s = {.input = in};

	return model_fn_value(&d->g, &d->fn, &s);
}

/* ---- the comparison ---- */

static int misses(const struct model *m, const struct direct *d, struct lag_report *out, struct errbuf *err)
{
	double in[ASKED][LAG_INPUTS], model[ASKED], direct[ASKED], miss, y;

	lag_inputs(3, ASKED, STEPS_MOST, in);
	for (uint32_t i = 0; i < ASKED; i++) {
		if (model_miss(m, in[i], &model[i], err) < 0 || lag_run(in[i], NULL, &y, err) < 0)
			return -1;
		direct[i] = fabs(direct_value(d, in[i]) - y);
	}
	out->model_median = lab_median(model, ASKED);
	out->model_worst = model[ASKED - 1];
	out->direct_median = lab_median(direct, ASKED);
	out->direct_worst = direct[ASKED - 1];
	lag_inputs(4, FAR, 10 * STEPS_MOST, in);
	for (uint32_t i = 0; i < FAR; i++) {
		if (model_miss(m, in[i], &miss, err) < 0)
			return -1;
		out->far_worst = fmax(out->far_worst, miss);
	}
	return 0;
}

static double per(double begin, double n)
{
	return 1e9 * (lab_cpu_s() - begin) / n;
}

/* What a step takes in the program and in the compiled model, and what one answer takes the direct approximation. */
static int costs(const struct direct *d, const struct model_program *p, struct lag_report *out, struct errbuf *err)
{
	enum { TURNS = 11, CALLS = 20000 };
	const double in[LAG_INPUTS] = {1, 0.5, 100, 1000000};
	double program[TURNS], compiled[TURNS], direct[TURNS], y = 0;
	volatile double keep = 0;

	for (int i = 0; i < TURNS; i++) {
		struct model_result r = {0};
		double begin = lab_cpu_s();

		if (lag_run(in, NULL, &y, err) < 0)
			return -1;
		keep = keep + y;
		program[i] = per(begin, in[LAG_STEPS]);
		begin = lab_cpu_s();
		if (model_program_run(p, in, 1, NULL, NULL, &r, err) < 0)
			return -1;
		compiled[i] = per(begin, in[LAG_STEPS]);
		begin = lab_cpu_s();
		for (int k = 0; k < CALLS; k++)
			keep = keep + direct_value(d, in);
		direct[i] = per(begin, CALLS);
	}
	out->program_ns = lab_median(program, TURNS);
	out->compiled_ns = lab_median(compiled, TURNS);
	out->direct_ns = lab_median(direct, TURNS);
	return 0;
}

static int compiled(const struct model *m, const struct direct *d, const char *dir, bool timed, struct lag_report *out,
		    struct errbuf *err)
{
	const double in[LAG_INPUTS] = {3, -0.25, 77, 1234};
	struct model_result a = {0}, b = {0};
	struct model_program *p = NULL;
	double ya, yb;
	int rc = -1;

	a.var = &ya;
	b.var = &yb;
	if (model_compile(m, dir, NULL, err) < 0)
		return -1;
	p = model_program_load(m, dir, err);
	if (!p || model_interpret(m, in, 1, NULL, NULL, &a, err) < 0 || model_program_run(p, in, 1, NULL, NULL, &b, err) < 0)
		goto out;
	out->bits = memcmp(&ya, &yb, sizeof(ya)) == 0;
	rc = timed ? costs(d, p, out, err) : 0;
out:
	model_program_unload(p);
	return rc;
}

int lag_experiment(bool timed, struct lag_report *out, struct errbuf *err)
{
	struct direct d = {0};
	struct model *m = NULL;
	char dir[64] = "";
	int rc = -1;

	*out = (struct lag_report){.n_runs = RUNS, .n_direct = DIRECT_RUNS, .n_asked = ASKED};
	if (lab_directory(dir, sizeof(dir), err) < 0)
		return -1;
	m = algorithm_learn(err);
	if (!m || direct_learn(&d, err) < 0)
		goto out;
	if (!m->var[0].known) {
		err_set(err, "y is not known: %s", m->var[0].reason);
		goto out;
	}
	out->direct_held_out = d.q.error;
	if (misses(m, &d, out, err) < 0 || compiled(m, &d, dir, timed, out, err) < 0)
		goto out;
	rc = 0;
out:
	lab_directory_remove(dir);
	model_destroy(m);
	model_destroy(d.m);
	return rc;
}
