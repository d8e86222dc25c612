/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does tracing make jobs fail? Pairs of runs, for every end of either run. The test over all pairs is compared with exact
 * binomial sums, which Python's fractions gave.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/array.h"
#include "predictor/estimate/trial.h"

static struct trial_run ended(const char *state, double elapsed_s)
{
	return (struct trial_run){state, elapsed_s, 1000, ARRAY_NO_INDEX};
}

/* ---- one program ---- */

static void test_ends(void **state)
{
	static const char *const may[] = {"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "UNKNOWN"};
	static const char *const may_not[] = {"COMPLETED", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "DEADLINE", "REQUEUED", "ENDED", ""};
	struct trial_run r;

	(void)state;
	for (size_t i = 0; i < sizeof(may) / sizeof(may[0]); i++) {
		r = ended(may[i], 5);
		if (!trial_may_be_tracer(&r))
			fail_msg("%s", may[i]);
	}
	for (size_t i = 0; i < sizeof(may_not) / sizeof(may_not[0]); i++) {
		r = ended(may_not[i], 5);
		if (trial_may_be_tracer(&r))
			fail_msg("%s", may_not[i]);
	}
	r = ended("CANCELLED", 0); /* before it ran */
	assert_false(trial_may_be_tracer(&r));
}

static void test_pairs(void **state)
{
	enum { SAYS_NOTHING = 99 };
	static const struct {
		const char *traced, *untraced;
		double traced_s, untraced_s;
		int guard;
		enum trial_pair pair;
	} cases[] = {
		{"COMPLETED", "COMPLETED", 10, 12, TRIAL_FREE, TRIAL_BOTH_COMPLETED},
		{"COMPLETED", "FAILED", 10, 1, TRIAL_FREE, TRIAL_UNTRACED_FAILED},
		{"COMPLETED", "OUT_OF_MEMORY", 10, 1, TRIAL_FREE, TRIAL_UNTRACED_FAILED},
		{"COMPLETED", "TIMEOUT", 10, 11, TRIAL_FREE, TRIAL_UNTRACED_FAILED},
		{"COMPLETED", "TIMEOUT", 10, 9, SAYS_NOTHING, 0}, /* it was given less */
		{"COMPLETED", "CANCELLED", 10, 11, SAYS_NOTHING, 0},
		{"COMPLETED", "NODE_FAIL", 10, 11, SAYS_NOTHING, 0},
		{"FAILED", "COMPLETED", 1, 10, TRIAL_SUSPECT, TRIAL_TRACED_FAILED},
		{"FAILED", "FAILED", 1, 10, TRIAL_FREE, TRIAL_BOTH_FAILED},
		{"FAILED", "OUT_OF_MEMORY", 1, 10, TRIAL_FREE, TRIAL_BOTH_FAILED},
		{"FAILED", "TIMEOUT", 1, 10, SAYS_NOTHING, 0}, /* it outlived the traced run */
		{"FAILED", "CANCELLED", 1, 10, SAYS_NOTHING, 0},
		{"FAILED", "NODE_FAIL", 1, 10, SAYS_NOTHING, 0},
		{"FAILED", "PREEMPTED", 1, 10, SAYS_NOTHING, 0},
		{"FAILED", "UNKNOWN", 1, 10, SAYS_NOTHING, 0},
		{"OUT_OF_MEMORY", "COMPLETED", 1, 10, TRIAL_SUSPECT, TRIAL_TRACED_FAILED},
		{"OUT_OF_MEMORY", "OUT_OF_MEMORY", 1, 10, TRIAL_FREE, TRIAL_BOTH_FAILED},
		{"TIMEOUT", "COMPLETED", 60, 59, TRIAL_SUSPECT, TRIAL_TRACED_FAILED},
		{"TIMEOUT", "COMPLETED", 60, 60, TRIAL_FREE, TRIAL_NO_PAIR}, /* its user had asked for too little */
		{"TIMEOUT", "TIMEOUT", 60, 60, TRIAL_FREE, TRIAL_BOTH_FAILED},
		{"TIMEOUT", "FAILED", 60, 1, TRIAL_FREE, TRIAL_BOTH_FAILED},
		{"CANCELLED", "COMPLETED", 60, 59, TRIAL_SUSPECT, TRIAL_NO_PAIR}, /* it hung, as far as one can tell */
		{"CANCELLED", "COMPLETED", 60, 61, TRIAL_FREE, TRIAL_NO_PAIR},
		{"CANCELLED", "FAILED", 60, 61, TRIAL_FREE, TRIAL_NO_PAIR},
		{"CANCELLED", "TIMEOUT", 60, 61, TRIAL_FREE, TRIAL_NO_PAIR},
		{"CANCELLED", "CANCELLED", 60, 61, SAYS_NOTHING, 0},
		{"UNKNOWN", "COMPLETED", 0, 61, TRIAL_SUSPECT, TRIAL_NO_PAIR},
		{"UNKNOWN", "FAILED", 0, 61, TRIAL_FREE, TRIAL_NO_PAIR},
		{"UNKNOWN", "TIMEOUT", 0, 61, SAYS_NOTHING, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct trial_run traced = ended(cases[i].traced, cases[i].traced_s), untraced = ended(cases[i].untraced, cases[i].untraced_s);
		enum trial_guard guard = TRIAL_DOUBT;
		enum trial_pair pair = TRIAL_NO_PAIR;
		bool says = trial_compare(&traced, &untraced, &guard, &pair);

		if (says != (cases[i].guard != SAYS_NOTHING) || (says && ((int)guard != cases[i].guard || pair != cases[i].pair)))
			fail_msg("%s, then %s: %d %s %s", cases[i].traced, cases[i].untraced, says, trial_guard_name(guard),
				 trial_pair_name(pair));
	}
}

/* More memory than the traced run had says nothing against the tracer, less nothing for it. */
static void test_memory(void **state)
{
	struct trial_run traced = ended("OUT_OF_MEMORY", 5), untraced = ended("COMPLETED", 9);
	enum trial_guard guard;
	enum trial_pair pair;

	(void)state;
	untraced.memory = 1001;
	assert_true(trial_compare(&traced, &untraced, &guard, &pair));
	assert_int_equal(guard, TRIAL_FREE);
	assert_int_equal(pair, TRIAL_NO_PAIR);
	traced.memory = 0; /* its user asked for memory after the failure */
	assert_true(trial_compare(&traced, &untraced, &guard, &pair));
	assert_int_equal(guard, TRIAL_FREE);
	untraced.memory = 0;
	assert_true(trial_compare(&traced, &untraced, &guard, &pair));
	assert_int_equal(guard, TRIAL_SUSPECT);
	assert_int_equal(pair, TRIAL_TRACED_FAILED);
	traced = ended("COMPLETED", 5);
	untraced = ended("OUT_OF_MEMORY", 9);
	untraced.memory = 999;
	assert_false(trial_compare(&traced, &untraced, &guard, &pair));
}

/* The index of an array is a number that the key does not hold. */
static void test_array(void **state)
{
	struct trial_run traced = ended("FAILED", 5), untraced = ended("COMPLETED", 9);
	enum trial_guard guard;
	enum trial_pair pair;

	(void)state;
	traced.array_task = 3;
	assert_false(trial_compare(&traced, &untraced, &guard, &pair));
	untraced.array_task = 4;
	assert_false(trial_compare(&traced, &untraced, &guard, &pair));
	untraced.array_task = 3;
	assert_true(trial_compare(&traced, &untraced, &guard, &pair));
	assert_int_equal(guard, TRIAL_SUSPECT);
}

/* ---- all programs ---- */

static void test_chance(void **state)
{
	static const struct {
		unsigned against, other;
		double chance;
	} table[] = {
		{0, 0, 1},
		{1, 0, 0.666666666667},
		{0, 1, 1},
		{0, 7, 1},
		{4, 0, 0.197530864198},
		{7, 0, 0.0585276634659},
		{8, 0, 0.0390184423106},
		{11, 0, 0.0115610199439},
		{12, 0, 0.00770734662926},
		{11, 1, 0.0539514264048},
		{12, 1, 0.0385367331463},
		{15, 1, 0.0137019495631},
		{16, 1, 0.00964211265553},
		{20, 2, 0.00932258845447},
		{19, 2, 0.0128310894857},
		{10, 10, 0.962363428905},
		{30, 6, 0.0215028741906},
		{200, 50, 2.21133897993e-06},
		{2000, 900, 0.00439950721026},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double got = trial_chance(table[i].against, table[i].other);

		if (!(fabs(got - table[i].chance) <= 1e-9 * table[i].chance))
			fail_msg("%u and %u: %.12g instead of %.12g", table[i].against, table[i].other, got, table[i].chance);
	}
}

/* With so many untraced failures, so many traced ones are suspect, and so many stop tracing: not one less. */
static void test_bounds(void **state)
{
	static const unsigned suspect[] = {8, 12, 15, 18, 21, 24, 27, 30, 32}, stop[] = {12, 16, 20, 24, 27, 30, 34, 37, 40};

	(void)state;
	assert_int_equal(trial_judge(0, 0), TRACING_ON);
	for (unsigned other = 0; other < sizeof(stop) / sizeof(stop[0]); other++) {
		assert_int_equal(trial_judge(suspect[other] - 1, other), TRACING_ON);
		assert_int_equal(trial_judge(suspect[other], other), TRACING_SUSPECTED);
		assert_int_equal(trial_judge(stop[other] - 1, other), TRACING_SUSPECTED);
		assert_int_equal(trial_judge(stop[other], other), TRACING_STOPPED);
	}
	assert_true(suspect[0] > TRIAL_PER_USER);      /* a suspicion takes two users */
	assert_true(stop[0] > 2 * TRIAL_PER_USER); /* and a stop three */
}

#define LOOKS 100

/* The probability that the test, made after each of `looks` pairs, stops tracing: by the law of total probability over all
 * paths. */
static double ever_stopped(double share, unsigned looks)
{
	double at[LOOKS + 1] = {1}, stopped = 0; /* of paths that go on, by pairs against the tracer */

	for (unsigned n = 1; n <= looks; n++) {
		for (unsigned b = n; b <= n; b--)
			at[b] = (b < n ? at[b] * (1 - share) : 0) + (b ? at[b - 1] * share : 0);
		for (unsigned b = 0; b <= n; b++) {
			if (trial_judge(b, n - b) != TRACING_STOPPED)
				continue;
			stopped += at[b];
			at[b] = 0;
		}
	}
	return stopped;
}

/* What trial.h says of the constants. */
static void test_repeated(void **state)
{
	(void)state;
	assert_true(fabs(ever_stopped(1.0 / 2, LOOKS) - 0.0004) < 0.00005);
	assert_true(fabs(ever_stopped(2.0 / 3, LOOKS) - 0.05) < 0.005);
	assert_true(fabs(ever_stopped(0.9, 50) - 0.97) < 0.005);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(trial_guard_name(TRIAL_SUSPECT), "suspect");
	assert_string_equal(trial_guard_name((enum trial_guard)99), "unknown");
	assert_string_equal(trial_pair_name(TRIAL_UNTRACED_FAILED), "untraced_failed");
	assert_string_equal(trial_pair_name(TRIAL_PAIRS), "unknown");
	assert_string_equal(tracing_state_name(TRACING_STOPPED), "stopped");
	assert_string_equal(tracing_state_name((enum tracing_state)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),   cmocka_unit_test(test_pairs),  cmocka_unit_test(test_memory),   cmocka_unit_test(test_array),
		cmocka_unit_test(test_chance), cmocka_unit_test(test_bounds), cmocka_unit_test(test_repeated), cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
