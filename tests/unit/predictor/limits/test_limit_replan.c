/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = soft: tasks of an array have ended, and the waiting record of the array is planned anew. The cluster is made of
 * structs. The daemon's own code learns how long the tasks take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/soft.h"
#include "tests/unit/follow_world.h"

#define ARRAY	100
#define NO_WISH DURATION_UNSET
#define SHORT_MIN 5 /* MinLimit, for tasks of 100 s */

static uint32_t started;

/* The record of the tasks that wait. */
static struct cluster_job *waiting(void)
{
	return job_find(ARRAY);
}

static struct job_comment comment_of(const struct cluster_job *j)
{
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	return c;
}

static struct cluster_job *array_add(enum job_act act, enum precedent_mode mode, uint32_t wish_min)
{
	struct cluster_job *j = job_add(ARRAY, act);
	struct job_comment c = comment_of(j);

	started = 0;
	j->array_job = ARRAY;
	c.mode = mode;
	c.wish_min = wish_min;
	c.task = act == ACT_TRACE ? 0 : COMMENT_NO_TASK;
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	look();
	return j;
}

/* The task gets a record of its own, a copy of the waiting one. */
static struct cluster_job *task_start(void)
{
	const struct cluster_job *all = waiting();
	struct cluster_job *j = job_add(ARRAY + 1 + started, ACT_OBSERVE);

	strcpy((char *)(uintptr_t)j->admin_comment, all->admin_comment);
	j->array_job = ARRAY;
	j->array_task = started++;
	j->submit_time = all->submit_time;
	j->time_min_min = all->time_min_min;
	job_run(j);
	return j;
}

static void tasks_end(unsigned n, double elapsed_s)
{
	uint32_t first = started;

	for (unsigned i = 0; i < n; i++)
		task_start();
	look();
	w->now += (int64_t)elapsed_s;
	for (unsigned i = 0; i < n; i++)
		job_end(job_find(ARRAY + 1 + first + i), "COMPLETED", elapsed_s);
}

static void looks(unsigned n)
{
	while (n--)
		look();
}

/* The row in the store; jobid 0: none. */
static struct store_limit row_of(uint32_t id)
{
	struct store_limit row = {0};
	struct errbuf e;

	assert_true(store_limit_get(w->store, id, &row, &e) >= 0);
	return row;
}

static int soft_setup(void **state)
{
	struct store_program p = {.uid = getuid(), .state = PROGRAM_FAILED, .created = START, .updated = START};
	struct errbuf e;
	int rv = world_setup(state);

	w->conf.mode = MODE_LIMIT;
	w->conf.limit_guard = GUARD_SOFT;
	w->soft_works = true;
	strcpy(p.key, KEY);
	strcpy(p.family, FAMILY);
	strcpy(p.reason, "no trace");
	assert_int_equal(store_program_put(w->store, &p, &e), 0);
	return rv;
}

/* A first array: its traced task left no trace, and nothing is known yet. Every program here is no MPI program. */
static void test_first_array(void **state)
{
	struct cluster_job *late;

	(void)state;
	array_add(ACT_TRACE, MODE_LIMIT, NO_WISH);
	tasks_end(1, 100);
	looks(5);
	assert_int_equal(waiting()->time_min_min, 0);
	tasks_end(1, 101);
	looks(2);
	tasks_end(2, 100);
	look();
	assert_int_equal(waiting()->time_min_min, 0);
	assert_int_equal(row_of(ARRAY).wish_min, SHORT_MIN);
	look();
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
	assert_int_equal(comment_of(waiting()).wish_min, SHORT_MIN);
	late = task_start();
	looks(2);
	assert_true(row_of(late->job_id).soft && row_of(late->job_id).wish_min == SHORT_MIN);
	job_end(late, "COMPLETED", 100);
	looks(3);
	assert_int_equal(w->n_time_mins, 1);
	assert_int_equal(w->n_limits, 0);
	assert_int_equal(waiting()->limit_min, 60);
	assert_int_equal(row_of(late->job_id).jobid, 0);
}

