/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traced runs that fail, as precedentd follows them: the next run goes without the tracer and decides. And when tracing is
 * suspected and stopped on the whole cluster.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/follow/poll_cache.h"
#include "predictor/learn/trial_follow.h"
#include "predictor/store/trials.h"
#include "tests/unit/follow_world.h"

static struct errbuf err;

static void ok(int rv)
{
	if (rv < 0)
		fail_msg("%s", err.text);
}

/* ---- runs ---- */

/* The only job, of these numbers in its key and its kin. key 0: KEY, and no kin. */
static struct cluster_job *job_of(uint32_t id, enum job_act act, unsigned key, unsigned kin)
{
	struct cluster_job *j;
	struct job_comment c;

	w->n = 0;
	j = job_add(id, act);
	j->memory = 1000;
	if (!key)
		return j;
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	snprintf(c.key, sizeof(c.key), "%032x", key);
	snprintf(c.kin, sizeof(c.kin), "%032x", kin);
	strcpy(c.vars, "1");
	assert_true(comment_format(&c, w->comments[0], COMMENT_TEXT_MAX) > 0);
	return j;
}

/* From its submission to its end; a traced run that completes leaves no trace. */
static void play(struct cluster_job *j, const char *state, double elapsed_s)
{
	look();
	job_run(j);
	look();
	job_end(j, state, elapsed_s);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
}

static void traced(uint32_t id, const char *state, double elapsed_s)
{
	play(job_of(id, ACT_TRACE, 0, 0), state, elapsed_s);
}

static void untraced(uint32_t id, const char *state, double elapsed_s)
{
	play(job_of(id, ACT_OBSERVE, 0, 0), state, elapsed_s);
}

static struct store_trial trial_of(const char *name)
{
	struct store_trial t = {.guard = TRIAL_FREE};
	int rv = store_trial_get(w->store, name, &t, &err);

	ok(rv);
	if (!rv)
		t = (struct store_trial){.guard = TRIAL_FREE};
	return t;
}

static void assert_guard(enum trial_guard guard)
{
	struct store_trial t = trial_of(KEY);

	if (t.guard != guard)
		fail_msg("%s, not %s", trial_guard_name(t.guard), trial_guard_name(guard));
}

static bool may_mark(const char *name, const char *key)
{
	struct store_trial t;
	int rv = store_trial_withholds(w->store, name, key, &t, &err);

	ok(rv);
	return !rv;
}

/* ---- one program ---- */

