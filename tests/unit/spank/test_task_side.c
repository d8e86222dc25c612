/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment that the task side sets, and the spool directories, also if other files were there before. */
#include <errno.h>
#include <linux/openat2.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/inject.h"
#include "common/nodes.h"

#define LIB "/p/lib/precedent/libprecedent_trace.so"
#define STRANGER 4242

static char spool[PATH_MAX];

static void test_preload(void **state)
{
	static const struct {
		const char *user, *value;
	} CASES[] = {
		{NULL, LIB},
		{"", LIB},
		{":", LIB},
		{"/x.so", LIB ":/x.so"},
		{"/x.so:/y.so /z.so", LIB ":/x.so:/y.so:/z.so"},
		{LIB, LIB},
		{"/x.so:" LIB ":/y.so", LIB ":/x.so:/y.so"},
		{LIB "x", LIB ":" LIB "x"},
	};
	char out[256];
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		assert_int_equal(inject_preload(CASES[i].user, LIB, out, sizeof(out)), 0);
		assert_string_equal(out, CASES[i].value);
	}
	assert_int_equal(inject_preload("/x.so", LIB, out, sizeof(LIB ":/x.so")), 0);
	assert_int_equal(inject_preload("/x.so", LIB, out, sizeof(LIB ":/x.so") - 1), -1);
	assert_int_equal(inject_preload("/x.so", LIB, out, 1), -1);
}

static void test_env_list(void **state)
{
	static const struct {
		const char *list, *preload, *value;
	} CASES[] = {
		{NULL, NULL, "LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2"},
		{"", "", "LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2"},
		{NULL, "/x.so", "LD_PRELOAD=" LIB ":/x.so;PRECEDENT_TRACE_DIR=/s/1/2"},
		{"A=1;B;;C=x y", NULL, "A=1;B;C=x y;LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2"},
		{"LD_PRELOAD=/l.so;A=1", "/x.so", "A=1;LD_PRELOAD=" LIB ":/l.so;PRECEDENT_TRACE_DIR=/s/1/2"},
		{"LD_PRELOAD", "/x.so", "LD_PRELOAD=" LIB ":/x.so;PRECEDENT_TRACE_DIR=/s/1/2"},
		{"PRECEDENT_TRACE_DIR=/s/1/1;LD_PRELOAD=" LIB, NULL, "LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2"},
		{"LD_PRELOADER=1", NULL, "LD_PRELOADER=1;LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2"},
	};
	char out[256];
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		assert_int_equal(inject_env_list(CASES[i].list, CASES[i].preload, LIB, "/s/1/2", NULL, out, sizeof(out)), 0);
		assert_string_equal(out, CASES[i].value);
	}
	assert_int_equal(inject_env_list("A=1", NULL, LIB, "/s/1/2", NULL, out, 40), -1);
	assert_int_equal(inject_env_list("A=1", NULL, LIB, "/s/1/2", NULL, out, 0), -1);
	assert_int_equal(inject_env_list(NULL, "/a;b.so", LIB, "/s/1/2", NULL, out, sizeof(out)), -1);
}

