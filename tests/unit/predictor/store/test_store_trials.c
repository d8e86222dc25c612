/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traced runs against untraced ones, as rows: fields, guards, sums, Retention, and kill -9. */
#include <signal.h>
#include <sys/wait.h>

#include "predictor/estimate/array.h"
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"
#include "predictor/store/trials.h"
#include "tests/unit/store_fixture.h"

static struct store_trial trial(unsigned n, uint32_t uid, enum trial_guard guard, enum trial_pair pair, int64_t pair_at)
{
	struct store_trial t = {.uid = uid, .guard = guard, .traced_job = n, .end_state = "FAILED", .elapsed_s = 4.5,
				.memory = 1ull << 63 | 7, .array_task = ARRAY_NO_INDEX, .control_job = n + 1, .control_state = "COMPLETED",
				.updated = NOW, .pair = pair, .pair_traced = n, .pair_untraced = n + 1, .pair_at = pair_at};

	snprintf(t.name, sizeof(t.name), "%032x", n);
	snprintf(t.key, sizeof(t.key), "%032x", n + 0x1000);
	return t;
}

static void put(struct store *s, struct store_trial t)
{
	ok(store_trial_put(s, &t, &err));
}

static void assert_same(const struct store_trial *a, const struct store_trial *b)
{
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->key, b->key);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->guard, b->guard);
	assert_int_equal(a->traced_job, b->traced_job);
	assert_string_equal(a->end_state, b->end_state);
	assert_true(a->elapsed_s == b->elapsed_s && a->memory == b->memory);
	assert_int_equal(a->array_task, b->array_task);
	assert_int_equal(a->control_job, b->control_job);
	assert_string_equal(a->control_state, b->control_state);
	assert_int_equal(a->updated, b->updated);
	assert_int_equal(a->pair, b->pair);
	assert_int_equal(a->pair_traced, b->pair_traced);
	assert_int_equal(a->pair_untraced, b->pair_untraced);
	assert_int_equal(a->pair_at, b->pair_at);
}

static void test_round_trip(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_trial t = trial(5, UINT32_MAX - 1, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW - 3), back;

	(void)state;
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 0);
	put(s, t);
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 1);
	assert_same(&t, &back);
	t.guard = TRIAL_FREE;
	t.control_job = 0;
	put(s, t); /* in its place */
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 1);
	assert_same(&t, &back);
	assert_int_equal(store_trial_get(s, "no key", &back, &err), -1);
	strcpy(t.name, "no key");
	assert_int_equal(store_trial_put(s, &t, &err), -1);
	store_close(s);
}

static void test_withholds(void **state)
{
	static const enum trial_guard guards[] = {TRIAL_FREE, TRIAL_DOUBT, TRIAL_DOUBT_KEY, TRIAL_SUSPECT};
	struct store *s = must_open(STORE_WRITE);
	struct store_trial t, back;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		t = trial(5, 1000, guards[i], TRIAL_NO_PAIR, 0);
		put(s, t);
		assert_int_equal(store_trial_withholds(s, t.name, t.key, &back, &err), guards[i] != TRIAL_FREE);
		assert_int_equal(store_trial_withholds(s, t.name, KEY1, &back, &err), guards[i] == TRIAL_DOUBT || guards[i] == TRIAL_SUSPECT);
		assert_int_equal(store_trial_withholds(s, KEY2, t.key, &back, &err), 0);
	}
	ok(store_trial_lift(s, KEY2, NOW, &err)); /* there is none */
	ok(store_trial_lift(s, t.name, NOW + 5, &err));
	assert_int_equal(store_trial_withholds(s, t.name, t.key, &back, &err), 0);
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 1);
	assert_string_equal(back.end_state, "");
	assert_int_equal(back.updated, NOW + 5);
	store_close(s);
}