static void test_completes_without(void **state)
{
	struct store_trial t;

	(void)state;
	traced(1, "FAILED", 5);
	assert_guard(TRIAL_DOUBT);
	assert_false(may_mark(KEY, KEY));
	assert_state(PROGRAM_FAILED, "traced job 1 ended FAILED; the next run goes without the tracer");
	untraced(2, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
	assert_false(may_mark(KEY, KEY));
	assert_state(PROGRAM_FAILED, "traced job 1 ended FAILED, job 2 without the tracer ended COMPLETED; it is not traced again by itself");
	assert_non_null(strstr(w->log, "job 2: key 01234567: completed without the tracer, and traced job 1 ended FAILED"));
	t = trial_of(KEY);
	assert_int_equal(t.uid, getuid());
	assert_int_equal(t.traced_job, 1);
	assert_int_equal(t.control_job, 2);
	assert_string_equal(t.control_state, "COMPLETED");
	assert_int_equal(t.pair, TRIAL_TRACED_FAILED);
	assert_int_equal(t.pair_traced, 1);
	assert_int_equal(t.pair_untraced, 2);
	/* for good, whatever comes */
	untraced(3, "FAILED", 5);
	untraced(4, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
	assert_int_equal(trial_of(KEY).control_job, 2);
}

static void test_fails_without(void **state)
{
	(void)state;
	traced(1, "FAILED", 5);
	untraced(2, "FAILED", 5);
	assert_guard(TRIAL_FREE);
	assert_true(may_mark(KEY, KEY));
	assert_state(PROGRAM_FAILED, "traced job 1 ended FAILED, job 2 without the tracer ended FAILED; the next run is traced again");
	assert_true(program().retrace_at > 0 && program().retrace_at <= w->now);
	assert_int_equal(trial_of(KEY).pair, TRIAL_BOTH_FAILED);
	untraced(3, "COMPLETED", 100); /* that question is settled */
	assert_guard(TRIAL_FREE);
	traced(4, "FAILED", 5);
	assert_guard(TRIAL_DOUBT);
	assert_int_equal(trial_of(KEY).control_job, 0);
	untraced(5, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
	assert_int_equal(trial_of(KEY).pair, TRIAL_TRACED_FAILED); /* in place of both_failed */
}

/* Ends that are not the tracer's: the next run is traced again. */
static void test_other_ends(void **state)
{
	static const char *const states[] = {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "DEADLINE"};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		traced(i + 1, states[i], 5);
		assert_guard(TRIAL_FREE);
		assert_true(may_mark(KEY, KEY));
		assert_state(PROGRAM_FAILED, "; the next run is traced again");
	}
	traced(5, "CANCELLED", 0); /* it never ran */
	assert_guard(TRIAL_FREE);
	assert_state(PROGRAM_FAILED, "traced job 5 ended CANCELLED; the next run is traced again");
	untraced(6, "COMPLETED", 100);
	assert_int_equal(trial_of(KEY).pair, TRIAL_NO_PAIR);
}

/* A run that hung, or was given too little time. */
static void test_cut_short(void **state)
{
	(void)state;
	traced(1, "CANCELLED", 3000);
	assert_guard(TRIAL_DOUBT);
	assert_state(PROGRAM_FAILED, "traced job 1 ended CANCELLED; the next run goes without the tracer");
	untraced(2, "COMPLETED", 3001);
	assert_guard(TRIAL_FREE);
	traced(3, "TIMEOUT", 3600);
	assert_guard(TRIAL_DOUBT);
	untraced(4, "CANCELLED", 3000); /* says nothing */
	untraced(5, "NODE_FAIL", 3000);
	assert_guard(TRIAL_DOUBT);
	assert_state(PROGRAM_FAILED, "traced job 3 ended TIMEOUT; the next run goes without the tracer");
	untraced(6, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
}

static void test_memory(void **state)
{
	struct cluster_job *j;

	(void)state;
	traced(1, "OUT_OF_MEMORY", 5);
	assert_true(trial_of(KEY).memory == 1000);
	j = job_of(2, ACT_OBSERVE, 0, 0);
	j->memory = 2000;
	play(j, "COMPLETED", 100);
	assert_guard(TRIAL_FREE);
	traced(3, "OUT_OF_MEMORY", 5);
	untraced(4, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
}

/* A run that was queued again may have gone on where it was, and left it in the middle. */
static void test_requeued(void **state)
{
	struct cluster_job *j = job_of(1, ACT_TRACE, 0, 0);

	(void)state;
	look();
	job_run(j);
	look();
	j->phase = CLUSTER_PENDING; /* slurmctld gives it another submit time */
	j->submit_time = w->now;
	j->restarts = 1;
	look();
	assert_guard(TRIAL_FREE);
	play(j, "FAILED", 5);
	assert_guard(TRIAL_DOUBT);
	j = job_of(2, ACT_OBSERVE, 0, 0);
	j->restarts = 1;
	play(j, "COMPLETED", 100);
	assert_guard(TRIAL_DOUBT);
	untraced(3, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
}

static void test_array(void **state)
{
	static const struct {
		uint32_t index;
		const char *end_state;
	} tasks[] = {{1, "COMPLETED"}, {2, "FAILED"}, {3, "COMPLETED"}, {4, "FAILED"}};
	struct cluster_job *j;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		j = job_of(10 + i, ACT_TRACE, 0, 0);
		j->array_job = 10;
		j->array_task = tasks[i].index;
		play(j, tasks[i].end_state, 5);
	}
	assert_guard(TRIAL_DOUBT);
	assert_int_equal(trial_of(KEY).traced_job, 11);
	untraced(20, "COMPLETED", 100); /* no task of an array */
	for (uint32_t i = 1; i <= 2; i++) {
		assert_guard(TRIAL_DOUBT);
		j = job_of(20 + i, ACT_OBSERVE, 0, 0);
		j->array_job = 21;
		j->array_task = i;
		play(j, "COMPLETED", 100);
	}
	assert_guard(TRIAL_SUSPECT);
	assert_int_equal(trial_of(KEY).control_job, 22);
}

/* Nobody saw the end: unless its trace is there, the run may have failed. */
static void test_lost(void **state)
{
	(void)state;
	job_of(1, ACT_TRACE, 0, 0);
	look();
	w->n = 0;
	look();
	assert_guard(TRIAL_DOUBT);
	assert_string_equal(trial_of(KEY).end_state, "UNKNOWN");
	assert_state(PROGRAM_FAILED, "precedentd was not running; the next run goes without the tracer");
	untraced(2, "COMPLETED", 100);
	assert_guard(TRIAL_SUSPECT);
	assert_int_equal(trial_of(KEY).pair, TRIAL_NO_PAIR); /* it may have completed, too */
}

static void test_lost_with_trace(void **state)
{
	(void)state;
	job_of(1, ACT_TRACE, 0, 0);
	look();
	trace_leave(1);
	w->n = 0;
	look();
	assert_guard(TRIAL_FREE);
	assert_state(PROGRAM_FAILED, "precedentd was not running; the next run is traced again");
	job_of(2, ACT_OBSERVE, 0, 0); /* an untraced run that is lost says nothing */
	look();
	w->n = 0;
	look();
	assert_guard(TRIAL_FREE);
}

/* ---- other numbers ---- */

#define KIN  "00000000000000000000000000000009"
#define KEY_ "0000000000000000000000000000000"

static void member(uint32_t id, enum job_act act, unsigned key, const char *state)
{
	play(job_of(id, act, key, 9), state, 5);
}

static void assert_kin(enum trial_guard guard, const char *key)
{
	struct store_trial t = trial_of(KIN);

	if (t.guard != guard || strcmp(t.key, key))
		fail_msg("%s of %s, not %s of %s", trial_guard_name(t.guard), t.key, trial_guard_name(guard), key);
}

/* Of a job with another text and the same launches. */
static void other_text(uint32_t id, const char *state)
{
	struct cluster_job *j = job_of(id, ACT_OBSERVE, 1, 9);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	strcpy(c.similar, "name/60/50/70,launch/1");
	assert_true(comment_format(&c, w->comments[0], COMMENT_TEXT_MAX) > 0);
	play(j, state, 5);
}

/* The user may have mended the script: its run is no evidence against the tracer. */
static void test_other_text(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "FAILED");
	other_text(2, "COMPLETED");
	assert_kin(TRIAL_DOUBT_KEY, KEY_ "1");
	assert_int_equal(trial_of(KIN).pair, TRIAL_NO_PAIR);
	member(3, ACT_OBSERVE, 1, "COMPLETED"); /* the same text is */
	assert_kin(TRIAL_SUSPECT, KEY_ "1");
	assert_int_equal(trial_of(KIN).pair, TRIAL_TRACED_FAILED);
}

static void test_other_text_fails(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "COMPLETED");
	other_text(2, "FAILED");
	assert_int_equal(trial_of(KIN).control_job, 0);
}

/* A sweep: the first failure keeps all members from being traced until one has run; the second one for good. */
static void test_sweep(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "FAILED");
	assert_kin(TRIAL_DOUBT, KEY_ "1");
	assert_false(may_mark(KIN, KEY_ "1") || may_mark(KIN, KEY_ "2"));
	member(2, ACT_OBSERVE, 2, "CANCELLED");
	assert_kin(TRIAL_DOUBT, KEY_ "1");
	member(3, ACT_OBSERVE, 2, "COMPLETED");
	assert_kin(TRIAL_DOUBT_KEY, KEY_ "1");
	assert_false(may_mark(KIN, KEY_ "1"));
	assert_true(may_mark(KIN, KEY_ "2"));
	member(4, ACT_TRACE, 3, "FAILED");
	assert_kin(TRIAL_SUSPECT, KEY_ "3");
	assert_false(may_mark(KIN, KEY_ "1") || may_mark(KIN, KEY_ "2") || may_mark(KIN, KEY_ "3"));
	assert_int_equal(trial_of(KIN).pair, TRIAL_NO_PAIR); /* other numbers may be why */
}

/* Other members fail without the tracer as well: the program has faults of its own. */
static void test_sweep_of_failures(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "FAILED");
	member(2, ACT_OBSERVE, 2, "FAILED");
	assert_kin(TRIAL_DOUBT_KEY, KEY_ "1");
	member(3, ACT_TRACE, 3, "FAILED");
	assert_kin(TRIAL_DOUBT, KEY_ "3");
	member(4, ACT_OBSERVE, 3, "FAILED");
	assert_kin(TRIAL_FREE, KEY_ "3");
	assert_int_equal(trial_of(KIN).pair, TRIAL_BOTH_FAILED);
}

