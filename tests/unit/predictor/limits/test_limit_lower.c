/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How limits are set: first the trigger, then the limit; on a cluster made of structs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/raise.h"
#include "predictor/limits/lower.h"
#include "predictor/limits/proof.h"
#include "predictor/store/limits.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, raise_setup, world_teardown)

static int raise_setup(void **state)
{
	int rv = world_setup(state);

	w->conf.limit_guard = GUARD_RAISE;
	raises_prove();
	return rv;
}

static int unproved_setup(void **state)
{
	int rv = world_setup(state);

	w->conf.limit_guard = GUARD_RAISE;
	return rv;
}

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

static struct job_comment comment_of(const struct cluster_job *j)
{
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	return c;
}

/* The limit that slurmctld was told is in force. */
static void obey(struct cluster_job *j)
{
	assert_int_equal(w->last_limit_job, j->job_id);
	j->limit_min = w->last_limit_min;
	if (j->phase == CLUSTER_RUNNING)
		j->end_time = j->start_time + j->limit_min * 60;
}

/* So long after the last look. */
static void look_after(int64_t seconds)
{
	w->now += seconds - 10; /* a look puts the clock on by ten */
	look();
}

static void assert_untouched(void)
{
	for (int i = 0; i < 40; i++)
		look();
	assert_int_equal(w->n_armed, 0);
	assert_int_equal(w->n_limits, 0);
}

static void test_first_the_trigger(void **state)
{
	struct cluster_job *j = wish_job(30);
	struct store_run r;
	struct errbuf e;

	(void)state;
	look(); /* slurmctld may not have saved it yet */
	assert_int_equal(w->n_armed, 0);
	look();
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(w->n_limits, 0);
	look_after(7);
	assert_int_equal(w->n_limits, 0);
	look_after(1);
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(w->last_limit_min, 10);
	assert_non_null(strstr(w->log, "job 30: limit set from 01:00:00 to 00:10:00"));
	assert_int_equal(comment_of(j).limit_min, 10);
	assert_int_equal(comment_of(j).wish_min, DURATION_UNSET);
	assert_int_equal(comment_of(j).user_limit_min, 60);
	assert_int_equal(w->counts.limited, 1);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_int_equal(r.limit_min, 10); /* at once */
	obey(j);
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(w->counts.limited, 1);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_true(r.limit_min == 10 && r.user_limit_min == 60 && r.extensions == 0);
}

/* The trigger that was set is gone: slurmctld was killed and started again between two looks. */
static void test_trigger_lost_before(void **state)
{
	(void)state;
	wish_job(30);
	look();
	look();
	assert_int_equal(w->n_triggers, 1);
	w->n_triggers = 0;
	look();
	assert_int_equal(w->n_armed, 2);
	assert_int_equal(w->n_limits, 0);
	look();
	assert_int_equal(w->n_limits, 1);
}

static void test_trigger_lost_after(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	look();
	look();
	look();
	obey(j);
	w->n_triggers = 0;
	for (int i = 0; i < 7; i++)
		look();
	assert_int_equal(w->n_armed, 2);
	assert_int_equal(w->n_triggers, 1);
	w->n_triggers = 0;
	limit_lower_doubt(w->memory.lower); /* slurmctld was seen to be away */
	look();
	assert_int_equal(w->n_armed, 3);
	j->phase = CLUSTER_SUSPENDED;
	w->n_triggers = 0;
	limit_lower_doubt(w->memory.lower);
	look();
	assert_int_equal(w->n_armed, 4);
	job_end(j, "COMPLETED", 100);
	w->n_triggers = 0;
	limit_lower_doubt(w->memory.lower);
	look();
	assert_int_equal(w->n_armed, 4);
}

/* The daemon was killed when the trigger was set: the next one does not know since when slurmctld has it. */
static void test_daemon_killed_between(void **state)
{
	(void)state;
	wish_job(30);
	look();
	look();
	assert_int_equal(w->n_triggers, 1);
	limit_lower_destroy(w->memory.lower);
	w->memory.lower = limit_lower_create();
	look();
	assert_int_equal(w->n_limits, 0);
	look();
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(w->n_limits, 1);
}