static void test_strip(void **state)
{
	static const struct {
		const char *value, *preload, *list;
	} CASES[] = {
		{"", "", ""},
		{LIB, "", LIB},
		{"/x.so:" LIB " /y.so", "/x.so:/y.so", "/x.so:" LIB " /y.so"},
		{"libprecedent_trace.so", "", "libprecedent_trace.so"},
		{"/notlibprecedent_trace.so", "/notlibprecedent_trace.so", "/notlibprecedent_trace.so"},
		{"LD_PRELOAD=" LIB ";PRECEDENT_TRACE_DIR=/s/1/2", NULL, ""},
		{"A=1;LD_PRELOAD=" LIB ":/x.so;PRECEDENT_TRACE_DIR=/s/1/2;B=2", NULL, "A=1;LD_PRELOAD=/x.so;B=2"},
		{"A=1;LD_PRELOAD=" LIB ";B=2", NULL, "A=1;B=2"},
		{"LD_PRELOAD;A", NULL, "LD_PRELOAD;A"},
	};
	char out[256];
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		assert_int_equal(inject_env_list_strip(CASES[i].value, out, sizeof(out)), 0);
		assert_string_equal(out, CASES[i].list);
		if (CASES[i].preload) {
			assert_int_equal(inject_preload_strip(CASES[i].value, out, sizeof(out)), 0);
			assert_string_equal(out, CASES[i].preload);
		}
	}
	/* Removing the entries gives the original values. */
	char in[256];
	assert_int_equal(inject_env_list("A=1", "/x.so", LIB, "/s/1/2", NULL, in, sizeof(in)), 0);
	assert_int_equal(inject_env_list_strip(in, out, sizeof(out)), 0);
	assert_string_equal(out, "A=1;LD_PRELOAD=/x.so");
	assert_int_equal(inject_env_list_strip("A=1;B=2", out, 5), -1);
	assert_int_equal(inject_preload_strip("/x.so", out, 0), -1);
}

static void test_agent(void **state)
{
	char out[128];
	(void)state;
	assert_int_equal(inject_agent(LIB, "/s/1/2", NULL, out, sizeof(out)), 0);
	assert_string_equal(out, "/p/lib/precedent/precedent-agent " LIB " /s/1/2 -");
	assert_true(inject_is_agent(out));
	assert_int_equal(inject_agent(LIB, "/s/1/2", "/l/1-2", out, sizeof(out)), 0);
	assert_string_equal(out, "/p/lib/precedent/precedent-agent " LIB " /s/1/2 /l/1-2");
	assert_int_equal(inject_agent(LIB, "/s/1/2", "/l/1-2", out, strlen(out)), -1);
	assert_int_equal(inject_agent(LIB, "/s x/1/2", NULL, out, sizeof(out)), -1);
	assert_int_equal(inject_agent(LIB, "/s=x/1/2", NULL, out, sizeof(out)), -1);
	assert_int_equal(inject_agent(LIB, "/s/1/2", "/l\"", out, sizeof(out)), -1);
	assert_int_equal(inject_agent(LIB, "/s/1/2", NULL, out, 8), -1);
	assert_true(inject_is_agent("precedent-agent"));
	assert_false(inject_is_agent("/p/not-precedent-agent x"));
	assert_false(inject_is_agent("/usr/bin/env precedent-agent"));
	assert_false(inject_is_agent(""));
}

static void test_launch_daemons(void **state)
{
	(void)state;
	assert_true(inject_is_launch_daemon("orted"));
	assert_true(inject_is_launch_daemon("/opt/mpi/bin/prted"));
	assert_false(inject_is_launch_daemon("/orted/app"));
	assert_false(inject_is_launch_daemon("orted.sh"));
	assert_false(inject_is_launch_daemon(""));
	assert_false(inject_is_launch_daemon(NULL));
}

