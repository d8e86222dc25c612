/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the probe of the third traced run to a law, on a cluster made of structs. The daemon names the traces for the probe, keeps the
 * points of its record, and fits the law. The times are a formula of size, steps and ranks, and three runs show only a part of the formula.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/estimate/combine.h"
#include "predictor/learn/scaling_follow.h"
#include "predictor/learn/scaling_row.h"
#include "predictor/probe/job.h"
#include "predictor/probe/members.h"
#include "predictor/store/evidence.h"
#include "predictor/store/kin.h"
#include "predictor/store/past.h"
#include "predictor/store/points.h"
#include "predictor/store/records.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"

#define RUNS   3
#define ALL_MEMBERS " --member 3=4,1,1,0,360,1500 --member 2=2,1,1,0,420,3000 --member 1=2,1,1,0,300,2000"
#define BESIDE 10 /* seconds of a job before MPI_Init and after MPI_Finalize */

static const double ran[RUNS][6] = {{2, 1, 1, 0, 300, 2000}, {2, 1, 1, 0, 420, 3000}, {4, 1, 1, 0, 360, 1500}};

static double truth(const double *x)
{
	return 4e-7 * x[4] * x[4] * x[5] / x[0];
}

static void vars_put(char *out, size_t size, const double *x)
{
	snprintf(out, size, "%.9g,1,1,0,%.9g,%.9g", x[0], x[4], x[5]);
}

static struct store_program program_of(uint32_t job)
{
	struct store_program p = {.uid = getuid(), .state = PROGRAM_READY, .source_job = job, .n_traces = 1, .nodes = 2};

	snprintf(p.key, sizeof(p.key), "%032x", job);
	strcpy(p.family, FAMILY);
	strcpy(p.source_candidate, "fast");
	p.source_elapsed_s = truth(ran[job - 1]) + BESIDE;
	return p;
}

/* Traced runs of one kin. */
static void runs_put(void)
{
	struct errbuf e = {""};

	for (uint32_t job = 1; job <= RUNS; job++) {
		struct store_program p = program_of(job);
		struct store_run r = {.jobid = job, .submit_time = w->now + job, .uid = getuid(), .act = ACT_TRACE, .end_state = "COMPLETED",
				      .elapsed_s = p.source_elapsed_s, .start_time = w->now, .end_time = w->now + 1};

		strcpy(r.key, p.key);
		strcpy(r.family, FAMILY);
		strcpy(r.kin, KEY);
		strcpy(r.candidate, "fast");
		vars_put(r.vars, sizeof(r.vars), ran[job - 1]);
		assert_int_equal(store_program_put(w->store, &p, &e), 0);
		assert_int_equal(store_run_put(w->store, &r, &e), 0);
	}
}

static void point_add(struct result *r, const double *x, double level)
{
	struct result_point *p = &r->points[r->points_n++];

	vars_put(p->vars, sizeof(p->vars), x);
	p->seconds = level * truth(x);
	p->claim = 0.1;
}

/* The record of the last run's probe. */
static void record_put(double level, const char *numbers)
{
	struct store_probe row = {.state = PROBE_DONE, .candidate = "fast"};
	static struct result r;
	struct errbuf e = {""};

	r = (struct result){.job_id = 9, .candidate = "fast", .ok = true, .has_class = true, .class_hex = "0123456789abcdef", .class_text = "node",
			    .has_startup = true, .has_hash = true, .hash_hex = "0123456789abcdef", .traces_n = 1};
	r.traces[0] = (struct result_trace){truth(ran[RUNS - 1]), 90, 89, 91, 2, 1000, 1, {0}, {0}};
	for (int i = 0; i < RUNS; i++)
		point_add(&r, ran[i], level);
	for (double p = 2; p <= 4; p += 2)
		for (double n = 240; n <= 480; n += 60)
			for (double s = 1000; s <= 3500 && r.points_n < RESULT_MAX_POINTS; s += 1250)
				point_add(&r, (double[]){p, 1, 1, 0, n, s}, level);
	for (unsigned i = 0; numbers && i < r.points_n; i++)
		snprintf(r.points[i].vars, sizeof(r.points[i].vars), "%s", numbers);
	snprintf(row.key, sizeof(row.key), "%032x", RUNS);
	if (store_record_put(w->store, &row, &r, &e) < 0)
		fail_msg("%s", e.text);
}

