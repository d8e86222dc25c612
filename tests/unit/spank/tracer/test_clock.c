/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading clocks that may have ended. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "spank/tracer/clock.h"

static void *tell_clock(void *to)
{
	assert_int_equal(pthread_getcpuclockid(pthread_self(), to), 0);
	return NULL;
}

/* Leave values on the stack where the next function has its variables. */
__attribute__((noinline)) static void fill_stack(void)
{
	volatile unsigned char a[4096];

	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = 0x55;
}

__attribute__((noinline)) static uint64_t read_clock(clockid_t id)
{
	return clock_true_ns(id);
}

static void test_clock_of_ended_thread(void **state)
{
	pthread_t t;
	clockid_t id;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, tell_clock, &id), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	fill_stack();
	assert_int_equal(read_clock(id), 0);
	assert_true(read_clock(CLOCK_THREAD_CPUTIME_ID) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_of_ended_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