static char *below(const char *name)
{
	static char path[4][PATH_MAX + 64];
	static unsigned turn;
	char *p = path[turn++ % 4];
	snprintf(p, sizeof(path[0]), "%s/%s", spool, name);
	return p;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_scripts_with_own_preload(void **state)
{
	const char *path = below("script");
	(void)state;
	write_file(path, "#!/bin/sh\nmpirun ./app\n", 0600);
	assert_false(inject_script_objects(path));
	write_file(path, "#!/bin/sh\nexport LD_PRELOAD=/x.so\nmpirun ./app\n", 0600);
	assert_true(inject_script_objects(path));
	write_file(path, "mpirun --mca mca_base_env_list A=1 ./app\n", 0600);
	assert_true(inject_script_objects(path));
	write_file(path, "prterun --prtemca odls_base_exec_agent gdb ./app\n", 0600);
	assert_true(inject_script_objects(path));
	assert_int_equal(unlink(path), 0);
	assert_false(inject_script_objects(path));
	assert_false(inject_script_objects(spool));
	assert_false(inject_script_objects(NULL));
}

/* Lines that print the variable, and lines that set it or may set it. */
static void test_scripts_that_print_preload(void **state)
{
	static const char *const prints[] = {
	    "echo $LD_PRELOAD",
	    "echo \"LD_PRELOAD=${LD_PRELOAD:-none}\"",
	    "env | grep LD_PRELOAD",
	    "env | grep -E 'LD_PRELOAD|PATH' | sort",
	    "  # LD_PRELOAD=/x.so",
	    "[ -n \"$LD_PRELOAD\" ] && printf 'LD_PRELOAD is %s\\n' \"$LD_PRELOAD\"; true",
	    "if [ $LD_PRELOAD ]; then :; fi",
	    "printenv LD_PRELOAD",
	};
	static const char *const sets[] = {
	    "export LD_PRELOAD=$LD_PRELOAD:/x.so",
	    "echo $LD_PRELOAD; LD_PRELOAD=/x.so mpirun ./app",
	    ": ${LD_PRELOAD:=/x.so}",
	    ": ${LD_PRELOAD=/x.so}",
	    "eval $(echo LD_PRELOAD=/x.so)",
	    "eval `echo LD_PRELOAD=/x.so`",
	    "echo export LD_PRELOAD=/x.so >env.sh; . ./env.sh",
	    "echo LD_PRELOAD=/x.so | sh",
	    "source <(grep LD_PRELOAD env.sh)",
	    "mpirun -x LD_PRELOAD ./app",
	    "setenv LD_PRELOAD /x.so",
	    "os.environ['LD_PRELOAD'] = '/x.so'",
	    "v=LD_PRELOAD; export $v=/x.so",
	};
	const char *path = below("script");
	char text[256];
	(void)state;
	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]) + sizeof(sets) / sizeof(sets[0]); i++) {
		bool set = i >= sizeof(prints) / sizeof(prints[0]);
		const char *line = set ? sets[i - sizeof(prints) / sizeof(prints[0])] : prints[i];
		snprintf(text, sizeof(text), "#!/bin/sh\n%s\nmpirun ./app", line);
		write_file(path, text, 0600);
		if (inject_script_objects(path) != set)
			fail_msg("%s", line);
	}
	assert_int_equal(unlink(path), 0);
}

static void test_library(void **state)
{
	struct errbuf err;
	char *path = below("lib.so"), *spaced = below("a lib.so"), *beside = below("libprecedent_trace_mpich.so");
	char *agent = below(INJECT_AGENT_NAME);
	(void)state;
	assert_int_equal(inject_check_library(path, &err), -1);
	assert_non_null(strstr(err.text, strerror(ENOENT)));
	write_file(path, "x", 0644);
	assert_int_equal(inject_check_library(path, &err), -1);
	assert_non_null(strstr(err.text, "precedent-agent"));
	write_file(agent, "x", 0755);
	assert_int_equal(inject_check_library(path, &err), 0);
	write_file(beside, "x", 0644);
	assert_int_equal(inject_check_library(path, &err), 0);
	assert_int_equal(chmod(beside, 0646), 0);
	assert_int_equal(inject_check_library(path, &err), -1);
	assert_non_null(strstr(err.text, "trace_mpich"));
	unlink(beside);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(inject_check_library(path, &err), -1);
	write_file(spaced, "x", 0644);
	assert_int_equal(inject_check_library(spaced, &err), -1);
	assert_int_equal(inject_check_library(spool, &err), -1);
	assert_int_equal(inject_check_library("lib.so", &err), -1);
	assert_int_equal(inject_check_library(NULL, &err), -1);
	unlink(path);
	unlink(spaced);
	unlink(agent);
}

