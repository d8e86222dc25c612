/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Temporary directories and child processes of the verbs: see util.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ui/util.h"

char *cli_temp_dir(struct errbuf *err)
{
	const char *base = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/precedent-XXXXXX", base && *base == '/' ? base : "/tmp") < 0) {
		err_set(err, "no memory");
		return NULL;
	}
	if (!mkdtemp(path)) {
		err_set(err, "%s: cannot create a temporary directory: %s", path, strerror(errno));
		free(path);
		return NULL;
	}
	return path;
}

static void remove_below(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), e->d_name, 0) < 0) {
			int sub = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (sub >= 0)
				remove_below(sub);
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
}

void cli_remove_dir(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	remove_below(fd);
	rmdir(path);
}

static void fd_say(int fd, int number)
{
	while (write(fd, &number, sizeof(number)) < 0 && errno == EINTR)
		;
}

/* The number that the child has said before it ended, or 0 when it became another program. */
static int fd_hear(int fd)
{
	int number = 0;
	ssize_t n;

	do
		n = read(fd, &number, sizeof(number));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(number) ? number : 0;
}

static bool stdout_kept;

void cli_keep_stdout(void)
{
	stdout_kept = true;
}

/* In the child: becomes argv, or says through `report` why it cannot. */
static void child(char *const argv[], const char *const env[], const char *log, bool own_group, int report)
{
	if (own_group)
		setpgid(0, 0);
	if (log) {
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
			_exit(126);
		fd = open("/dev/null", O_RDONLY);
		if (fd >= 0)
			dup2(fd, STDIN_FILENO);
	} else if (stdout_kept && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		_exit(126);
	}
	for (int i = 0; env && env[i]; i += 2)
		setenv(env[i], env[i + 1], 1);
	execvp(argv[0], argv);
	fd_say(report, errno);
	_exit(127);
}

static int cannot_run(const char *program, int why, struct errbuf *err)
{
	char host[64] = "this node";

	gethostname(host, sizeof(host) - 1);
	return err_set(err, "%s cannot be run on %s: %s", program, host, strerror(why));
}

volatile sig_atomic_t cli_child;

/* Wait for pid; past the limit its process group gets SIGTERM, then SIGKILL. */
static int wait_child(pid_t pid, double limit_s, bool *timed_out)
{
	double begin = cli_now();
	int status;

	*timed_out = false;
	for (;;) {
		pid_t p = waitpid(pid, &status, limit_s > 0 ? WNOHANG : 0);
		struct timespec ts = {.tv_nsec = 5000000};
		double t = cli_now() - begin;

		if (p == pid)
			break;
		if (p < 0 && errno != EINTR)
			return -1;
		if (p == 0 && t > limit_s) {
			kill(-pid, t > limit_s + 5 ? SIGKILL : SIGTERM);
			*timed_out = true;
			ts.tv_nsec = 200000000;
		}
		if (limit_s > 0)
			nanosleep(&ts, NULL);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cli_run(char *const argv[], const char *const env[], const char *log, double limit_s, struct errbuf *err)
{
	bool timed_out;
	int rc, why, report[2];
	pid_t pid;

	fflush(NULL);
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, "%s: cannot make a pipe: %s", argv[0], strerror(errno));
	pid = fork();
	if (pid < 0) {
		err_set(err, "%s: cannot fork: %s", argv[0], strerror(errno));
		close(report[0]);
		close(report[1]);
		return -1;
	}
	if (pid == 0)
		child(argv, env, log, limit_s > 0, report[1]);
	close(report[1]);
	why = fd_hear(report[0]);
	close(report[0]);
	cli_child = (sig_atomic_t)pid;
	rc = wait_child(pid, limit_s, &timed_out);
	cli_child = 0;
	if (why)
		return cannot_run(argv[0], why, err);
	if (timed_out)
		return err_set(err, "%s did not end within %.0f seconds", argv[0], limit_s);
	return rc;
}
