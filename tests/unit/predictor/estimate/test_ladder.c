/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates from similar runs: against the product-limit formula as Kaplan and Meier wrote it, and each kind of end. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/ladder.h"

static uint64_t random_state = 88172645463325252ULL;

static double random_share(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(1ULL << 53);
}

static int predict(const struct ladder_group *command, const struct ladder_group *user, struct ladder_estimate *e)
{
	const struct ladder_group *const groups[LADDER_RUNGS] = {[LADDER_COMMAND] = command, [LADDER_USER] = user};

	return ladder_predict(groups, e);
}

static void test_ends(void **state)
{
	(void)state;
	assert_int_equal(ladder_end_of("COMPLETED", 5), LADDER_WHOLE);
	assert_int_equal(ladder_end_of("TIMEOUT", 5), LADDER_AT_LEAST);
	assert_int_equal(ladder_end_of("CANCELLED", 5000), LADDER_AT_LEAST);
	assert_int_equal(ladder_end_of("FAILED", LADDER_EARLY_S - 1), LADDER_EARLY);
	assert_int_equal(ladder_end_of("FAILED", LADDER_EARLY_S), LADDER_WHOLE);
	assert_int_equal(ladder_end_of("OUT_OF_MEMORY", 10), LADDER_EARLY);
	assert_int_equal(ladder_end_of("UNKNOWN", 10), LADDER_NOTHING);
	assert_int_equal(ladder_end_of("COMPLETED", 0), LADDER_NOTHING);
	assert_int_equal(ladder_end_of("COMPLETED", INFINITY), LADDER_NOTHING);
}

static void test_nothing(void **state)
{
	struct ladder_group g = {0};
	struct ladder_estimate e;

	(void)state;
	assert_int_equal(predict(NULL, NULL, &e), -1);
	assert_int_equal(predict(&g, NULL, &e), -1);
	ladder_group_add(&g, 100, LADDER_NOTHING);
	ladder_group_add(&g, 100, LADDER_EARLY);
	ladder_group_add(&g, 100, LADDER_AT_LEAST);
	assert_int_equal(predict(&g, NULL, &e), -1);
	ladder_group_add(&g, 50, LADDER_WHOLE);
	assert_int_equal(predict(&g, NULL, &e), 0);
	assert_true(e.mean_s >= 50 && e.runs == 2 && e.rung == LADDER_COMMAND);
	assert_true(fabs(e.early_share - 1.0 / 3) < 1e-12);
}

/* The median of runs of equal weight by the survival function: the least time t with S(t) <= 1/2. */
static double product_limit_median(const double *seconds, const bool *censored, const double *weight, unsigned n)
{
	double t = 0, survival = 1, longest = 0;

	for (unsigned i = 0; i < n; i++)
		longest = fmax(longest, seconds[i]);
	while (t < longest) {
		double next = longest, ended = 0, at_risk = 0;

		for (unsigned i = 0; i < n; i++)
			if (seconds[i] > t)
				next = fmin(next, seconds[i]);
		t = next;
		for (unsigned i = 0; i < n; i++) {
			at_risk += seconds[i] >= t ? weight[i] : 0;
			ended += seconds[i] == t && !censored[i] ? weight[i] : 0;
		}
		survival *= 1 - ended / at_risk;
		if (survival <= 0.5 + 1e-12)
			return t;
	}
	return longest;
}