static void assert_dir(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_spool_job(void **state)
{
	struct errbuf err;
	char dir[PATH_MAX];
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	char name[32], job[64];
	(void)state;
	snprintf(name, sizeof(name), "%u", (unsigned)uid);
	snprintf(job, sizeof(job), "%u/17", (unsigned)uid);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, sizeof(dir), &err), -1);
	assert_int_equal(inject_spool_user(spool, uid, &err), 0);
	assert_dir(below(name), uid, gid, 02770);
	mode_t mask = umask(0777);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, sizeof(dir), &err), 0);
	umask(mask);
	assert_string_equal(dir, below(job));
	assert_dir(dir, uid, gid, 02770);
	/* Again, with a changed mode. */
	assert_int_equal(chmod(below(name), 0777), 0);
	assert_int_equal(inject_spool_user(spool, uid, &err), 0);
	assert_dir(below(name), uid, gid, 02770);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, sizeof(dir), &err), 0);
	/* A file or a link in place of the job's directory. */
	assert_int_equal(rmdir(dir), 0);
	write_file(dir, "x", 0600);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, sizeof(dir), &err), -1);
	assert_int_equal(unlink(below(job)), 0);
	assert_int_equal(symlink("/tmp", below(job)), 0);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, sizeof(dir), &err), -1);
	assert_int_equal(unlink(below(job)), 0);
	assert_int_equal(rmdir(below(name)), 0);
	assert_int_equal(inject_spool_job(spool, uid, 17, dir, 10, &err), -1);
}

static void test_hostile_spool(void **state)
{
	struct errbuf err;
	struct stat before, after;
	char *victim = below("victim"), *place = below("4242");
	(void)state;
	assert_int_equal(inject_spool_user("/nonexistent/spool", STRANGER, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/spool"));
	write_file(below("file"), "x", 0644);
	assert_int_equal(inject_spool_user(below("file"), STRANGER, &err), -1);
	unlink(below("file"));
	/* A spool that other users may write to. */
	assert_int_equal(chmod(spool, 01777), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), -1);
	assert_int_equal(chmod(spool, 0755), 0);
	/* A link in place of the user's directory: neither followed nor changed. */
	assert_int_equal(mkdir(victim, 0700), 0);
	assert_int_equal(symlink(victim, place), 0);
	assert_int_equal(stat(victim, &before), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), -1);
	assert_int_equal(stat(victim, &after), 0);
	assert_int_equal(before.st_uid, after.st_uid);
	assert_int_equal(before.st_mode, after.st_mode);
	unlink(place);
	/* A file. */
	write_file(place, "x", 0644);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), -1);
	unlink(place);
	rmdir(victim);
}

static void test_spool_as_root(void **state)
{
	struct errbuf err;
	char *place = below("4242");
	struct stat st;
	(void)state;
	if (geteuid() != 0) { /* cmocka writes a skip as "not ok", which prove counts as a failure */
		print_message("# test_spool_as_root: needs root\n");
		return;
	}
	assert_int_equal(chown(spool, 0, 777), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), 0);
	assert_dir(place, STRANGER, 777, 02770);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), 0);
	assert_int_equal(rmdir(place), 0);
	/* Made by another node, with the owner not changed yet. */
	assert_int_equal(mkdir(place, 0700), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), 0);
	assert_dir(place, STRANGER, 777, 02770);
	/* Another user's. */
	assert_int_equal(chown(place, STRANGER + 1, 1), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), -1);
	assert_non_null(strstr(err.text, "4243"));
	assert_int_equal(stat(place, &st), 0);
	assert_int_equal(st.st_uid, STRANGER + 1);
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(chown(spool, STRANGER, 777), 0);
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), -1);
	assert_int_equal(chown(spool, 0, getegid()), 0);
}

