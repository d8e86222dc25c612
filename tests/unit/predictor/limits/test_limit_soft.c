/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = soft: time_min is set, time_limit never. Each reason to take it back, on a cluster made of structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/lower.h"
#include "predictor/limits/soft.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/rng.h"

/* Submitted with an hour, of which ten minutes are wished for. */
static struct cluster_job *wish_job(uint32_t id)
{
	struct cluster_job *j = job_add(id, ACT_PREDICT);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.wish_min = 10;
	c.pred_s = 400;
	c.lo_s = 390;
	c.hi_s = 410;
	strcpy(c.candidate, "fast");
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	return j;
}

static void looks(unsigned n)
{
	while (n--)
		look();
}

static struct cluster_job *soft_job(uint32_t id)
{
	struct cluster_job *j = wish_job(id);

	looks(4);
	assert_int_equal(j->time_min_min, 10);
	assert_int_equal(w->n_time_mins, 1);
	return j;
}

/* The row in the store; jobid 0: none. */
static struct store_limit row_of(uint32_t id)
{
	struct store_limit row = {0};
	struct errbuf e;

	assert_true(store_limit_get(w->store, id, &row, &e) >= 0);
	return row;
}

static struct store_run run_of(uint32_t id)
{
	struct store_run run;
	struct errbuf e;

	assert_int_equal(store_run_get(w->store, id, &run, &e), 1);
	return run;
}

static void test_set(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	assert_true(row_of(30).soft && row_of(30).seen);
	job_run(j);
	looks(400); /* past the planned time, and nothing is done */
	assert_int_equal(w->n_time_mins, 1);
	assert_int_equal(run_of(30).plan_min, 10);
	job_end(j, "TIMEOUT", 3600);
	look();
	assert_int_equal(run_of(30).plan_min, 10);
	assert_int_equal(row_of(30).jobid, 0);
	assert_int_equal(w->n_limits, 0);
	assert_int_equal(w->n_armed, 0);
	assert_int_equal(w->counts.limited, 1);
	assert_int_equal(w->counts.cut_short, 0);
}

/* A job that is traced may be planned by similar runs, and a guard that shortens limits leaves it alone. */
static void test_similar_runs(void **state)
{
	struct cluster_job *j = job_add(30, ACT_TRACE);
	struct job_comment c;

	(void)state;
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.wish_min = 10;
	strcpy(c.similar, "user/400/10/4000");
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	looks(4);
	assert_int_equal(j->time_min_min, 10);
	assert_true(row_of(30).soft && row_of(30).seen);
	w->conf.limit_guard = GUARD_OVERTIME;
	w->partitions[0].o.overtime_min = w->partitions[1].o.overtime_min = 40;
	looks(4);
	assert_int_equal(j->time_min_min, 0);
	assert_int_equal(run_of(30).plan_min, 0);
	assert_int_equal(j->limit_min, 60);
	assert_int_equal(w->n_limits, 0);
}

/* A look at a cluster where guards change, slurmctld is killed and comes back with an older job, and precedentd starts again. */
static void look_at_random(struct cluster_job *j, struct cluster_job *saved)
{
	if (!rng_below(6))
		w->conf.limit_guard = (enum limit_guard)rng_below(GUARD_RAISE + 1);
	w->soft_works = rng_below(6) ? w->soft_works : !w->soft_works;
	if (!rng_below(8))
		*j = *saved;
	if (!rng_below(4))
		*saved = *j;
	if (!rng_below(10)) {
		limit_lower_destroy(w->memory.lower);
		w->memory.lower = limit_lower_create();
	}
	if (!rng_below(10) && j->phase == CLUSTER_PENDING)
		job_run(j);
	else if (!rng_below(10))
		j->phase = CLUSTER_PENDING;
	look();
}