/* The tracer runs with other numbers. */
static void test_sweep_goes_on(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "FAILED");
	member(2, ACT_TRACE, 2, "FAILED"); /* submitted with the first */
	assert_kin(TRIAL_DOUBT, KEY_ "1");
	member(3, ACT_TRACE, 3, "COMPLETED");
	assert_kin(TRIAL_DOUBT_KEY, KEY_ "1");
	member(4, ACT_TRACE, 4, "COMPLETED");
	assert_kin(TRIAL_FREE, KEY_ "4");
	assert_true(may_mark(KIN, KEY_ "1"));
	member(5, ACT_OBSERVE, 4, "COMPLETED");
	assert_int_equal(trial_of(KIN).pair, TRIAL_BOTH_COMPLETED);
	assert_int_equal(trial_of(KIN).control_job, 5);
}

static void test_settled_by_key(void **state)
{
	(void)state;
	member(1, ACT_TRACE, 1, "FAILED");
	member(2, ACT_OBSERVE, 2, "COMPLETED");
	member(3, ACT_OBSERVE, 1, "COMPLETED");
	assert_kin(TRIAL_SUSPECT, KEY_ "1");
	assert_int_equal(trial_of(KIN).pair, TRIAL_TRACED_FAILED);
	member(4, ACT_TRACE, 2, "COMPLETED"); /* submitted before */
	assert_kin(TRIAL_SUSPECT, KEY_ "1");
}

