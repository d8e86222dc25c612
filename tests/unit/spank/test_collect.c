/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a node in which ranks record: it is used only if it belongs to the user and is private. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* Kills first forks like proctrack/linuxproc, which kills descendants of slurmstepd: to_kill of them at once. */
static int n_killed, to_kill;

static pid_t fork_and_kill(void)
{
	pid_t pid = fork();

	if (pid > 0 && n_killed < to_kill) {
		kill(pid, SIGKILL);
		n_killed++;
	} else if (pid == 0 && n_killed < to_kill) {
		for (;;)
			pause(); /* waits to be killed */
	}
	return pid;
}

#define fork fork_and_kill
#include "spank/collect_side.c"
#undef fork

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
	assert_int_equal(collect_prepare(&c, &err), -1); /* others can read it */
	assert_int_equal(chmod(c.local, 0700), 0);
	c.uid = geteuid() + 1;
	assert_int_equal(collect_prepare(&c, &err), -1); /* another user made it first */
	c.uid = geteuid();
	assert_int_equal(rmdir(c.local), 0);
	assert_int_equal(symlink("/tmp", c.local), 0);
	assert_int_equal(collect_prepare(&c, &err), -1); /* a link */
	assert_int_equal(unlink(c.local), 0);
	assert_int_equal(rmdir(top), 0);
}

static void test_ended(void **state)
{
	static struct collect c;

	(void)state;
	collect_task_ended(&c, 0, 0);
	assert_string_equal(c.ended, "");
	collect_task_ended(&c, 3, 9);
	assert_string_equal(c.ended, "rank 3: killed by signal 9 (Killed)");
	collect_task_ended(&c, 1, 3 << 8); /* the first failure is reported */
	assert_string_equal(c.ended, "rank 3: killed by signal 9 (Killed)");
}

/* Has the process ended? It may still be a zombie of the process that inherited it. */
static bool is_gone(pid_t pid)
{
	char path[64], text[512] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n <= 0 || strstr(text, ") Z ");
}

/* Make a collector in a new directory: a script. */
static void collector_make(struct collect *c, char *dir, const char *script)
{
	struct errbuf err;
	int fd;

	assert_non_null(mkdtemp(dir));
	*c = (struct collect){.uid = geteuid(), .gid = getegid(), .last = true};
	snprintf(c->into, sizeof(c->into), "%s", dir);
	snprintf(c->program, sizeof(c->program), "%s/program", dir);
	fd = open(c->program, O_WRONLY | O_CREAT, 0700);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	close(fd);
	assert_int_equal(collect_name(c, dir, c->uid, 7, &err), 0);
	assert_int_equal(collect_prepare(c, &err), 0);
}

static void collector_remove(const struct collect *c, const char *dir)
{
	assert_int_equal(rmdir(c->local), 0);
	assert_int_equal(unlink(c->program), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A collector that hangs: the end of the step waits no longer than configured, and no process is left. */
static void test_hanging(void **state)
{
	static const char script[] = "#!/bin/sh\necho $$ >\"$3/pid\"\nkill -STOP $$\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char pid_file[PATH_MAX + 8], text[32] = "";
	ssize_t n;
	int fd;

	(void)state;
	collector_make(&c, dir, script);
	c.patience_s = 1;
	collect_run(&c); /* would not return otherwise */
	snprintf(pid_file, sizeof(pid_file), "%s/pid", c.local);
	fd = open(pid_file, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 1);
	/* The files of a process are closed a moment before it has ended. */
	for (int i = 0; i < 5000 && !is_gone(atoi(text)); i++)
		usleep(1000);
	assert_true(is_gone(atoi(text)));
	assert_int_equal(unlink(pid_file), 0);
	collector_remove(&c, dir);
}

/* A collector whose first fork is killed still begins. If every fork is killed, the step still ends. */
static void test_killed(void **state)
{
	static const char script[] = "#!/bin/sh\necho $$ >>\"$3/began\"\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char began[PATH_MAX + 8];
	struct errbuf err;

	(void)state;
	collector_make(&c, dir, script);
	snprintf(began, sizeof(began), "%s/began", c.local);
	n_killed = 0;
	to_kill = BEGINNINGS;
	collect_run(&c);
	assert_int_equal(n_killed, BEGINNINGS);
	assert_int_equal(access(began, F_OK), -1);
	assert_int_equal(collect_prepare(&c, &err), 0); /* it was empty */
	n_killed = 0;
	to_kill = 1;
	collect_run(&c);
	to_kill = 0;
	assert_int_equal(unlink(began), 0);
	collector_remove(&c, dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_made_and_refused),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_killed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
