/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several kinds of evidence as one estimate. The oracle are families whose times the test knows: what all evidence says together
 * must be nearer to them than each kind alone, hold what it promises, and not be bent by a model that is wrong for the program.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/estimate/combine.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/store/evidence.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/scaling_laws.h"
#include "tests/unit/normal.h"

static void near(double got, double want, double rel)
{
	if (!(fabs(got - want) <= rel * fabs(want)))
		fail_msg("%g, not %g", got, want);
}

static struct estimate made(double mean_s, double rel, enum estimate_kind kind)
{
	return (struct estimate){mean_s, mean_s * (1 - rel), mean_s * (1 + rel), kind, 0};
}

/* ---- by hand ---- */

static void test_join(void **state)
{
	struct estimate own = made(100, 0.1, ESTIMATE_SKELETON), model = made(104, 0.1, ESTIMATE_MODEL), out;
	double weight;

	(void)state;
	model.lo_s = 94; /* as wide in seconds: each counts for half */
	model.hi_s = 114;
	combine_join(&own, &model, &out, &weight);
	near(weight, 0.5, 1e-9);
	near(out.mean_s, 102, 1e-9);
	near(out.hi_s - out.mean_s, 10, 1e-9); /* no narrower than it was */
	assert_int_equal(out.kind, ESTIMATE_JOINT);
	/* the narrower one counts for more */
	model = made(100, 0.05, ESTIMATE_MODEL);
	combine_join(&own, &model, &out, &weight);
	near(weight, 0.8, 1e-9);
	near(out.hi_s - out.mean_s, 10, 1e-9);
	/* what they differ by is the model's */
	model = made(110, 0.01, ESTIMATE_MODEL);
	combine_join(&own, &model, &out, &weight);
	near(weight, 25 / (25 + 75.0), 1e-9);
	/* never below what any estimate has */
	own = model = made(100, 0.001, ESTIMATE_MODEL);
	combine_join(&own, &model, &out, &weight);
	assert_true(out.hi_s >= 102 && out.lo_s <= 98);
}

/* However far off and however sure of itself: what the probes said stays within, and the model's weight falls with the distance. */
static void test_wrong_model_bends_little(void **state)
{
	struct estimate own = made(100, 0.1, ESTIMATE_SKELETON), out;
	double last = 1;

	(void)state;
	for (double far = 8; far <= 1000; far *= 1.3) {
		struct estimate model = made(100 + far, 0.02, ESTIMATE_MODEL);
		double weight;

		combine_join(&own, &model, &out, &weight);
		assert_true(weight <= last);
		assert_true(out.lo_s < 100 && out.hi_s > 100);
		assert_true(out.mean_s - 100 <= 5.001);
		last = weight;
	}
	assert_true(last < 0.0001);
}

static void test_parts(void **state)
{
	struct estimate own = made(100, 0.1, ESTIMATE_SKELETON), model = made(104, 0.1, ESTIMATE_MODEL);
	struct estimate_past past[] = {{103, 0, false}, {101, 0, false}, {102, 0, false}};
	struct interval_calibration_errors none = {{0}, {0}}, bad = {{0}, {0}};
	struct combined c, d;
	struct errbuf why = {""};

	(void)state;
	assert_int_equal(combine(&own, NULL, NULL, 0, &none, &c, &why), 0);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.e.kind, ESTIMATE_SKELETON);
	near(c.part[0].weight, 1, 1e-9);
	assert_int_equal(combine(&own, &model, past, 3, &none, &c, &why), 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.e.kind, ESTIMATE_JOINT);
	assert_int_equal(c.part[2].e.kind, ESTIMATE_HISTORY);
	near(c.part[0].weight + c.part[1].weight + c.part[2].weight, 1, 1e-9);
	near(c.part[0].weight * c.part[0].e.mean_s + c.part[1].weight * c.part[1].e.mean_s + c.part[2].weight * c.part[2].e.mean_s,
	     c.e.mean_s, 1e-9);
	/* a model that was off by a fifth before counts for less, and says so; one that was right claims no more than it did */
	bad.n[ESTIMATE_MODEL] = 6;
	bad.sq[ESTIMATE_MODEL] = 6 * 0.04;
	assert_int_equal(combine(&own, &model, NULL, 0, &none, &c, &why), 0);
	assert_int_equal(combine(&own, &model, NULL, 0, &bad, &d, &why), 0);
	assert_true(d.part[1].weight < c.part[1].weight / 2);
	near(d.part[1].error, 0.2, 1e-9);
	assert_int_equal(d.part[1].programs, 6);
	bad.sq[ESTIMATE_MODEL] = 0;
	assert_int_equal(combine(&own, &model, NULL, 0, &bad, &d, &why), 0);
	near(d.part[1].weight, c.part[1].weight, 1e-9);
	/* one run is enough beside a model; one alone is not, and nothing is nothing */
	assert_int_equal(combine(NULL, &model, past, 1, &none, &c, &why), 0);
	assert_int_equal(c.e.kind, ESTIMATE_JOINT);
	assert_int_equal(c.n, 2);
	assert_int_equal(combine(NULL, NULL, past, 1, &none, &c, &why), -1);
	assert_int_equal(combine(NULL, NULL, past, 3, &none, &c, &why), 0);
	assert_int_equal(c.e.kind, ESTIMATE_HISTORY);
	near(c.part[0].weight, 1, 1e-9);
	/* what the model says is no reason to believe runs that differ by half */
	past[1].actual_s = 60;
	assert_int_equal(combine(&own, &model, past, 3, &none, &c, &why), -1);
}

