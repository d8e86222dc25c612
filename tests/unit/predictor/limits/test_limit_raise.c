/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How limits that were shortened are raised again, on a cluster made of structs. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/probe/probes.h"
#include "predictor/spool/spool.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, raise_setup, world_teardown)

static int raise_setup(void **state)
{
	int rv = world_setup(state);

	w->conf.limit_guard = GUARD_RAISE;
	return rv;
}

/* ---- limits ---- */

static void test_extend_rules(void **state)
{
	struct cluster_job j = {.phase = CLUSTER_RUNNING, .limit_min = 10, .end_time = 600};
	uint32_t next;

	(void)state;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 0, &next));
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 520, &next)); /* 80 s left: just enough */
	assert_true(limit_raise_is_due(&j, 10, 60, 10, 521, &next));
	assert_true(next > 10 && next <= 60);
	assert_true(limit_raise_threshold_s(10, 10) > LIMIT_RAISE_ARM_S);
	assert_true(limit_raise_threshold_s(300, 10) == 660);
	assert_true(limit_raise_threshold_s(10, 1000) == 6000);
	j.limit_min = 60;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 599, &next)); /* the user's own limit */
	j.limit_min = 8;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 599, &next)); /* lowered by somebody else */
	j.time_min_min = 5;
	assert_true(limit_raise_is_due(&j, 10, 60, 10, 599, &next)); /* lowered by the scheduler */
	j.limit_min = 12;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 719, &next)); /* raised by somebody else */
	j.limit_min = 10;
	j.preempted = true;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 599, &next)); /* in its grace time slurmctld would refuse */
	j.preempted = false;
	j.phase = CLUSTER_SUSPENDED;
	assert_false(limit_raise_is_due(&j, 10, 60, 10, 599, &next));
	assert_int_equal(limit_raise_next_min(10, 55, 60), 60);
	assert_int_equal(limit_raise_next_min(10, 100, DURATION_UNLIMITED), 126);
	assert_true(limit_raise_next_min(10, UINT32_MAX - 10, DURATION_UNSET) == DURATION_UNLIMITED);
	assert_true(limit_raise_next_min(600, 5, 1000) * 60 > 300 + limit_raise_threshold_s(600, 5));
	assert_int_equal(limit_raise_next_min(10, 1, 60), 3); /* short ones are raised by little */
	assert_int_equal(limit_raise_next_min(10, 3, 60), 5);
	for (uint32_t poll = 1; poll <= 600; poll++)
		for (uint32_t limit = 1; limit < 3000; limit += 1 + limit / 16) {
			uint32_t more = limit_raise_next_min(poll, limit, DURATION_UNLIMITED);

			/* Raised at the last moment it is not due at the look after that. */
			if (limit * 6 <= 2 * poll + LIMIT_RAISE_ARM_S && more * 6 <= 2 * poll + LIMIT_RAISE_ARM_S)
				assert_true((more - limit) * 60.0 - poll >= limit_raise_threshold_s(poll, more));
			if (limit >= limit_raise_least_min(poll))
				assert_true(limit * 60.0 - 2 * poll >= 2 * poll + LIMIT_RAISE_ARM_S);
		}
}

static struct cluster_job *shortened_job(void)
{
	struct cluster_job *j = job_add(30, ACT_PREDICT);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.limit_min = 10;
	c.pred_s = 400;
	c.lo_s = 390;
	c.hi_s = 410;
	strcpy(c.candidate, "fast");
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	j->limit_min = 10;
	return j;
}