/* Whatever happens, a plan by similar runs leaves the limit to its user. */
static void test_similar_runs_at_random(void **state)
{
	unsigned planned = 0;

	(void)state;
	w->conf.limit_guard = GUARD_RAISE;
	raises_prove();
	w->partitions[0].o.overtime_min = w->partitions[1].o.overtime_min = 40;
	for (uint32_t id = 30; id < 50; id++) {
		struct cluster_job *j = job_add(id, rng_below(2) ? ACT_TRACE : ACT_OBSERVE), saved;
		struct job_comment c;

		assert_int_equal(comment_parse(j->admin_comment, &c), 0);
		c.wish_min = 10;
		strcpy(c.similar, "user/400/10/4000");
		assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
		j->array_job = rng_below(3) ? 0 : id;
		saved = *j;
		for (int i = 0; i < 60; i++) {
			look_at_random(j, &saved);
			planned += j->time_min_min == 10;
			assert_true(j->time_min_min == 0 || j->time_min_min == 10);
			assert_true(w->last_limit_job != id);
		}
		job_run(j);
		job_end(j, "TIMEOUT", 3600);
		look();
		assert_int_equal(row_of(id).jobid, 0);
		w->n = 0;
	}
	assert_true(planned > 100);
	assert_int_equal(w->counts.cut_short, 0);
}

/* slurmctld changes the time_min of waiting jobs only: a job that runs is asked for nothing until it is queued again. */
static void test_running_is_left(void **state)
{
	struct cluster_job *j = wish_job(30), *late;

	(void)state;
	looks(2);
	assert_int_equal(j->time_min_min, 10);
	late = wish_job(31);
	job_run(j);
	job_run(late);
	w->soft_works = false;
	looks(3);
	w->soft_works = true;
	looks(3);
	assert_int_equal(w->n_time_mins, 1);
	assert_int_equal(late->time_min_min, 0);
	w->soft_works = false;
	j->phase = CLUSTER_PENDING;
	looks(3);
	assert_int_equal(w->n_time_mins, 2);
	assert_int_equal(j->time_min_min, 0);
}

/* It started between a look and the request: the comment has the new wish, and time_min is of the plan before. */
static void test_started_in_between(void **state)
{
	struct cluster_job *j = wish_job(30);
	struct store_limit row;

	(void)state;
	looks(3);
	row = row_of(30);
	row.wish_min = 5;
	row.seen = false;
	assert_true(limit_soft_is_ours(&row, j));
	job_run(j);
	assert_int_equal(limit_soft_judge(&row, j, true), LIMIT_SOFT_LEAVE);
	j->phase = CLUSTER_PENDING;
	assert_int_equal(limit_soft_judge(&row, j, false), LIMIT_SOFT_CLEAR);
	assert_int_equal(limit_soft_judge(&row, j, true), LIMIT_SOFT_SET);
}

/*
 * The array is planned anew while the job starts: slurmctld changes the wish in the comment, and the job runs with the plan before.
 */
static void test_plan_is_kept(void **state)
{
	struct cluster_job *j = soft_job(30);
	char comment[COMMENT_TEXT_MAX];

	(void)state;
	job_run(j);
	look();
	assert_true(comment_set_wish(j->admin_comment, 5, comment, sizeof(comment)) > 0);
	strcpy((char *)(uintptr_t)j->admin_comment, comment);
	job_end(j, "COMPLETED", 300);
	look();
	assert_int_equal(run_of(30).plan_min, 10);
}

/* With LimitGuard = raise, a limit is lowered to the user's --time-min at the least. It is no plan of ours. */
static void test_time_min_of_user(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->conf.limit_guard = GUARD_RAISE;
	j->time_min_min = 10;
	look();
	assert_int_equal(run_of(30).plan_min, 0);
}

/* A burst of jobs takes a share of the time. A time_min that is set already is taken back at once. */
static void test_burst(void **state)
{
	unsigned before;

	(void)state;
	w->limit_ms = 200; /* of 500 in ten seconds */
	for (uint32_t i = 30; i < 45; i++)
		wish_job(i);
	look(); /* and the rows of the jobs are made */
	look();
	before = w->n_time_mins;
	look();
	assert_int_equal(w->n_time_mins - before, 3);
	looks(10);
	assert_int_equal(w->n_time_mins, 15);
	w->soft_works = false;
	look();
	assert_int_equal(w->n_time_mins, 30);
}

