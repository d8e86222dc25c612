/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of predicted runs: rows by hand, rows of random runs against sums made another way, and which runs count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/accuracy/accuracy.h"
#include "tests/unit/store_fixture.h"

static struct accuracy_sample sample(double elapsed, double said, double request, double limit)
{
	struct accuracy_sample s = {.jobid = 1, .uid = 1, .nodes = 2, .elapsed_s = elapsed, .lo_s = 0.9 * said, .hi_s = 1.1 * said,
				    .limit_s = limit, .completed = true};

	s.said_s[ACCURACY_PRECEDENT] = said;
	s.said_s[ACCURACY_REQUEST] = request;
	s.said_s[ACCURACY_PERFECT] = elapsed;
	return s;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(a));
}

static void test_quantiles(void **state)
{
	const double v[] = {1, 2, 3, 4};

	(void)state;
	assert_true(accuracy_quantile(NULL, 0, 0.5) == 0);
	assert_true(accuracy_quantile(v, 1, 0.9) == 1);
	assert_true(accuracy_quantile(v, 4, 0) == 1);
	assert_true(accuracy_quantile(v, 4, 1) == 4);
	assert_true(accuracy_quantile(v, 4, 0.5) == 2.5);
	assert_true(is_near(accuracy_quantile(v, 4, 0.9), 3.7));
}

static void test_row(void **state)
{
	struct accuracy_sample s[] = {sample(100, 100, 3600, 120), sample(125, 100, 3600, 180), sample(80, 100, 0, 120),
				      sample(600, 300, 600, 600)};
	const struct accuracy_sample *list[] = {&s[0], &s[1], &s[2], &s[3]};
	struct accuracy_row r;

	(void)state;
	s[1].extensions = 2;
	s[3].completed = false; /* reached its user's own limit */
	assert_int_equal(accuracy_row_make(list, 4, &r, NULL), 0);
	assert_int_equal(r.n, 4);
	assert_int_equal(r.of[ACCURACY_PRECEDENT].n, 3); /* errors 0, -0.2, 0.25 */
	assert_true(is_near(r.of[ACCURACY_PRECEDENT].median, 0.2));
	assert_true(is_near(r.of[ACCURACY_PRECEDENT].worst, 0.25));
	assert_true(is_near(r.of[ACCURACY_PRECEDENT].bias, 0));
	assert_int_equal(r.of[ACCURACY_PRECEDENT].too_short, 1);
	assert_true(is_near(r.of[ACCURACY_PRECEDENT].said_of_used, 300.0 / 305));
	assert_int_equal(r.of[ACCURACY_REQUEST].n, 2);
	assert_true(is_near(r.of[ACCURACY_REQUEST].precedent_median, 0.1)); /* of 0 and 0.2 */
	assert_int_equal(r.of[ACCURACY_USER_TWO].n, 0);
	assert_true(r.of[ACCURACY_PERFECT].worst == 0);
	assert_int_equal(r.under, 2);
	assert_int_equal(r.below, 1);
	assert_int_equal(r.inside, 1);
	assert_int_equal(r.limits, 4);
	assert_int_equal(r.extended, 1);
	assert_int_equal(r.extensions, 2);
	assert_int_equal(r.timed_out, 1);
	assert_int_equal(r.cut_short, 0);
	assert_true(is_near(r.used_s, 825) && is_near(r.requested_s, 7800) && is_near(r.set_s, 900));
	assert_true(is_near(r.requested_node_h - r.set_node_h, 2 * 6900 / 3600.0));
	s[3].limit_s = 420; /* it reached what its user asked for all the same */
	assert_int_equal(accuracy_row_make(list, 4, &r, NULL), 0);
	assert_int_equal(r.cut_short, 0);
	s[3].elapsed_s = 420;
	assert_int_equal(accuracy_row_make(list, 4, &r, NULL), 0);
	assert_int_equal(r.cut_short, 1);
	assert_int_equal(accuracy_row_make(NULL, 0, &r, NULL), 0);
	assert_int_equal(r.n, 0);
}

/* The same numbers by counting: a median is what as many lie above as below. */
static void test_random_rows(void **state)
{
	enum { N = 101 };
	struct accuracy_sample s[N];
	const struct accuracy_sample *list[N];

	(void)state;
	srandom(3);
	for (int round = 0; round < 50; round++) {
		struct accuracy_row r;
		size_t above = 0, below = 0, beyond90 = 0;

		for (int i = 0; i < N; i++) {
			double elapsed = 1 + (double)(random() % 100000);

			s[i] = sample(elapsed, elapsed * (0.5 + (double)(random() % 1000) / 1000), 0, 0);
			list[i] = &s[i];
		}
		assert_int_equal(accuracy_row_make(list, N, &r, NULL), 0);
		for (int i = 0; i < N; i++) {
			double e = fabs(s[i].said_s[ACCURACY_PRECEDENT] / s[i].elapsed_s - 1);

			above += e > r.of[ACCURACY_PRECEDENT].median + 1e-12;
			below += e < r.of[ACCURACY_PRECEDENT].median - 1e-12;
			beyond90 += e > r.of[ACCURACY_PRECEDENT].p90 + 1e-12;
			assert_true(e <= r.of[ACCURACY_PRECEDENT].worst + 1e-12);
		}
		assert_true(above <= N / 2 && below <= N / 2);
		assert_true(beyond90 <= N / 10);
		assert_int_equal(r.under + r.below + r.inside, N);
	}
}

