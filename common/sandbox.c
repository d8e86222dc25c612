/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a sandbox: see sandbox.h. The outermost is the supervisor, which is the caller. Below it are:
 *
 * - the maker, which makes or joins the namespaces, and waits;
 * - the init, the first process of the process namespace. It stays until all other processes there have ended. If
 *   it dies, they die;
 * - the program behind the filter.
 *
 * A process that joins a sandbox has no init of its own. Each process dies with its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/sandbox_impl.h"
#include "common/temp_dir.h"

#define LINGER_S   10 /* the init waits this long for processes that have joined */
#define LAST_S     5  /* time for killed processes to end */

struct inner {
	const struct sandbox *s;
	char *const *argv;
	/* to the supervisor: sends the number of the listener, and receives the permission to go on */
	int control;
	int errors;    /* sends the text of an error, then closes */
	int log;
};

static void fail_inside(const struct inner *in, const struct errbuf *err) __attribute__((noreturn));
static void fail_inside(const struct inner *in, const struct errbuf *err)
{
	ssize_t n = write(in->errors, err->text, strlen(err->text));

	_exit(n < 0 ? 126 : 127);
}

/* Must follow any change of credentials, which clears the setting. */
static void die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the program ---- */

/* Open the input from its beginning: the original run has read it. */
static void set_input(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct stat st;

	if (fd >= 0) {
		if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
			dup2(fd, STDIN_FILENO);
		close(fd);
	} else if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode)) {
		lseek(STDIN_FILENO, 0, SEEK_SET);
	}
}

static void become_program(const struct inner *in) __attribute__((noreturn));
static void become_program(const struct inner *in)
{
	const struct rlimit none = {0, 0};
	struct errbuf err;
	char leave = 0;
	int listener;

	die_with_parent();
	setsid();
	if (in->log >= 0 && (dup2(in->log, STDOUT_FILENO) < 0 || dup2(in->log, STDERR_FILENO) < 0))
		_exit(126);
	set_input(in->s->input);
	for (size_t i = 0; in->s->env && in->s->env[i]; i++)
		if (strchr(in->s->env[i], '='))
			putenv(in->s->env[i]);
	setrlimit(RLIMIT_CORE, &none);
	listener = sandbox_filter(in->s->network, &err);
	if (listener < 0)
		fail_inside(in, &err);
	/* The supervisor fetches the listener by its number. It also learns the sender's process id. */
	if (write(in->control, &listener, sizeof(listener)) != sizeof(listener) || read(in->control, &leave, 1) != 1)
		_exit(126);
	syscall(__NR_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
	execvp(in->argv[0], in->argv);
	err_set(&err, "%s: %s", in->argv[0], strerror(errno));
	fail_inside(in, &err);
}

/* ---- the init ---- */

static bool alone_in_proc(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool others = false;

	while (d && !others && (e = readdir(d)))
		others = e->d_name[0] >= '1' && e->d_name[0] <= '9' && strcmp(e->d_name, "1");
	if (d)
		closedir(d);
	return !others;
}

static void be_init(const struct inner *in) __attribute__((noreturn));
static void be_init(const struct inner *in)
{
	struct timespec nap = {.tv_nsec = 20000000};
	struct errbuf err;
	int status = 0, of_program = 0;
	double end;
	pid_t program, p;

	die_with_parent();
	if (sandbox_mount_proc(&err) < 0)
		fail_inside(in, &err);
	program = fork();
	if (program < 0) {
		err_set(&err, "cannot fork: %s", strerror(errno));
		fail_inside(in, &err);
	}
	if (!program)
		become_program(in);
	close(in->errors);
	close(in->control);
	do {
		p = waitpid(-1, &status, 0);
		if (p == program)
			of_program = status;
	} while (p != program && (p >= 0 || errno == EINTR));
	for (end = now_s() + LINGER_S; in->s->join && !alone_in_proc() && now_s() < end;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&nap, NULL);
	}
	_exit(status_of(of_program));
}

