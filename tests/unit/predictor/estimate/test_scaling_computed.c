/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models over inputs from a few runs and computed points, of families whose times the test knows. The runs alone show too little.
 * The points are at another level, noisy, wrong or hostile.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/scaling_model.h"
#include "tests/unit/normal.h"

#define RUNS 3

/* Three inputs vary: ranks, n and steps. */
static const double ran[RUNS][3] = {{2, 300, 2000}, {2, 420, 3000}, {4, 360, 1500}};

static double truth(const double *x)
{
	return 5 + 4e-7 * x[1] * x[1] * x[2] / x[0];
}

static struct param_family_run runs[RUNS];
static struct scaling_point points[2 * SCALING_COMPUTED_MAX];
static char run_vars[RUNS][96], point_vars[2 * SCALING_COMPUTED_MAX][96];
static size_t n_points;

static void vars_put(char out[96], const double *x)
{
	snprintf(out, 96, "%.9g,1,1,0,%.9g,%.9g", x[0], x[1], x[2]);
}

static void point_add(const double *x, double seconds, double claim)
{
	vars_put(point_vars[n_points], x);
	points[n_points] = (struct scaling_point){point_vars[n_points], seconds, claim};
	n_points++;
}

static void runs_make(double noise)
{
	for (int i = 0; i < RUNS; i++) {
		vars_put(run_vars[i], ran[i]);
		runs[i] = (struct param_family_run){"k", run_vars[i], truth(ran[i]) * (1 + noise * normal()), false};
	}
	n_points = 0;
}

/* The inputs that ran, and a grid around these. */
static void points_make(double level, double noise, double claim)
{
	for (int i = 0; i < RUNS; i++)
		point_add(ran[i], level * truth(ran[i]) * (1 + noise * normal()), claim);
	for (double p = 2; p <= 4; p += 2)
		for (double n = 240; n <= 480; n += 60)
			for (double s = 1000; s <= 3500 && n_points < SCALING_COMPUTED_MAX; s += 1250) {
				double x[3] = {p, n, s};

				point_add(x, level * truth(x) * (1 + noise * normal()), claim);
			}
}

static struct scaling_model model;

static int fit(struct errbuf *why)
{
	return scaling_fit_with(runs, RUNS, points, n_points, &model, why);
}

static int ask(double p, double n, double s, struct estimate *e, struct errbuf *why)
{
	double vars[] = {p, 1, 1, 0, n, s};

	return scaling_predict(&model, vars, 6, e, why);
}

/* Without points it is refused; with points the model is right where nothing ran, at the level of the runs. */
static void test_part_of_the_law(void **state)
{
	const double levels[] = {1, 0.6, 1.7};
	double x[3] = {4, 400, 2500};
	struct errbuf why;
	struct estimate e;

	(void)state;
	runs_make(0);
	assert_int_equal(fit(&why), -1);
	assert_non_null(strstr(why.text, "3 inputs vary and 3 combinations have run: 5 are needed, or three that were traced"));
	for (int i = 0; i < 3; i++) {
		runs_make(0);
		points_make(levels[i], 0, 0.05);
		assert_int_equal(fit(&why), 0);
		assert_true(model.computed > 20);
		assert_int_equal(model.points, RUNS);
		assert_int_equal(model.runs, RUNS);
		assert_int_equal(ask(x[0], x[1], x[2], &e, &why), 0);
		assert_true(fabs(e.mean_s / truth(x) - 1) < 0.02);
		assert_true(e.lo_s < truth(x) && truth(x) < e.hi_s);
		assert_int_equal(e.kind, ESTIMATE_MODEL);
	}
}

/* The interval follows the error: nine in ten of noisy families are within. */
static void test_coverage(void **state)
{
	unsigned told = 0, inside = 0;
	double x[3] = {2, 350, 2500};
	struct errbuf why;
	struct estimate e;

	(void)state;
	for (int i = 0; i < 300; i++) {
		runs_make(0.04);
		points_make(0.9, 0.04, 0.1);
		if (fit(&why) < 0 || ask(x[0], x[1], x[2], &e, &why) < 0)
			continue;
		told++;
		inside += e.lo_s <= truth(x) && truth(x) <= e.hi_s;
	}
	print_message("# %u of 300 told, %u inside\n", told, inside);
	assert_true(told > 200);
	assert_true(inside >= 0.9 * told);
}

/* Points that say otherwise than the runs, that claim little, or of which too few can be held against runs. */
static void test_refused(void **state)
{
	struct errbuf why;

	(void)state;
	runs_make(0);
	points_make(1, 0, 0.05);
	points[1].seconds *= 3;
	assert_int_equal(fit(&why), -1);
	points[1].seconds /= 3;
	assert_int_equal(fit(&why), 0);
	points[0].seconds = 0;
	assert_int_equal(fit(&why), -1);
	assert_non_null(strstr(why.text, "5 are needed"));
	runs_make(0);
	points_make(1, 0, 1000);
	assert_int_equal(fit(&why), -1);
}