/* A spool that root cannot write to: root_squash makes root another user. */
static void test_spool_squashed(void **state)
{
	static char dir[] = "/tmp/precedent-squash-XXXXXX";
	struct errbuf err;
	char place[64];
	int status;
	pid_t child;
	(void)state;
	if (geteuid() != 0) {
		print_message("# test_spool_squashed: needs root\n");
		return;
	}
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(place, sizeof(place), "%s/4242", dir);
	assert_int_equal(mkdir(place, 0), 0);
	assert_int_equal(chown(place, STRANGER, 0), 0);
	assert_int_equal(chmod(place, 02770), 0);
	child = fork();
	if (child == 0) {
		if (setuid(65534) != 0)
			_exit(1);
		_exit(inject_spool_user(dir, STRANGER, &err) == 0 ? 0 : 2); /* root made it on the server */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(mount("none", dir, "tmpfs", MS_RDONLY, "mode=0755"), 0);
	assert_int_equal(inject_spool_user(dir, STRANGER, &err), -1);
	assert_non_null(strstr(err.text, "root_squash"));
	assert_int_equal(nodes_mark(dir, "n1", LIB, &err), -1);
	assert_non_null(strstr(err.text, "root_squash"));
	assert_int_equal(umount(dir), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_note(void **state)
{
	char text[64] = "";
	(void)state;
	inject_spool_note(spool, "the first reason");
	inject_spool_note(spool, "another");
	inject_spool_note("/nonexistent", "nowhere");
	int fd = open(below(INJECT_NOTE_NAME), O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "the first reason\n");
	unlink(below(INJECT_NOTE_NAME));
}

static void test_nodes(void **state)
{
	static const char *const BAD[] = {"", ".", "..", ".n", "a/b", "a b", "../nodes/n", "n\n"};
	struct errbuf err;
	char long_name[256], *mark = below("nodes/n1");
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		assert_false(nodes_name_valid(BAD[i]));
		assert_int_equal(nodes_mark(spool, BAD[i], LIB, &err), -1);
		assert_int_equal(nodes_check(spool, BAD[i], LIB, &err), -1);
	}
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_false(nodes_name_valid(long_name));
	assert_true(nodes_name_valid("node-01_a.b"));

	assert_int_equal(nodes_check(spool, "n1", LIB, &err), -1);
	assert_non_null(strstr(err.text, "node n1 "));
	mode_t mask = umask(0077);
	assert_int_equal(nodes_mark(spool, "n1", LIB, &err), 0);
	umask(mask);
	assert_dir(below("nodes"), geteuid(), getegid(), 0755);
	assert_int_equal(nodes_check(spool, "n1", LIB, &err), 0);
	assert_int_equal(nodes_check(spool, "n2", LIB, &err), -1);
	assert_int_equal(nodes_check(spool, "n1", LIB ".1", &err), -1);
	assert_int_equal(nodes_mark(spool, "n1", LIB ".1", &err), 0);
	assert_int_equal(nodes_check(spool, "n1", LIB ".1", &err), 0);
	assert_int_equal(nodes_mark(spool, "n1", NULL, &err), 0);
	assert_int_equal(nodes_mark(spool, "n1", NULL, &err), 0);
	assert_int_equal(nodes_check(spool, "n1", LIB, &err), -1);
	/* A file without its end, a link, a directory that other users may write to. */
	write_file(mark, LIB, 0644);
	assert_int_equal(nodes_check(spool, "n1", LIB, &err), -1);
	/* A node whose version has no exec agent. */
	write_file(mark, LIB "\n", 0644);
	assert_int_equal(nodes_check(spool, "n1", LIB, &err), -1);
	unlink(mark);
	write_file(below("n1"), LIB " " INJECT_AGENT_NAME "\n", 0644);
	assert_int_equal(symlink("../n1", mark), 0);
	assert_int_equal(nodes_check(spool, "n1", LIB, &err), -1);
	unlink(mark);
	unlink(below("n1"));
	assert_int_equal(chmod(below("nodes"), 0777), 0);
	assert_int_equal(nodes_mark(spool, "n1", LIB, &err), -1);
	assert_int_equal(rmdir(below("nodes")), 0);
	assert_int_equal(symlink("/tmp", below("nodes")), 0);
	assert_int_equal(nodes_mark(spool, "n1", LIB, &err), -1);
	unlink(below("nodes"));
	assert_int_equal(nodes_mark("/nonexistent", "n1", LIB, &err), -1);
}

static int setup(void **state)
{
	(void)state;
	snprintf(spool, sizeof(spool), "/tmp/test_task_side.XXXXXX");
	return mkdtemp(spool) && chmod(spool, 0755) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(spool);
}

/* In a child, which has mounts of its own. Returns 0 if root does not go into the file system of a user. */
static int enter_mount(const char *place)
{
	struct open_how how = {0};
	struct errbuf err;

	/* Before Linux 5.6, and under older valgrind, there is no openat2, and a mount is not seen. */
	if (syscall(SYS_openat2, -1, "", &how, sizeof(how)) < 0 && errno == ENOSYS)
		return 77;
	if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, ""))
		return 77;
	if (mount("none", place, "tmpfs", 0, "mode=0700") || chown(place, STRANGER, 777))
		return 1;
	return inject_spool_user(spool, STRANGER, &err) != -1 || !strstr(err.text, strerror(EXDEV)) ? 2 : 0;
}

