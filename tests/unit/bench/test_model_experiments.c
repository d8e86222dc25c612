/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be said of the experiments with models without a clock: the model of an algorithm copies it to rounding where
 * a direct approximation does not, decisions to go parallel, normal forms of data that are one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/induce/interpret.h"
#include "model/induce/learn.h"
#include "tests/bench/model/brusselator.h"
#include "tests/bench/model/lag.h"
#include "tests/bench/model/normal_form.h"
#include "tests/bench/model/plate.h"

/* ---- normal forms ---- */

static double truth(const double *x, int which)
{
	switch (which) {
	case 0:
		return 7;
	case 1:
		return 3 + 0.5 * x[0];
	case 2:
		return 1e-3 + 2e-6 * x[0] * x[0] * log2(x[0]) + 5e-4 * x[0];
	case 3:
		return 0.25 * x[0] * sqrt(x[0]);
	case 4:
		return 2 + 3e-3 * x[0] * x[0] * x[1];
	default:
		return 0.1 + 1e-3 * x[0] * x[1] * log2(x[1]) + 0.02 * sqrt(x[2]);
	}
}

static void test_normal_form_exact(void **state)
{
	static const uint32_t params[] = {1, 1, 1, 1, 2, 3}, terms[] = {0, 1, 2, 1, 1, 2};
	static const double size[] = {2, 3, 5, 8, 13, 21, 34, 55};
	struct normal_form f;
	struct errbuf err;

	(void)state;
	for (int w = 0; w < 6; w++) {
		double x[64 * 3], y[64];
		uint32_t n = w < 4 ? 8 : 64;

		for (uint32_t i = 0; i < n; i++) {
			double at[3] = {size[i % 8], size[i / 8], size[(i * 3 + i / 8) % 8]};

			memcpy(x + i * params[w], at, params[w] * sizeof(double));
			y[i] = truth(at, w);
		}
		if (normal_form_fit(x, y, n, params[w], &f, &err) < 0)
			fail_msg("%d: %s", w, err.text);
		assert_int_equal(f.n_terms, terms[w]);
		for (uint32_t i = 0; i < 8; i++) {
			double at[3] = {100 + 37 * i, 4 + i, 1000 / (i + 1)};
			double missed = fabs(normal_form_value(&f, at) / truth(at, w) - 1);

			if (!(missed < 1e-7))
				fail_msg("function %d at %g %g %g: missed by %g", w, at[0], at[1], at[2], missed);
		}
	}
}

static void test_normal_form_text(void **state)
{
	static const char *const names[] = {"N", "P"};
	const struct normal_form f = {
	    .n_params = 2, .n_terms = 2, .constant = 1.5, .term = {{-2, {1, 0.5}, {0, 2}}, {3, {2, 0}, {1, 0}}}};
	char text[128], little[8];

	(void)state;
	normal_form_print(&f, names, text, sizeof(text));
	assert_string_equal(text, "1.5 - 2 N P^0.5 log2(P)^2 + 3 N^2 log2(N)");
	normal_form_print(&f, names, little, sizeof(little));
	assert_string_equal(little, "1.5 - 2");
}

static void test_normal_form_refuses(void **state)
{
	const double x[] = {1, 2, 4, 0.5}, y[] = {1, 2, 3, 4}, negative[] = {1, -2, 3}, nan[] = {1, NAN, 3};
	struct normal_form f;
	struct errbuf err;

	(void)state;
	assert_int_equal(normal_form_fit(x, y, 2, 1, &f, &err), -1);
	assert_int_equal(normal_form_fit(x, y, 3, 0, &f, &err), -1);
	assert_int_equal(normal_form_fit(x, y, 3, NORMAL_FORM_PARAMS + 1, &f, &err), -1);
	assert_int_equal(normal_form_fit(x, y, 4, 1, &f, &err), -1);
	assert_non_null(strstr(err.text, "below 1"));
	assert_int_equal(normal_form_fit(x, negative, 3, 1, &f, &err), -1);
	assert_int_equal(normal_form_fit(x, nan, 3, 1, &f, &err), -1);
	assert_int_equal(normal_form_fit(x, y, 3, 1, &f, &err), 0);
}

/* ---- the lag ---- */