/* precedent retrace: another try, which may fail again. */
static void test_lifted(void **state)
{
	(void)state;
	traced(1, "FAILED", 5);
	untraced(2, "COMPLETED", 100);
	ok(store_trial_lift(w->store, KEY, w->now, &err));
	assert_true(may_mark(KEY, KEY));
	untraced(3, "COMPLETED", 100); /* submitted before it was lifted */
	assert_guard(TRIAL_FREE);
	traced(4, "FAILED", 5);
	assert_guard(TRIAL_DOUBT);
	assert_int_equal(trial_of(KEY).pair_traced, 1);
}

static void test_pair_for_tracer(void **state)
{
	(void)state;
	traced(1, "COMPLETED", 5);
	assert_int_equal(trial_of(KEY).pair, TRIAL_NO_PAIR);
	untraced(2, "FAILED", 5);
	assert_int_equal(trial_of(KEY).pair, TRIAL_UNTRACED_FAILED);
	untraced(3, "FAILED", 5); /* no neighbour of the traced run */
	assert_int_equal(trial_of(KEY).pair_untraced, 2);
	traced(4, "COMPLETED", 5);
	untraced(5, "COMPLETED", 5);
	assert_int_equal(trial_of(KEY).pair, TRIAL_UNTRACED_FAILED); /* it is not hidden */
	assert_guard(TRIAL_FREE);
}

/* Another user's row, which only damage makes: it is neither believed nor changed. */
static void test_foreign_row(void **state)
{
	struct store_trial t = {.name = KEY, .key = KEY, .uid = getuid() + 1, .guard = TRIAL_FREE, .end_state = "FAILED"};

	(void)state;
	ok(store_trial_put(w->store, &t, &err));
	traced(1, "FAILED", 5);
	assert_int_equal(trial_of(KEY).traced_job, 0);
}

/* ---- all programs ---- */

static unsigned programs; /* so far */

/* A program of that user, of which one run of both failed. */
static void pair_of(uint32_t uid, bool against)
{
	unsigned number = 0x1000 + programs++;
	struct cluster_job *j = job_of(2 * number, ACT_TRACE, number, number);

	j->uid = uid;
	play(j, against ? "FAILED" : "COMPLETED", 5);
	j = job_of(2 * number + 1, ACT_OBSERVE, number, number);
	j->uid = uid;
	play(j, against ? "COMPLETED" : "FAILED", 5);
}

static enum tracing_state state_now(void)
{
	struct store_tracing t;

	ok(store_tracing_get(w->store, &t, &err));
	return t.state;
}