static struct store_model *model_of(const char *candidate)
{
	static struct store_model list[STORE_ESTIMATES_MAX];
	struct errbuf e;
	int n = store_model_lookup(w->store, KEY, list, STORE_ESTIMATES_MAX, &e);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].candidate, candidate))
			return &list[i];
	return NULL;
}

static void follow_probed(void)
{
	struct store_program p = program_of(RUNS);
	struct errbuf e = {""};

	if (scaling_follow_probed(&w->env, &p, w->now, &e) < 0)
		fail_msg("%s", e.text);
}

/* Without points three runs say nothing; with points, at any level, an input that never ran is told. */
static void test_law(void **state)
{
	const double level[] = {1, 0.7}, asked[6] = {4, 1, 1, 0, 400, 2500};
	double scale;
	struct store_points points;
	struct store_model *m;
	struct estimate est;
	struct errbuf e;

	(void)state;
	runs_put();
	follow_probed();
	m = model_of("fast");
	assert_non_null(m);
	assert_string_equal(m->law, "");
	assert_non_null(strstr(m->reason, "5 are needed, or three that were traced"));
	for (int i = 0; i < 2; i++) {
		record_put(level[i], NULL);
		follow_probed();
		m = model_of("fast");
		assert_non_null(m);
		assert_int_equal(m->runs, RUNS);
		assert_non_null(strstr(m->reason, "points computed by the program's model"));
		if (scaling_row_predict(m, asked, 6, &est, &scale, &e) < 0)
			fail_msg("%s", e.text);
		assert_true(fabs(est.mean_s / (truth(asked) + BESIDE) - 1) < 0.04);
		assert_true(est.lo_s < truth(asked) + BESIDE && truth(asked) + BESIDE < est.hi_s);
		assert_int_equal(est.kind, ESTIMATE_MODEL);
	}
	assert_int_equal(store_points_get(w->store, KEY, "fast", &points, &e), 1);
	assert_true(points.n > 20);
	assert_int_equal(points.job, RUNS);
	assert_true(fabs(points.p[0].seconds - 0.7 * truth(ran[0]) - BESIDE) < 1e-3);
	assert_null(model_of("slow:big")); /* nothing is known of this candidate */
}

/* What the skeletons of the traced runs gave on slow:big: so many times as long as on fast. */
static void estimates_put(const double *ratio)
{
	for (uint32_t job = 1; job <= RUNS; job++) {
		struct store_program p = program_of(job);
		double s = ratio[job - 1] * p.source_elapsed_s;
		struct store_estimate row = {.candidate = "slow:big", .e = {s, 0.97 * s, 1.03 * s, ESTIMATE_SKELETON}};
		struct errbuf e = {""};

		if (store_estimate_put(w->store, p.key, &row, &e) < 0)
			fail_msg("%s", e.text);
	}
}

/* Nothing ran on slow:big. Points of fast and the skeletons' estimates there tell an input that never ran, too. The less the skeletons
 * agree on the ratio, the wider it is told, and at last not at all. */
static void test_elsewhere(void **state)
{
	const double ratios[][RUNS] = {{2, 2, 2}, {1.8, 2.2, 2}, {1, 4, 2}}, asked[6] = {4, 1, 1, 0, 400, 2500};
	double scale, width[2] = {0}, whole = 2 * (truth(asked) + BESIDE);
	struct store_model *m;
	struct estimate est;
	struct errbuf e;

	(void)state;
	runs_put();
	estimates_put(ratios[0]);
	follow_probed();
	m = model_of("slow:big");
	assert_non_null(m);
	assert_string_equal(m->law, ""); /* three skeletons say as little as three runs */
	record_put(1, NULL);
	for (int i = 0; i < 3; i++) {
		estimates_put(ratios[i]);
		follow_probed();
		m = model_of("slow:big");
		assert_non_null(m);
		if (i == 2) {
			assert_string_equal(m->law, "");
			break;
		}
		assert_non_null(strstr(m->reason, "in part to skeletons of runs elsewhere and "));
		assert_non_null(strstr(m->reason, " points computed for another partition"));
		if (scaling_row_predict(m, asked, 6, &est, &scale, &e) < 0)
			fail_msg("%s", e.text);
		assert_true(est.lo_s < whole && whole < est.hi_s);
		width[i] = est.hi_s - est.lo_s;
	}
	assert_true(width[0] < 0.4 * whole);
	assert_true(width[1] > 1.1 * width[0]);
}

