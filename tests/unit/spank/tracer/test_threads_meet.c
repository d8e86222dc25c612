/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads in MPI at once, in a program that did not ask for MPI_THREAD_MULTIPLE: the recorder notices and locks.
 * Threads that call one after the other are no reason to. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/play.h"
#include "trace/functions.h"
#include "trace/salvage/salvage.h"

static void begin_call(struct rec_call *c, uintptr_t ra)
{
	assert_true(rec_enter(c, ra, 0));
	rec_start(c, (struct rec_inside){0});
}

static void record_call(struct rec_call *c)
{
	c->self->v[0] = 0; /* the communicator */
	rec_event(c, FN_MPI_Barrier, 1);
}

static void end_call(struct rec_call *c)
{
	assert_true(rec_leave(c, true));
	record_call(c);
}

static void *one_call(void *ra)
{
	struct rec_call c;

	begin_call(&c, (uintptr_t)ra);
	end_call(&c);
	return NULL;
}

static void call_of_other_thread(void)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, one_call, begin_call), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
}

static void begin(void)
{
	static struct play p;
	struct errbuf err;

	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	rec.pages.spill.header->thread_level = 0;
}

static void test_one_after_the_other(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 10; i++) {
		one_call(begin);
		call_of_other_thread();
	}
	assert_int_equal(rec.n_events, 20);
	assert_false(rec.locking);
	assert_int_equal(rec.pages.spill.header->thread_level, 0);
	rec_close();
}

static void test_at_once(void **state)
{
	struct rec_call c;

	(void)state;
	begin();
	begin_call(&c, (uintptr_t)begin);
	call_of_other_thread();
	end_call(&c);
	one_call(begin); /* the lock is free */
	assert_int_equal(rec.n_events, 3);
	assert_true(rec.locking);
	assert_int_equal(rec.pages.spill.header->thread_level, 3); /* MPI_THREAD_MULTIPLE */
	rec_close();
}

/* ---- the moment at which the lock begins ---- */

static pthread_barrier_t step;
static int taken, taken_early; /* the lock, by take_lock; before holder gave it back */

static void *take_lock(void *arg)
{
	rec_lock();
	__atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
	rec_unlock();
	return arg;
}

/* A thread that has the lock keeps it while another one ends a call that began to be recorded without a lock. */
static void *holder(void *arg)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	struct rec_call c;
	pthread_t t;

	begin_call(&c, (uintptr_t)begin);
	call_of_other_thread();
	assert_true(rec_leave(&c, true));
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	assert_int_equal(pthread_create(&t, NULL, take_lock, NULL), 0);
	for (int i = 0; i < 50 && !__atomic_load_n(&taken, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	taken_early = __atomic_load_n(&taken, __ATOMIC_ACQUIRE);
	record_call(&c);
	assert_int_equal(pthread_join(t, NULL), 0);
	return arg;
}

static void test_lock_not_taken(void **state)
{
	struct rec_call c;
	pthread_t t;

	(void)state;
	begin();
	assert_int_equal(pthread_barrier_init(&step, NULL, 2), 0);
	begin_call(&c, (uintptr_t)begin);
	assert_true(rec_leave(&c, true));
	assert_int_equal(pthread_create(&t, NULL, holder, NULL), 0);
	pthread_barrier_wait(&step);
	assert_true(rec.locking);
	record_call(&c);
	pthread_barrier_wait(&step);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(taken_early, 0);
	assert_int_equal(taken, 1);
	assert_int_equal(rec.n_events, 3);
	assert_int_equal(pthread_barrier_destroy(&step), 0);
	rec_close();
}

/* With the lock, each poll is recorded under the lock: none is only counted. */
static void test_untimed_poll(void **state)
{
	struct rec_call c;

	(void)state;
	begin();
	one_call(begin);
	for (int i = 0; i < 10000 && !rec_poll_untimed(); i++) {
		assert_true(rec_enter(&c, (uintptr_t)begin, 0));
		rec_start_poll(&c, (struct rec_inside){0});
		assert_true(rec_leave_poll(&c, true, false));
	}
	assert_true(rec_poll_untimed());
	assert_true(rec_enter(&c, (uintptr_t)begin, 0));
	rec_start_poll(&c, (struct rec_inside){0});
	call_of_other_thread();
	assert_true(rec.locking);
	assert_true(rec_leave_poll(&c, true, false));
	assert_false(rec_poll_untimed());
	rec_close();
}

/* ---- a run that is killed afterwards ---- */

static int meet_and_die(const char *dir)
{
	struct errbuf err;
	struct rec_call c;
	struct play p;

	if (play_begin(&p, PLAY_LOOP, dir, "run.1", 0, 1, 0, 0, &err) < 0)
		return 1;
	begin_call(&c, (uintptr_t)begin);
	call_of_other_thread();
	end_call(&c);
	return 0;
}

static void test_salvage(void **state)
{
	char dir[] = "/tmp/threads-meet.XXXXXX";
	struct salvage_report r;
	struct errbuf err = {""};
	struct trace *t;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (!pid)
		_exit(meet_and_die(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (salvage_write(dir, "run.1", dir, NULL, "killed by signal 9", &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n_found, 1);
	assert_int_equal(r.events, 2);
	t = trace_open(r.path, &err);
	assert_non_null(t);
	assert_int_equal(trace_get_rank(t, 0)->defs.proc.thread_level, 3);
	trace_close(t);
	unlink(r.path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_lock_not_taken),
		cmocka_unit_test(test_untimed_poll),
		cmocka_unit_test(test_salvage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
