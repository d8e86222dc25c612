/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A clock that is set, steered, or read slowly, beside a steady one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "predictor/cluster/clock_watch.h"

/* The clock reads `wall` at steady time `at`; the question took `took` seconds in all, half of it before the reading. */
static int64_t at(struct clock_watch *w, double wall, double steady, double took)
{
	return clock_watch_read(w, (int64_t)wall, steady - took / 2, steady + took / 2);
}

static void test_a_clock_that_runs_well(void **state)
{
	struct clock_watch w = {0};

	(void)state;
	/* Fractions of a second, answers that take up to a minute, and two hours between two looks. */
	for (int i = 0; i < 10000; i++) {
		double steady = 5 + i * 7.3 + (i % 977 == 0) * 1.0, took = i % 100 == 0 ? 60 : i % 7 * 0.01;

		assert_int_equal(at(&w, 1.7e9 + steady, steady, took), 0);
	}
	assert_int_equal(at(&w, 1.7e9 + 80000 + 7200.4, 80000 + 7200, 0.1), 0); /* NTP steers it by 400 ms */
}

static void test_a_clock_that_is_set(void **state)
{
	static const int64_t steps[] = {3600, -3600, 86400, -86400, 10, -10, 4, -4};
	struct clock_watch w = {0};
	double wall = 1.7e9, steady = 100;

	(void)state;
	assert_int_equal(at(&w, wall, steady, 0.01), 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		wall += 10 + (double)steps[i];
		steady += 10;
		assert_in_range(at(&w, wall, steady, 0.01) - steps[i] + 1, 0, 2);
		wall += 10;
		steady += 10;
		assert_int_equal(at(&w, wall, steady, 0.01), 0); /* said once */
	}
}

/* An answer that took half a minute says no more than that the clock is right within that time. */
static void test_a_slow_answer(void **state)
{
	struct clock_watch w = {0};

	(void)state;
	assert_int_equal(clock_watch_read(&w, 1000, 0, 0.1), 0);
	assert_int_equal(clock_watch_read(&w, 1010, 10, 40), 0);
	assert_int_equal(clock_watch_read(&w, 1060, 60, 60.1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_clock_that_runs_well),
		cmocka_unit_test(test_a_clock_that_is_set),
		cmocka_unit_test(test_a_slow_answer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("clock_watch", tests, NULL, NULL);
}
