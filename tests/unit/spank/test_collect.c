/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of a node in which ranks record, which root makes, and the collector, which runs as the user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
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

/* Signals that were sent by the number of a process. */
static int n_signals;

__attribute__((unused)) static int count_kill(pid_t pid, int signo)
{
	n_signals++;
	return kill(pid, signo);
}

#define fork fork_and_kill
#define kill count_kill
#include "spank/collect_side.c"
#undef fork
#undef kill
#include "spank/bounded.c"
#include "tests/unit/skip.h"

#define STRANGER 4242

static char top[] = "/tmp/precedent-collect-XXXXXX";

static void test_name(void **state)
{
	static struct collect c;
	struct errbuf err;

	(void)state;
	assert_int_equal(collect_name(&c, "/tmp", 1001, 7, &err), 0);
	assert_string_equal(c.local, "/tmp/precedent/1001-7");
	assert_int_equal(collect_name(&c, "", 1001, 7, &err), 0);
	assert_string_equal(c.local, "");
	assert_int_equal(collect_make(&c, "", &err), -1);
	assert_int_equal(collect_check(&c, &err), -1);
	assert_int_equal(collect_name(&c, "/tmp;LD_PRELOAD=x", 1001, 7, &err), -1);
	assert_string_equal(c.local, "");
}

static const char *below_top(const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned turn;
	char *p = path[turn++ % 2];

	snprintf(p, PATH_MAX, "%s/%s", top, name);
	return p;
}

static void assert_made(const char *path, uid_t uid, mode_t mode)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_uid, uid);
}

static void test_made(void **state)
{
	static struct collect c;
	struct errbuf err;
	const mode_t mask = umask(077);

	(void)state;
	assert_non_null(mkdtemp(top));
	c.gid = getegid();
	assert_int_equal(collect_name(&c, top, geteuid(), 7, &err), 0);
	assert_int_equal(collect_check(&c, &err), -1); /* in the namespace of another job */
	assert_non_null(strstr(err.text, "job_container"));
	assert_int_equal(collect_make(&c, top, &err), 1);
	umask(mask);
	assert_made(below_top("precedent"), geteuid(), 0711);
	assert_made(c.local, geteuid(), 0700);
	assert_int_equal(collect_make(&c, top, &err), 0); /* a second step of the job */
	assert_int_equal(collect_check(&c, &err), 0);
	assert_int_equal(chmod(c.local, 0755), 0);
	assert_int_equal(collect_check(&c, &err), -1); /* others can read it */
	assert_int_equal(rmdir(c.local), 0);
	assert_int_equal(symlink("/tmp", c.local), 0);
	assert_int_equal(collect_make(&c, top, &err), -1); /* a link */
	assert_int_equal(collect_check(&c, &err), -1);
	assert_int_equal(unlink(c.local), 0);
	/* Other users could rename it. */
	assert_int_equal(chmod(top, 0777), 0);
	assert_int_equal(collect_make(&c, top, &err), -1);
	assert_non_null(strstr(err.text, "sticky"));
	assert_int_equal(chmod(top, 01777), 0);
	assert_int_equal(collect_make(&c, top, &err), 1);
	assert_int_equal(rmdir(c.local), 0);
	assert_int_equal(chmod(below_top("precedent"), 0733), 0);
	assert_int_equal(collect_make(&c, top, &err), -1);
	assert_int_equal(rmdir(below_top("precedent")), 0);
	/* A link to a directory where the user would like to have one. */
	assert_int_equal(symlink("/", below_top("precedent")), 0);
	assert_int_equal(collect_make(&c, top, &err), -1);
	assert_int_equal(unlink(below_top("precedent")), 0);
	assert_int_equal(rmdir(top), 0);
}