/* It was planned with ten minutes. Each look plans it once, however many tasks have ended. */
static void planned_array(double took_s)
{
	array_add(ACT_PREDICT, MODE_LIMIT, 10);
	looks(2);
	assert_int_equal(waiting()->time_min_min, 10);
	tasks_end(4, took_s);
	look();
	assert_int_equal(waiting()->time_min_min, 10);
}

static void test_shorter(void **state)
{
	(void)state;
	planned_array(100);
	look();
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
	assert_int_equal(w->n_time_mins, 2);
	assert_int_equal(w->counts.limited, 1);
	looks(3);
	assert_true(row_of(ARRAY).soft && row_of(ARRAY).seen && row_of(ARRAY).set_min == SHORT_MIN);
	assert_int_equal(w->n_time_mins, 2);
}

static void test_longer(void **state)
{
	(void)state;
	planned_array(1200);
	look();
	assert_true(waiting()->time_min_min > 20 && waiting()->time_min_min < 30);
	assert_int_equal(w->n_limits, 0);
}

/* No plan is longer than the user's limit. Tasks that start then have none either. */
static void test_as_long_as_the_limit(void **state)
{
	struct cluster_job *late;

	(void)state;
	planned_array(3590);
	look();
	assert_int_equal(waiting()->time_min_min, 0);
	assert_int_equal(row_of(ARRAY).wish_min, 60);
	late = task_start();
	looks(3);
	assert_int_equal(late->time_min_min, 0);
	assert_int_equal(w->n_time_mins, 2);
	assert_int_equal(w->n_limits, 0);
}

/* The plan is MinLimit already; and two minutes are no news for a plan of half an hour. */
static void test_no_news(void **state)
{
	(void)state;
	array_add(ACT_PREDICT, MODE_LIMIT, SHORT_MIN);
	looks(2);
	tasks_end(4, 100);
	looks(4);
	assert_int_equal(w->n_time_mins, 1);
}

static void test_little_news(void **state)
{
	(void)state;
	array_add(ACT_PREDICT, MODE_LIMIT, 30);
	looks(2);
	tasks_end(4, 1550);
	looks(4);
	assert_int_equal(row_of(ARRAY).wish_min, 30);
	assert_int_equal(w->n_time_mins, 1);
}

/* The user changes the limit, which takes our time_min away; or time_min; or takes it away. */
static void test_changed_by_user(void **state)
{
	static const uint32_t changes[][2] = {{30, 0}, {60, 20}, {60, 0}};

	for (unsigned i = 0; i < 3; i++) {
		array_add(ACT_PREDICT, MODE_LIMIT, 10);
		looks(3);
		assert_int_equal(waiting()->time_min_min, 10);
		waiting()->limit_min = changes[i][0];
		waiting()->time_min_min = changes[i][1];
		tasks_end(4, 100);
		looks(5);
		assert_int_equal(waiting()->time_min_min, changes[i][1]);
		assert_int_equal(row_of(ARRAY).jobid, 0);
		assert_int_equal(w->n_time_mins, 1);
		assert_int_equal(w->n_limits, 0);
		if (i < 2) {
			world_teardown(state);
			soft_setup(state);
		}
	}
}

/* The same between the new wish and the look that carries it out. */
static void test_changed_after_the_wish(void **state)
{
	(void)state;
	planned_array(100);
	assert_int_equal(row_of(ARRAY).wish_min, SHORT_MIN);
	waiting()->limit_min = 30;
	waiting()->time_min_min = 0;
	looks(4);
	assert_int_equal(waiting()->time_min_min, 0);
	assert_int_equal(w->n_time_mins, 1);
	assert_int_equal(row_of(ARRAY).jobid, 0);
}