/* The more a model claims to be off, and the more points differ from runs, the wider the interval. */
static void test_width(void **state)
{
	const double claims[] = {0.01, 0.2, 1, 5};
	double before = 0;
	struct errbuf why;
	struct estimate e;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(claims) / sizeof(claims[0]); i++) {
		runs_make(0);
		points_make(1, 0, i < 4 ? claims[i] : 0);
		if (i >= 4)
			points[1].seconds *= 1 + 0.03 * (double)(i - 3);
		assert_int_equal(fit(&why), 0);
		if (i == 4)
			before = 0;
		assert_int_equal(ask(4, 370, 2000, &e, &why), 0);
		assert_true(e.hi_s - e.lo_s >= before);
		before = e.hi_s - e.lo_s;
	}
}

/* Numbers that no model computes. */
static void test_hostile(void **state)
{
	const double bad[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e308, 1e-308};
	struct errbuf why;
	struct estimate e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		runs_make(0);
		points_make(1, 0, 0.05);
		for (size_t k = 3; k < n_points; k += 2)
			points[k].seconds = bad[i];
		if (fit(&why) == 0 && ask(4, 400, 2500, &e, &why) == 0)
			assert_int_equal(estimate_check(&e, NULL), 0);
		runs_make(0);
		points_make(1, 0, bad[i]);
		if (fit(&why) == 0 && ask(4, 400, 2500, &e, &why) == 0)
			assert_int_equal(estimate_check(&e, NULL), 0);
	}
	runs_make(0);
	points_make(1, 0, 0.05);
	for (size_t k = 0; k < n_points; k++)
		points[k].vars = k % 3 ? "1,2,x" : "";
	assert_int_equal(fit(&why), -1);
}

/* More points than are used; and the model reaches no farther than runs alone do. */
static void test_bounds(void **state)
{
	double far[3] = {2, 2000, 3000};
	struct errbuf why;
	struct estimate e;

	(void)state;
	runs_make(0);
	points_make(1, 0, 0.05);
	while (n_points < 2 * SCALING_COMPUTED_MAX) {
		far[1] += 1;
		point_add(far, truth(far), 0.05);
	}
	assert_int_equal(fit(&why), 0);
	assert_true(model.computed <= SCALING_COMPUTED_MAX);
	assert_true(model.lo[4] == 300 && model.hi[4] == 420);
	assert_int_equal(ask(2, 2000, 3000, &e, &why), -1);
	assert_non_null(strstr(why.text, "is too far from"));
}

/* Points that vary what the runs did not vary, or not by itself: the other points are the same as without these. */
static void test_unlike_runs(void **state)
{
	const double alike[2][RUNS][3] = {{{2, 300, 2000}, {2, 420, 3000}, {2, 360, 1500}},
					  {{2, 300, 2400}, {2, 420, 3360}, {4, 360, 2880}}};
	struct scaling_model all;
	struct errbuf why;

	(void)state;
	for (int how = 0; how < 2; how++) {
		n_points = 0;
		for (int i = 0; i < RUNS; i++) {
			vars_put(run_vars[i], alike[how][i]);
			runs[i] = (struct param_family_run){"k", run_vars[i], truth(alike[how][i]), false};
			point_add(alike[how][i], runs[i].actual_s, 0.05);
		}
		for (double n = 240; n <= 480; n += 30) {
			double like[3] = {2, n, 8 * n}, unlike[3] = {how ? 2 : 4, n, how ? 4 * n : 8 * n};

			point_add(unlike, truth(unlike), 0.05);
			point_add(like, truth(like), 0.05);
		}
		assert_int_equal(fit(&why), 0);
		all = model;
		for (size_t i = n_points = RUNS; i < RUNS + 18; i += 2)
			points[n_points++] = points[i + 1];
		assert_int_equal(fit(&why), 0);
		assert_memory_equal(&all, &model, sizeof(all));
	}
}

/* Points without any error do not hide that the law misses the runs by far. The points at their inputs lie as far from a law over the
 * other points as the runs do: so they say nothing against the points. */
static void test_missed_runs(void **state)
{
	const double off[2][RUNS] = {{1.1, 1, 0.9}, {1.5, 1, 0.67}};
	struct errbuf why;

	(void)state;
	for (int how = 0; how < 2; how++) {
		runs_make(0);
		points_make(1, 0, 0.05);
		for (int i = 0; i < RUNS; i++) {
			runs[i].actual_s *= off[how][i];
			points[i].seconds *= off[how][i];
		}
		assert_int_equal(fit(&why), how ? -1 : 0);
	}
}

/* Where runs tell all, they decide: points of another law change nothing. */
static void test_runs_decide(void **state)
{
	struct param_family_run many[8];
	char vars[8][96];
	struct scaling_model alone, with;
	struct errbuf why;

	(void)state;
	n_points = 0;
	for (int i = 0; i < 8; i++) {
		double x[3] = {2, 100 * (i + 1), 1000};

		vars_put(vars[i], x);
		many[i] = (struct param_family_run){"k", vars[i], 1 + 1e-4 * x[1] * x[1], false};
		point_add(x, 1e-2 * x[1], 0.01);
		x[1] += 50;
		point_add(x, 1e-2 * x[1], 0.01);
	}
	assert_int_equal(scaling_fit(many, 8, &alone, &why), 0);
	assert_int_equal(scaling_fit_with(many, 8, points, n_points, &with, &why), 0);
	assert_memory_equal(&alone, &with, sizeof(alone));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_of_the_law), cmocka_unit_test(test_coverage), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_hostile),		cmocka_unit_test(test_bounds),	 cmocka_unit_test(test_runs_decide),
		cmocka_unit_test(test_unlike_runs), cmocka_unit_test(test_missed_runs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