static void test_no_trigger_no_limit(void **state)
{
	(void)state;
	wish_job(30);
	wish_job(31);
	w->refuse_arm = true;
	look();
	look();
	assert_int_equal(w->n_armed, 2);
	assert_non_null(strstr(w->log, "2 of 2 triggers for the case that precedentd dies cannot be set: too many triggers"));
	for (int i = 0; i < 5; i++)
		look();
	assert_int_equal(w->n_armed, 2); /* not with each look */
	look();
	assert_int_equal(w->n_armed, 4);
	w->refuse_arm = false;
	w->refuse_armed = true;
	for (int i = 0; i < 10; i++)
		look();
	assert_int_equal(w->n_armed, 4);
	assert_int_equal(w->n_limits, 0);
	w->refuse_armed = false;
	for (int i = 0; i < 10; i++)
		look();
	assert_int_equal(w->n_armed, 6);
	assert_true(w->n_limits >= 2);
}

static void test_limit_refused(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->refuse_limit = true;
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(comment_of(j).limit_min, DURATION_UNSET);
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 2);
	assert_int_equal(w->n_armed, 1);
}

/* Where a raise is refused, no other job is shortened. */
static void test_raise_refused(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	for (int i = 0; i < 3; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	obey(j);
	job_run(j);
	w->now = j->end_time - 60;
	w->refuse_limit = true;
	look();
	assert_non_null(strstr(w->log, "no limit is lowered: slurmctld refuses to raise limits; "));
	w->refuse_limit = false;
	w->n_limits = 0;
	wish_job(31);
	j->limit_min = 60;
	j->end_time = j->start_time + 3600;
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 0);
}

/* Whatever somebody else has made of its limit is left alone, before and after. */
static void test_changed_by_others(void **state)
{
	static const uint32_t theirs[] = {5, 10, 30, 59, 61, 600, DURATION_UNLIMITED, DURATION_UNSET};
	struct cluster_job *j = wish_job(30);

	(void)state;
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		j->limit_min = theirs[i];
		assert_untouched();
	}
	j->limit_min = 60;
	for (int i = 0; i < 3; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	obey(j);
	job_run(j);
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		if (theirs[i] == 10)
			continue;
		j->limit_min = theirs[i];
		j->end_time = w->now + 30;
		look();
	}
	assert_int_equal(w->n_limits, 1);
	j->limit_min = 10;
	look();
	assert_int_equal(w->n_limits, 2); /* and its own it raises */
}

static void test_rules(void **state)
{
	struct cluster_job j = {.phase = CLUSTER_PENDING, .submit_time = 1000, .limit_min = 60};
	struct job_comment c;

	(void)state;
	comment_init(&c);
	c.act = ACT_PREDICT;
	c.user_limit_min = 60;
	c.wish_min = 10;
	assert_false(limit_lower_is_due(&j, &c, 10, 1000));
	assert_false(limit_lower_is_due(&j, &c, 10, 1007));
	assert_true(limit_lower_is_due(&j, &c, 10, 1008));
	c.act = ACT_TRACE; /* a plan by similar runs */
	assert_false(limit_lower_is_due(&j, &c, 10, 1008));
	c.act = ACT_PREDICT;
	j.barred = true; /* its limit is more than it may have: it does not start by our doing */
	assert_false(limit_lower_is_due(&j, &c, 10, 1008));
	j.barred = false;
	j.time_min_min = 11; /* changed since */
	assert_false(limit_lower_is_due(&j, &c, 10, 1008));
	j.time_min_min = 10;
	assert_true(limit_lower_is_due(&j, &c, 10, 1008));
	j.array_job = 7; /* the tasks to come would take over the limit without the trigger */
	assert_false(limit_lower_is_due(&j, &c, 10, 2000));
	j.phase = CLUSTER_RUNNING;
	j.start_time = 2000;
	assert_false(limit_lower_is_due(&j, &c, 10, 2007)); /* the record is as old as the task's start */
	assert_true(limit_lower_is_due(&j, &c, 10, 2008));
	j.array_job = 0;
	assert_true(limit_lower_is_due(&j, &c, 10, 2000));
	/* 80 s before the end it would be given more time, and two looks before that it is too late */
	assert_true(limit_lower_is_due(&j, &c, 10, 2499));
	assert_false(limit_lower_is_due(&j, &c, 10, 2500));
	j.suspended_s = 100;
	assert_true(limit_lower_is_due(&j, &c, 10, 2599));
	j.phase = CLUSTER_SUSPENDED;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
	j.phase = CLUSTER_ENDED;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
	j.phase = CLUSTER_PENDING;
	c.wish_min = 60;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
	c.wish_min = DURATION_UNSET;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
	c.wish_min = 10;
	c.user_limit_min = j.limit_min = DURATION_UNSET;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
	c.user_limit_min = j.limit_min = DURATION_UNLIMITED;
	assert_true(limit_lower_is_due(&j, &c, 10, 2100));
	c.limit_min = 10;
	assert_false(limit_lower_is_due(&j, &c, 10, 2100));
}

