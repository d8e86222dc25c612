/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions from rows: exact rational ones, least squares with noise, GMDH; and the dominant cluster. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/induce/fit.h"
#include "model/induce/interpret.h"
#include "model/induce/rational.h"
#include "model/induce/value.h"

#define ROWS 240

static void test_rational(void **state)
{
	static const int64_t n[] = {3, 8, 5, 12, 20}, m[] = {7, 2, 9, 4, 4}, same[] = {3, 8, 5, 12, 20};
	const int64_t *x[3] = {n, m, same};
	struct rational_fn f;
	int64_t y[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		y[i] = (3 * n[i] - 2 * m[i] + 14) * 5;
	assert_int_equal(rational_solve(x, 2, y, 5, &f), 1);
	assert_int_equal(f.den, 1);
	assert_int_equal(f.num[0], 70);
	assert_int_equal(f.num[1], 15);
	assert_int_equal(f.num[2], -10);
	y[4]++;
	assert_int_equal(rational_solve(x, 2, y, 5, &f), 0);
	/* Halves and thirds. */
	for (int i = 0; i < 5; i++)
		y[i] = n[i] * 3;
	x[0] = y;
	assert_int_equal(rational_solve(x, 1, n, 5, &f), 1);
	assert_int_equal(f.den, 3);
	assert_int_equal(f.num[1], 1);
	/* Two equal columns determine nothing. */
	x[0] = n;
	x[1] = same;
	assert_int_equal(rational_solve(x, 2, y, 5, &f), 0);
}

static void test_rational_overflow(void **state)
{
	static const int64_t n[] = {RATIONAL_MOST, -RATIONAL_MOST, 1}, m[] = {1, RATIONAL_MOST - 1, -RATIONAL_MOST};
	static const int64_t k[] = {RATIONAL_MOST - 7, 11, RATIONAL_MOST - 13}, y[] = {RATIONAL_MOST - 3, 5, -RATIONAL_MOST + 9};
	const int64_t *x[3] = {n, m, k};
	struct rational_fn f;
	int64_t p, q;

	(void)state;
	assert_int_equal(rational_solve(x, 3, y, 3, &f), 0);
	rational_near(-2.0 / 7, 100, &p, &q);
	assert_int_equal(p, -2);
	assert_int_equal(q, 7);
	rational_near(M_PI, 200, &p, &q);
	assert_int_equal(p, 355);
	assert_int_equal(q, 113);
}

struct rows {
	double x[3][ROWS], y[ROWS];
	uint32_t group[ROWS];
};

static double random_next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (double)(*s >> 11) * 0x1p-53;
}

/* Fit, and what is missed where nothing was seen, relative to the largest value. */
static double fit_and_miss(double (*f)(const double *), double noise, struct fit_quality *q, struct model_fn *fn, struct model *m)
{
	static struct rows r;
	double *col[3] = {r.x[0], r.x[1], r.x[2]}, worst = 0, most = 0;
	const uint32_t feature[3] = {0, 1, 2};
	const struct fit_table t = {ROWS, 3, col, feature, r.group, NULL};
	struct model_feature features[3] = {{MODEL_INPUT, 0, 0}, {MODEL_INPUT, 1, 0}, {MODEL_INPUT, 2, 0}};
	struct model_graph g = {.n_features = 3, .feature = features};
	struct errbuf err;
	uint64_t s = 1;

	for (uint32_t i = 0; i < ROWS; i++) {
		double in[3];

		for (int k = 0; k < 3; k++)
			in[k] = r.x[k][i] = 1 + 4 * random_next(&s);
		r.y[i] = f(in) * (1 + noise * (random_next(&s) - 0.5));
		r.group[i] = i / 24;
	}
	assert_int_equal(fit_function(&t, r.y, false, m, fn, q, &err), 0);
	for (uint32_t i = 0; i < 200; i++) {
		double in[3] = {1.2 + 3.6 * random_next(&s), 1.2 + 3.6 * random_next(&s), 1.2 + 3.6 * random_next(&s)};
		struct model_state st = {.input = in};

		worst = fmax(worst, fabs(model_fn_value(&g, fn, &st) - f(in)));
		most = fmax(most, fabs(f(in)));
	}
	return worst / most;
}

static double linear(const double *x)
{
	return 3 * x[0] - 0.25 * x[2] + 7;
}

static double quadratic(const double *x)
{
	return x[0] * x[1] - 2 * x[2] * x[2] + x[1];
}

static double cube(const double *x)
{
	return 1e-9 * x[0] * x[0] * x[0];
}

static double wave(const double *x)
{
	return sin(x[0]) * x[1] * x[1] + exp(0.5 * x[2]) * x[0];
}

static void test_functions(void **state)
{
	struct model *m = model_create();
	struct fit_quality q;
	struct model_fn fn;

	(void)state;
	assert_true(fit_and_miss(linear, 0, &q, &fn, m) < 1e-14);
	assert_true(q.exact);
	assert_int_equal(fn.stage[0].n_terms, 3);
	assert_true(fit_and_miss(quadratic, 0, &q, &fn, m) < 1e-13);
	assert_true(q.exact);
	assert_int_equal(fn.stage[0].n_terms, 3);
	assert_true(fit_and_miss(cube, 0, &q, &fn, m) < 1e-13);
	assert_int_equal(fn.stage[0].n_terms, 1);
	/* Noise of 10 % is not taken for anything else. */
	assert_true(fit_and_miss(linear, 0.1, &q, &fn, m) < 0.03);
	assert_false(q.exact);
	assert_true(fit_and_miss(wave, 0, &q, &fn, m) < 0.3);
	assert_false(q.exact);
	assert_true(q.error < 0.35 * q.deviation);
	model_destroy(m);
}

