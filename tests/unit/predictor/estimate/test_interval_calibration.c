/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals that hold what they promise: streams of predictions and runs with noise of many shapes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/interval_calibration.h"
#include "tests/unit/normal.h"

/* Noise with a deviation of about one; the median is what is predicted. */
static double shape_normal(void) { return normal(); }
static double shape_uniform(void) { return sqrt(12) * (drand48() - 0.5); }
static double shape_laplace(void) { double u = drand48() - 0.5; return (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u)) / M_SQRT2; }
static double shape_heavy(void) { return normal() / sqrt((pow(normal(), 2) + pow(normal(), 2) + pow(normal(), 2)) / 3) / 1.7; }
static double shape_skewed(void) { return exp(0.8 * normal()) - 1; }
static double shape_two(void) { return (drand48() < 0.5 ? -1 : 1) + 0.1 * normal(); }
static double shape_biased(void) { return 1.5 + 0.5 * normal(); }
static double shape_rare(void) { return drand48() < 0.05 ? 6 * normal() : 0.5 * normal(); }

static const struct {
	const char *name;
	double (*draw)(void);
} shapes[] = {
	{"normal", shape_normal}, {"uniform", shape_uniform}, {"laplace", shape_laplace}, {"heavy tails", shape_heavy},
	{"skewed", shape_skewed}, {"two values", shape_two},  {"biased", shape_biased},	  {"rare outliers", shape_rare},
};

#define STREAM 1200
#define BEFORE 200

/* The share of runs within their scaled intervals, when the evidence claims `claim` times the deviation that there is. */
static double coverage_of(double (*draw)(void), double claim, double noise)
{
	static struct interval_calibration_run runs[STREAM];
	unsigned inside = 0;

	for (int i = 0; i < STREAM; i++) {
		struct interval_calibration_run *r = &runs[STREAM - 1 - i]; /* the latest first */
		size_t n = i < 64 ? (size_t)i : 64;
		struct interval_calibration_level own = {r + 1, n, -1};
		double half = 2 * claim * noise * 100, scale = interval_calibration_scale(&own, 1);
		struct estimate e = {100, 100 - half, 100 + half, ESTIMATE_SKELETON, 0};

		scale = interval_calibration_apply(&e, scale);
		*r = (struct interval_calibration_run){"k", 100 * (1 + noise * draw()), false, ESTIMATE_SKELETON, e.mean_s, e.lo_s, e.hi_s, scale};
		inside += i >= BEFORE && r->actual_s >= e.lo_s && r->actual_s <= e.hi_s;
	}
	return (double)inside / (STREAM - BEFORE);
}

static void test_streams(void **state)
{
	static const double claims[] = {0.3, 0.7, 1, 1.3};

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		for (size_t c = 0; c < sizeof(claims) / sizeof(claims[0]); c++) {
			double held;

			srand48((long)(100 * s + c));
			held = coverage_of(shapes[s].draw, claims[c], 0.08);
			if (!(held >= 0.85 && held <= 0.99))
				fail_msg("%s, claiming %g of its deviation: %.3f", shapes[s].name, claims[c], held);
		}
	}
}

/* After a change of the noise it holds again within a window. */
static void test_change(void **state)
{
	static struct interval_calibration_run runs[400];
	unsigned inside = 0;

	(void)state;
	srand48(5);
	for (int i = 0; i < 400; i++) {
		struct interval_calibration_run *r = &runs[399 - i];
		struct interval_calibration_level own = {r + 1, i < 64 ? (size_t)i : 64, -1};
		double noise = i < 200 ? 0.03 : 0.09, scale = interval_calibration_scale(&own, 1);
		struct estimate e = {100, 94, 106, ESTIMATE_SOURCE, 0};

		scale = interval_calibration_apply(&e, scale);
		*r = (struct interval_calibration_run){"k", 100 * (1 + noise * normal()), false, ESTIMATE_SOURCE, e.mean_s, e.lo_s, e.hi_s, scale};
		inside += i >= 280 && r->actual_s >= e.lo_s && r->actual_s <= e.hi_s;
	}
	assert_true(inside >= 120 * 0.85);
}

static struct interval_calibration_run run(double actual_s, double half, double scale, int kind)
{
	return (struct interval_calibration_run){"k", actual_s, false, kind, 100, 100 - half, 100 + half, scale};
}

static void test_levels(void **state)
{
	struct interval_calibration_run own[40], user[40];
	struct interval_calibration_level levels[] = {{own, 0, ESTIMATE_SKELETON}, {own, 0, -1}, {user, 0, -1}};
	double few, many, one;

	(void)state;
	assert_true(interval_calibration_scale(levels, 3) == 1);
	for (unsigned i = 0; i < 40; i++) {
		own[i] = run(101, 5, 1, i % 2 ? ESTIMATE_SKELETON : ESTIMATE_HISTORY);
		user[i] = run(130, 5, 1, ESTIMATE_SOURCE);
	}
	/* others of the user were far off, while this family is not known */
	levels[2].n = 40;
	assert_true(interval_calibration_scale(levels, 3) > 4);
	/* the more is known of the family, the less these count */
	levels[0].n = levels[1].n = 4;
	few = interval_calibration_scale(levels, 3);
	levels[0].n = levels[1].n = 40;
	many = interval_calibration_scale(levels, 3);
	assert_true(few > 2 && many < 1);
	/* intervals that had been scaled are looked at as they were before */
	for (unsigned i = 0; i < 40; i++)
		own[i] = run(109, 5, 1, ESTIMATE_SKELETON);
	one = interval_calibration_scale(levels, 1);
	for (unsigned i = 0; i < 40; i++)
		own[i] = run(109, 10, 2, ESTIMATE_SKELETON);
	assert_true(fabs(one - 1.8) < 1e-9 && fabs(interval_calibration_scale(levels, 1) - one) < 1e-9);
}