/* ---- reading ---- */

static struct store_run run(uint32_t job, int64_t submit, double elapsed, double said, const char *state)
{
	struct store_run r = {.jobid = job, .submit_time = submit, .uid = 7, .nodes = 1, .pred_s = said, .lo_s = said, .hi_s = said,
			      .user_limit_min = 10, .limit_min = DURATION_UNSET, .start_time = submit,
			      .end_time = submit + (int64_t)elapsed, .elapsed_s = elapsed};

	snprintf(r.key, sizeof(r.key), "%032d", 1);
	snprintf(r.family, sizeof(r.family), "%032d", 2);
	strcpy(r.candidate, "fast");
	strcpy(r.pred_candidate, "fast");
	strcpy(r.end_state, state);
	return r;
}

static void put(struct store *s, struct store_run r)
{
	ok(store_run_put(s, &r, &err));
}

static void test_read(void **state)
{
	struct store *s = must_open(STORE_WRITE | STORE_WAIT);
	struct store_run other = run(6, 3000, 50, 60, "COMPLETED");
	struct accuracy_set set = {0};

	(void)state;
	(void)program; /* of the fixture */
	put(s, run(1, 1000, 100, 0, "COMPLETED")); /* first run: nothing was predicted, but it teaches */
	put(s, run(2, 2000, 300, 0, "FAILED"));	   /* the user's last two count whatever ran */
	put(s, run(3, 3000, 90, 100, "COMPLETED"));
	put(s, run(4, 4000, 600, 100, "TIMEOUT"));
	put(s, run(5, 5000, 50, 100, "CANCELLED"));
	strcpy(other.candidate, "slow"); /* it ran elsewhere than it was predicted for */
	put(s, other);
	put(s, run(7, 6000, 2000, 100, "UNKNOWN")); /* nobody knows how long it ran */
	put(s, run(8, 9000, 90, 100, "COMPLETED"));
	ok(accuracy_read(s, STORE_ALL_USERS, 0, &set, &err));
	assert_int_equal(set.n, 3);
	assert_int_equal(set.list[0].jobid, 8); /* latest first */
	assert_int_equal(set.list[1].jobid, 4);
	assert_int_equal(set.list[2].jobid, 3);
	assert_false(set.list[1].completed);
	assert_true(set.list[2].said_s[ACCURACY_USER_TWO] == 200); /* of 100 and 300 */
	assert_true(set.list[2].said_s[ACCURACY_REQUEST] == 600);
	assert_true(set.list[0].said_s[ACCURACY_USER_TWO] == 325); /* jobs 4 and 5, which ended last */
	assert_true(set.list[2].limit_s == 0);
	assert_string_equal(set.candidates[set.list[0].candidate], "fast");
	accuracy_free(&set);
	assert_int_equal(accuracy_read(s, 7, 4500, &set, &err), 0); /* history goes further back than the samples */
	assert_int_equal(set.n, 1);
	assert_true(set.list[0].said_s[ACCURACY_KEY_TWO] == 325);
	accuracy_free(&set);
	assert_int_equal(accuracy_read(s, 8, 0, &set, &err), 0);
	assert_int_equal(set.n, 0);
	accuracy_free(&set);
	store_close(s);
}

/* Slurm planned with two minutes, and the limit of ten stayed. */
static void test_planned(void **state)
{
	struct accuracy_sample s[2];
	const struct accuracy_sample *const list[] = {&s[0], &s[1]};
	struct store_run r = run(1, 1000, 60, 100, "COMPLETED"), late = run(2, 2000, 600, 100, "TIMEOUT");
	struct accuracy_row row;

	(void)state;
	r.plan_min = late.plan_min = 2;
	accuracy_sample_of(&r, &s[0]);
	accuracy_sample_of(&late, &s[1]);
	assert_int_equal(accuracy_row_make(list, 2, &row, NULL), 0);
	assert_int_equal(row.limits, 2);
	assert_true(row.requested_s == 1200 && row.set_s == 120 + 600);
	assert_int_equal(row.timed_out, 1);
	assert_int_equal(row.cut_short, 0); /* its user's limit ended it */
	late.elapsed_s = 640; /* slurmctld ends a job up to a minute after its limit */
	accuracy_sample_of(&late, &s[1]);
	assert_int_equal(accuracy_row_make(list, 2, &row, NULL), 0);
	assert_true(row.requested_s == 1200 && row.set_s == 120 + 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_random_rows),
		cmocka_unit_test(test_planned),
		cmocka_unit_test_setup_teardown(test_read, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