/* ---- the maker ---- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

static int make_user(struct errbuf *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return err_set(err, "this node gives ordinary users no namespaces (user.max_user_namespaces, "
				    "kernel.unprivileged_userns_clone): %s", strerror(errno));
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (write_file("/proc/self/setgroups", "deny") < 0 || write_file("/proc/self/uid_map", map) < 0)
		return err_set(err, "no user namespace: %s", strerror(errno));
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return write_file("/proc/self/gid_map", map) < 0 ? err_set(err, "no user namespace: %s", strerror(errno)) : 0;
}

static int raise_loopback(struct errbuf *err)
{
	struct ifreq r = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rv = -1;

	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd >= 0)
		rv = ioctl(fd, SIOCSIFFLAGS, &r);
	if (fd >= 0)
		close(fd);
	return rv < 0 ? err_set(err, "no loopback network of its own: %s", strerror(errno)) : 0;
}

static int make_namespaces(const struct sandbox *s, struct errbuf *err)
{
	int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (s->network ? 0 : CLONE_NEWNET);

	if (make_user(err) < 0)
		return -1;
	if (unshare(flags) < 0)
		return err_set(err, "no namespaces: %s", strerror(errno));
	if (!s->network && raise_loopback(err) < 0)
		return -1;
	return sandbox_mount(s, err);
}

static void node_file(const struct sandbox *s, char *path, size_t size)
{
	snprintf(path, size, "%s/node.%s", s->shared[0], s->join);
}

/* Tell the other processes of this node the position of the sandbox. The maker's process id for its child is
 * valid outside too. */
static int tell_node(const struct sandbox *s, pid_t init, struct errbuf *err)
{
	char path[PATH_MAX], tmp[PATH_MAX + 8];
	FILE *f;

	node_file(s, path, sizeof(path));
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "wex");
	if (!f || fprintf(f, "%ld\n", (long)init) < 0 || fclose(f) || rename(tmp, path) < 0)
		return err_set(err, "%s: %s", path, strerror(errno));
	return 0;
}

/* Join the sandbox that the first process of this node has made. */
static int join_node(const struct sandbox *s, struct errbuf *err)
{
	struct timespec nap = {.tv_nsec = 20000000};
	double end = now_s() + SANDBOX_NODE_WAIT;
	char path[PATH_MAX];
	long pid = 0;
	int fd;

	node_file(s, path, sizeof(path));
	while (!pid) {
		FILE *f = fopen(path, "re");

		if (f && fscanf(f, "%ld", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		if (!pid && now_s() > end)
			return err_set(err, "the first process of this node has made no sandbox");
		if (!pid)
			nanosleep(&nap, NULL);
	}
	fd = (int)syscall(__NR_pidfd_open, (pid_t)pid, 0);
	if (fd < 0 || setns(fd, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC) < 0)
		return err_set(err, "the sandbox of this node cannot be entered: %s", strerror(errno));
	close(fd);
	return chdir(s->dir) < 0 ? err_set(err, "%s: %s", s->dir, strerror(errno)) : 0;
}

static void be_maker(const struct inner *in) __attribute__((noreturn));
static void be_maker(const struct inner *in)
{
	bool joins = in->s->join && !in->s->first;
	struct errbuf err;
	int status = 0;
	pid_t child;

	die_with_parent();
	if ((joins ? join_node(in->s, &err) : make_namespaces(in->s, &err)) < 0)
		fail_inside(in, &err);
	die_with_parent();
	child = fork();
	if (child < 0) {
		err_set(&err, "cannot fork: %s", strerror(errno));
		fail_inside(in, &err);
	}
	if (!child && joins)
		become_program(in);
	if (!child)
		be_init(in);
	if (in->s->join && in->s->first && tell_node(in->s, child, &err) < 0)
		fail_inside(in, &err);
	close(in->errors);
	close(in->control);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	_exit(status_of(status));
}

/* ---- the supervisor ---- */

/* Fetch the listener from its process. Returns -1 if that process failed before. */
static int take_listener(int control)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} u;
	int number = -1, pidfd, fd = -1;
	struct iovec v = {&number, sizeof(number)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	struct cmsghdr *c;
	struct ucred who;

	if (recvmsg(control, &m, 0) != sizeof(number))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return -1;
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	pidfd = (int)syscall(__NR_pidfd_open, who.pid, 0);
	if (pidfd >= 0) {
		fd = (int)syscall(__NR_pidfd_getfd, pidfd, number, 0);
		close(pidfd);
	}
	return fd >= 0 && write(control, "", 1) == 1 ? fd : -1;
}

/* Returns 0 if no error came before the program began; -1 otherwise (err says why). */
static int hear_errors(int fd, struct errbuf *err)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < sizeof(err->text) && (got = read(fd, err->text + n, sizeof(err->text) - 1 - n)) > 0)
		n += (size_t)got;
	err->text[n] = '\0';
	return n ? -1 : 0;
}