static void test_lag(void **state)
{
	struct lag_report r;
	struct errbuf err;

	(void)state;
	if (lag_experiment(false, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(r.model_worst < 1e-12);
	assert_true(r.far_worst < 1e-12);
	assert_true(r.bits);
	assert_true(r.direct_median > 1e-4);
	assert_true(r.direct_worst > 1e6 * r.model_worst);
}

/* ---- the plate, with a clock that counts ---- */

struct following {
	const struct plate_log *log;
	size_t at;
};

static int follow(void *arg, uint32_t point, double time_s, const double *var)
{
	struct following *f = arg;
	const struct plate_row *row = &f->log->row[f->at];

	assert_true(f->at < f->log->n);
	assert_int_equal(point, row->point);
	assert_memory_equal(var, row->var, sizeof(row->var));
	assert_true(fabs(time_s - row->time_s) <= 1e-9 * row->time_s);
	f->at++;
	return 0;
}

static void test_plate(void **state)
{
	double in[18][PLATE_INPUTS] = {{0}}, far[PLATE_INPUTS] = {400, 350, 90, 150, 5};
	struct plate_log log = {.counted = true};
	struct plate_result result;
	struct errbuf err;
	struct journal *j = plate_journal(&err);
	struct model *m;

	(void)state;
	plate_inputs(1, 10, in);
	plate_inputs(9, 7, in + 10);
	memcpy(in[17], far, sizeof(far));
	for (int i = 0; i < 10; i++)
		if (plate_run(in[i], &log, &result, &err) < 0 || plate_journal_add(j, in[i], &log, &err) < 0)
			fail_msg("%s", err.text);
	m = model_learn(j, NULL, &err);
	if (!m)
		fail_msg("%s", err.text);
	for (int i = 10; i < 18; i++) {
		struct following f = {&log, 0};
		const struct model_sink sink = {follow, &f};
		struct model_result r = {0};

		assert_int_equal(plate_run(in[i], &log, &result, &err), 0);
		assert_true(result.most > 0);
		if (model_interpret(m, in[i], 1, NULL, &sink, &r, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(f.at, log.n);
	}
	plate_log_free(&log);
	model_destroy(m);
	journal_destroy(j);
}

static void test_plate_refuses(void **state)
{
	static const double bad[][PLATE_INPUTS] = {{0, 1, 1, 1, 1}, {8, 1.5, 1, 1, 1}, {8, 1, 1, 9, 1}, {1e9, 1, 1, 1, 1}, {8, 1, -1, 1, 1}};
	struct plate_result result;
	struct errbuf err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(plate_run(bad[i], NULL, &result, &err), -1);
	assert_int_equal(plate_run((const double[]){8, 2, 1, 8, 1}, NULL, &result, &err), 0);
}

/* ---- decisions ---- */

/* The times of the paper's table, in its units: starting on two cores costs what the least size takes there. */
static void test_advice(void **state)
{
	static const struct {
		double one, two;
		bool parallel;
	} table[] = {{1059, 539, true}, {212, 107, true}, {8.25, 4.47, true}, {0.3, 0.47, false}, {0.009, 0.414, false}};
	const double start = 0.414 - 0.009 / 2;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(brusselator_advise(start, table[i].one, 2), table[i].parallel);
		assert_int_equal(table[i].two < table[i].one, table[i].parallel);
	}
	/* One processor is never parallel; more of them may pay where two do not. */
	assert_false(brusselator_advise(0, 1, 1));
	assert_false(brusselator_advise(0.5, 1, 2));
	assert_true(brusselator_advise(0.5, 1, 4));
	assert_false(brusselator_advise(NAN, 1, 2));
}

static double solve_row_by_row(size_t k, int threads)
{
	double sum = 0;

	for (int t = 0; t < threads; t++)
		for (size_t row = (size_t)t; row < k; row += (size_t)threads)
			sum += brusselator_row(k, row);
	return sum;
}

static void test_brusselator(void **state)
{
	(void)state;
	assert_true(isfinite(brusselator_solve(7)));
	assert_true(fabs(solve_row_by_row(7, 2) - brusselator_solve(7)) < 1e-9);
	/* One cell begins at (1/2, 1/2); all lie in the positive quadrant. */
	assert_true(brusselator_solve(1) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_normal_form_exact),
	    cmocka_unit_test(test_normal_form_text),
	    cmocka_unit_test(test_normal_form_refuses),
	    cmocka_unit_test(test_advice),
	    cmocka_unit_test(test_brusselator),
	    cmocka_unit_test(test_lag),
	    cmocka_unit_test(test_plate),
	    cmocka_unit_test(test_plate_refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