/* The latest programs of each user count, within the window. */
static void test_count(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_trial_tally n;

	(void)state;
	for (unsigned i = 0; i < 50; i++) /* one user, many programs */
		put(s, trial(i, 1000, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW + i));
	for (unsigned i = 50; i < 52; i++) /* later ones of his that speak for the tracer */
		put(s, trial(i, 1000, TRIAL_FREE, TRIAL_UNTRACED_FAILED, NOW + i));
	put(s, trial(60, 1001, TRIAL_FREE, TRIAL_TRACED_FAILED, NOW));
	put(s, trial(61, 1001, TRIAL_FREE, TRIAL_UNTRACED_FAILED, NOW));
	put(s, trial(62, 1002, TRIAL_FREE, TRIAL_BOTH_COMPLETED, NOW));
	put(s, trial(63, 1002, TRIAL_FREE, TRIAL_BOTH_FAILED, NOW));
	put(s, trial(64, 1002, TRIAL_DOUBT, TRIAL_NO_PAIR, 0));
	put(s, trial(65, 1003, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW - 1));
	ok(store_trial_count(s, NOW, &n, &err));
	assert_int_equal(n.traced_failed, TRIAL_PER_USER - 2 + 1);
	assert_int_equal(n.untraced_failed, 2 + 1);
	assert_int_equal(n.pairs[TRIAL_TRACED_FAILED], 51);
	assert_int_equal(n.pairs[TRIAL_UNTRACED_FAILED], 3);
	assert_int_equal(n.pairs[TRIAL_BOTH_COMPLETED], 1);
	assert_int_equal(n.pairs[TRIAL_BOTH_FAILED], 1);
	assert_int_equal(n.pairs[TRIAL_NO_PAIR], 0);
	ok(store_trial_count(s, NOW - 1, &n, &err));
	assert_int_equal(n.traced_failed, TRIAL_PER_USER);
	store_close(s);
}

static struct store_trial seen[4];
static unsigned n_seen;

static int see(const struct store_trial *t, void *arg)
{
	(void)arg;
	assert_true(n_seen < 4);
	seen[n_seen++] = *t;
	return n_seen == 3;
}

static void test_against(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_trial t;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		put(s, trial(i, 1000 + i, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW + i * 10));
	put(s, trial(7, 1007, TRIAL_FREE, TRIAL_UNTRACED_FAILED, NOW + 100));
	n_seen = 0;
	assert_int_equal(store_trials_against(s, NOW + 10, see, NULL, &err), 3);
	for (unsigned i = 0; i < 3; i++) {
		t = trial(4 - i, 1004 - i, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW + (4 - i) * 10);
		assert_same(&t, &seen[i]);
	}
	n_seen = 0;
	assert_int_equal(store_trials_against(s, NOW + 30, see, NULL, &err), 2);
	store_close(s);
}

static void test_tracing(void **state)
{
	static const enum tracing_state states[] = {TRACING_SUSPECTED, TRACING_STOPPED, TRACING_ON};
	struct store *s = must_open(STORE_WRITE), *r = must_open(STORE_READ);
	struct store_tracing t, back;

	(void)state;
	ok(store_tracing_get(r, &back, &err));
	assert_true(back.state == TRACING_ON && back.since == 0);
	for (unsigned i = 0; i < 3; i++) {
		t = (struct store_tracing){states[i], NOW + i};
		ok(store_tracing_set(s, &t, &err));
		ok(store_tracing_get(r, &back, &err));
		assert_true(back.state == t.state && back.since == t.since);
	}
	ok(store_meta_set(s, "tracing", "stoppe 17", &err)); /* not a word of ours */
	ok(store_tracing_get(r, &back, &err));
	assert_int_equal(back.state, TRACING_ON);
	ok(store_meta_set(s, "tracing", "stopped", &err));
	ok(store_tracing_get(r, &back, &err));
	assert_int_equal(back.state, TRACING_ON);
	store_close(r);
	store_close(s);
}