static void test_parameter_goes(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	w->soft_works = false;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
	assert_int_equal(w->n_time_mins, 2);
	w->soft_works = true;
	looks(3);
	assert_int_equal(j->time_min_min, 10);
	assert_int_equal(w->n_limits, 0);
}

/* slurmctld is killed before it has saved that the time_min was taken back. Without the parameter backfill would lower the limit. */
static void test_take_back_lost(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	w->soft_works = false;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
	j->time_min_min = 10;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
}

/* A task that has a record of its own got its array's time_min. */
static void test_task_of_array(void **state)
{
	struct cluster_job *j = wish_job(31);

	(void)state;
	j->array_job = 30;
	j->time_min_min = 10;
	looks(3);
	assert_int_equal(j->time_min_min, 10);
	assert_true(row_of(31).soft && row_of(31).set_min == 10);
	w->conf.limit_guard = GUARD_AUTO;
	w->soft_works = false;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
}

static void test_reservation(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	w->partitions[0].o.reserved_at = w->now + 3000;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
	w->partitions[0].o.reserved_at = w->now + 100000;
	looks(3);
	assert_int_equal(j->time_min_min, 10);
	/* Of a job that runs slurmctld knows the end, and that is the user's. */
	job_run(j);
	w->partitions[0].o.reserved_at = w->now + 100;
	looks(3);
	assert_int_equal(j->time_min_min, 10);
}

/* The plugin has taken our time_min out of the same request (job_modify): the limit is never touched. */
static void test_user_changes_limit(void **state)
{
	static const uint32_t limits[] = {5, 10, 30, 100};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct cluster_job *j;

		w->n_time_mins = 0;
		j = soft_job(30 + i);
		j->limit_min = limits[i];
		j->time_min_min = 0;
		looks(5);
		assert_int_equal(w->n_time_mins, 1);
		assert_int_equal(w->n_limits, 0);
		assert_int_equal(row_of(30 + i).jobid, 0);
		job_end(j, "COMPLETED", 100);
		look();
	}
}

/* An administrator's update that did not pass the plugin leaves our time_min: it goes. */
static void test_limit_changed_past_the_plugin(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	j->limit_min = 50;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
	assert_int_equal(w->n_limits, 0);
	assert_int_equal(row_of(30).jobid, 0);
}

/* The parameter goes, and backfill starts the job before our time_min is gone. */
static void test_lowered_by_backfill(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	w->soft_works = false;
	w->refuse_limit = true;
	j->limit_min = 12;
	job_run(j);
	looks(3);
	assert_non_null(strstr(w->log, "job 30: limit cannot be restored from 00:12:00 to 01:00:00: no"));
	assert_int_equal(w->n_limits, 3);
	job_end(j, "TIMEOUT", 725);
	look();
	assert_int_equal(w->counts.cut_short, 1); /* so it counts */
	w->refuse_limit = false;
	w->soft_works = true;
	w->n_time_mins = 0;
	j = soft_job(31);
	w->soft_works = false;
	j->limit_min = 12;
	job_run(j);
	look();
	assert_true(w->last_limit_job == 31 && w->last_limit_min == 60);
	j->limit_min = 60;
	looks(3);
	job_end(j, "COMPLETED", 1000);
	look();
	assert_int_equal(w->counts.cut_short, 1);
}

static void test_time_min_changed(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	j->time_min_min = 20;
	looks(5);
	assert_int_equal(w->n_time_mins, 1);
	assert_int_equal(row_of(30).jobid, 0);
}

