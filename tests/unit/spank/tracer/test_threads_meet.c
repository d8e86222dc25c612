/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads in MPI at once, in a program that did not ask for MPI_THREAD_MULTIPLE: the recorder notices and locks.
 * Threads that call one after the other are no reason to. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/play.h"
#include "trace/functions.h"

static void begin_call(struct rec_call *c, uintptr_t ra)
{
	assert_true(rec_enter(c, ra, 0));
	rec_start(c, (struct rec_inside){0});
}

static void end_call(struct rec_call *c)
{
	assert_true(rec_leave(c, true));
	rec_event(c, FN_MPI_Barrier, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_at_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