/* The estimates become those of a model over inputs, and differ from the skeletons' estimates. probed: the skeletons are part of them. */
static void estimates_join(bool probed)
{
	for (uint32_t job = 1; job <= RUNS; job++) {
		struct store_program p = program_of(job);
		double s = 2 * p.source_elapsed_s;
		struct combine_part skeleton = {.e = {s, 0.97 * s, 1.03 * s, ESTIMATE_SKELETON}, .weight = 0.5};
		struct store_estimate row = {.candidate = "slow:big"};
		struct errbuf e;

		s *= 1 + 0.5 * job;
		row.e = (struct estimate){.mean_s = s, .lo_s = 0.97 * s, .hi_s = 1.03 * s, .kind = probed ? ESTIMATE_JOINT : ESTIMATE_MODEL};
		assert_int_equal(store_estimate_put(w->store, p.key, &row, &e), 0);
		assert_int_equal(store_evidence_put(w->store, p.key, "slow:big", &skeleton, probed, &e), 0);
	}
}

/* A model is fitted to the skeletons' part of estimates, not to the part of an earlier model. */
static void test_elsewhere_joint(void **state)
{
	const double same[RUNS] = {2, 2, 2};
	char law[sizeof(((struct store_model *)0)->law)];

	(void)state;
	runs_put();
	record_put(1, NULL);
	estimates_join(false);
	follow_probed();
	assert_null(model_of("slow:big"));
	estimates_put(same);
	follow_probed();
	strcpy(law, model_of("slow:big")->law);
	assert_string_not_equal(law, "");
	estimates_join(true);
	follow_probed();
	assert_string_equal(model_of("slow:big")->law, law);
}

/* The skeletons' estimates are forgotten: a law that was fitted to them goes, too. */
static void test_elsewhere_forgotten(void **state)
{
	const double same[RUNS] = {2, 2, 2};
	struct errbuf e;

	(void)state;
	runs_put();
	estimates_put(same);
	record_put(1, NULL);
	follow_probed();
	assert_string_not_equal(model_of("slow:big")->law, "");
	for (uint32_t job = 1; job <= RUNS; job++)
		assert_true(store_estimate_drop(w->store, program_of(job).key, "slow:big", &e) >= 0);
	follow_probed();
	assert_string_equal(model_of("slow:big")->law, "");
	assert_string_not_equal(model_of("slow:big")->reason, "");
}

/* Points of fast count elsewhere no longer than they do there. */
static void test_elsewhere_drift(void **state)
{
	struct drift d = {.since = w->now + 1};
	const double same[RUNS] = {2, 2, 2};
	struct errbuf e;

	(void)state;
	runs_put();
	estimates_put(same);
	record_put(1, NULL);
	follow_probed();
	assert_string_not_equal(model_of("slow:big")->law, "");
	assert_int_equal(store_drift_put(w->store, KEY, "fast", &d, &e), 0);
	follow_probed();
	assert_string_equal(model_of("slow:big")->law, "");
}

/* Points with other numbers than the family has. */
static void test_other_numbers(void **state)
{
	static const char *const other[] = {"1", "2,1,1,0,300", "2,1,1,0,300,2000,5", ",,,,,", "e,e,e,e,e,e", "2,1,1,0,300,1e999"};
	struct store_points points;
	struct errbuf e;

	(void)state;
	runs_put();
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		record_put(1, other[i]);
		follow_probed();
		assert_int_equal(store_points_get(w->store, KEY, "fast", &points, &e), 0);
		assert_string_equal(model_of("fast")->law, "");
	}
}

