/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Least squares and its leave-one-out error, compared with Gaussian elimination that really leaves each row out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/estimate/regression.h"

#define COLS REGRESSION_COLS_MAX

/* A whole regression, by column. */
struct problem {
	unsigned rows, cols;
	double x[COLS][REGRESSION_ROWS_MAX], y[REGRESSION_ROWS_MAX];
};

static double uniform(void)
{
	static uint64_t state = 4711;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / 9007199254740992.0;
}

/* The oracle: normal equations without row `without`, solved by elimination with pivoting. */
static void eliminate(const struct problem *r, unsigned without, double coef[COLS])
{
	double a[COLS][COLS + 1] = {{0}};

	for (unsigned k = 0; k < r->cols; k++)
		for (unsigned i = 0; i < r->rows; i++) {
			if (i == without)
				continue;
			for (unsigned m = 0; m < r->cols; m++)
				a[k][m] += r->x[k][i] * r->x[m][i];
			a[k][r->cols] += r->x[k][i] * r->y[i];
		}
	for (unsigned k = 0; k < r->cols; k++) {
		unsigned best = k;

		for (unsigned i = k; i < r->cols; i++)
			best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
		for (unsigned m = 0; m <= r->cols; m++) {
			double swap = a[k][m];

			a[k][m] = a[best][m];
			a[best][m] = swap;
		}
		for (unsigned i = 0; i < r->cols; i++) {
			double by = i == k ? 0 : a[i][k] / a[k][k];

			for (unsigned m = 0; m <= r->cols; m++)
				a[i][m] -= by * a[k][m];
		}
	}
	for (unsigned k = 0; k < r->cols; k++)
		coef[k] = a[k][r->cols] / a[k][k];
}

static double oracle(const struct problem *r, double coef[COLS])
{
	double sum = 0;

	for (unsigned i = 0; i < r->rows; i++) {
		double without[COLS], at = 0;

		eliminate(r, i, without);
		for (unsigned k = 0; k < r->cols; k++)
			at += without[k] * r->x[k][i];
		sum += (at - r->y[i]) * (at - r->y[i]);
	}
	eliminate(r, r->rows, coef);
	return sqrt(sum / r->rows);
}

/* Takes `more` other columns before each one, and sets them back. */
static double solve_with(const struct problem *p, double coef[COLS], unsigned more)
{
	struct regression_target t = {.rows = p->rows};
	struct regression_column col[COLS], other;
	struct regression r = {.target = &t};

	memcpy(t.y, p->y, sizeof(t.y));
	for (unsigned k = 0; k < p->cols; k++) {
		for (unsigned m = 0; m < more; m++) {
			regression_column_make(&t, p->x[(k + 1 + m) % p->cols], &other);
			regression_take(&r, &other, INFINITY);
			r.cols = k;
		}
		regression_column_make(&t, p->x[k], &col[k]);
		if (regression_take(&r, &col[k], INFINITY) < 0)
			return INFINITY;
	}
	return regression_solve(&r, coef);
}

static double solve(const struct problem *p, double coef[COLS])
{
	return solve_with(p, coef, 0);
}

/* With a bound at the last column: INFINITY if it is not taken. */
static double solve_below(const struct problem *p, double most)
{
	struct regression_target t = {.rows = p->rows};
	struct regression_column col[COLS];
	struct regression r = {.target = &t};
	double coef[COLS];

	memcpy(t.y, p->y, sizeof(t.y));
	for (unsigned k = 0; k < p->cols; k++) {
		regression_column_make(&t, p->x[k], &col[k]);
		if (regression_take(&r, &col[k], k + 1 < p->cols ? INFINITY : most) != 0)
			return INFINITY;
	}
	return regression_solve(&r, coef);
}

static void test_random(void **state)
{
	unsigned solved = 0, refused = 0;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		struct problem r = {.cols = 1 + round % COLS};
		double coef[COLS], expected[COLS], error, expected_error;

		r.rows = r.cols + 2 + (unsigned)(uniform() * (REGRESSION_ROWS_MAX - r.cols - 2));
		for (unsigned i = 0; i < r.rows; i++) {
			for (unsigned k = 0; k < r.cols; k++)
				r.x[k][i] = pow(10, k) * (uniform() - 0.3);
			r.y[i] = 1 + uniform();
		}
		expected_error = oracle(&r, expected);
		error = solve(&r, coef);
		assert_true(solve_with(&r, coef, 2) == error);
		if (error == INFINITY) /* one row decides a coefficient */
			continue;
		solved++;
		assert_true(solve_below(&r, error) == error && solve_below(&r, 1.01 * error) == error);
		assert_true(solve_below(&r, 0.1 * error) == INFINITY || solve_below(&r, 0.1 * error) == error);
		refused += solve_below(&r, 0.1 * error) == INFINITY;
		assert_true(fabs(error / expected_error - 1) < 1e-6);
		for (unsigned k = 0; k < r.cols; k++)
			assert_true(fabs(coef[k] - expected[k]) < 1e-8 * (1 + fabs(expected[k])));
	}
	assert_true(solved > 450);
	assert_true(refused > 300);
}

static void test_exact(void **state)
{
	struct problem r = {.rows = 6, .cols = 2};
	double coef[COLS];

	(void)state;
	for (unsigned i = 0; i < r.rows; i++) {
		r.x[0][i] = 1;
		r.x[1][i] = 1e6 * i;
		r.y[i] = 3 + 2e-6 * r.x[1][i];
	}
	assert_true(solve(&r, coef) < 1e-9);
	assert_true(fabs(coef[0] - 3) < 1e-9 && fabs(coef[1] / 2e-6 - 1) < 1e-9);
}

/* What cannot be solved is an infinite error. */
static void test_refused(void **state)
{
	struct problem r = {.rows = 5, .cols = 2, .y = {1, 2, 3, 4, 5}}, alone;
	double coef[COLS];

	(void)state;
	for (unsigned i = 0; i < r.rows; i++)
		r.x[0][i] = r.x[1][i] = 1 + i; /* singular */
	assert_true(solve(&r, coef) == INFINITY);
	r = (struct problem){.rows = 5, .cols = 2, .x = {{1, 1, 1, 1, 1}}};
	assert_true(solve(&r, coef) == INFINITY); /* a column of zeros */
	r = (struct problem){.rows = 5, .cols = 1, .x = {{1, NAN, 1, 1, 1}}};
	assert_true(solve(&r, coef) == INFINITY);
	r = (struct problem){.rows = 2, .cols = 2, .x = {{1, 1}, {1, 2}}, .y = {1, 2}};
	assert_true(solve(&r, coef) == INFINITY); /* as many coefficients as rows */
	alone = (struct problem){.rows = 5, .cols = 2, .x = {{1, 1, 1, 1, 1}, {0, 0, 7, 0, 0}}, .y = {1, 1, 5, 1, 1}};
	assert_true(solve(&alone, coef) == INFINITY); /* one row decides the second coefficient */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("regression", tests, NULL, NULL);
}