static void test_untouched(void **state)
{
	struct cluster_job *j[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		j[i] = wish_job(30 + i);
	j[0]->het = true;
	j[1]->deadline = true;
	j[2]->barred = true;
	j[3]->time_min_min = 30;
	looks(5);
	assert_int_equal(w->n_time_mins, 0);
	assert_int_equal(w->n_limits, 0);
}

static void test_refused(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->refuse_limit = true;
	looks(3);
	assert_int_equal(j->time_min_min, 0);
	assert_false(row_of(30).soft);
	assert_non_null(strstr(w->log, "job 30: planned time of 00:10:00 cannot be set"));
	w->refuse_limit = false;
	looks(2);
	assert_int_equal(j->time_min_min, 10);
	w->refuse_limit = true;
	w->soft_works = false;
	looks(2);
	assert_true(row_of(30).soft); /* tried again until it is taken back */
	w->refuse_limit = false;
	looks(2);
	assert_int_equal(j->time_min_min, 0);
}

/* The guard is changed while jobs wait: what the former guard did goes first. */
static void test_guard_changes(void **state)
{
	struct cluster_job *j = soft_job(30);

	(void)state;
	w->partitions[0].o.overtime_min = 40;
	w->conf.limit_guard = GUARD_OVERTIME;
	for (int i = 0; i < 10 && !w->n_limits; i++)
		look();
	assert_int_equal(j->time_min_min, 0);
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(w->last_limit_min, 20);
	j->limit_min = 20;
	looks(2);
	w->conf.limit_guard = GUARD_AUTO;
	look();
	assert_int_equal(w->last_limit_min, 60);
	j->limit_min = 60;
	looks(4);
	assert_int_equal(j->limit_min, 60);
}

/* auto: soft where it works, else overtime. */
static void test_auto(void **state)
{
	struct cluster_job *j;

	(void)state;
	w->conf.limit_guard = GUARD_AUTO;
	j = soft_job(30);
	assert_int_equal(j->limit_min, 60);
	assert_int_equal(conf_guard(&w->conf, true), GUARD_SOFT);
	assert_int_equal(conf_guard(&w->conf, false), GUARD_OVERTIME);
	w->conf.limit_guard = GUARD_RAISE;
	assert_int_equal(conf_guard(&w->conf, true), GUARD_RAISE);
}

static void test_where_it_works(void **state)
{
	const char *backfill = "sched/backfill", *name = "time_min_as_soft_limit";

	(void)state;
	assert_true(soft_limit_works(23, 11, backfill, name));
	assert_true(soft_limit_works(24, 5, backfill, "bf_interval=2,time_min_as_soft_limit"));
	assert_true(soft_limit_works(26, 5, backfill, "a,time_min_as_soft_limit,b"));
	assert_false(soft_limit_works(23, 2, backfill, name));
	assert_false(soft_limit_works(22, 5, backfill, name));
	assert_false(soft_limit_works(24, 11, "sched/builtin", name));
	assert_false(soft_limit_works(24, 11, NULL, name));
	assert_false(soft_limit_works(24, 11, backfill, NULL));
	assert_false(soft_limit_works(24, 11, backfill, ""));
	assert_false(soft_limit_works(24, 11, backfill, "no_time_min_as_soft_limit"));
	assert_false(soft_limit_works(24, 11, backfill, "time_min_as_soft_limits,x"));
}

static int soft_setup(void **state)
{
	int rv = world_setup(state);

	w->conf.mode = MODE_LIMIT;
	w->conf.limit_guard = GUARD_SOFT;
	w->soft_works = true;
	return rv;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, soft_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_set), TEST(test_similar_runs), TEST(test_similar_runs_at_random),
		TEST(test_running_is_left), TEST(test_started_in_between), TEST(test_plan_is_kept),
		TEST(test_time_min_of_user), TEST(test_burst),
		TEST(test_parameter_goes), TEST(test_take_back_lost),
		TEST(test_task_of_array), TEST(test_reservation),
		TEST(test_user_changes_limit), TEST(test_limit_changed_past_the_plugin), TEST(test_time_min_changed), TEST(test_lowered_by_backfill),
		TEST(test_untouched), TEST(test_refused), TEST(test_guard_changes), TEST(test_auto), TEST(test_where_it_works),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
