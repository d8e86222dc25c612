/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work with a deadline in the traced process: work that ends, work that never ends, and a process that can have no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/tracer/patience.h"

static int calls;
static bool is_blocked, is_main;
static pthread_t main_thread;

static void count(void *arg)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	is_blocked = sigismember(&set, SIGUSR1) == 1;
	is_main = pthread_equal(pthread_self(), main_thread);
	calls += *(int *)arg;
}

static void never_end(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* In a child of the test: each returns 0, or which rule is broken. */

static int ends(void)
{
	int n = 3;

	if (!patience_run(count, &n, 60) || calls != 3 || patience_lost())
		return 1;
	return is_blocked && !is_main ? 0 : 2; /* the program's signals are for its own threads */
}

static int is_late(void)
{
	int n = 1;

	if (patience_run(never_end, NULL, 1) || !patience_lost())
		return 1;
	return patience_run(count, &n, 60) || calls ? 2 : 0; /* a lost directory is left alone */
}

static int has_no_thread(void)
{
	const struct rlimit none = {0, 0};
	int n = 5;

	if (setrlimit(RLIMIT_NPROC, &none) || setgid(4242) || setuid(4242))
		return 77;
	return patience_run(count, &n, 60) && calls == 5 && is_main ? 0 : 1;
}

static void in_child(int (*deed)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		main_thread = pthread_self();
		_exit(deed());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status != 77 << 8)
		assert_int_equal(status, 0);
}

static void test_ends(void **state)
{
	(void)state;
	in_child(ends);
}

static void test_late(void **state)
{
	(void)state;
	in_child(is_late); /* whose end its late thread does not stop */
}

static void test_no_thread(void **state)
{
	(void)state;
	in_child(has_no_thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_late), cmocka_unit_test(test_no_thread)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