/* Tasks of arrays have no points: their reason does not speak of traces. */
static void test_arrays(void **state)
{
	struct store_run r;
	struct errbuf e;

	(void)state;
	runs_put();
	for (uint32_t job = 1; job <= RUNS; job++) {
		assert_int_equal(store_run_get(w->store, job, &r, &e), 1);
		r.array_job = job;
		r.array_task = job * job;
		assert_int_equal(store_run_put(w->store, &r, &e), 0);
	}
	follow_probed();
	assert_non_null(model_of("fast"));
	assert_string_equal(model_of("fast")->reason, "4 inputs vary and 3 combinations have run: 6 are needed");
}

static void members_are(const char *want)
{
	struct store_program p = program_of(RUNS);
	char text[4096];
	struct errbuf e;

	assert_int_equal(probe_members(&w->env, &p, text, sizeof(text), &e), 0);
	assert_string_equal(text, want);
}

/* The traced runs of the family, with numbers that a shell takes as they are. */
static void test_members(void **state)
{
	struct store_program p;
	struct store_run r;
	struct errbuf e;
	char small[60];

	(void)state;
	runs_put();
	members_are(ALL_MEMBERS);
	p = program_of(RUNS);
	assert_int_equal(probe_members(&w->env, &p, small, sizeof(small), &e), 0);
	assert_string_equal(small, "");
	for (int how = 0; how < 4; how++) {
		p = program_of(1);
		p.state = how == 0 ? PROGRAM_NEW : p.state;
		p.source_job = how == 1 ? 77 : p.source_job;
		p.n_traces = how == 2 ? 2 : p.n_traces;
		p.uid = how == 3 ? p.uid + 1 : p.uid;
		assert_int_equal(store_program_put(w->store, &p, &e), 0);
		members_are("");
	}
	runs_put();
	assert_int_equal(store_run_get(w->store, 2, &r, &e), 1);
	strcpy(r.vars, "2,1,1,0,$(reboot),1");
	assert_int_equal(store_run_put(w->store, &r, &e), 0);
	members_are("");
	vars_put(r.vars, sizeof(r.vars), ran[0]); /* the numbers of another run: no third input */
	assert_int_equal(store_run_put(w->store, &r, &e), 0);
	members_are("");
}

/* What was computed before a drift counts no more, and earlier runs give no traces. The runs are of the seconds 1 to 3 from now. */
static void test_drift(void **state)
{
	struct drift d = {.since = w->now + 1};
	struct errbuf e;

	(void)state;
	runs_put();
	record_put(1, NULL);
	for (int later = 0; later < 2; later++, w->now++) {
		assert_int_equal(store_drift_put(w->store, KEY, "fast", &d, &e), 0);
		follow_probed();
		assert_int_equal(*model_of("fast")->law != '\0', later);
	}
	members_are(ALL_MEMBERS);
	d.since++;
	assert_int_equal(store_drift_put(w->store, KEY, "fast", &d, &e), 0);
	members_are("");
}

/* What was submitted for the probe, with so many node seconds spent. */
static const char *submission(struct store_probe row, double cost_node_s, uint32_t *limit_min)
{
	struct cluster_layout layout = {0};
	struct store_program p = program_of(RUNS);
	struct errbuf e;

	row.cost_node_s = cost_node_s;
	if (probe_submit(&w->env, &p, &layout, &row, &e) < 0)
		fail_msg("%s", e.text);
	*limit_min = w->submitted[w->n_submitted - 1].limit_min;
	return w->submitted[w->n_submitted - 1].script;
}

/* Only the probe that builds skeletons gets the names of the traces. The rest of its allowance is for the points: PROBES_LEAST_S of two
 * nodes, as nothing is spent. */
static void test_submission(void **state)
{
	const struct store_probe source = {.candidate = "fast"}, again = {.candidate = "fast", .kept = true};
	uint32_t without_min, min;

	(void)state;
	runs_put();
	assert_null(strstr(submission(again, 0, &without_min), "member"));
	assert_non_null(strstr(submission(source, 0, &min), ALL_MEMBERS " --points-seconds 60\n"));
	assert_int_equal(60 * (min - without_min), RESULT_POINTS_S);
	assert_non_null(strstr(submission(source, 2 * 20.5, &min), ALL_MEMBERS " --points-seconds 39\n"));
	assert_null(strstr(submission(source, 2 * 59.5, &min), "member"));
	assert_int_equal(min, without_min);
	assert_null(strstr(submission(source, 2 * 1000, &min), "member"));
}