static void store_again(void)
{
	store_close(w->store);
	ok(store_open(w->store_file, STORE_WRITE | STORE_WAIT, &w->store, &err));
	w->env.store = w->store;
	poll_cache_forget(w->memory.cache);
}

static void test_stops(void **state)
{
	struct store_tracing t;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(state_now(), i < 8 ? TRACING_ON : TRACING_SUSPECTED);
		if (i == 8)
			assert_non_null(strstr(w->log, "tracing is suspected of making jobs fail: 8 programs failed traced alone, 0 "
						       "untraced alone (chance 0.039): precedent doctor names jobs to look at"));
		if (i == 9) /* once */
			assert_null(strstr(w->log, "suspected of"));
		store_again();
		pair_of(5000 + i % 3, true);
	}
	assert_int_equal(state_now(), TRACING_STOPPED);
	assert_non_null(strstr(w->log, "tracing stops on the whole cluster: 12 programs failed traced alone, 0 untraced alone (chance 0.0077): "
				       "precedent doctor names jobs to look at; precedent retrace --all resumes tracing"));
	ok(store_tracing_get(w->store, &t, &err));
	store_again();
	for (unsigned i = 0; i < 20; i++)
		pair_of(6000 + i, false); /* nothing but an administrator resumes it */
	assert_int_equal(state_now(), TRACING_STOPPED);
	ok(trial_judge_tracing(&w->env, w->now + 2 * TRIAL_WINDOW_S, &err));
	assert_int_equal(state_now(), TRACING_STOPPED);
	ok(store_tracing_resume(w->store, w->now, &err));
	for (unsigned i = 0; i < 7; i++) /* counted anew */
		pair_of(5000 + i % 3, true);
	assert_int_equal(state_now(), TRACING_ON);
	pair_of(5002, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
}

/* Whatever one user does, tracing goes on for the others. */
static void test_one_user(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++)
		pair_of(5000, true);
	assert_int_equal(state_now(), TRACING_ON);
	for (unsigned i = 0; i < 3; i++)
		pair_of(5001, true);
	assert_int_equal(state_now(), TRACING_ON);
	pair_of(5001, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	pair_of(5001, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	for (unsigned i = 0; i < 4; i++)
		pair_of(5002 + i, true);
	assert_int_equal(state_now(), TRACING_STOPPED);
}

/* Nor can one user hide what others see: 27 programs outweigh the four of his that count. */
static void test_one_user_hides(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++)
		pair_of(5000, false);
	for (unsigned i = 0; i < 26; i++)
		pair_of(6000 + i / 4, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	pair_of(6006, true);
	assert_int_equal(state_now(), TRACING_STOPPED);
}

/* One broken program, submitted again and again, counts once. */
static void test_one_program(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		traced(2 * i + 1, "FAILED", 5);
		untraced(2 * i + 2, "COMPLETED", 5);
		ok(store_trial_lift(w->store, KEY, w->now, &err));
	}
	assert_int_equal(state_now(), TRACING_ON);
}

static void test_suspicion_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		pair_of(5000 + i, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	pair_of(5100, false); /* 8 and 1 */
	assert_int_equal(state_now(), TRACING_ON);
	assert_non_null(strstr(w->log, "tracing is no longer suspected"));
	for (unsigned i = 0; i < 3; i++)
		pair_of(5010 + i, true);
	pair_of(5014, true);
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	ok(trial_judge_tracing(&w->env, w->now + TRIAL_WINDOW_S - 86400, &err));
	assert_int_equal(state_now(), TRACING_SUSPECTED);
	ok(trial_judge_tracing(&w->env, w->now + TRIAL_WINDOW_S, &err));
	assert_int_equal(state_now(), TRACING_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_completes_without), T(test_fails_without),     T(test_other_ends),    T(test_cut_short), T(test_memory),
		T(test_requeued),	   T(test_array),	      T(test_lost),	     T(test_lost_with_trace), T(test_sweep), T(test_other_text), T(test_other_text_fails),
		T(test_sweep_of_failures), T(test_sweep_goes_on),     T(test_settled_by_key), T(test_lifted),	T(test_pair_for_tracer),
		T(test_foreign_row),	   T(test_stops),	      T(test_one_user),	     T(test_one_user_hides), T(test_one_program), T(test_suspicion_ends),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
