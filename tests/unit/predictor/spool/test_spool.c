/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool as the daemon looks at it: which files are whole traces, whose they are, and in which order they come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/spool/result.h"
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
		{"up/a.ptrace", false},
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
int fstat(int fd, struct stat *st)
{
	asked++;
	return (int)syscall(SYS_fstat, fd, st);
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
	const uint32_t live[] = {8, 11}, jobs[] = {7, 8, 11}; /* slurmctld still knows job 7, which has ended */
	static atomic_bool go_on, stop = true;
	struct spool_order order = {.before = NOW - 50, .jobs = jobs, .n_jobs = 3, .live = live, .n_live = 2, .stop = &stop};
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
	spool_sweep(top, &order, NULL, NULL, &swept);
	assert_int_equal(swept.removed, 0);
	order.stop = &go_on;
	spool_sweep("/nonexistent", &order, NULL, NULL, &swept);
	assert_int_equal(swept.removed, 0);
	spool_sweep(top, &order, NULL, NULL, &swept);
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

/* ---- empty directories and the quota ---- */

struct spool {
	char top[64];
	int user;
	uint32_t live[2];
	atomic_bool stop;
	struct spool_order order;
	struct spool_swept swept;
	struct spool_use use; /* that was told last */
	unsigned told;
};

static void spool_make(struct spool *p)
{
	char uid[16];
	int root;

	*p = (struct spool){.top = "/tmp/precedent-spool-XXXXXX", .live = {8, 11}};
	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	assert_non_null(mkdtemp(p->top));
	root = open(p->top, O_RDONLY | O_DIRECTORY);
	p->user = make_dir(root, uid);
	close(root);
	p->order = (struct spool_order){.empty_before = NOW - 50, .jobs = p->live, .n_jobs = 2, .stop = &p->stop};
}

static void spool_remove(struct spool *p)
{
	close(p->user);
	execute("rm -rf", p->top);
}

static void use_note(const struct spool_use *use, void *arg)
{
	struct spool *p = arg;

	p->use = *use;
	p->told++;
}

static void sweep(struct spool *p)
{
	p->told = 0;
	spool_sweep(p->top, &p->order, use_note, p, &p->swept);
}

/* A job's directory with one file of so many KiB, written `age` seconds before NOW; returns it. */
static int job_make(struct spool *p, const char *job, const char *file, unsigned kib, int age)
{
	struct timespec t[2] = {{.tv_sec = NOW - age}, {.tv_sec = NOW - age}};
	int dir = make_dir(p->user, job), fd = openat(dir, file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	static char block[1024];

	assert_true(fd >= 0);
	for (unsigned i = 0; i < kib; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	close(fd);
	assert_int_equal(utimensat(dir, file, t, 0), 0);
	assert_int_equal(futimens(dir, t), 0);
	return dir;
}

static void age_set(struct spool *p, const char *name, int age)
{
	struct timespec t[2] = {{.tv_sec = NOW - age}, {.tv_sec = NOW - age}};

	assert_int_equal(utimensat(p->user, name, t, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_empty_directories(void **state)
{
	static const char *const empty[] = {"7", "8", "9", "12", "010", "mine"};
	struct spool p;

	(void)state;
	spool_make(&p);
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		close(make_dir(p.user, empty[i]));
		age_set(&p, empty[i], i == 2 ? 10 : 100);
	}
	close(job_make(&p, "6", "0.ptrace", 1, 100));
	sweep(&p);
	assert_int_equal(p.swept.dirs, 2);
	assert_false(there(p.user, "7"));
	assert_true(there(p.user, "8"));  /* slurmctld knows the job */
	assert_true(there(p.user, "9"));  /* it is new */
	assert_false(there(p.user, "12"));
	assert_true(there(p.user, "010"));
	assert_true(there(p.user, "mine"));
	assert_true(there(p.user, "6"));
	spool_remove(&p);
}

static void test_quota(void **state)
{
	struct spool p;
	int dir;

	(void)state;
	spool_make(&p);
	close(job_make(&p, "3", "0.ptrace", 400, 100));
	close(job_make(&p, "5", "0.ptrace", 400, 300)); /* the oldest */
	dir = job_make(&p, "7", "0.ptrace", 400, 200);
	close(make_dir(dir, "skel.0"));
	close(dir);
	close(job_make(&p, "8", "0.ptrace", 400, 400)); /* live */
	p.order.quota_bytes = 4 << 20;
	sweep(&p);
	assert_int_equal(p.told, 0);
	p.order.quota_bytes = 1 << 20;
	sweep(&p);
	assert_int_equal(p.told, 1);
	assert_int_equal(p.use.uid, geteuid());
	assert_false(p.use.over);
	assert_true(p.use.removed_bytes >= 800 << 10 && p.use.bytes <= 1 << 20);
	assert_int_equal(p.use.removed_files, 5);
	assert_false(there(p.user, "5"));
	assert_false(there(p.user, "7"));
	assert_true(there(p.user, "3"));
	assert_true(there(p.user, "8"));
	p.order.quota_bytes = 300 << 10; /* what is live stays, and the user is above the quota */
	sweep(&p);
	assert_true(there(p.user, "8"));
	assert_false(there(p.user, "3"));
	assert_true(p.use.over);
	spool_remove(&p);
}

static void test_quota_of_files(void **state)
{
	struct spool p;
	char name[16];
	int dir;

	(void)state;
	spool_make(&p);
	dir = make_dir(p.user, "3");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make(dir, name);
	}
	close(dir);
	p.order.quota_bytes = 3 << 20; /* 30 files, with none of their bytes */
	sweep(&p);
	assert_int_equal(p.use.removed_files, 41);
	assert_false(there(p.user, "3"));
	spool_remove(&p);
}

/* What a user hides beside the directories of jobs, or in one whose job never was, and ways out of the spool. */
static void test_quota_hostile(void **state)
{
	char precious[] = "/tmp/precedent-precious-XXXXXX";
	struct spool p;
	int dir, outside;

	(void)state;
	assert_non_null(mkdtemp(precious));
	outside = open(precious, O_RDONLY | O_DIRECTORY);
	make(outside, "file");
	spool_make(&p);
	close(job_make(&p, "3", "0.ptrace", 100, 100));
	close(job_make(&p, ".hidden", "data", 600, 0));	  /* newer, but no job's */
	close(job_make(&p, "4000000000", "data", 600, 0)); /* no such job for long */
	dir = openat(p.user, ".hidden", O_RDONLY | O_DIRECTORY);
	assert_int_equal(symlinkat(precious, dir, "dir"), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir, "passwd"), 0);
	assert_int_equal(symlinkat(precious, p.user, "4"), 0);
	close(dir);
	p.order.quota_bytes = 800 << 10;
	p.order.quota_bytes *= 10; /* room for the files */
	sweep(&p);
	assert_int_equal(p.told, 0);
	p.order.quota_bytes = 800 << 10; /* 8 files */
	sweep(&p);
	assert_false(there(p.user, ".hidden"));
	assert_true(there(outside, "file"));
	assert_int_equal(faccessat(AT_FDCWD, "/etc/passwd", F_OK, 0), 0);
	p.order.quota_bytes = 300 << 10;
	sweep(&p);
	assert_false(there(p.user, "4000000000"));
	assert_true(there(outside, "file"));
	close(outside);
	spool_remove(&p);
	execute("rm -rf", precious);
}

/* Deeper than anybody looks: that is said, and counts as above the quota. */
static void test_quota_deep(void **state)
{
	struct spool p;
	int dir;

	(void)state;
	spool_make(&p);
	dir = make_dir(p.user, "3");
	for (int i = 0; i < 30; i++) {
		int below = make_dir(dir, "d");

		close(dir);
		dir = below;
	}
	make(dir, "data");
	close(dir);
	p.order.quota_bytes = 10 << 20;
	sweep(&p);
	assert_int_equal(p.told, 1);
	assert_true(p.use.over);
	assert_int_equal(p.use.closed, 1);
	spool_remove(&p);
}

/* Others' files in a user's directory are neither counted nor removed. */
static void test_quota_owner(void **state)
{
	struct spool p;
	int dir;

	(void)state;
	if (geteuid() != 0)
		skip();
	spool_make(&p);
	dir = job_make(&p, "3", "theirs", 900, 100);
	assert_int_equal(fchownat(dir, "theirs", 4242, -1, 0), 0);
	close(dir);
	close(job_make(&p, "4", "mine", 10, 50));
	close(job_make(&p, "5", "mine", 900, 10));
	p.order.quota_bytes = 700 << 10;
	sweep(&p);
	dir = openat(p.user, "3", O_RDONLY | O_DIRECTORY);
	assert_true(there(dir, "theirs"));
	close(dir);
	assert_false(there(p.user, "4"));
	assert_false(there(p.user, "5"));
	spool_remove(&p);
}

/* ---- file systems of users ---- */

/* Runs in a child with its own mounts: mount file systems over names of a user, and look. Returns 0 if none is entered. */
static int look_at_mounts(const char *spool)
{
	char path[PATH_MAX], names[4][SPOOL_NAME_SIZE];
	const uid_t uid = geteuid();
	int job, dir;
	enum spool_gap gap;
	struct result res;
	struct errbuf err;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	snprintf(path, sizeof(path), "%s/%u/1/mounted.ptrace", spool, (unsigned)uid);
	if (mount("/etc/passwd", path, NULL, MS_BIND, NULL))
		return 1;
	snprintf(path, sizeof(path), "%s/%u/1/probe.a.result", spool, (unsigned)uid);
	if (mount("/etc/passwd", path, NULL, MS_BIND, NULL))
		return 2;
	snprintf(path, sizeof(path), "%s/%u/2", spool, (unsigned)uid);
	if (mount("none", path, "tmpfs", 0, NULL))
		return 3;
	dir = spool_job_open(spool, uid, 1, &gap, &err);
	job = spool_job_open(spool, uid, 2, &gap, &err);
	if (job >= 0 || gap != SPOOL_UNSAFE || !strstr(err.text, strerror(EXDEV)))
		return 4;
	if (spool_traces(dir, uid, names, 4, &err) != 1 || strcmp(names[0], "own.ptrace"))
		return 5;
	return result_read(dir, "probe.a.result", uid, &res, &err) != -1 || !strstr(err.text, strerror(EXDEV)) ? 6 : 0;
}

static void test_mounts(void **state)
{
	struct spool p;
	int dir, status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	spool_make(&p);
	dir = job_make(&p, "1", "own.ptrace", 10, 100);
	make(dir, "mounted.ptrace");
	make(dir, "probe.a.result");
	close(dir);
	close(job_make(&p, "2", "b.ptrace", 10, 100));
	child = fork();
	if (!child)
		_exit(look_at_mounts(p.top));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) != 77)
		assert_int_equal(status, 0);
	spool_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_leftover_names),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_look_is_bounded),
		cmocka_unit_test(test_empty_directories),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_quota_of_files),
		cmocka_unit_test(test_quota_hostile),
		cmocka_unit_test(test_quota_deep),
		cmocka_unit_test(test_quota_owner),
		cmocka_unit_test(test_mounts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