/* Another user took the names first. */
static void test_squatted(void **state)
{
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	struct errbuf err;
	char path[PATH_MAX];

	(void)state;
	if (geteuid() != 0) { /* cmocka writes a skip as "not ok" */
		print_message("# test_squatted: needs root\n");
		return;
	}
	assert_non_null(mkdtemp(dir));
	c.gid = 1;
	assert_int_equal(collect_name(&c, dir, STRANGER, 7, &err), 0);
	snprintf(path, sizeof(path), "%s/precedent", dir);
	assert_int_equal(mkdir(path, 0711), 0);
	assert_int_equal(chown(path, STRANGER + 1, 1), 0);
	assert_int_equal(collect_make(&c, dir, &err), -1);
	assert_non_null(strstr(err.text, "belongs to uid 4243"));
	assert_int_equal(access(c.local, F_OK), -1);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(collect_make(&c, dir, &err), 1);
	assert_made(c.local, STRANGER, 0700);
	assert_int_equal(collect_check(&c, &err), 0);
	assert_int_equal(chown(c.local, STRANGER + 1, 1), 0);
	assert_int_equal(collect_make(&c, dir, &err), -1);
	assert_int_equal(collect_check(&c, &err), -1);
	assert_made(c.local, STRANGER + 1, 0700);
	assert_int_equal(rmdir(c.local), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
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

/* A living process whose command line names this directory, or 0. */
static pid_t process_of(const char *dir)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0;
	struct dirent *e;

	assert_non_null(proc);
	while (!found && (e = readdir(proc))) {
		char path[300], text[1024];
		ssize_t n = -1;
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		fd = atoi(e->d_name) > 0 ? open(path, O_RDONLY) : -1;
		if (fd >= 0) {
			n = read(fd, text, sizeof(text)); /* nothing of a zombie */
			close(fd);
		}
		if (n > 0 && memmem(text, (size_t)n, dir, strlen(dir)))
			found = atoi(e->d_name);
	}
	closedir(proc);
	return found;
}

/* The files of a process are closed a moment before it has ended. */
static bool all_end(const char *dir)
{
	for (int i = 0; i < 5000 && process_of(dir); i++)
		usleep(1000);
	return !process_of(dir);
}

/* Make a collector in a new directory: a script, or this program. */
static void collector_make(struct collect *c, char *dir, const char *script, uid_t uid)
{
	struct errbuf err;
	char command[2 * PATH_MAX];
	int fd;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	*c = (struct collect){.uid = uid, .gid = getegid(), .last = true, .patience_s = 60};
	snprintf(c->into, sizeof(c->into), "%s", dir);
	snprintf(c->program, sizeof(c->program), "%s/program", dir);
	if (script) {
		fd = open(c->program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
		assert_int_equal(write(fd, script, strlen(script)), strlen(script));
		close(fd);
	} else {
		snprintf(command, sizeof(command), "install -m 711 /proc/%d/exe %s", (int)getpid(), c->program);
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(collect_name(c, dir, c->uid, 7, &err), 0);
	c->made = collect_make(c, dir, &err) == 1;
	assert_true(c->made);
}

static void collector_remove(const struct collect *c, const char *dir)
{
	char path[PATH_MAX];

	rmdir(c->local);
	assert_int_equal(unlink(c->program), 0);
	snprintf(path, sizeof(path), "%s/precedent", dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A collector that hangs: the end of the step waits no longer than configured, and no process is left. */
static void test_hanging(void **state)
{
	static const char script[] = "#!/bin/sh\necho x >\"$3/began\"\nkill -STOP $$\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char began[PATH_MAX + 8];
	struct errbuf err;

	(void)state;
	if (is_emulated())
		SKIP("under qemu-user the warden ends before it has told anything");
	collector_make(&c, dir, script, geteuid());
	c.patience_s = 1;
	assert_int_equal(collect_run(&c, &err), -1); /* would not return otherwise */
	assert_non_null(strstr(err.text, "does not end"));
	snprintf(began, sizeof(began), "%s/began", c.local);
	assert_int_equal(unlink(began), 0);
	assert_true(all_end(dir));
	collector_remove(&c, dir);
}

/*
 * A collector that ends, after it has started a process that stays. The end of the step does not wait for the process
 * that stays, and signals nobody: the collector's number may belong to a foreign process by then.
 */
static void test_leaves_process(void **state)
{
	static const char script[] = "#!/bin/sh\nif [ \"$1\" = stay ]; then sleep 1000; exit; fi\n"
				     "setsid \"$0\" stay \"$3\" &\nls -l /proc/self/fd >\"$3/fds\"\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char fds[PATH_MAX + 8], text[2048] = "";
	struct errbuf err;
	int fd;

	(void)state;
	if (geteuid() != 0) {
		print_message("# test_leaves_process: needs root\n");
		return;
	}
	collector_make(&c, dir, script, geteuid());
	n_signals = 0;
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(n_signals, 0);
	assert_true(all_end(dir));
	snprintf(fds, sizeof(fds), "%s/fds", c.local);
	fd = open(fds, O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_null(strstr(text, "pipe:"));
	assert_null(strstr(text, "socket:"));
	assert_int_equal(unlink(fds), 0);
	collector_remove(&c, dir);
}

/* The collector of test_not_traced: this program. Waits for a file. */
static int wait_for_go(const char *local)
{
	char go[PATH_MAX + 8];

	snprintf(go, sizeof(go), "%s/go", local);
	for (int i = 0; i < 30000 && access(go, F_OK) != 0; i++)
		usleep(1000);
	unlink(go);
	return 0;
}

/* As the user: try to take over the collector, then let it go. Returns what failed to be refused, 0 if nothing. */
static int attack(const char *local, const char *dir)
{
	char path[PATH_MAX + 16], program[PATH_MAX + 16];
	pid_t pid = 0;
	int taken = 0, fd;

	if (setgid(1) != 0 || setuid(STRANGER) != 0)
		return 1;
	snprintf(program, sizeof(program), "%s/program", dir);
	/* The wait ends when the program runs: /proc/PID/exe cannot be read, but the name of its command can. */
	for (int i = 0; i < 30000 && !pid; i++) {
		usleep(1000);
		pid = process_of(local);
	}
	if (!pid)
		return 2;
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
		taken |= 4;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR);
	taken |= fd >= 0 ? 8 : 0;
	taken |= open(program, O_RDONLY) >= 0 ? 16 : 0;
	snprintf(path, sizeof(path), "%s/go", local);
	open(path, O_WRONLY | O_CREAT, 0600);
	return taken;
}

/* Another process of the user cannot take over the collector. It would outlive the job in it. */
static void test_not_traced(void **state)
{
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	struct errbuf err;
	int status = -1;
	pid_t attacker;

	(void)state;
	if (geteuid() != 0) {
		print_message("# test_not_traced: needs root\n");
		return;
	}
	if (is_emulated())
		SKIP("an emulator starts no copy of this program");
	collector_make(&c, dir, NULL, STRANGER);
	attacker = fork();
	if (attacker == 0)
		_exit(attack(c.local, dir));
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(waitpid(attacker, &status, 0), attacker);
	assert_int_equal(status, 0);
	collector_remove(&c, dir);
}

/* A spool that does not answer when the program is to begin: its files stay, and the step ends. */
static void test_silent_spool(void **state)
{
	static const char script[] = "#!/bin/sh\n:\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char options[64];
	struct errbuf err;
	int fuse = open("/dev/fuse", O_RDWR);

	(void)state;
	collector_make(&c, dir, script, geteuid());
	snprintf(c.into, sizeof(c.into), "%s/hangs", dir);
	assert_int_equal(mkdir(c.into, 0755), 0);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (fuse < 0 || mount("hangs", c.into, "fuse", 0, options) != 0) {
		print_message("# test_silent_spool: needs /dev/fuse\n");
	} else {
		assert_int_equal(collect_run(&c, &err), -1); /* would not return otherwise: nobody serves the mount */
		assert_non_null(strstr(err.text, "does not answer"));
		assert_int_equal(umount2(c.into, MNT_DETACH), 0);
		assert_true(all_end(dir));
	}
	close(fuse);
	assert_int_equal(rmdir(c.into), 0);
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
	collector_make(&c, dir, script, geteuid());
	snprintf(began, sizeof(began), "%s/began", c.local);
	n_killed = 0;
	to_kill = BEGINNINGS;
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(n_killed, BEGINNINGS);
	assert_int_equal(access(began, F_OK), -1);
	assert_int_equal(collect_make(&c, dir, &err), 1); /* it was empty */
	n_killed = 0;
	to_kill = 1;
	assert_int_equal(collect_run(&c, &err), 0);
	to_kill = 0;
	assert_int_equal(unlink(began), 0);
	collector_remove(&c, dir);
}

/* A step with nothing to collect: the program is not started. */
static void test_nothing(void **state)
{
	static const char script[] = "#!/bin/sh\necho $$ >>\"$3/../../began\"\n";
	static char dir[] = "/tmp/precedent-collect-XXXXXX";
	static struct collect c;
	char file[PATH_MAX + 8];
	struct errbuf err;

	(void)state;
	collector_make(&c, dir, script, geteuid());
	c.last = false;
	assert_int_equal(collect_run(&c, &err), 0);
	snprintf(file, sizeof(file), "%s/began", dir);
	assert_int_equal(access(file, F_OK), -1);
	/* The last, of a job that has no directory in the spool: its program would only complain, into LocalDir. */
	assert_int_equal(collect_make(&c, dir, &err), 1);
	c.last = true;
	snprintf(c.into, sizeof(c.into), "%s/absent", dir);
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(access(c.local, F_OK), -1);
	c.last = false;
	assert_int_equal(collect_make(&c, dir, &err), 1);
	/* Another step has made the directory, so that one removes it. */
	c.made = false;
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(access(c.local, F_OK), 0);
	snprintf(file, sizeof(file), "%s/file", c.local);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	assert_int_equal(collect_run(&c, &err), 0);
	assert_int_equal(unlink(file), 0);
	snprintf(file, sizeof(file), "%s/began", dir);
	assert_int_equal(unlink(file), 0);
	collector_remove(&c, dir);
}

/* In a child of root: nothing of root is left. Returns 0, or which rule is broken. */
static int look_at_user(const struct collect *c)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid, groups[8];
	char line[256];
	sigset_t blocked;
	FILE *f;

	/* What slurmstepd could pass on by mistake. */
	sigfillset(&blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	signal(SIGTERM, SIG_IGN);
	umask(0);
	if (become_user(c) != 0)
		return 1;
	if (getresuid(&ruid, &euid, &suid) || ruid != c->uid || euid != c->uid || suid != c->uid)
		return 2;
	if (getresgid(&rgid, &egid, &sgid) || rgid != c->gid || egid != c->gid || sgid != c->gid)
		return 3;
	if (getgroups(8, groups) != c->n_groups || memcmp(groups, c->groups, (size_t)c->n_groups * sizeof(*groups)))
		return 4;
	if (setuid(0) == 0 || setgid(0) == 0 || seteuid(0) == 0 || setgroups(1, (gid_t[]){0}) == 0)
		return 5;
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Cap", 3) && strncmp(line, "CapBnd", 6) && strspn(line + 7, "\t0\n") != strlen(line + 7))
			return 6;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGTERM) || signal(SIGTERM, SIG_DFL) != SIG_DFL || umask(0) != 0027)
		return 7;
	return prctl(PR_GET_DUMPABLE) == 0 ? 0 : 8;
}

static void test_becomes_user(void **state)
{
	gid_t groups[] = {778, 779};
	const struct collect c = {.uid = 4242, .gid = 777, .groups = groups, .n_groups = 2};
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (!child)
		_exit(look_at_user(&c));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "collect") == 0)
		return wait_for_go(argv[3]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_squatted),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_leaves_process),
		cmocka_unit_test(test_not_traced),
		cmocka_unit_test(test_silent_spool),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_becomes_user),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