static void test_resume(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_tracing t = {TRACING_STOPPED, NOW};
	struct store_trial_tally n;
	struct store_trial back;

	(void)state;
	ok(store_tracing_set(s, &t, &err));
	put(s, trial(1, 1000, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW));
	put(s, trial(2, 1000, TRIAL_DOUBT, TRIAL_NO_PAIR, 0));
	put(s, trial(3, 1000, TRIAL_FREE, TRIAL_BOTH_COMPLETED, NOW));
	assert_int_equal(store_tracing_resume(s, NOW + 9, &err), 2);
	ok(store_tracing_get(s, &t, &err));
	assert_true(t.state == TRACING_ON && t.since == NOW + 9);
	assert_int_equal(store_trial_get(s, "00000000000000000000000000000001", &back, &err), 0);
	ok(store_trial_count(s, 0, &n, &err));
	assert_int_equal(n.pairs[TRIAL_BOTH_COMPLETED], 0);
	assert_int_equal(store_tracing_resume(s, NOW + 9, &err), 0);
	store_close(s);
}

static void run_put(struct store *s, uint32_t job, const char *key, const char *kin, int64_t when)
{
	struct store_run r = {.jobid = job, .submit_time = when, .uid = 1000, .end_time = when, .end_state = "COMPLETED"};

	strcpy(r.key, key);
	strcpy(r.kin, kin);
	ok(store_run_put(s, &r, &err));
}

/* A program that still runs keeps its guard, by its kin or by its key; one that no run is left of is forgotten. */
static void test_retention(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_trial t[3], back;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		t[i] = trial(i + 1, 1000, TRIAL_SUSPECT, TRIAL_NO_PAIR, 0);
		put(s, t[i]);
	}
	run_put(s, 1, KEY1, t[0].name, NOW + 100);
	run_put(s, 2, t[1].name, "", NOW + 100);
	run_put(s, 3, KEY1, t[2].name, NOW - 100);
	ok(store_prune(s, NOW, &err));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(store_trial_get(s, t[i].name, &back, &err), 1); /* not old enough */
	ok(store_prune(s, NOW + 50, &err));
	assert_int_equal(store_trial_get(s, t[0].name, &back, &err), 1);
	assert_int_equal(store_trial_get(s, t[1].name, &back, &err), 1);
	assert_int_equal(store_trial_get(s, t[2].name, &back, &err), 0);
	store_close(s);
}

/* precedent forget drops what one key has to do with; a guard by another key of the program stays. */
static void test_forget(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_trial t = trial(1, 1000, TRIAL_SUSPECT, TRIAL_NO_PAIR, 0), back;

	(void)state;
	put(s, t);
	run_put(s, 1, t.key, t.name, NOW);
	run_put(s, 2, KEY1, t.name, NOW);
	ok(store_key_forget(s, KEY1, 1000, NOW, &err));
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 1);
	ok(store_key_forget(s, t.key, 1000, NOW, &err));
	assert_int_equal(store_trial_get(s, t.name, &back, &err), 0);
	store_close(s);
}

/* The rows are there if the writer is killed as soon as its calls have returned. */
static void test_killed(void **state)
{
	struct store_tracing stopped = {TRACING_STOPPED, NOW}, back;
	struct store_trial t = trial(1, 1000, TRIAL_SUSPECT, TRIAL_TRACED_FAILED, NOW), found;
	struct store *s;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &err) < 0 || store_trial_put(s, &t, &err) < 0 ||
		    store_tracing_set(s, &stopped, &err) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	s = must_open(STORE_READ);
	assert_int_equal(store_trial_get(s, t.name, &found, &err), 1);
	assert_same(&t, &found);
	ok(store_tracing_get(s, &back, &err));
	assert_true(back.state == TRACING_STOPPED && back.since == NOW);
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_round_trip), T(test_withholds), T(test_count),  T(test_against), T(test_tracing),
		T(test_resume),	    T(test_retention), T(test_forget), T(test_killed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_trials", tests, NULL, NULL);
}
