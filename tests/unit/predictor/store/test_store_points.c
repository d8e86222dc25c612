/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed points in the store: written, replaced, forgotten with their job or user, and whole after kill -9. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "predictor/store/busy.h"
#include "predictor/store/forget.h"
#include "predictor/store/keep.h"
#include "predictor/store/points.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

#define ROUNDS 30

static struct store_points points_of(unsigned n, double seconds)
{
	struct store_points p = {.n = n, .job = 7, .updated = NOW};

	for (unsigned i = 0; i < n; i++) {
		snprintf(p.p[i].vars, sizeof(p.p[i].vars), "2,1,1,0,%u,1.5e-07", i);
		p.p[i].seconds = seconds + i;
		p.p[i].claim = 0.25;
	}
	return p;
}

static void same(const struct store_points *a, const struct store_points *b)
{
	assert_int_equal(a->n, b->n);
	for (unsigned i = 0; i < a->n; i++) {
		assert_string_equal(a->p[i].vars, b->p[i].vars);
		assert_true(a->p[i].seconds == b->p[i].seconds && a->p[i].claim == b->p[i].claim);
	}
	assert_true(a->job == b->job && a->updated == b->updated);
}

static void test_put_and_get(void **state)
{
	struct store_points p = points_of(RESULT_MAX_POINTS, 100.5), q = points_of(3, 5), back;
	struct store *s = must_open(STORE_WRITE);

	(void)state;
	assert_int_equal(store_points_get(s, KEY1, "fast", &back, &err), 0);
	assert_int_equal(back.n, 0);
	memset(p.p[31].vars, '9', sizeof(p.p[31].vars) - 1);
	ok(store_points_put(s, KEY1, "fast", &p, &err));
	ok(store_points_put(s, KEY1, "slow", &q, &err));
	assert_int_equal(store_points_get(s, KEY1, "fast", &back, &err), 1);
	same(&p, &back);
	ok(store_points_put(s, KEY1, "fast", &q, &err));
	assert_int_equal(store_points_get(s, KEY1, "fast", &back, &err), 1);
	same(&q, &back);
	assert_int_equal(store_points_get(s, KEY2, "fast", &back, &err), 0);
	assert_int_equal(store_points_put(s, "no key", "fast", &q, &err), -1);
	assert_int_equal(store_points_get(s, "no key", "fast", &back, &err), -1);
	store_close(s);
}

/* Points go with their job, with their user, and when they are too old. */
static void test_forget(void **state)
{
	struct store_points p = points_of(3, 5), back;
	struct store_program program_row = program(KEY1, PROGRAM_READY, NOW);
	struct store_run run = {.jobid = 1, .submit_time = NOW, .uid = program_row.uid, .end_state = "COMPLETED", .end_time = NOW};
	struct store *s = must_open(STORE_WRITE);

	(void)state;
	strcpy(run.key, KEY1);
	strcpy(run.kin, KEY2);
	for (int how = 0; how < 3; how++) {
		ok(store_program_put(s, &program_row, &err));
		ok(store_run_put(s, &run, &err));
		ok(store_points_put(s, KEY2, "fast", &p, &err));
		ok(store_points_put(s, KEY3, "fast", &p, &err));
		assert_true((how == 0   ? store_key_forget(s, KEY1, program_row.uid, NOW, &err)
			     : how == 1 ? store_user_forget(s, program_row.uid, NOW, &err)
					: store_prune(s, NOW + 1, &err)) >= 0);
		assert_int_equal(store_points_get(s, KEY2, "fast", &back, &err), 0);
		assert_int_equal(store_points_get(s, KEY3, "fast", &back, &err), how < 2);
	}
	store_close(s);
}

static void write_for_ever(int ack)
{
	struct errbuf e;
	struct store *s;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &e) < 0)
		_exit(1);
	for (unsigned i = 0;; i++) {
		struct store_points p = points_of(1 + i % RESULT_MAX_POINTS, 1000 * (1 + i % RESULT_MAX_POINTS));

		if (store_points_put(s, KEY1, "fast", &p, &e) < 0 || write(ack, "x", 1) != 1)
			_exit(2);
	}
}

/* A list is that of one write, whole. */
static void test_killed(void **state)
{
	struct store_points back, want;

	(void)state;
	store_close(must_open(STORE_WRITE));
	for (int round = 0; round < ROUNDS; round++) {
		struct timespec wait = {0, 200000L * (round % 10)};
		struct store *s;
		char byte;
		int fd[2];
		pid_t pid;

		assert_int_equal(pipe(fd), 0);
		pid = fork();
		if (!pid)
			write_for_ever(fd[1]);
		assert_true(pid > 0);
		close(fd[1]);
		assert_int_equal(read(fd[0], &byte, 1), 1);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		close(fd[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		s = must_open(STORE_WRITE);
		ok(store_check(s, &err));
		assert_int_equal(store_points_get(s, KEY1, "fast", &back, &err), 1);
		want = points_of(back.n, 1000 * back.n);
		same(&back, &want);
		store_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_put_and_get, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