/* The record of this run's probe, with a reason instead of points. */
static void unpoint_put(uint32_t job, const char *why)
{
	struct store_probe row = {.state = PROBE_DONE, .candidate = "fast"};
	struct result r;
	struct errbuf e;

	record_put(1, NULL);
	snprintf(row.key, sizeof(row.key), "%032x", RUNS);
	assert_int_equal(store_record_get(w->store, row.key, "fast", &r, &e), 1);
	r.points_n = 0;
	snprintf(r.unpoint, sizeof(r.unpoint), "%s", why);
	snprintf(row.key, sizeof(row.key), "%032x", job);
	assert_int_equal(store_record_put(w->store, &row, &r, &e), 0);
}

/* A probe of the kin for which it took too long has had no points: no other one tries again. */
static void test_too_long(void **state)
{
	(void)state;
	runs_put();
	unpoint_put(2, "learning a model failed");
	members_are(ALL_MEMBERS);
	unpoint_put(2, RESULT_LATE " 60 s");
	members_are("");
}

/* A probe that could compute none takes away those of an earlier one; a probe that was not asked does not. */
static void test_none(void **state)
{
	const char *const why[] = {NULL, "", "learning a model failed"};
	struct store_points points;
	struct errbuf e;

	(void)state;
	runs_put();
	record_put(1, NULL);
	for (int i = 0; i < 3; i++) {
		if (why[i])
			unpoint_put(RUNS, why[i]);
		follow_probed();
		assert_int_equal(store_points_get(w->store, KEY, "fast", &points, &e), 1);
		assert_int_equal(points.n > 20, i < 2);
		assert_int_equal(*model_of("fast")->law != '\0', i < 2);
	}
}

/* The points of fast become points of slow:big, that much older. */
static void points_move(int64_t older)
{
	struct store_points points;
	struct errbuf e;

	assert_int_equal(store_points_get(w->store, KEY, "fast", &points, &e), 1);
	points.updated = w->now - older;
	assert_int_equal(store_points_put(w->store, KEY, "slow:big", &points, &e), 0);
}

/* If the latest probe on a candidate could compute no points, older points of another candidate do not count there, but newer ones do. */
static void test_none_elsewhere(void **state)
{
	(void)state;
	runs_put();
	record_put(1, NULL);
	follow_probed();
	for (int newer = 0; newer < 2; newer++) {
		record_put(1, NULL);
		follow_probed();
		points_move(newer ? -100 : 100);
		unpoint_put(RUNS, "learning a model failed");
		follow_probed();
		assert_int_equal(*model_of("fast")->law != '\0', newer);
		assert_int_equal(strstr(model_of("fast")->reason, "for another partition") != NULL, newer);
	}
}

/* After a drift, points that another candidate had before that drift count no more than the candidate's own. */
static void test_drift_here(void **state)
{
	struct drift d = {.since = w->now + 1};
	struct store_points own;
	struct store_run r;
	struct ended_run run = {.env = &w->env, .row = &r, .now = w->now + 5};
	struct errbuf e;

	(void)state;
	runs_put();
	record_put(1, NULL);
	follow_probed();
	assert_int_equal(store_run_get(w->store, RUNS, &r, &e), 1);
	for (int newer = 0; newer < 2; newer++) {
		points_move(newer ? -2 : 100);
		assert_int_equal(store_drift_put(w->store, KEY, "fast", &d, &e), 0);
		assert_int_equal(scaling_follow(&run, &e), 0);
		ended_run_forget(&run);
		assert_int_equal(strstr(model_of("fast")->reason, "for another partition") != NULL, newer);
	}
	assert_int_equal(store_points_get(w->store, KEY, "fast", &own, &e), 1);
	assert_true(own.updated < d.since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_law, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere_joint, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_none_elsewhere, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_drift_here, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere_drift, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere_forgotten, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_other_numbers, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_arrays, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_members, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_submission, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_too_long, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_none, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_drift, world_setup, world_teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
