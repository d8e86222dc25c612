/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Temporary directories: all that is below is removed, nothing beside it, also by a process that a signal ends. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/temp_dir.h"

#define MANY 3000 /* names: more than one call of the kernel returns */
#define DEEP 40

static char base[] = "/tmp/precedent-test-XXXXXX";

static int make_base(void **state)
{
	(void)state;
	return mkdtemp(base) ? chdir(base) : -1;
}

static int drop_base(void **state)
{
	(void)state;
	temp_dir_remove(base);
	return access(base, F_OK) == 0 ? -1 : 0;
}

static void put(const char *path)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fclose(f);
}

/* Makes files, deep directories, and links to directories that must stay. */
static void fill(const char *dir)
{
	char path[4096];
	size_t n;

	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%s/a file with a longer name %d", dir, i);
		put(path);
	}
	n = (size_t)snprintf(path, sizeof(path), "%s", dir);
	for (int i = 0; i < DEEP; i++) {
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/deep");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(base, path), 0);
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(symlink("../kept", path), 0);
}

static void test_removes_all_below(void **state)
{
	char dir[] = "t-XXXXXX";

	(void)state;
	assert_int_equal(mkdir("kept", 0700), 0);
	put("kept/file");
	assert_int_equal(temp_dir_make(dir), 0);
	fill(dir);
	temp_dir_remove(dir);
	assert_int_not_equal(access(dir, F_OK), 0);
	assert_int_equal(access("kept/file", F_OK), 0);
	temp_dir_remove(dir);
	temp_dir_remove(NULL);
	assert_int_equal(symlink("kept", "alias"), 0);
	temp_dir_remove("alias");
	assert_int_equal(access("kept/file", F_OK), 0);
}

static void end(int number)
{
	temp_dir_remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

static void test_a_signal_removes_those_that_are_listed(void **state)
{
	const char *gone = "gone", *kept = "stays";
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGTERM, end);
		if (temp_dir_make_named(gone) < 0 || temp_dir_make_named(kept) < 0)
			_exit(1);
		fill(gone);
		temp_dir_keep(kept);
		raise(SIGTERM);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_not_equal(access(gone, F_OK), 0);
	assert_int_equal(access(kept, F_OK), 0);
}

static void test_one_that_exists_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(mkdir("there", 0700), 0);
	assert_int_equal(temp_dir_make_named("there"), -1);
	temp_dir_remove_all();
	assert_int_equal(access("there", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_removes_all_below),
		cmocka_unit_test(test_a_signal_removes_those_that_are_listed),
		cmocka_unit_test(test_one_that_exists_is_not_taken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_base, drop_base);
}
