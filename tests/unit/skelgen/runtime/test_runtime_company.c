/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The share of its time that a rank loses to other programs, from counters that are given: no test measures time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skelgen/runtime/own_clock.h"
#include "skelgen/runtime/company.c"

/* company_look() asks these; the tests give the counters themselves. */
double compute_clock_ns(void)
{
	return 0;
}

double own_clock_delayed_ns(void)
{
	return 0;
}

#define N 8

/* n ranks that share `processors` for 1000 ns, of which others had `others` and the host `stolen`. */
static void share_place(struct company *c, int n, uint64_t place, double processors, double others, double stolen)
{
	double own = fmin(processors * 1000 - others - stolen, n * 1000);

	for (int i = 0; i < n; i++)
		c[i] = (struct company){.place = place, .wall_ns = 1000, .own_ns = own / n, .delayed_ns = 1000 - own / n - stolen / n,
					.busy_ns = own + others, .stolen_ns = stolen};
}

static void assert_sum(const struct company *c, int n, double most, double together)
{
	double m, t;

	company_sum(c, n, &m, &t);
	assert_float_equal(m, most, 1e-9);
	assert_float_equal(t, together, 1e-9);
}

static void test_alone(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 1, 1, 1, 0, 0);
	share_place(c + 1, 1, 2, 1, 0, 0);
	assert_sum(c, 2, 0, 1);
}

static void test_ranks_that_take_turns_lose_nothing(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, N, 1, 2, 0, 0);
	assert_float_equal(c[0].delayed_ns, 750, 1e-9);
	assert_sum(c, N, 0, 1);
}

static void test_a_busy_loop_on_each_processor(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 1, 1, 1, 500, 0);
	share_place(c + 1, 1, 2, 1, 500, 0);
	assert_sum(c, 2, 0.5, 0.25);
	share_place(c, 2, 1, 2, 1000, 0);
	assert_sum(c, 2, 0.5, 0.25);
}

/* Each rank loses a part of the time of others, in proportion to its waiting. */
static void test_others_beside_ranks_that_take_turns(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 4, 1, 2, 400, 0);
	assert_sum(c, 4, 0.1, 0.9 * 0.9 * 0.9 * 0.9);
}

static void test_others_on_idle_processors_take_nothing(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 1, 1, 4, 3000, 0);
	assert_float_equal(c[0].delayed_ns, 0, 1e-9);
	assert_sum(c, 1, 0, 1);
}

static void test_the_host_steals(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 1, 1, 1, 0, 200);
	assert_sum(c, 1, 0.2, 0.8);
	share_place(c, 1, 1, 2, 0, 0);
	c[0].stolen_ns = 300;
	c[0].busy_ns = 3000; /* two thirds of this time, and of the stolen time, are of other programs */
	assert_sum(c, 1, 0.1, 0.9);
}

static void test_what_any_system_takes_is_nothing(void **state)
{
	struct company c[N];

	(void)state;
	share_place(c, 1, 1, 1, 9, 0);
	assert_sum(c, 1, 0, 1);
	share_place(c, 1, 1, 1, 11, 0);
	assert_sum(c, 1, 0.011, 0.989);
}

static void test_unknown_counters(void **state)
{
	struct company c[N] = {{.wall_ns = 1000}, {.wall_ns = 0, .delayed_ns = 10}, {.wall_ns = 100, .delayed_ns = 1e9, .busy_ns = 1e9}};

	(void)state;
	assert_sum(c, 1, 0, 1);
	assert_sum(c + 1, 1, 0, 1);
	assert_sum(c + 2, 1, 1, 0);
}

static void test_lines_of_stat(void **state)
{
	static const char *const lines[] = {"cpu  1 2 3 4 5 6 7 8 9 10\n", "cpu0 10 20 30 4000 5000 60 70 80 0 0\n",
					    "cpu1 1 1 1 1 1 1 1 1 1 1\n", "cpu64 100 0 0 9 9 0 0 2 0 0\n",
					    "cpu99999 1 1 1 1 1 1 1 1 1 1\n", "cpu0 10 20\n", "intr 1 2 3\n", ""};
	const uint64_t mask[2] = {1, 1};
	double busy = 0, stolen = 0;

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		company_stat_line(lines[i], mask, 2, &busy, &stolen);
	assert_float_equal(busy, 10 + 20 + 30 + 60 + 70 + 100, 1e-9);
	assert_float_equal(stolen, 82, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_ranks_that_take_turns_lose_nothing),
		cmocka_unit_test(test_a_busy_loop_on_each_processor),
		cmocka_unit_test(test_others_beside_ranks_that_take_turns),
		cmocka_unit_test(test_others_on_idle_processors_take_nothing),
		cmocka_unit_test(test_the_host_steals),
		cmocka_unit_test(test_what_any_system_takes_is_nothing),
		cmocka_unit_test(test_unknown_counters),
		cmocka_unit_test(test_lines_of_stat),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
