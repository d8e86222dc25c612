/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Temporary directories, child processes and the signals that end a verb: see util.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ui/util.h"
#include "common/temp_dir.h"

char *cli_temp_dir(struct errbuf *err)
{
	const char *base = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/precedent-XXXXXX", base && *base == '/' ? base : "/tmp") < 0) {
		err_set(err, "no memory");
		return NULL;
	}
	if (temp_dir_make(path) < 0) {
		err_set(err, "%s: cannot create a temporary directory: %s", path, strerror(errno));
		free(path);
		return NULL;
	}
	return path;
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

/* ---- signals ---- */

#define END_S  5 /* seconds from SIGTERM to SIGKILL: mpirun gives its ranks one before it kills them */
#define NAP_MS 5

static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU};

static pid_t verb_pid;
static struct {
	volatile sig_atomic_t pid;   /* the process that cli_run waits for, else 0 */
	volatile sig_atomic_t group; /* it leads a process group */
} child_now;
static volatile sig_atomic_t outliving, passing, noted;
static int killed_by; /* the signal that ended the last child of cli_run; 0: none */

static void nap(void)
{
	const struct timespec ts = {.tv_nsec = NAP_MS * 1000000};

	nanosleep(&ts, NULL);
}

/* Ends the child's process group. The child stays a zombie: its number must not become that of another group. */
static void end_group(void)
{
	pid_t pid = child_now.pid;
	siginfo_t ended = {0};

	if (!pid || !child_now.group)
		return;
	kill(-pid, SIGTERM);
	kill(-pid, SIGCONT);
	for (int i = 0; i < END_S * 1000 / NAP_MS; i++) {
		if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == pid)
			break;
		nap();
	}
	kill(-pid, SIGKILL);
}

static bool from_terminal(int number, const siginfo_t *info)
{
	return (number == SIGINT || number == SIGQUIT) && info->si_code == SI_KERNEL;
}

/* The verb ends as the signal says, without its children and directories; or the command alone gets the signal. Ctrl-C
 * reaches the command directly. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	int error = errno;
	sigset_t this;

	(void)context;
	if (passing && number != SIGPIPE && number != SIGXCPU) {
		noted = number;
		if (child_now.pid && !from_terminal(number, info))
			kill(child_now.pid, number);
		errno = error;
		return;
	}
	if (getpid() == verb_pid) { /* not a child that has become no other program yet */
		end_group();
		temp_dir_remove_all();
	}
	signal(number, SIG_DFL);
	sigemptyset(&this);
	sigaddset(&this, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &this, NULL);
}

void cli_end_clean(void)
{
	struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART}, old;

	verb_pid = getpid();
	sigfillset(&a.sa_mask);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		if (sigaction(deadly[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(deadly[i], &a, NULL);
}

void cli_outlive(bool on)
{
	outliving = on;
	passing = noted = 0;
}

int cli_outlived(void)
{
	return noted;
}

/* Forks with all signals blocked, so that the handler knows the child from its first moment. */
static pid_t fork_child(char *const argv[], const char *const env[], const char *log, bool own_group, int report)
{
	sigset_t all, old;
	pid_t pid;

	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		child(argv, env, log, own_group, report);
	}
	if (pid > 0) {
		if (own_group)
			setpgid(pid, pid);
		child_now.pid = (sig_atomic_t)pid;
		child_now.group = own_group;
		passing = outliving;
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

/* Wait for pid; past the limit its process group gets SIGTERM, then SIGKILL. */
static int wait_child(pid_t pid, double limit_s, bool *timed_out)
{
	double begin = cli_now();
	int status;

	*timed_out = false;
	for (;;) {
		pid_t p = waitpid(pid, &status, limit_s > 0 ? WNOHANG : 0);
		double t = cli_now() - begin;

		if (p == pid)
			break;
		if (p < 0 && errno != EINTR)
			return -1;
		if (p == 0 && t > limit_s) {
			kill(-pid, t > limit_s + END_S ? SIGKILL : SIGTERM);
			*timed_out = true;
		}
		if (limit_s > 0)
			nap();
	}
	killed_by = WIFEXITED(status) ? 0 : WTERMSIG(status);
	return killed_by ? 128 + killed_by : WEXITSTATUS(status);
}

int cli_killed_by(void)
{
	return killed_by;
}

int cli_run(char *const argv[], const char *const env[], const char *log, double limit_s, struct errbuf *err)
{
	bool timed_out;
	int rc, why, report[2];
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, "%s: cannot make a pipe: %s", argv[0], strerror(errno));
	pid = fork_child(argv, env, log, limit_s > 0, report[1]);
	if (pid < 0) {
		err_set(err, "%s: cannot fork: %s", argv[0], strerror(errno));
		close(report[0]);
		close(report[1]);
		return -1;
	}
	close(report[1]);
	why = fd_hear(report[0]);
	close(report[0]);
	rc = wait_child(pid, limit_s, &timed_out);
	child_now.pid = 0;
	if (why)
		return cannot_run(argv[0], why, err);
	if (timed_out)
		return err_set(err, "%s did not end within %.0f seconds", argv[0], limit_s);
	return rc;
}
