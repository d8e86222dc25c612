/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each loss of processors widens its own side of the interval. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/skeleton/lacked.c"

static const struct skeleton_facts quiet = {.mpi_s = 10}, traced_beside = {.mpi_s = 10, .delayed_s = 2, .others_s = 2},
				   shared = {.mpi_s = 10, .delayed_s = 5};

static struct skeleton_result ran(double calibrating, double lacked, double together)
{
	return (struct skeleton_result){.skel_s = 10, .lo_s = 9, .hi_s = 11, .lacked_calibrating = calibrating, .lacked = lacked,
					.together = together};
}

static void assert_widened(const struct skeleton_facts *f, struct skeleton_result r, double lo, double hi, const char *said)
{
	char text[160];

	skeleton_widen(f, &r);
	assert_float_equal(r.lo_s, lo, 1e-9);
	assert_float_equal(r.hi_s, hi, 1e-9);
	assert_float_equal(r.skel_s, 10, 0);
	assert_string_equal(skeleton_lacked(f, &r, text, sizeof(text)), said);
}

static void test_a_quiet_machine_changes_nothing(void **state)
{
	(void)state;
	assert_widened(&quiet, ran(0, 0, 1), 9, 11, "");
}

/* Ranks that wait for each other are what delayed a traced run on shared processors: no reason to doubt it. */
static void test_ranks_that_share_processors_are_no_others(void **state)
{
	(void)state;
	assert_widened(&shared, ran(0, 0, 1), 9, 11, "");
}

static void test_each_part_widens_its_own_side(void **state)
{
	(void)state;
	assert_widened(&quiet, ran(0.5, 0, 1), 9, 22, "50 % of the calibration");
	assert_widened(&quiet, ran(0, 0.5, 0.25), 2.25, 11, "50 % of the skeleton's run");
	assert_widened(&traced_beside, ran(0, 0, 1), 7.2, 11, "20 % of the traced run");
	assert_widened(&traced_beside, ran(0.5, 0.5, 0.25), 1.8, 22,
		       "20 % of the traced run, 50 % of the calibration, 50 % of the skeleton's run");
}

/* Three threads wait at once, and the skeleton for one after the other. */
static void test_threads_in_mpi_at_once(void **state)
{
	static const struct skeleton_facts threads = {.mpi_s = 10, .overlap = 2};

	(void)state;
	assert_widened(&threads, ran(0, 0, 1), 3, 11, "");
	assert_widened(&threads, ran(0, 0.5, 0.25), 0.75, 11, "50 % of the skeleton's run");
}

static void test_no_interval_is_without_end(void **state)
{
	(void)state;
	assert_widened(&quiet, ran(1, 1, 0), 9 * 0.05, 11 / 0.05, "100 % of the calibration, 100 % of the skeleton's run");
}

static void test_a_short_text_ends(void **state)
{
	const struct skeleton_result r = ran(0.5, 0.5, 0.25);
	char text[12];

	(void)state;
	skeleton_lacked(&quiet, &r, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

#define S 1e9
#define NEAR 1e-9

static void test_processors_share(void **state)
{
	(void)state;
	/* Two ranks on two processors for 10 s, with two other busy programs: each has half. */
	assert_float_equal(processors_share(&(struct processors){10 * S, 10 * S, 20 * S, 0}, 2, 2), 0.5, NEAR);
	/* Alone; and with a service that takes 1 %. */
	assert_float_equal(processors_share(&(struct processors){10 * S, 20 * S, 20 * S, 0}, 2, 2), 0, NEAR);
	assert_float_equal(processors_share(&(struct processors){10 * S, 19.8 * S, 20 * S, 0}, 2, 2), 0, NEAR);
	/* Others work on processors that the ranks do not need. */
	assert_float_equal(processors_share(&(struct processors){10 * S, 20 * S, 80 * S, 0}, 8, 2), 0, NEAR);
	/* A rank that sleeps half of the time lacks nothing while a processor is idle. */
	assert_float_equal(processors_share(&(struct processors){10 * S, 5 * S, 12 * S, 8 * S}, 2, 1), 0, NEAR);
	/* Eight ranks on two processors wait for each other, and for a program that has half of one. */
	assert_float_equal(processors_share(&(struct processors){10 * S, 15 * S, 20 * S, 0}, 2, 8), 0.25, NEAR);
	/* Counters that do not move, or that cannot be read. */
	assert_float_equal(processors_share(&(struct processors){0, 0, 0, 0}, 2, 2), 0, NEAR);
	assert_float_equal(processors_share(&(struct processors){10 * S, 5 * S, 0, 0}, 2, 2), 0, NEAR);
}

static void test_partial_widen(void **state)
{
	struct partial_estimate e = {.whole_s = 8, .lo_s = 7, .hi_s = 9, .lacked = 0.5};

	(void)state;
	partial_widen(&e, 2);
	assert_float_equal(e.lo_s, 7 * 0.25, NEAR);
	assert_float_equal(e.hi_s, 9, NEAR);
	e = (struct partial_estimate){.whole_s = 8, .lo_s = 7, .hi_s = 9};
	partial_widen(&e, 64);
	assert_float_equal(e.lo_s, 7, NEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_quiet_machine_changes_nothing),
		cmocka_unit_test(test_ranks_that_share_processors_are_no_others),
		cmocka_unit_test(test_each_part_widens_its_own_side),
		cmocka_unit_test(test_threads_in_mpi_at_once),
		cmocka_unit_test(test_no_interval_is_without_end),
		cmocka_unit_test(test_a_short_text_ends),
		cmocka_unit_test(test_processors_share),
		cmocka_unit_test(test_partial_widen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