static void test_what_says_nothing(void **state)
{
	struct interval_calibration_run runs[] = {run(130, 5, 1, 0), run(130, 5, 1, 0), run(130, 0, 1, 0), run(NAN, 5, 1, 0)};
	struct interval_calibration_level level = {runs, 4, -1};

	(void)state;
	runs[0].pred_s = 0;
	runs[1].actual_s = 60; /* cut short before it was due */
	runs[1].at_least = true;
	assert_true(interval_calibration_scale(&level, 1) == 1);
	runs[1].actual_s = 104; /* within */
	assert_true(interval_calibration_scale(&level, 1) == 1);
	runs[1].actual_s = 400;
	assert_true(interval_calibration_scale(&level, 1) > 1);
	for (int i = 0; i < 4; i++)
		runs[i] = run(1e9, 1, 1, 0);
	assert_true(interval_calibration_scale(&level, 1) == INTERVAL_CALIBRATION_SCALE_MAX);
	for (int i = 0; i < 4; i++)
		runs[i] = run(100, 50, 1, 0);
	assert_true(interval_calibration_scale(&level, 1) >= INTERVAL_CALIBRATION_SCALE_MIN && interval_calibration_scale(&level, 1) < 1);
}

static void test_apply(void **state)
{
	struct estimate e = {100, 95, 110, ESTIMATE_BLEND, 3};

	(void)state;
	assert_true(interval_calibration_apply(&e, 2) == 2);
	assert_true(e.lo_s == 90 && e.hi_s == 120 && e.mean_s == 100);
	assert_true(fabs(interval_calibration_apply(&e, 0.01) - 0.1) < 1e-12); /* no less than two percent */
	assert_true(fabs(e.hi_s - 102) < 1e-9 && fabs(e.lo_s - 98) < 1e-9);
	interval_calibration_apply(&e, 1000);
	assert_true(e.lo_s == 0);
}

static void test_errors_by_kind(void **state)
{
	struct interval_calibration_run runs[] = {
		{"a", 110, false, ESTIMATE_BLEND, 100, 90, 110, 1}, {"b", 100, false, ESTIMATE_PARTIAL, 130, 90, 140, 1},
		{"a", 100, false, ESTIMATE_BLEND, 90, 80, 110, 1},  {"b", 100, true, ESTIMATE_PARTIAL, 500, 90, 600, 1},
		{"a", 100, false, ESTIMATE_SKELETON, 80, 70, 90, 1}, {"a", 100, false, ESTIMATE_SKELETON, 60, 50, 90, 1},
		{"c", 100, false, ESTIMATE_SKELETON, 90, 70, 99, 1}, {"c", 50, false, -1, 0, 0, 0, 1},
	};
	struct interval_calibration_errors e;

	(void)state;
	interval_calibration_errors_of(runs, 8, "a", &e);
	assert_int_equal(e.n[ESTIMATE_HISTORY], 0);
	interval_calibration_errors_of(runs, 8, NULL, &e);
	assert_int_equal(e.n[ESTIMATE_SKELETON], 2); /* each program once */
	assert_true(fabs(e.sq[ESTIMATE_SKELETON] - ((0.04 + 0.16) / 2 + 0.01)) < 1e-12);
	assert_int_equal(e.n[ESTIMATE_PARTIAL], 1);
	assert_true(fabs(e.sq[ESTIMATE_PARTIAL] - 0.09) < 1e-12);
	assert_int_equal(e.n[ESTIMATE_HISTORY], 1); /* the other has too few */
	assert_true(fabs(e.sq[ESTIMATE_HISTORY] - pow(100.0 / 110 - 1, 2)) < 1e-12);
	assert_int_equal(e.n[ESTIMATE_SOURCE], 0);
}

/* A family whose runs vary much: after two runs of a new program of it that is known. */
static void test_spread_of_a_family(void **state)
{
	struct estimate_past two[] = {{100, 0, false}, {101, 0, false}};
	struct estimate calm, wild;
	struct errbuf err;

	(void)state;
	assert_true(fabs(estimate_spread(0, 0) - 0.04) < 1e-12);
	assert_int_equal(estimate_blend_believing(NULL, two, 2, estimate_spread(10 * 0.0001, 10), &calm, &err), 0);
	assert_int_equal(estimate_blend_believing(NULL, two, 2, estimate_spread(10 * 0.01, 10), &wild, &err), 0);
	assert_true(wild.hi_s - wild.mean_s > 2 * (calm.hi_s - calm.mean_s));
	assert_true(wild.hi_s > 115 && calm.hi_s < 110);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams), cmocka_unit_test(test_change),
		cmocka_unit_test(test_levels),	cmocka_unit_test(test_what_says_nothing),
		cmocka_unit_test(test_apply),	cmocka_unit_test(test_errors_by_kind),
		cmocka_unit_test(test_spread_of_a_family),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
