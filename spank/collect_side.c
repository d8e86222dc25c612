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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spank/bounded.h"

#define COLLECT_MEMORY   (4ull << 30)
#define BEGINNINGS       3    /* starts of a program that is killed before it begins */
#define BEGIN_MS         5000 /* longest wait for the file server before the program begins */
/* time for a killed process to end; may take longer if its file system does not answer */
#define KILLED_MS        1000

int collect_name(struct collect *c, const char *local_dir, uid_t uid, uint32_t job_id, struct errbuf *err)
{
	int n = 0;
	c->local[0] = '\0';
	if (local_dir[0])
		n = snprintf(c->local, sizeof(c->local), "%s/" COLLECT_DIR "/%u-%u", local_dir, (unsigned)uid, (unsigned)job_id);
	if (n < 0 || (size_t)n >= sizeof(c->local) || strpbrk(c->local, ";\n ")) {
		c->local[0] = '\0';
		return err_set(err, "LocalDir %s: name too long or with a blank or ';'", local_dir);
	}
	c->uid = uid;
	return 0;
}

int collect_open_top(const char *local_dir, struct errbuf *err)
{
	struct stat st;
	int fd, top = open(local_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool made;
	if (top < 0)
		return err_set(err, "LocalDir %s: %s", local_dir, strerror(errno));
	if (fstat(top, &st) != 0 || st.st_uid != geteuid() || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))) {
		close(top);
		return err_set(err, "LocalDir %s: must belong to root; if others may write, it needs the sticky bit", local_dir);
	}
	made = mkdirat(top, COLLECT_DIR, 0711) == 0;
	fd = openat(top, COLLECT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(top);
	if (fd < 0 || fstat(fd, &st) != 0)
		err_set(err, "LocalDir: %s/" COLLECT_DIR ": %s; remove it", local_dir, strerror(errno));
	else if (st.st_uid != geteuid() || (st.st_mode & 022))
		err_set(err, "LocalDir: %s/" COLLECT_DIR ": belongs to uid %u or others may write it; remove it", local_dir,
			(unsigned)st.st_uid);
	else if (made && fchmod(fd, 0711) != 0) /* independent of the umask */
		err_set(err, "LocalDir: %s/" COLLECT_DIR ": %s", local_dir, strerror(errno));
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int collect_make(const struct collect *c, const char *local_dir, struct errbuf *err)
{
	const char *name = strrchr(c->local, '/');
	struct stat st;
	int rc = -1, fd, top, made;
	if (!name)
		return err_set(err, "no LocalDir");
	top = collect_open_top(local_dir, err);
	if (top < 0)
		return -1;
	name++;
	made = mkdirat(top, name, 0700) == 0;
	fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		err_set(err, "%s: %s", c->local, strerror(errno));
	else if (st.st_uid == c->uid)
		rc = made;
	else if (st.st_uid != geteuid())
		err_set(err, "%s: belongs to uid %u; remove it", c->local, (unsigned)st.st_uid);
	else if (fchown(fd, c->uid, c->gid) != 0)
		err_set(err, "%s: chown: %s", c->local, strerror(errno));
	else
		rc = made;
	if (fd >= 0)
		close(fd);
	close(top);
	return rc;
}

int collect_check(const struct collect *c, struct errbuf *err)
{
	struct stat st;
	if (!c->local[0])
		return err_set(err, "no LocalDir");
	if (lstat(c->local, &st) != 0)
		return err_set(err, "%s: %s; is LocalDir a directory of each job (job_container/tmpfs)?", c->local, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != c->uid || (st.st_mode & 077))
		return err_set(err, "%s: is not a private directory of uid %u", c->local, (unsigned)c->uid);
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

/* As the user: has the directory any entry? */
static bool something_left(const char *path)
{
	struct dirent *e;
	bool found = false;
	DIR *d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	if (d)
		closedir(d);
	return found;
}

static unsigned patience_s(const struct collect *c)
{
	return c->patience_s ? c->patience_s : COLLECT_PATIENCE_S;
}

/* In the child: become the user for good. No other process of the user can trace this one. */
static int become_user(const struct collect *c)
{
	const rlim_t most_s = patience_s(c);
	const struct rlimit cpu = {.rlim_cur = most_s, .rlim_max = most_s + 1};
	const struct rlimit no_core = {0};
	sigset_t none;
	if (geteuid() == 0 && (setgroups((size_t)c->n_groups, c->groups) != 0 || setresgid(c->gid, c->gid, c->gid) != 0 ||
			       setresuid(c->uid, c->uid, c->uid) != 0))
		return -1;
	if (geteuid() != c->uid || (c->uid != 0 && setuid(0) == 0))
		return -1;
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(0027);
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes that it does not use */
	setrlimit(RLIMIT_AS, &(struct rlimit){COLLECT_MEMORY, COLLECT_MEMORY});
#endif
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &no_core);
	return prctl(PR_SET_DUMPABLE, 0);
}

/* What the processes behind run_apart tell slurmstepd. The other end of the pipe is closed when all have ended. */
enum word { WORD_NO_NAMESPACE = 'n', WORD_NOTHING = '0', WORD_BEGUN = 'b' };

static bool say(int word, enum word what)
{
	const char byte = (char)what;
	return write(word, &byte, 1) == 1;
}

/* Become the user and the program. The word that it begins says also that the file server of the spool answers. */
static void exec_collector(const struct collect *c, int word)
{
	char *const env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
	const char *argv[] = {"precedent", "collect", "--from", c->local, "--into", c->into, "--ended",
			      c->ended[0] ? c->ended : "ended before MPI_Finalize", c->last ? "--last" : NULL, NULL};
	bool left;
	int into = -1;
	if (become_user(c) != 0)
		_exit(127);
	left = something_left(c->local);
	/* The batch step also collects files that other nodes have moved but could not join. */
	if (left || c->last)
		into = open(c->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* waits if the server does not answer */
	if (!left && into < 0) {
		say(word, WORD_NOTHING);
		_exit(0);
	}
	if (say(word, WORD_BEGUN))
		execve(c->program, (char *const *)argv, env);
	_exit(127);
}

/*
 * The first process of a PID namespace, with root's rights. When it ends, the kernel kills all processes of the
 * namespace. It ends when the program ends, or when the leash is closed: by slurmstepd, or because slurmstepd died.
 */
static void warden(const struct collect *c, int leash, int word)
{
	const struct sigaction child = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
	struct pollfd wait_for[2] = {{.fd = leash}, {.events = POLLIN}};
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t ended;
	if (null < 0 || chdir("/") != 0)
		_exit(127);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	bounded_close(leash, word); /* sockets of slurmstepd */
	setsid();
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_SETMASK, &ended, NULL);
	wait_for[1].fd = signalfd(-1, &ended, SFD_CLOEXEC);
	pid_t pid = wait_for[1].fd < 0 ? -1 : fork();
	if (pid == 0)
		exec_collector(c, word);
	while (pid > 0 && poll(wait_for, 2, -1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* In the first fork: its child is the first process of a new PID namespace. Only root can have one. */
static void fork_warden(const struct collect *c, int leash, int word)
{
	if (geteuid() == 0 && unshare(CLONE_NEWPID) != 0)
		say(word, WORD_NO_NAMESPACE);
	else if (fork() == 0)
		warden(c, leash, word);
	_exit(0);
}

/* Returns what was told, 0 if Slurm killed all before, or -1 with err. */
static int follow(const struct collect *c, int word, int *leash, struct errbuf *err)
{
	char told = 0;
	ssize_t n = 0;
	bool ended;
	if (!bounded_poll(word, BEGIN_MS))
		return err_set(err, "%s does not answer: files of the run stay in %s", c->into, c->local);
	while ((n = read(word, &told, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		return 0;
	if (told == WORD_NO_NAMESPACE)
		return err_set(err, "no PID namespace: files of the run stay in %s", c->local);
	ended = bounded_poll(word, patience_s(c) * 1000);
	if (!ended)
		err_set(err, "%s: precedent collect does not end: files of the run may stay in %s", c->into, c->local);
	close(*leash);
	*leash = -1;
	if (!ended)
		bounded_poll(word, KILLED_MS);
	return ended ? told : -1;
}

/*
 * Run the program after two forks, so that it is no descendant of slurmstepd. Slurm kills the remaining processes of
 * a step at this time, and may find them by their parents (proctrack/linuxproc). Such a kill returns 0.
 *
 * The wait is bounded, because a file server that does not answer must not keep the job from ending. No process is
 * signalled: a number may belong to a foreign process when it is used. The program inherits no descriptor.
 */
static int run_apart(const struct collect *c, struct errbuf *err)
{
	int leash[2], word[2], status, rc = -1;
	pid_t child;
	if (pipe2(leash, O_CLOEXEC) != 0)
		return err_set(err, "no pipe: %s", strerror(errno));
	if (pipe2(word, O_CLOEXEC) != 0) {
		err_set(err, "no pipe: %s", strerror(errno));
	} else {
		child = fork();
		if (child == 0) {
			close(leash[1]);
			fork_warden(c, leash[0], word[1]);
		}
		close(word[1]);
		while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		rc = child < 0 ? err_set(err, "no process: %s", strerror(errno)) : follow(c, word[0], &leash[1], err);
		close(word[0]);
	}
	close(leash[0]);
	if (leash[1] >= 0)
		close(leash[1]);
	return rc;
}

int collect_run(const struct collect *c, struct errbuf *err)
{
	int rc = 0;
	if (!c->local[0])
		return 0;
	for (int i = 0; rc == 0 && i < BEGINNINGS; i++)
		rc = run_apart(c, err);
	if (c->made)
		rmdir(c->local); /* fails if a file could not be moved */
	return rc < 0 ? -1 : 0;
}
