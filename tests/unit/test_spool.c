/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool as the daemon looks at it: which files are whole traces, whose they are, and in which order they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/spool.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool trace;
	} CASES[] = {
		{"12.0.1.ptrace", true},  {"a.ptrace", true},         {".ptrace", false},
		{"ptrace", false},        {".a.ptrace", false},       {"12.0.1.partial.ptrace", false},
		{"a.ptrace.tmp", false},  {"a.ptrace.tmp.7", false},  {"a\n.ptrace", false},
		{"a.spill", false},       {"partial.ptrace", true},   {"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++)
		if (spool_is_trace(CASES[i].name) != CASES[i].trace)
			fail_msg("%s", CASES[i].name);
}

static void make(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void test_listing(void **state)
{
	char path[] = "/tmp/precedent-spool-XXXXXX", names[4][SPOOL_NAME_SIZE];
	static const char *const all[] = {"b.ptrace", "a.ptrace", "c.partial.ptrace", "d.spill", "e.ptrace"};
	struct errbuf err;
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	for (size_t i = 0; i < 4; i++)
		make(dir, all[i]);
	assert_int_equal(symlinkat("a.ptrace", dir, all[4]), 0);
	assert_int_equal(spool_traces(dir, geteuid(), names, 4, &err), 2);
	assert_string_equal(names[0], "a.ptrace");
	assert_string_equal(names[1], "b.ptrace");
	assert_int_equal(spool_traces(dir, geteuid() + 1, NULL, 0, &err), 0);
	for (size_t i = 0; i < 5; i++)
		unlinkat(dir, all[i], 0);
	close(dir);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_listing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