static void test_spool_mounted(void **state)
{
	char *place = below("4242");
	struct errbuf err;
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0) {
		print_message("# test_spool_mounted: needs root\n");
		return;
	}
	assert_int_equal(inject_spool_user(spool, STRANGER, &err), 0);
	child = fork();
	if (!child)
		_exit(enter_mount(place));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) != 77)
		assert_int_equal(status, 0);
	assert_int_equal(rmdir(place), 0);
}

static void test_end_time(void **state)
{
	static const struct {
		const char *limits, *start, *end, *want; /* want: NULL, the end stays */
	} CASES[] = {
		{"120:4", "1000", "1240", "8200"},
		{"120:4", "1000", "1300", NULL}, /* raised, or set by somebody else */
		{"120:4", "1000", "1180", NULL},
		{"4:4", "1000", "1240", "1240"},
		{"3:4", "1000", "1240", NULL},
		{"", "1000", "1240", NULL},
		{NULL, "1000", "1240", NULL},
		{"120:4", NULL, "1240", NULL},
		{"120:4", "1000", NULL, NULL},
		{"120", "1000", "1240", NULL},
		{"120:4x", "1000", "1240", NULL},
		{"-120:4", "1000", "1240", NULL},
		{"99999999999999999999:4", "1000", "1240", NULL},
		{"9999999999999999:4", "1000", "1240", NULL},
		{"120:4", "9223372036854775807", "1240", NULL},
		{"120:4", " 1000", "1240", NULL},
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		int rv = inject_end_time(CASES[i].limits, CASES[i].start, CASES[i].end, out, sizeof(out));

		if (rv != (CASES[i].want ? 0 : -1) || (CASES[i].want && strcmp(out, CASES[i].want)))
			fail_msg("case %zu: %d, %s", i, rv, out);
	}
	assert_int_equal(inject_end_time("120:4", "1000", "1240", out, 4), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preload),	 cmocka_unit_test(test_env_list),      cmocka_unit_test(test_strip),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_launch_daemons), cmocka_unit_test(test_scripts_with_own_preload),
		cmocka_unit_test(test_scripts_that_print_preload),
		cmocka_unit_test(test_library),	 cmocka_unit_test(test_spool_job),     cmocka_unit_test(test_hostile_spool),
		cmocka_unit_test(test_spool_as_root), cmocka_unit_test(test_spool_squashed), cmocka_unit_test(test_note),  cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_end_time),	 cmocka_unit_test(test_spool_mounted),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