static void test_extended_up_to_the_users_limit(void **state)
{
	struct cluster_job *j = shortened_job();
	int64_t end = w->now + 3600;
	struct store_run r;
	struct errbuf e;

	(void)state;
	look();
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(w->counts.limited, 1);
	job_run(j);
	while (w->now < end) {
		unsigned before = w->n_limits;

		look();
		assert_true(j->end_time > w->now || j->limit_min == 60);
		if (w->n_limits > before) {
			assert_int_equal(w->last_limit_job, 30);
			assert_true(w->last_limit_min > j->limit_min && w->last_limit_min <= 60);
			j->limit_min = w->last_limit_min;
			j->end_time = j->start_time + j->limit_min * 60;
		}
	}
	assert_int_equal(j->limit_min, 60);
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_int_equal(r.extensions, w->n_limits);
	assert_true(r.extensions >= 2);
	assert_int_equal(r.limit_min, 60);
	assert_int_equal(w->counts.raised, r.extensions);
	assert_int_equal(w->counts.ended, 0);
	job_end(j, "COMPLETED", 3590);
	look();
	assert_non_null(strstr(w->log, "predicted 400 s"));
	look();
	assert_int_equal(w->counts.met[ACT_PREDICT], 1);
	assert_true(w->counts.told == 1 && w->counts.limited == 1 && w->counts.ended == 1 && !w->counts.cut_short);
}

static void test_extension_refused_is_tried_again(void **state)
{
	struct cluster_job *j = shortened_job();
	struct store_run r;
	struct errbuf e;

	(void)state;
	look();
	job_run(j);
	look();
	w->now = j->end_time - 60;
	w->refuse_limit = true;
	look();
	assert_non_null(strstr(w->log, "cannot be raised"));
	look();
	assert_int_equal(w->n_limits, 2);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_int_equal(r.extensions, 0);
}

static void test_extension_without_store(void **state)
{
	struct cluster_job *j = shortened_job();

	(void)state;
	w->env.store = NULL;
	job_run(j);
	w->now = j->end_time - 60;
	look();
	assert_int_equal(w->n_limits, 1);
}

static void test_not_ours_is_not_extended(void **state)
{
	struct cluster_job *j = job_add(30, ACT_PREDICT); /* limit=- : observed only */

	(void)state;
	job_run(j);
	w->now = j->end_time - 30;
	look();
	assert_int_equal(w->n_limits, 0);
	assert_int_equal(w->n_armed, 0);
}

/* The next look comes later than PollInterval: the limit is raised that much earlier. */
static void test_longer_period(void **state)
{
	struct cluster_job *j = shortened_job();

	(void)state;
	w->conf.poll_interval_s = 10;
	job_run(j);
	w->now = j->end_time - 90;
	look();
	assert_int_equal(w->n_limits, 0);
	w->env.period_s = 40;
	look();
	assert_int_equal(w->n_limits, 1);
	assert_true(w->last_limit_min * 60 + j->start_time - w->now >= 2 * 40 + LIMIT_RAISE_ARM_S);
}

static bool by_trigger(const struct cluster_job *j, uint32_t *limit)
{
	comments_read();
	return limit_raise_by_trigger(j, limit);
}

/* slurmctld's own trigger fires once: what it does then must do, also when the job happens to be suspended. */
static void test_trigger(void **state)
{
	struct cluster_job *j = shortened_job();
	struct job_comment c;
	uint32_t limit;

	(void)state;
	assert_true(by_trigger(j, &limit)); /* it is queued again */
	j->phase = CLUSTER_RUNNING;
	assert_true(by_trigger(j, &limit));
	assert_int_equal(limit, 60);
	j->phase = CLUSTER_SUSPENDED;
	assert_true(by_trigger(j, &limit));
	j->limit_min = 8; /* lowered by an operator */
	assert_false(by_trigger(j, &limit));
	j->time_min_min = 5; /* by the scheduler */
	assert_true(by_trigger(j, &limit));
	j->limit_min = 20; /* raised by an operator: so it is to end there */
	assert_false(by_trigger(j, &limit));
	j->limit_min = 60;
	assert_false(by_trigger(j, &limit));
	j->phase = CLUSTER_ENDED;
	j->limit_min = 10;
	assert_false(by_trigger(j, &limit));
	j->phase = CLUSTER_RUNNING;
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.user_limit_min = DURATION_UNSET; /* not known: then there is none */
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	assert_true(by_trigger(j, &limit));
	assert_true(limit == DURATION_UNLIMITED);
	j->admin_comment = "not ours";
	assert_false(by_trigger(j, &limit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_extend_rules),
		T(test_extended_up_to_the_users_limit),
		T(test_extension_refused_is_tried_again),
		T(test_extension_without_store),
		T(test_not_ours_is_not_extended),
		T(test_longer_period),
		T(test_trigger),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