static void test_lower_bounds(void **state)
{
	(void)state;
	for (int trial = 0; trial < 2000; trial++) {
		unsigned n = 1 + (unsigned)(random_share() * LADDER_RUNS);
		double seconds[LADDER_RUNS], weight[LADDER_RUNS], want;
		bool censored[LADDER_RUNS], whole = false;
		struct ladder_group g = {0};
		struct ladder_estimate e;

		for (unsigned i = 0; i < n; i++) { /* the oldest first */
			seconds[i] = 1 + floor(random_share() * 20); /* with ties */
			censored[i] = random_share() < 0.3;
			weight[i] = pow(0.85, n - 1 - i);
			whole |= !censored[i];
			ladder_group_add(&g, seconds[i], censored[i] ? LADDER_AT_LEAST : LADDER_WHOLE);
		}
		assert_true(ladder_group_valid(&g));
		assert_int_equal(predict(&g, NULL, &e), whole ? 0 : -1);
		if (!whole)
			continue;
		want = product_limit_median(seconds, censored, weight, n);
		if (fabs(e.mean_s - want) > 1e-6)
			fail_msg("trial %d: median %g, the product-limit formula says %g", trial, e.mean_s, want);
		assert_true(e.lo_s <= e.mean_s && e.mean_s <= e.hi_s);
	}
}

/* The same time with every command, in turns: the user's runs say little, each command's runs all. */
static void test_past_errors(void **state)
{
	struct ladder_group command[2] = {0}, user = {0};
	struct ladder_estimate e;

	(void)state;
	for (int i = 0; i < 40; i++) {
		double seconds = i % 2 ? 1000 : 10;

		ladder_group_add(&command[i % 2], seconds, LADDER_WHOLE);
		ladder_group_add(&user, seconds, LADDER_WHOLE);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(predict(&command[i], &user, &e), 0);
		assert_true(e.mean_s == (i ? 1000 : 10) && e.rung == LADDER_COMMAND);
	}
	/* a command that never ran takes the user's runs, and says how little they tell */
	assert_int_equal(predict(NULL, &user, &e), 0);
	assert_true(e.rung == LADDER_USER && e.lo_s <= 10 && e.hi_s >= 1000);
	/* the command changes its time at each run; the user's runs are all alike */
	memset(command, 0, sizeof(command));
	memset(&user, 0, sizeof(user));
	for (int i = 0; i < 20; i++) {
		ladder_group_add(&command[0], i % 2 ? 5000 : 5, LADDER_WHOLE);
		ladder_group_add(&user, 100, LADDER_WHOLE);
	}
	assert_int_equal(predict(&command[0], &user, &e), 0);
	assert_true(e.rung == LADDER_USER && e.mean_s == 100);
}

static void test_modes(void **state)
{
	struct ladder_group g = {0};
	struct ladder_estimate e;

	(void)state;
	for (int i = 0; i < 8; i++) {
		ladder_group_add(&g, 3, LADDER_EARLY);
		ladder_group_add(&g, 600, LADDER_WHOLE);
	}
	assert_int_equal(predict(&g, NULL, &e), 0);
	assert_true(e.mean_s == 600 && e.early_share == 0.5 && e.limit_share == 0);
	for (int i = 0; i < 30; i++)
		ladder_group_add(&g, 3600, i % 2 ? LADDER_WHOLE : LADDER_AT_LEAST);
	assert_int_equal(predict(&g, NULL, &e), 0);
	assert_true(e.early_share == 0 && e.limit_share > 0.4 && e.limit_share < 0.6 && e.mean_s == 3600);
	assert_int_equal(g.n, LADDER_RUNS);
}

static void test_valid(void **state)
{
	struct ladder_group g = {0};

	(void)state;
	assert_true(ladder_group_valid(&g));
	g.n = LADDER_RUNS + 1;
	assert_false(ladder_group_valid(&g));
	g.n = 1;
	assert_false(ladder_group_valid(&g)); /* a run of no time */
	g.seconds[0] = NAN;
	assert_false(ladder_group_valid(&g));
	g.seconds[0] = 5;
	assert_true(ladder_group_valid(&g));
	g.miss_sq = -1;
	assert_false(ladder_group_valid(&g));
	g.miss_sq = INFINITY;
	assert_false(ladder_group_valid(&g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),	    cmocka_unit_test(test_nothing), cmocka_unit_test(test_lower_bounds),
		cmocka_unit_test(test_past_errors), cmocka_unit_test(test_modes),   cmocka_unit_test(test_valid),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
