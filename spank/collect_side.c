/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves partial traces to the spool: see collect_side.h. */
#include "spank/collect_side.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FD_CLOSE_MAX     1024
#define COLLECT_MEMORY   (4ull << 30)
#define BEGINNINGS       3    /* starts of a program that is killed before it begins */
/* time for a killed process to end; may take longer if its file system does not answer */
#define KILLED_MS        1000

int collect_name(struct collect *c, const char *local_dir, uid_t uid, uint32_t job_id, struct errbuf *err)
{
	int n = 0;
	c->local[0] = '\0';
	if (local_dir[0])
		n = snprintf(c->local, sizeof(c->local), "%s/precedent-%u-%u", local_dir, (unsigned)uid, (unsigned)job_id);
	if (n < 0 || (size_t)n >= sizeof(c->local) || strpbrk(c->local, ";\n ")) {
		c->local[0] = '\0';
		return err_set(err, "LocalDir %s: name too long or with a blank or ';'", local_dir);
	}
	c->uid = uid;
	return 0;
}

/* Open the directory if it belongs to the user. In a directory like /tmp, any user may have made one with this
 * name. */
static int open_local(const struct collect *c, struct errbuf *err)
{
	struct stat st;
	int fd = open(c->local, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, "%s: %s", c->local, strerror(errno));
	if (fstat(fd, &st) != 0 || st.st_uid != c->uid || (st.st_mode & 077)) {
		close(fd);
		return err_set(err, "%s: is not a private directory of uid %u", c->local, (unsigned)c->uid);
	}
	return fd;
}

int collect_prepare(const struct collect *c, struct errbuf *err)
{
	int fd;
	if (!c->local[0])
		return err_set(err, "no LocalDir");
	if (mkdir(c->local, 0700) != 0 && errno != EEXIST)
		return err_set(err, "%s: %s", c->local, strerror(errno));
	fd = open_local(c, err);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

void collect_task_ended(struct collect *c, int rank, int status)
{
	char who[24] = "";

	if (c->ended[0])
		return;
	if (rank >= 0)
		snprintf(who, sizeof(who), "rank %d: ", rank);
	if (WIFSIGNALED(status))
		snprintf(c->ended, sizeof(c->ended), "%skilled by signal %d (%s)", who, WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + SIGRTMIN)
		snprintf(c->ended, sizeof(c->ended), "%sexit code %d (%s)", who, WEXITSTATUS(status),
			 strsignal(WEXITSTATUS(status) - 128));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		snprintf(c->ended, sizeof(c->ended), "%sexit code %d", who, WEXITSTATUS(status));
}

/* Has the directory any entry? */
static bool something_left(int fd)
{
	struct dirent *e;
	bool found = false;
	int copy = dup(fd);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while (!found && (e = readdir(d)))
		found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return found;
}

static unsigned patience_s(const struct collect *c)
{
	return c->patience_s ? c->patience_s : COLLECT_PATIENCE_S;
}

/* In the child: become the user for good, without open files of slurmstepd. */
static int become_user(const struct collect *c, int keep)
{
	const rlim_t most_s = patience_s(c);
	const struct rlimit memory = {.rlim_cur = COLLECT_MEMORY, .rlim_max = COLLECT_MEMORY};
	const struct rlimit cpu = {.rlim_cur = most_s, .rlim_max = most_s + 1};
	const struct rlimit no_core = {0};
	sigset_t none;
	int null;
	if (geteuid() == 0 && (setgroups((size_t)c->n_groups, c->groups) != 0 || setresgid(c->gid, c->gid, c->gid) != 0 ||
			       setresuid(c->uid, c->uid, c->uid) != 0))
		return -1;
	if (geteuid() != c->uid || (c->uid != 0 && setuid(0) == 0))
		return -1;
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	umask(0027);
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &no_core);
	null = open("/dev/null", O_RDWR);
	if (null < 0 || chdir("/") != 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < FD_CLOSE_MAX; fd++)
		if (fd != keep)
			close(fd);
	return fcntl(keep, F_SETFD, 0);
}

/* end: a pipe that stays open until the program ends. The program's process id is written to it when `parent`,
 * the first fork, has ended. From then on the program is no descendant of slurmstepd. */
static void exec_collector(const struct collect *c, int end, pid_t parent)
{
	char *const env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
	const char *argv[] = {"precedent", "collect", "--from", c->local, "--into", c->into, "--ended",
			      c->ended[0] ? c->ended : "ended before MPI_Finalize", c->last ? "--last" : NULL, NULL};
	const pid_t self = getpid();
	while (getppid() == parent)
		sched_yield();
	if (write(end, &self, sizeof(self)) == sizeof(self) && become_user(c, end) == 0)
		execve(c->program, (char *const *)argv, env);
	_exit(127);
}

/* Wait until the other end of the pipe is closed. Returns false after timeout_ms. */
static bool await_end(int fd, int64_t timeout_ms)
{
	struct pollfd end = {.fd = fd};
	struct timespec now;
	int64_t until, left = timeout_ms;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + timeout_ms;
	while ((n = poll(&end, 1, left > 0 ? (int)left : 0)) < 0 && errno == EINTR) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = until - (now.tv_sec * 1000 + now.tv_nsec / 1000000);
	}
	return n != 0;
}

/*
 * Run the program after two forks, so that it is no child of slurmstepd. Slurm kills the remaining processes of a
 * step at this time, and may find them by their parents (proctrack/linuxproc).
 *
 * The pipe closes when the program ends. The wait is bounded, because a file server that does not answer must not
 * keep the job from ending. While the pipe is open, the process exists, so its id is not reused. Returns false if
 * the program did not begin; Slurm may have killed it between the two forks.
 */
static bool run_apart(const struct collect *c)
{
	int ends[2], status;
	pid_t child, pid = 0;
	ssize_t n = 0;
	bool began;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	child = fork();
	if (child == 0) {
		const pid_t self = getpid();
		if (fork() == 0)
			exec_collector(c, ends[1], self);
		_exit(0);
	}
	close(ends[1]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	while (child > 0 && (n = read(ends[0], &pid, sizeof(pid))) < 0 && errno == EINTR)
		;
	began = n == sizeof(pid);
	if (began && !await_end(ends[0], (int64_t)patience_s(c) * 1000)) {
		kill(pid, SIGKILL);
		await_end(ends[0], KILLED_MS);
	}
	close(ends[0]);
	return began;
}

void collect_run(const struct collect *c)
{
	struct errbuf err;
	bool left;
	int fd;
	if (!c->local[0])
		return;
	fd = open_local(c, &err);
	left = fd >= 0 && something_left(fd);
	if (fd >= 0)
		close(fd);
	/* The batch step also collects files that other nodes have moved but could not join. */
	for (int i = 0; (left || c->last) && i < BEGINNINGS && !run_apart(c); i++)
		;
	rmdir(c->local); /* fails if a file could not be moved */
}