/* A running job is never given less than it has used, nor so little that it would have to be given more at once. */
static void test_while_it_runs(void **state)
{
	struct cluster_job *late = wish_job(30), *early = wish_job(31);

	(void)state;
	job_run(late);
	w->now += 560;
	job_run(early);
	for (int i = 0; i < 4; i++)
		look();
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(w->last_limit_job, 31);
	obey(early);
	assert_true(early->end_time - w->now > (int64_t)limit_raise_threshold_s(10, 10));
	for (int i = 0; i < 10; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	job_end(late, "COMPLETED", 700);
	job_end(early, "COMPLETED", 140);
	look();
	assert_int_equal(w->counts.limited, 1);
}

/* It ends before it is its turn: nothing is done. */
static void test_ends_before(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	look();
	job_run(j);
	job_end(j, "COMPLETED", 5);
	assert_untouched();
}

/* Thousands at once: so much time with each look, the oldest first, and all of them in the end. */
static void test_burst(void **state)
{
	struct cluster_job *j[40];
	unsigned armed = 0, looks = 0;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		j[i] = wish_job(100 + i);
	w->arm_ms = 50;
	look();
	while (w->n_limits < 40 && looks++ < 30) {
		armed = w->n_armed;
		look();
		assert_true(w->n_armed - armed <= 10); /* half a second, and 50 ms each */
		for (uint32_t i = 0; i < 40; i++)
			if (comment_of(j[i]).limit_min == 10)
				j[i]->limit_min = 10;
	}
	assert_int_equal(w->n_armed, 40);
	assert_int_equal(w->n_limits, 40);
	assert_int_equal(looks, 5);
}

static bool by_trigger(const struct cluster_job *j, uint32_t *limit)
{
	comments_read();
	return limit_raise_by_trigger(j, limit);
}

/* Of a job that is queued again while it is short, slurmctld's trigger has fired or been lost. */
static void test_requeued(void **state)
{
	struct cluster_job *j = wish_job(30);
	uint32_t limit;

	(void)state;
	look();
	look();
	look();
	obey(j);
	job_run(j);
	look();
	j->phase = CLUSTER_PENDING;
	j->restarts = 1;
	j->submit_time = w->now;
	j->start_time = j->end_time = 0;
	assert_true(by_trigger(j, &limit));
	assert_int_equal(limit, 60);
	w->n_triggers = 0;
	for (int i = 0; i < 7; i++)
		look();
	assert_int_equal(w->n_triggers, 1);
	assert_int_equal(w->n_limits, 1);
}

/* An admin_comment that has no room for the limit: the job keeps its own, and one that is short gets its user's at once. */
static void test_comment_too_long(void **state)
{
	static char text[2 * LIMIT_COMMENT_MAX];
	struct cluster_job *j = wish_job(30);
	char ours[COMMENT_TEXT_MAX];
	struct job_comment c;

	(void)state;
	strcpy(ours, j->admin_comment);
	memset(text, 'x', LIMIT_COMMENT_MAX);
	snprintf(text + LIMIT_COMMENT_MAX, sizeof(text) - LIMIT_COMMENT_MAX, " | %s", ours);
	j->admin_comment = text;
	for (int i = 0; i < 10; i++)
		look();
	assert_int_equal(w->n_limits, 0);
	c = comment_of(j);
	c.wish_min = DURATION_UNSET;
	c.limit_min = 10;
	assert_true(comment_format(&c, ours, sizeof(ours)) > 0);
	snprintf(text + LIMIT_COMMENT_MAX, sizeof(text) - LIMIT_COMMENT_MAX, " | %s", ours);
	j->limit_min = 10;
	job_run(j);
	w->now = j->end_time - 60;
	look();
	assert_int_equal(w->last_limit_min, 60);
}

/* ---- the proof that raises work ---- */

static const char *stopped(void)
{
	static char why[512];
	struct errbuf e;

	assert_true(store_limits_note_get(w->store, STORE_LIMITS_STOPPED, why, sizeof(why), &e) >= 0);
	return why;
}

static void test_proof(void **state)
{
	struct cluster_job *proof;

	(void)state;
	wish_job(30);
	look();
	assert_int_equal(w->n_submitted, 0); /* slurmctld's start is not known */
	for (unsigned boot = 1; boot <= 2; boot++) {
		w->boot = boot;
		look();
		assert_int_equal(w->n_submitted, boot);
		proof = &w->jobs[boot];
		assert_string_equal(proof->name, "precedent-limit");
		assert_string_equal(proof->partition, "fast");
		assert_int_equal(proof->uid, geteuid());
		assert_int_equal(proof->limit_min, 1);
		assert_true(w->last_limit_job == proof->job_id && w->last_limit_min == 2);
		assert_int_equal(w->n_armed, boot - 1);
		proof->limit_min = 2;
		look();
		assert_non_null(strstr(w->log, "slurmctld lets precedentd raise limits"));
		assert_true(w->n_cancelled == boot && w->last_cancelled == proof->job_id);
		proof->phase = CLUSTER_ENDED;
		assert_string_equal(stopped(), "");
	}
	for (int i = 0; i < 5; i++)
		look();
	assert_true(w->n_submitted == 2 && w->n_armed == 1); /* jobs are shortened now */
}

static void assert_stopped(const char *why)
{
	assert_non_null(strstr(w->log, "no limit is lowered: "));
	assert_non_null(strstr(w->log, why));
	assert_non_null(strstr(stopped(), why));
	assert_int_equal(w->n_armed, 0);
}

/* Each reason is tried again after an hour. */
static void test_proof_fails(void **state)
{
	(void)state;
	wish_job(30);
	w->boot = 1;
	w->refuse_submit = true;
	look();
	assert_stopped("a held job to try with cannot be submitted: invalid account");
	look_after(LIMIT_PROOF_AGAIN_S - 20);
	assert_string_equal(w->log, "");
	w->refuse_submit = false;
	w->refuse_limit = true;
	look_after(LIMIT_PROOF_AGAIN_S);
	assert_stopped("the limit of job 500 (precedent-limit) cannot be raised: no");
	assert_int_equal(w->n_cancelled, 1);
	w->jobs[1].phase = CLUSTER_ENDED;
	w->refuse_limit = false;
	look_after(LIMIT_PROOF_AGAIN_S);
	look(); /* its limit is as it was */
	assert_stopped("the limit of a held job was raised, and stayed as it was");
	assert_int_equal(w->last_cancelled, 501);
	w->conf.limit_guard = GUARD_OVERTIME;
	look();
	assert_string_equal(stopped(), "");
}

/* Of a precedentd that died, and only those. */
static void test_proof_leftovers(void **state)
{
	struct cluster_job *j = job_add(40, ACT_OBSERVE);

	(void)state;
	w->conf.limit_guard = GUARD_OVERTIME;
	j->name = "precedent-limit";
	j->uid = geteuid() + 1;
	look();
	assert_int_equal(w->n_cancelled, 0);
	j->uid = geteuid();
	look();
	assert_true(w->n_cancelled == 1 && w->last_cancelled == 40);
}

/* slurmctld starts a process for each trigger when its job ends: there are few at one time. */
static void test_triggers_are_few(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LIMIT_LOWER_TRIGGERS_MAX - 2; i++)
		w->triggers[w->n_triggers++] = 5000 + i;
	for (uint32_t i = 30; i < 40; i++)
		wish_job(i);
	for (int i = 0; i < 10; i++)
		look();
	assert_int_equal(w->n_triggers, LIMIT_LOWER_TRIGGERS_MAX);
	assert_int_equal(w->n_armed, 2);
	w->n_triggers = 0; /* they have fired */
	look();
	assert_int_equal(w->n_armed, 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_first_the_trigger), T(test_trigger_lost_before), T(test_trigger_lost_after), T(test_daemon_killed_between),
		T(test_no_trigger_no_limit), T(test_limit_refused), T(test_raise_refused),
		cmocka_unit_test_setup_teardown(test_proof, unproved_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_proof_fails, unproved_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_proof_leftovers, unproved_setup, world_teardown), T(test_changed_by_others), T(test_rules),
		T(test_while_it_runs), T(test_ends_before), T(test_burst), T(test_requeued), T(test_comment_too_long), T(test_triggers_are_few),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("limit_lower", tests, NULL, NULL);
}