/* ---- families ---- */

enum { PROBES, MODEL, HISTORY, ALL, WITHOUT, KINDS };

struct tally {
	unsigned n[KINDS], inside[KINDS], compared;
	double sq[KINDS]; /* of those that all kinds speak of */
};

static void tally_add(struct tally *t, const struct estimate *const e[KINDS], double actual_s, double truth_s)
{
	bool every = true;

	for (int k = 0; k < KINDS; k++) {
		every = every && e[k];
		if (!e[k])
			continue;
		t->n[k]++;
		t->inside[k] += actual_s >= e[k]->lo_s && actual_s <= e[k]->hi_s;
	}
	t->compared += every;
	for (int k = 0; every && k < KINDS; k++)
		t->sq[k] += pow(e[k]->mean_s / truth_s - 1, 2);
}

/* A model of other programs' runs; false when it says nothing. */
static bool model_of(int kind, double noise, double own, double n, double p, struct estimate *out)
{
	static struct param_family_run runs[16];
	static char vars[16][48];
	int points = 5 + (int)(uniform() * 8);
	struct scaling_model model;

	for (int i = 0; i < points; i++) {
		double pi = 1 << (int)(uniform() * 4), ni = floor(200 * exp(2 * uniform()));

		snprintf(vars[i], sizeof(vars[i]), "%.9g,%.9g", pi, ni);
		runs[i] = (struct param_family_run){"k", vars[i], law_of(kind, ni, pi) * (1 + own * normal()) * (1 + noise * normal()), false};
	}
	return scaling_fit(runs, (size_t)points, &model, NULL) == 0 && scaling_predict(&model, (double[]){p, n}, 2, out, NULL) == 0;
}

/* own: how far programs lie from the law, each for itself; other: this one is another program, so much longer. */
static void family(int kind, int past_n, double own, double other, struct tally *t)
{
	double noise = 0.03 * uniform(), skew = 0.02 + 0.06 * uniform();
	double p = 1 << (int)(uniform() * 4), n = floor(200 * exp(2 * uniform()));
	double truth = law_of(kind, n, p) * (1 + own * normal()) * other;
	struct estimate probes = made(truth * (1 + skew * normal()), 2 * hypot(skew, noise), ESTIMATE_SKELETON), model, mean;
	struct interval_calibration_errors errors = {{0}, {0}};
	struct estimate_past past[4];
	struct combined all, without;
	bool modelled = model_of(kind, noise, own, n, p, &model), joined, alone;

	/* what the daemon knows of the spread of the family's runs */
	errors.n[ESTIMATE_HISTORY] = 8;
	errors.sq[ESTIMATE_HISTORY] = 8 * 2 * noise * noise;
	mean = (struct estimate){0};
	for (int i = 0; i < past_n; i++) {
		past[i] = (struct estimate_past){truth * (1 + noise * normal()), 0, false};
		mean.mean_s += past[i].actual_s / past_n;
	}
	joined = combine(&probes, modelled ? &model : NULL, past, (size_t)past_n, &errors, &all, NULL) == 0;
	alone = combine(&probes, NULL, past, (size_t)past_n, &errors, &without, NULL) == 0;
	mean.hi_s = INFINITY;
	if (!modelled)
		return;
	tally_add(t, (const struct estimate *const[KINDS]){&probes, &model, &mean, joined ? &all.e : NULL, alone ? &without.e : NULL},
		  truth * (1 + noise * normal()), truth);
}

