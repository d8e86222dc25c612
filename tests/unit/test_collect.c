/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a node where ranks keep what they record: only one that is the user's own and closed is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "spank/collect_side.c"

static char top[] = "/tmp/precedent-collect-XXXXXX";

static void test_name(void **state)
{
	static struct collect c;
	struct errbuf err;

	(void)state;
	assert_int_equal(collect_name(&c, "/tmp", 1001, 7, &err), 0);
	assert_string_equal(c.local, "/tmp/precedent-1001-7");
	assert_int_equal(collect_name(&c, "", 1001, 7, &err), 0);
	assert_string_equal(c.local, "");
	assert_int_equal(collect_prepare(&c, &err), -1);
	assert_int_equal(collect_name(&c, "/tmp;LD_PRELOAD=x", 1001, 7, &err), -1);
	assert_string_equal(c.local, "");
}

static void test_made_and_refused(void **state)
{
	static struct collect c;
	struct errbuf err;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(collect_name(&c, top, geteuid(), 7, &err), 0);
	assert_int_equal(collect_prepare(&c, &err), 0);
	assert_int_equal(lstat(c.local, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(collect_prepare(&c, &err), 0); /* a second task of the job */
	assert_int_equal(chmod(c.local, 0755), 0);
	assert_int_equal(collect_prepare(&c, &err), -1); /* others may look */
	assert_int_equal(chmod(c.local, 0700), 0);
	c.uid = geteuid() + 1;
	assert_int_equal(collect_prepare(&c, &err), -1); /* somebody else made it first */
	c.uid = geteuid();
	assert_int_equal(rmdir(c.local), 0);
	assert_int_equal(symlink("/tmp", c.local), 0);
	assert_int_equal(collect_prepare(&c, &err), -1); /* leads elsewhere */
	assert_int_equal(unlink(c.local), 0);
	assert_int_equal(rmdir(top), 0);
}

static void test_ended(void **state)
{
	static struct collect c;

	(void)state;
	collect_task_ended(&c, 0);
	assert_string_equal(c.ended, "");
	collect_task_ended(&c, 9);
	assert_string_equal(c.ended, "killed by signal 9 (Killed)");
	collect_task_ended(&c, 3 << 8); /* the first one is told */
	assert_string_equal(c.ended, "killed by signal 9 (Killed)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_made_and_refused),
		cmocka_unit_test(test_ended),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
