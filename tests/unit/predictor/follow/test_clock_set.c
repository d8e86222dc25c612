/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's clock is set while jobs run: nothing is learned from them, and jobs that end in the future are not waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/follow_world.h"
#include "predictor/follow/clock_set.h"
#include "predictor/store/runs.h"

static void clock_is_set(int64_t by)
{
	struct errbuf e;

	w->now += by;
	assert_int_equal(clock_set_note(w->store, w->now, by, &e), 0);
}

static struct store_run run_of(uint32_t job)
{
	struct store_run r;
	struct errbuf e;

	assert_int_equal(store_run_get(w->store, job, &r, &e), 1);
	return r;
}

static double mean_on_fast(void)
{
	struct store_lookup l;
	struct errbuf e;

	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, "fast"))
			return l.estimates[i].e.mean_s;
	fail_msg("no estimate");
	return 0;
}

/* A run of 100 s during which the clock is set, as slurmctld then tells it. */
static void run_across(uint32_t id, int64_t by)
{
	struct cluster_job *j = job_add(id, ACT_PREDICT);

	job_run(j);
	look();
	w->now += 50;
	clock_is_set(by);
	look();
	w->now += 50;
	job_end(j, "COMPLETED", by + 100 > 0 ? (double)(by + 100) : 0);
	look();
	assert_string_equal(run_of(id).end_state, "COMPLETED");
}

static void test_nothing_is_learned_across(void **state)
{
	static const int64_t steps[] = {3600, -3600, 86400, -86400, 30, -30};
	double before;

	(void)state;
	program_ready();
	before = mean_on_fast();
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		run_across(10 + i, steps[i]);
		assert_true(run_of(10 + i).elapsed_s == 0);
		assert_true(mean_on_fast() == before);
	}
	assert_state(PROGRAM_READY, "");
}

static void test_runs_before_and_after_count(void **state)
{
	(void)state;
	program_ready();
	job_play(job_add(10, ACT_PREDICT), "COMPLETED", 100);
	assert_true(run_of(10).elapsed_s == 100);
	w->now += 1000;
	clock_is_set(3600);
	w->now += 10;
	job_play(job_add(11, ACT_PREDICT), "COMPLETED", 120);
	assert_true(run_of(11).elapsed_s == 120);
	assert_true(mean_on_fast() > 100);
}

static void test_traced_across(void **state)
{
	struct cluster_job *j;

	(void)state;
	j = job_add(1, ACT_TRACE);
	job_run(j);
	look();
	clock_is_set(3600);
	w->now += 50;
	trace_leave(1);
	job_end(j, "COMPLETED", 3650);
	look();
	assert_state(PROGRAM_FAILED, "slurmctld's clock was set while traced job 1 ran; the next run is traced again");
	assert_int_equal(w->n_submitted, 0);
}

/* Nobody saw that the clock was set; the end is before the start. */
static void test_negative_time(void **state)
{
	struct cluster_job *j;

	(void)state;
	j = job_add(1, ACT_TRACE);
	job_run(j);
	look();
	w->now -= 3600;
	trace_leave(1);
	job_end(j, "COMPLETED", 0);
	look();
	assert_state(PROGRAM_FAILED, "slurmctld's clock was set while traced job 1 ran; the next run is traced again");
}

/* A job that ended before the clock was set back is not waited for until that time comes again. */
static void test_end_in_the_future(void **state)
{
	struct cluster_job *j;

	(void)state;
	j = job_add(1, ACT_TRACE);
	job_run(j);
	look();
	w->now += 100;
	job_end(j, "COMPLETED", 100);
	w->now -= 3600;
	look();
	assert_int_equal(program().state, PROGRAM_FAILED);
}

/* Ended by the limit as slurmctld sees it: that is no fault of a shortened limit. */
static void test_timeout_is_not_counted(void **state)
{
	struct cluster_job *j;

	(void)state;
	program_ready();
	j = job_add(10, ACT_PREDICT);
	job_run(j);
	look();
	clock_is_set(3600);
	job_end(j, "TIMEOUT", 3600);
	look();
	assert_int_equal(w->counts.cut_short, 0);
	assert_true(run_of(10).elapsed_s == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nothing_is_learned_across), T(test_runs_before_and_after_count), T(test_traced_across),
		T(test_negative_time),		   T(test_end_in_the_future),		T(test_timeout_is_not_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("clock_set", tests, NULL, NULL);
}
