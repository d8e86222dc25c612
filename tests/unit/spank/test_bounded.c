/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work with a deadline: what it returns, and work that never ends. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "spank/bounded.c"

struct sum {
	int a, b, sum;
};

static int add(void *arg, struct errbuf *err)
{
	struct sum *s = arg;

	s->sum = s->a + s->b;
	return s->sum < 0 ? err_set(err, "negative: %d", s->sum) : 0;
}

static void test_result(void **state)
{
	struct sum s = {.a = 3, .b = 4};
	const struct bounded b = {add, &s, sizeof(s), 30000, "a sum"};
	struct errbuf err;
	bool late = true;

	(void)state;
	assert_int_equal(bounded_run(&b, &late, &err), 0);
	assert_int_equal(s.sum, 7);
	assert_false(late);
	s.a = -9;
	assert_int_equal(bounded_run(&b, &late, &err), -1);
	assert_string_equal(err.text, "negative: -5");
	assert_false(late);
}

static int die(void *arg, struct errbuf *err)
{
	(void)arg;
	(void)err;
	return raise(SIGKILL);
}

static void test_killed(void **state)
{
	int number = 0;
	const struct bounded b = {die, &number, sizeof(number), 30000, "the spool"};
	struct errbuf err;
	bool late = true;

	(void)state;
	assert_int_equal(bounded_run(&b, &late, &err), -1);
	assert_false(late);
	assert_non_null(strstr(err.text, "killed"));
}

static char fifo[64];

/* What the hanging work shows before it hangs. */
static struct shown {
	_Atomic pid_t pid;
	int number;
} *shown;

static int hang(void *arg, struct errbuf *err)
{
	*(int *)arg = 2;
	shown->number = *(int *)arg;
	shown->pid = getpid();
	return open(fifo, O_RDONLY) < 0 ? err_set(err, "no FIFO") : 0; /* nobody writes to it */
}

/* The caller goes on. The process that hangs holds nothing of the caller's, and its timer ends it. */
static void test_late(void **state)
{
	int number = 1, ends[2];
	const struct bounded b = {hang, &number, sizeof(number), 500, "the spool"}, unwaited = {hang, &number, sizeof(number), 0, ""};
	struct errbuf err;
	bool late = false;
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(bounded_run(&b, &late, &err), -1);
	assert_true(late);
	assert_string_equal(err.text, "the spool: no answer within 500 ms");
	assert_int_equal(number, 1);
	shown->pid = 0;
	assert_int_equal(bounded_run(&unwaited, &late, &err), 0);
	assert_false(late);
	for (int i = 0; i < 30000 && !shown->pid; i++)
		usleep(1000);
	assert_int_not_equal(shown->pid, 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	assert_int_equal(shown->number, 2);
	for (int i = 0; i < 30000 && kill(shown->pid, 0) == 0; i++)
		usleep(1000);
	assert_int_equal(kill(shown->pid, 0), -1);
}

static void test_close(void **state)
{
	int fd[6], open_now = 0;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 6; i++)
			fd[i] = dup(0);
		bounded_close(fd[4], fd[1]);
		for (int i = 0; i < 6; i++)
			open_now |= (fcntl(fd[i], F_GETFD) >= 0) << i;
		bounded_close(-1, fd[1]);
		_exit(open_now == (1 << 4 | 1 << 1) && fcntl(fd[1], F_GETFD) >= 0 && fcntl(fd[4], F_GETFD) < 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_close),
	};
	char dir[] = "/tmp/precedent-bounded-XXXXXX";
	int failed;

	shown = mmap(NULL, sizeof(*shown), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shown == MAP_FAILED || !mkdtemp(dir))
		return 1;
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	if (mkfifo(fifo, 0600) != 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(fifo);
	rmdir(dir);
	return failed;
}