static double rms(const struct tally *t, int kind)
{
	return sqrt(t->sq[kind] / t->compared);
}

static double inside(const struct tally *t, int kind)
{
	return (double)t->inside[kind] / t->n[kind];
}

/* With one run of its own, or none: together nearer than any kind alone, and nine of ten within the interval. */
static void test_families(void **state)
{
	(void)state;
	for (int past_n = 0; past_n <= 2; past_n++) {
		struct tally t = {{0}, {0}, 0, {0}};

		state64 = 21 + (unsigned)past_n;
		for (int trial = 0; trial < 1200; trial++)
			family(trial % 3, past_n, 0.01, 1, &t);
		assert_true(t.compared > 800);
		assert_true(rms(&t, ALL) < rms(&t, PROBES) && rms(&t, ALL) < rms(&t, MODEL) && rms(&t, ALL) < rms(&t, WITHOUT));
		assert_true(!past_n || rms(&t, ALL) < rms(&t, HISTORY));
		assert_true(inside(&t, ALL) >= 0.9);
	}
}

/* The program is another one than its kin: the model, which cannot know, may not cost the interval what it promises. */
static void test_other_program(void **state)
{
	static const double other[] = {0.5, 0.7, 0.85, 0.93, 1.07, 1.15, 1.3, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		for (int past_n = 0; past_n <= 2; past_n += 2) {
			struct tally t = {{0}, {0}, 0, {0}};

			state64 = 31 + i;
			for (int trial = 0; trial < 400; trial++)
				family(trial % 3, past_n, 0.01, other[i], &t);
			if (inside(&t, ALL) < 0.9)
				fail_msg("%.2f times its kin, %d own runs: %.3f inside, %.3f without the model", other[i], past_n, inside(&t, ALL),
					 inside(&t, WITHOUT));
		}
}

/* ---- the daemon ---- */

static void run_on(uint32_t id, const char *partition, const char *features, unsigned number, double elapsed_s)
{
	struct cluster_job *j;
	char vars[40];

	snprintf(vars, sizeof(vars), "2,1,1,0,%u", number);
	j = job_add_member(id, number, vars);
	j->partition = partition;
	j->features = features;
	look();
	job_run(j);
	look();
	job_end(j, "COMPLETED", elapsed_s);
	look();
}

static void run_of(uint32_t id, unsigned number, double elapsed_s)
{
	run_on(id, "fast", "", number, elapsed_s);
}

static unsigned evidence_of(unsigned number, struct store_lookup *known, struct combine_part part[COMBINE_PARTS])
{
	struct errbuf e = {""};
	char key[33];
	int n;

	snprintf(key, sizeof(key), "%032x", number);
	assert_int_equal(store_lookup(w->store, key, known, &e), 1);
	n = store_evidence_get(w->store, key, "fast", part, COMBINE_PARTS, &e);
	assert_true(n >= 0);
	return (unsigned)n;
}

/* A program without a trace that has run once: others' runs and its own; its own do not speak through the model as well. */
static void test_daemon(void **state)
{
	struct store_program p = {.uid = getuid(), .state = PROGRAM_FAILED, .source_job = 9, .reason = "no traces"};
	struct combine_part part[COMBINE_PARTS];
	struct store_lookup known;
	struct errbuf e = {""};

	(void)state;
	for (unsigned i = 1; i <= 5; i++)
		run_of(i, 1000 * i, 100 * i);
	snprintf(p.key, sizeof(p.key), "%032x", 2500);
	strcpy(p.family, FAMILY);
	assert_int_equal(store_program_put(w->store, &p, &e), 0);
	run_of(9, 2500, 260);
	assert_int_equal(evidence_of(2500, &known, part), 2);
	assert_int_equal(known.n_estimates, 1);
	assert_int_equal(known.estimates[0].e.kind, ESTIMATE_JOINT);
	assert_int_equal(part[0].e.kind, ESTIMATE_HISTORY);
	assert_int_equal(part[1].e.kind, ESTIMATE_MODEL);
	near(part[0].e.mean_s, 260, 1e-9);
	near(part[1].e.mean_s, 250, 0.002); /* as the other five say, to whom 260 would be news */
	assert_int_equal(part[1].e.n, 5);
	near(part[0].weight + part[1].weight, 1, 1e-9);
	near(known.estimates[0].e.mean_s, part[0].weight * 260 + part[1].weight * part[1].e.mean_s, 1e-9);
	assert_true(known.estimates[0].e.lo_s <= 250 && known.estimates[0].e.hi_s >= 260);
	/* they go with the estimate */
	assert_int_equal(store_estimate_drop(w->store, p.key, "fast", &e), 0);
	assert_int_equal(evidence_of(2500, &known, part), 0);
	/* of a program whose first run nobody knows any more the numbers are not known */
	p.source_job = 77;
	assert_int_equal(store_program_put(w->store, &p, &e), 0);
	run_of(10, 2500, 260);
	assert_int_equal(evidence_of(2500, &known, part), 1);
	assert_int_equal(part[0].e.kind, ESTIMATE_HISTORY);
}

/* With probes: their word, the model's, and what each counts for. */
static void test_daemon_probes(void **state)
{
	struct combine_part part[COMBINE_PARTS];
	struct store_lookup known;
	struct store_program p;
	struct program_estimates est;
	struct errbuf e = {""};
	struct store_run run;

	(void)state;
	traced_job();
	assert_int_equal(store_run_get(w->store, 1, &run, &e), 1);
	strcpy(run.kin, FAMILY);
	strcpy(run.vars, "2,1,1,0,1000");
	assert_int_equal(store_run_put(w->store, &run, &e), 0);
	result_leave(1, 500, "fast", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	p = program();
	for (unsigned i = 2; i <= 6; i++)
		run_of(10 + i, 1000 * i, (run.elapsed_s + 2) * i);
	assert_int_equal(program_estimate(&w->env, &p, NULL, w->now, &est, &e), 0);
	assert_int_equal(store_lookup(w->store, KEY, &known, &e), 1);
	assert_int_equal(known.estimates[0].e.kind, ESTIMATE_JOINT);
	assert_int_equal(store_evidence_get(w->store, KEY, "fast", part, COMBINE_PARTS, &e), 2);
	assert_int_equal(part[0].e.kind, ESTIMATE_SOURCE);
	assert_int_equal(part[1].e.kind, ESTIMATE_MODEL);
	near(part[1].e.mean_s, run.elapsed_s + 2, 0.01);
	assert_true(known.estimates[0].e.mean_s > run.elapsed_s && known.estimates[0].e.mean_s < run.elapsed_s + 2);
	/* anew when others run, without a run of its own */
	w->now += 600;
	run_of(30, 1500, (run.elapsed_s + 2) * 1.5);
	assert_int_equal(store_lookup(w->store, KEY, &known, &e), 1);
	assert_true(known.estimates[0].updated >= w->now - 60);
	assert_int_equal(store_evidence_get(w->store, KEY, "fast", part, COMBINE_PARTS, &e), 2);
	assert_int_equal(part[1].e.n, 6);
}

/* Where probes say nothing the model stands in for them. */
static void test_daemon_refused_probes(void **state)
{
	struct store_lookup known;
	struct program_estimates est;
	struct store_program p;
	struct store_run run;
	struct errbuf e = {""};
	bool found = false;

	(void)state;
	program_ready();
	assert_int_equal(store_run_get(w->store, 1, &run, &e), 1);
	strcpy(run.kin, FAMILY);
	strcpy(run.vars, "2,1,1,0,3500");
	assert_int_equal(store_run_put(w->store, &run, &e), 0);
	p = program();
	strcpy(p.source_candidate, "gone"); /* its record is not there: no ratio can be told */
	for (unsigned i = 1; i <= 2; i++)
		run_on(10 + i, "slow", "big", 1000 * i, 300 * i);
	assert_int_equal(program_estimate(&w->env, &p, NULL, w->now, &est, &e), 0);
	assert_non_null(strstr(est.refused.text, "no probe on gone"));
	for (unsigned i = 3; i <= 6; i++)
		run_on(10 + i, "slow", "big", 1000 * i, 300 * i);
	assert_int_equal(program_estimate(&w->env, &p, NULL, w->now, &est, &e), 0);
	assert_int_equal(store_lookup(w->store, KEY, &known, &e), 1);
	for (unsigned i = 0; i < known.n_estimates; i++)
		if (!strcmp(known.estimates[i].candidate, "slow:big")) {
			assert_int_equal(known.estimates[i].e.kind, ESTIMATE_MODEL);
			near(known.estimates[i].e.mean_s, 1050, 0.01);
			found = true;
		}
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join), cmocka_unit_test(test_wrong_model_bends_little), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_families), cmocka_unit_test(test_other_program), T(test_daemon), T(test_daemon_probes),
		T(test_daemon_refused_probes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
