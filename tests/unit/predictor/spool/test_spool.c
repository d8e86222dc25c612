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
#include <sys/syscall.h>
#include <unistd.h>

#include "predictor/spool/spool.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		bool trace;
	} CASES[] = {
		{"12.0.1.ptrace", true},  {"a.ptrace", true},         {".ptrace", false},
		{"ptrace", false},        {".a.ptrace", false},       {"12.0.1.partial.ptrace", false},
		{"12.0.1.spawned.ptrace", false},
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

static void execute(const char *command, const char *on)
{
	char line[128];

	snprintf(line, sizeof(line), "%s %s", command, on);
	assert_int_equal(system(line), 0);
}

/* ---- a directory with more names than anybody needs ---- */

static unsigned asked; /* files that were asked about */

/* libc's, counted. */
int fstatat(int dir, const char *restrict name, struct stat *restrict st, int flags)
{
	asked++;
	return (int)syscall(SYS_newfstatat, dir, name, st, flags);
}

static void test_look_is_bounded(void **state)
{
	char path[] = "/tmp/precedent-spool-XXXXXX", name[64], names[4][SPOOL_NAME_SIZE];
	struct errbuf err;
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%d.ptrace", i);
		make(dir, name);
		snprintf(name, sizeof(name), ".present.%d", i);
		assert_int_equal(symlinkat("nowhere", dir, name), 0); /* not what it seems */
	}
	asked = 0;
	assert_int_equal(spool_traces(dir, geteuid(), names, 4, &err), SPOOL_LOOK_FILES);
	assert_int_equal(asked, SPOOL_LOOK_FILES);
	asked = 0;
	assert_int_equal(spool_signs(dir, geteuid()), 0);
	assert_true(asked <= SPOOL_LOOK_FILES + 2);
	close(dir);
	execute("rm -rf", path);
}

/* ---- what is left over ---- */

#define NOW 2000000000

/* A file that was last written `age` seconds before NOW. */
static void make_aged(int dir, const char *name, int age)
{
	struct timespec t[2] = {{.tv_sec = NOW - age}, {.tv_sec = NOW - age}};

	make(dir, name);
	assert_int_equal(utimensat(dir, name, t, 0), 0);
}

static int make_dir(int parent, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(parent, name, 0700), 0);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	return fd;
}

static bool there(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_leftover_names(void **state)
{
	static const char *const yes[] = {"7.0.r1.spill", "7.0.r1.spill.part", "7.0.r1.spill.ended", ".present.7.0.root",
					  ".collect.7.0", "7.0.1.partial.ptrace.tmp.4711"};
	static const char *const no[] = {"7.0.1.ptrace", "7.0.1.partial.ptrace", "tracer.err", "untraced.txt", "skel.0",
					 "probe.fast.result", ".spill", "spill", "a.spill.old", "..", ".", "",
					 "x.ptrace.tmp.", "x.ptrace.tmp.7a", ".present", "present.7"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!spool_is_leftover(yes[i]))
			fail_msg("%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (spool_is_leftover(no[i]))
			fail_msg("%s", no[i]);
}

static void test_sweep(void **state)
{
	char top[] = "/tmp/precedent-spool-XXXXXX", uid[16];
	const uint32_t live[] = {8, 11};
	static atomic_bool go_on, stop = true;
	struct spool_swept swept;
	int root, user, job, running, strange, other = -1;

	(void)state;
	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	assert_non_null(mkdtemp(top));
	root = open(top, O_RDONLY | O_DIRECTORY);
	user = make_dir(root, uid);
	job = make_dir(user, "7");
	running = make_dir(user, "8");
	strange = make_dir(user, "07"); /* no name of ours */
	make_aged(job, "old.spill", 100);
	make_aged(job, ".present.x", 100);
	make_aged(job, "new.spill", 10);
	make_aged(job, "old.ptrace", 100);
	make_aged(running, "old.spill", 100);
	make_aged(strange, "old.spill", 100);
	assert_int_equal(symlinkat("old.ptrace", job, "link.spill"), 0);
	assert_int_equal(mkdirat(job, "dir.spill", 0700), 0);
	assert_int_equal(symlinkat("07", user, "9"), 0); /* a job's directory that leads elsewhere */
	assert_int_equal(symlinkat(uid, root, "4242"), 0);
	if (geteuid() == 0) { /* somebody else's file, and somebody else's directory */
		make_aged(job, "theirs.spill", 100);
		assert_int_equal(fchownat(job, "theirs.spill", 4242, -1, 0), 0);
		other = make_dir(user, "10");
		make_aged(other, "old.spill", 100);
		assert_int_equal(fchown(other, 4242, -1), 0);
	}
	spool_sweep(top, NOW - 50, live, 2, &stop, &swept);
	assert_int_equal(swept.removed, 0);
	spool_sweep("/nonexistent", NOW - 50, live, 2, &go_on, &swept);
	assert_int_equal(swept.removed, 0);
	spool_sweep(top, NOW - 50, live, 2, &go_on, &swept);
	assert_int_equal(swept.removed, 2);
	assert_int_equal(swept.kept, 0);
	assert_false(there(job, "old.spill"));
	assert_false(there(job, ".present.x"));
	assert_true(there(job, "new.spill"));
	assert_true(there(job, "old.ptrace"));
	assert_true(there(job, "link.spill"));
	assert_true(there(job, "dir.spill"));
	assert_true(there(running, "old.spill"));
	assert_true(there(strange, "old.spill"));
	if (other >= 0) {
		assert_true(there(job, "theirs.spill"));
		assert_true(there(other, "old.spill"));
		close(other);
	}
	close(strange);
	close(running);
	close(job);
	close(user);
	close(root);
	execute("rm -rf", top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_leftover_names),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_look_is_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
