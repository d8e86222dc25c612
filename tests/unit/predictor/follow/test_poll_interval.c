/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time between two looks at the queue: bounds, budget, and that limits are raised in time while it changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/follow/poll_interval.h"

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(poll_interval_most(10, 120, 300), 40);	 /* a third of HeartbeatTimeout */
	assert_int_equal(poll_interval_most(10, 600, 300), 80);	 /* ended jobs are seen */
	assert_int_equal(poll_interval_most(10, 120, 90), 10);	 /* no room for more than PollInterval */
	assert_int_equal(poll_interval_most(10, 120, 0), 10);	 /* not known */
	assert_int_equal(poll_interval_most(10, 20, 3600), 10);
	assert_int_equal(poll_interval_most(100, 120, 30), 100);	 /* never more often than was asked for */
	assert_int_equal(poll_interval_most(1, UINT32_MAX, UINT32_MAX), POLL_INTERVAL_MAX_S);
	assert_int_equal(poll_interval_most(3600, UINT32_MAX, UINT32_MAX), 3600);
}

static void test_small_queue(void **state)
{
	struct poll_interval p = {0};

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(poll_interval_next(&p, 0.05, 10, 40), 10);
	assert_int_equal(poll_interval_next(&p, NAN, 10, 40), 10);
	assert_int_equal(poll_interval_next(&p, -1, 10, 40), 10);
	assert_int_equal(poll_interval_next(&p, INFINITY, 10, 40), 10);
}

static void test_one_costly_look(void **state)
{
	struct poll_interval p = {0};

	(void)state;
	poll_interval_next(&p, 0.01, 10, 40);
	poll_interval_next(&p, 0.5, 10, 40);
	for (int i = 0; i < 12; i++)
		poll_interval_next(&p, 0.01, 10, 40);
	assert_int_equal(p.period_s, 10);
}

/* Whatever a look costs, as long as the bounds let it: no more than one part in a hundred of the time. */
static void test_budget(void **state)
{
	(void)state;
	srand48(5);
	for (int trial = 0; trial < 200; trial++) {
		double cost = 0.02 + 0.3 * drand48(), spent = 0, time = 0;
		struct poll_interval p = {0};

		for (int i = 0; i < 400; i++) {
			double cpu = cost * (0.5 + drand48());

			time += poll_interval_next(&p, cpu, 10, 120);
			spent += i < 20 ? 0 : cpu; /* until it has grown */
		}
		assert_true(spent < 0.01 * time);
		/* nor is it stretched where there is no need */
		assert_true(p.period_s < 11 || p.period_s < 2 * cost / POLL_INTERVAL_SHARE);
	}
}

/*
 * A job whose limit was set at some look, while the queue grows and shrinks as it likes: at each look it is raised where it is due
 * by the period that holds then, and it always is before slurmctld's trigger has to.
 */
static void test_limits_in_time(void **state)
{
	(void)state;
	srand48(9);
	for (int trial = 0; trial < 2000; trial++) {
		uint32_t poll = 1 + (uint32_t)(drand48() * 30), most = poll + (uint32_t)(drand48() * 200), raised = 0;
		struct cluster_job job = {.phase = CLUSTER_RUNNING, .limit_min = 5 + (uint32_t)(drand48() * 60)};
		double cost = 0.01, left;
		struct poll_interval p = {0};
		int64_t now = 0;

		job.end_time = job.limit_min * 60;
		left = limit_raise_threshold_s(poll_interval_next(&p, cost, poll, most), job.limit_min) - 60.0 * job.limit_min;
		if (left > 0) /* it is raised as soon as it starts */
			continue;
		while (now < 86400 && raised < 20) {
			uint32_t limit;

			if (limit_raise_is_due(&job, job.limit_min, DURATION_UNSET, p.period_s, now, &limit)) {
				job.end_time += 60 * ((int64_t)limit - job.limit_min);
				job.limit_min = limit;
				raised++;
			}
			cost *= drand48() < 0.3 ? 10 * drand48() : 1;
			cost = fmin(fmax(cost, 0.001), 10);
			/* as the daemon does: what a look cost sets the pause after it */
			now += poll_interval_next(&p, cost, poll, most);
			assert_true(job.end_time - now >= LIMIT_RAISE_ARM_S);
		}
		assert_true(raised > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),	cmocka_unit_test(test_small_queue),    cmocka_unit_test(test_one_costly_look),
		cmocka_unit_test(test_budget),	cmocka_unit_test(test_limits_in_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