/* slurmctld refuses, or the daemon dies before it asks: the old time_min is known to be ours. */
static void test_killed_before_set(void **state)
{
	(void)state;
	planned_array(100);
	w->refuse_limit = true;
	looks(2);
	assert_int_equal(waiting()->time_min_min, 10);
	w->refuse_limit = false;
	w->soft_works = false;
	looks(2);
	assert_int_equal(waiting()->time_min_min, 0);
	w->soft_works = true;
	looks(2);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
}

/* slurmctld is killed before it has saved the new plan: time_min and comment are the old ones. The same when it has gone. */
static void test_lost_by_slurmctld(void **state)
{
	char old[COMMENT_TEXT_MAX];

	(void)state;
	planned_array(100);
	strcpy(old, waiting()->admin_comment);
	looks(3);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
	strcpy((char *)(uintptr_t)waiting()->admin_comment, old);
	waiting()->time_min_min = 10;
	w->soft_works = false;
	looks(2);
	assert_int_equal(waiting()->time_min_min, 0);
	strcpy((char *)(uintptr_t)waiting()->admin_comment, old);
	waiting()->time_min_min = 10;
	looks(2);
	assert_int_equal(waiting()->time_min_min, 0);
	assert_int_equal(w->n_limits, 0);
}

/* The last task starts with the old plan, when the parameter has gone: its limit is restored. */
static void test_lowered_by_backfill(void **state)
{
	(void)state;
	planned_array(100);
	w->soft_works = false;
	waiting()->limit_min = 12;
	job_run(waiting());
	look();
	assert_true(w->last_limit_job == ARRAY && w->last_limit_min == 60);
}

/* It starts before the new plan is carried out: of a job that runs slurmctld changes no time_min. */
static void test_last_task_starts(void **state)
{
	unsigned requests;

	(void)state;
	planned_array(100);
	job_run(waiting());
	requests = w->n_time_mins;
	looks(3);
	w->soft_works = false;
	looks(3);
	assert_int_equal(w->n_time_mins, requests);
	assert_int_equal(waiting()->time_min_min, 10);
	waiting()->phase = CLUSTER_PENDING; /* queued again */
	looks(2);
	assert_int_equal(waiting()->time_min_min, 0);
	assert_int_equal(w->n_limits, 0);
}

/* A task that started with the old plan has the old one. */
static void test_task_between(void **state)
{
	struct cluster_job *late;

	(void)state;
	planned_array(100);
	late = task_start();
	looks(3);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
	assert_int_equal(late->time_min_min, 10);
	assert_int_equal(row_of(late->job_id).wish_min, 10);
	w->soft_works = false;
	late->phase = CLUSTER_PENDING; /* queued again */
	looks(2);
	assert_int_equal(late->time_min_min, 0);
	assert_int_equal(waiting()->time_min_min, 0);
}

static void test_requeued(void **state)
{
	(void)state;
	array_add(ACT_PREDICT, MODE_LIMIT, 10);
	looks(2);
	waiting()->submit_time = w->now;
	waiting()->restarts = 1;
	looks(2);
	tasks_end(4, 100);
	looks(3);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
	assert_int_equal(waiting()->limit_min, 60);
	assert_int_equal(w->n_limits, 0);
}

/* No plan: the site or the user wants none, or the job is not one that gets one. */
static void refused(enum job_act act, enum precedent_mode mode, void (*change)(void))
{
	array_add(act, mode, NO_WISH);
	if (change)
		change();
	tasks_end(4, 100);
	looks(4);
	assert_int_equal(row_of(ARRAY).jobid, 0);
	assert_int_equal(w->n_time_mins, 0);
	assert_int_equal(w->n_limits, 0);
}

static void guard_overtime(void)
{
	w->conf.limit_guard = GUARD_OVERTIME;
	w->partitions[0].o.overtime_min = 50;
}

static void guard_raise(void)
{
	w->conf.limit_guard = GUARD_RAISE;
}

static void soft_goes(void)
{
	w->soft_works = false;
}

static void own_time_min(void)
{
	waiting()->time_min_min = 30;
}