/* 200 draws of 8 to 40 measurements: a constant with 10 % of noise, at sizes that have no say. Counts the fits with more than
 * a constant. Times and data in turns. */
static void test_constants_stay(void **state)
{
	struct model *m = model_create();
	struct errbuf err;
	uint64_t s = 11;
	int other = 0;

	(void)state;
	for (int k = 0; k < 200; k++) {
		static struct rows r;
		double *col[3] = {r.x[0], r.x[1], r.x[2]};
		const uint32_t feature[3] = {0, 1, 2}, n = 8 + (uint32_t)k % 5 * 8;
		const struct fit_table t = {n, 3, col, feature, r.group, NULL};
		struct fit_quality q;
		struct model_fn fn;

		for (uint32_t i = 0; i < n; i++) {
			for (int c = 0; c < 3; c++)
				r.x[c][i] = floor(20 + 300 * random_next(&s));
			r.y[i] = 30e-6 * (0.9 + 0.2 * random_next(&s));
			r.group[i] = i;
		}
		assert_int_equal(fit_function(&t, r.y, k % 2, m, &fn, &q, &err), 0);
		other += fn.n_stages != 1 || fn.stage[0].n_terms != 1 || fn.stage[0].term[0].n_x != 0;
	}
	/* one in twenty is what the test of significance allows, and three standard deviations of that */
	print_message("# %d of 200 are no constants\n", other);
	assert_in_range(other, 0, 19);
	model_destroy(m);
}

/* Four runs of 60 passages of 2 + 0.2 x microseconds. `every`: every so many passages of every run take a thousand times as
 * long; 0: one passage of one run does. The function at x = 100, in microseconds. */
static double fit_strays(int every)
{
	static const double size[] = {40, 80, 120, 200};
	static double x[240], y[240];
	static uint32_t group[240];
	double *col[1] = {x}, at = 100;
	const uint32_t feature[1] = {0};
	const struct fit_table t = {240, 1, col, feature, group, NULL};
	struct model_feature features[1] = {{MODEL_INPUT, 0, 0}};
	struct model_graph g = {.n_features = 1, .feature = features};
	struct model_state st = {.input = &at};
	struct model *m = model_create();
	struct fit_quality q;
	struct model_fn fn;
	struct errbuf err;
	uint64_t s = 5;
	double value;

	for (uint32_t i = 0; i < 240; i++) {
		group[i] = i / 60;
		x[i] = size[group[i]];
		y[i] = (2 + 0.2 * x[i]) * 1e-6 * (0.95 + 0.1 * random_next(&s));
		if (every ? i % (uint32_t)every == 0 : i == 30)
			y[i] *= 1000;
	}
	assert_int_equal(fit_function(&t, y, true, m, &fn, &q, &err), 0);
	value = model_fn_value(&g, &fn, &st) * 1e6;
	model_destroy(m);
	return value;
}

static void test_strays(void **state)
{
	(void)state;
	assert_float_equal(fit_strays(0), 22, 1);
	/* one in thirty counts: 22 * (29 + 1000) / 30 = 755, less where the noise hides how it grows with x */
	assert_float_equal(fit_strays(30), 600, 300);
}

/* `n` values of one column, each four times, on a parabola that no fraction gives. own: the column is the variable before.
 * The error, as a share of the deviation. */
static double fit_parabola(uint32_t n, bool state_of, bool own)
{
	double x[32], y[32], *col[1] = {x};
	uint32_t group[32];
	const uint32_t feature[1] = {3};
	const struct fit_table t = {4ull * n, 1, col, feature, group, own ? feature : NULL};
	struct model *m = model_create();
	struct fit_quality q;
	struct model_fn fn;
	struct errbuf err;

	for (uint32_t i = 0; i < 4 * n; i++) {
		double v = i / 4;

		group[i] = i / 4;
		x[i] = v;
		y[i] = state_of ? (i / 4 + 1) % n : 1.1 + sqrt(2) * v - M_PI * v * v;
	}
	assert_int_equal(fit_function(&t, y, false, m, &fn, &q, &err), 0);
	model_destroy(m);
	return q.error / q.deviation;
}

static void test_parabola(void **state)
{
	(void)state;
	assert_true(fit_parabola(3, false, false) > 0.05);
	assert_true(fit_parabola(3, false, true) > 0.05);
	assert_true(fit_parabola(5, false, false) < 1e-12);
	/* The three values of a state follow each other: its own values are all that it needs. */
	assert_true(fit_parabola(3, true, true) < 1e-12);
	assert_true(fit_parabola(3, true, false) > 0.05);
}

static void test_cluster(void **state)
{
	double t[30], one[1] = {4};
	struct model_spread s;

	(void)state;
	for (int i = 0; i < 30; i++)
		t[i] = i % 5 ? 10 + 0.01 * i : 20 + 0.01 * i;
	model_cluster(t, 30, &s);
	assert_int_equal(s.n, 30);
	assert_int_equal(s.n_cluster, 24);
	assert_true(s.mean_s > 10 && s.mean_s < 10.3);
	model_cluster(one, 1, &s);
	assert_true(s.mean_s == 4 && s.n_cluster == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rational),
	    cmocka_unit_test(test_rational_overflow),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_strays),
	    cmocka_unit_test(test_constants_stay),
	    cmocka_unit_test(test_parabola),
	    cmocka_unit_test(test_cluster),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