static void end_program(pid_t maker, int listener)
{
	struct pollfd p = {.fd = listener};

	kill(maker, SIGKILL);
	while (waitpid(maker, NULL, 0) < 0 && errno == EINTR)
		;
	poll(&p, 1, LAST_S * 1000); /* until no process has the filter any more */
}

static int supervise(struct sandbox_watch *w, pid_t maker, double begin, struct errbuf *err)
{
	double limit_s = w->s->limit_s;
	int pidfd = (int)syscall(__NR_pidfd_open, maker, 0), status;
	struct pollfd p[2] = {{.fd = w->listener, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};

	for (;;) {
		double left = limit_s > 0 ? limit_s - (now_s() - begin) : 1;

		if (left < 0) {
			end_program(maker, w->listener);
			close(pidfd);
			return err_set(err, "it did not end within %.0f seconds", limit_s);
		}
		poll(p, 2, left < 1 ? (int)(left * 1000) + 1 : 1000);
		if (p[0].revents & POLLIN && !sandbox_watch_one(w)) {
			end_program(maker, w->listener);
			close(pidfd);
			return err_set(err, "stopped: %s", w->stopped);
		}
		if (p[0].revents & (POLLHUP | POLLERR))
			p[0].fd = -1; /* no process is left that could ask */
		if (waitpid(maker, &status, WNOHANG) == maker)
			break;
	}
	close(pidfd);
	return status_of(status);
}

static void name_ports(struct sandbox_watch *w)
{
	char host[128] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(w->ports, sizeof(w->ports), "%s/ports.%s.%ld", w->s->shared[0], host, (long)getpid());
}

int sandbox_run(const struct sandbox *s, char *const argv[], struct errbuf *err)
{
	struct sandbox_watch w = {.s = s, .listener = -1};
	struct inner in = {.s = s, .argv = argv, .log = -1};
	int control[2] = {-1, -1}, errors[2] = {-1, -1}, rv = -1, on = 1;
	double begin = now_s();
	pid_t maker;

	name_ports(&w);
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 || pipe2(errors, O_CLOEXEC) < 0 ||
	    setsockopt(control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    (s->log && (in.log = open(s->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640)) < 0)) {
		err_set(err, "%s: %s", s->log ? s->log : "sandbox", strerror(errno));
		goto out;
	}
	in.control = control[1];
	in.errors = errors[1];
	maker = fork();
	if (maker < 0) {
		err_set(err, "cannot fork: %s", strerror(errno));
		goto out;
	}
	if (!maker) {
		close(control[0]);
		close(errors[0]);
		be_maker(&in);
	}
	close(control[1]);
	close(errors[1]);
	control[1] = errors[1] = -1;
	w.listener = take_listener(control[0]);
	err->text[0] = '\0';
	if (hear_errors(errors[0], err) < 0 || w.listener < 0) {
		if (!err->text[0])
			err_set(err, "the sandbox could not be set up");
		end_program(maker, w.listener);
	} else {
		rv = supervise(&w, maker, begin, err);
	}
out:
	for (int i = 0; i < 2; i++) {
		if (control[i] >= 0)
			close(control[i]);
		if (errors[i] >= 0)
			close(errors[i]);
	}
	if (in.log >= 0)
		close(in.log);
	if (w.listener >= 0)
		close(w.listener);
	return rv;
}

int sandbox_check(struct errbuf *err)
{
	char dir[] = "/tmp/precedent-XXXXXX";
	struct sandbox s = {.dir = "/", .shared = {dir}, .overlay = {"/tmp"}, .memory = 1 << 20, .limit_s = 20};
	char *const nothing[] = {"true", NULL};
	int rv;

	if (temp_dir_make(dir) < 0)
		return err_set(err, "%s: %s", dir, strerror(errno));
	rv = sandbox_run(&s, nothing, err);
	temp_dir_remove(dir);
	return rv < 0 ? -1 : rv ? err_set(err, "a test program failed in the sandbox: exit status %d", rv) : 0;
}