static void own_deadline(void)
{
	waiting()->deadline = true;
}

static void other_limit(void)
{
	waiting()->limit_min = 50;
}

static void max_time(uint32_t default_min, uint32_t max_min)
{
	struct store_partition part = {"fast", true, default_min, max_min};
	struct errbuf e;

	assert_int_equal(store_partitions_put(w->store, &part, 1, &e), 0);
}

/* An hour is all that the partition allows. Perhaps the job has no limit of its own. */
static void limit_of_partition(void)
{
	max_time(DURATION_UNSET, 60);
}

/* The job waits for its limit to be less than the partition allows. With a time_min it would start. */
static void limit_above_partition(void)
{
	max_time(DURATION_UNSET, 30);
}

static void test_limit_above_partition(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, limit_above_partition);
}

static void test_mode_observe(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_OBSERVE, NULL);
}

static void test_guard_overtime(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, guard_overtime);
}

static void test_guard_raise(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, guard_raise);
}

static void test_soft_goes(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, soft_goes);
}

static void test_own_time_min(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, own_time_min);
}

static void test_own_deadline(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, own_deadline);
}

static void test_other_limit(void **state)
{
	(void)state;
	refused(ACT_TRACE, MODE_LIMIT, other_limit);
}

static void test_unknown_partition(void **state)
{
	(void)state;
	refused(ACT_OBSERVE, MODE_LIMIT, NULL);
}

static void test_limit_of_partition(void **state)
{
	(void)state;
	refused(ACT_OBSERVE, MODE_LIMIT, limit_of_partition);
}

/* The same with a limit that no partition gives, or one that each gives. */
static void test_limit_of_the_job(void **state)
{
	(void)state;
	array_add(ACT_OBSERVE, MODE_LIMIT, NO_WISH);
	max_time(DURATION_UNSET, 600);
	tasks_end(4, 100);
	looks(2);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
}

static void test_default_time(void **state)
{
	(void)state;
	array_add(ACT_OBSERVE, MODE_LIMIT, NO_WISH);
	max_time(60, 600);
	tasks_end(4, 100);
	looks(2);
	assert_int_equal(waiting()->time_min_min, SHORT_MIN);
}

/* The guard overtime leaves the wish of the submission. */
static void test_wish_under_overtime(void **state)
{
	(void)state;
	guard_overtime();
	array_add(ACT_PREDICT, MODE_LIMIT, 10);
	tasks_end(4, 100);
	looks(4);
	assert_int_equal(row_of(ARRAY).wish_min, 10);
	assert_int_equal(w->n_time_mins, 0);
	assert_int_equal(waiting()->limit_min, 60);
}

/* The index matters: no plan is made for indexes that have not run. */
static void test_index_matters(void **state)
{
	static const double took_s[] = {100, 300, 500, 100};

	(void)state;
	array_add(ACT_TRACE, MODE_LIMIT, NO_WISH);
	for (unsigned i = 0; i < 4; i++) {
		tasks_end(1, took_s[i]);
		looks(3);
	}
	assert_int_equal(w->n_time_mins, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, soft_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_array), TEST(test_shorter), TEST(test_longer), TEST(test_as_long_as_the_limit), TEST(test_no_news),
		TEST(test_little_news), TEST(test_changed_by_user), TEST(test_changed_after_the_wish), TEST(test_killed_before_set),
		TEST(test_lost_by_slurmctld), TEST(test_lowered_by_backfill), TEST(test_last_task_starts), TEST(test_task_between), TEST(test_requeued),
		TEST(test_mode_observe), TEST(test_limit_above_partition), TEST(test_guard_overtime), TEST(test_guard_raise),
		TEST(test_soft_goes), TEST(test_own_time_min),
		TEST(test_own_deadline), TEST(test_other_limit), TEST(test_unknown_partition), TEST(test_limit_of_partition),
		TEST(test_limit_of_the_job), TEST(test_default_time), TEST(test_wish_under_overtime), TEST(test_index_matters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
