/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The supervisor of a sandbox, which answers the filter's questions. Writing: the read-only mounts prevent it. The
 * supervisor only notices an attempt to write a file that the program could have written outside, and ends the
 * program. Connecting: the supervisor connects with the address that it has read, so the address cannot change
 * after the check.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/sandbox_impl.h"

#define PORT_WAIT_MS 5000 /* time for a listener of another node to be announced */

struct question {
	struct sandbox_watch *w;
	struct seccomp_notif in;
	struct seccomp_notif_resp out;
	int64_t arg[6];
	int nr;
};

static void stop_program(struct question *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void stop_program(struct question *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->w->stopped, sizeof(q->w->stopped), fmt, ap);
	va_end(ap);
}

static void refuse_call(struct question *q, int error)
{
	q->out.error = -error;
	q->out.flags = 0;
}

/* ---- the program's memory and descriptors ---- */

/* Does the asking process still wait? Otherwise its process id may belong to another process now. */
static bool still_asks(const struct question *q)
{
	return ioctl(q->w->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &q->in.id) == 0;
}

static ssize_t read_memory(const struct question *q, uint64_t at, void *to, size_t n)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", q->in.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = pread(fd, to, n, (off_t)at);
	close(fd);
	return still_asks(q) ? got : -1;
}

/* A path is shorter than a page, and may end at the end of a page. */
static int read_path(const struct question *q, uint64_t at, char *to)
{
	size_t n = 0;

	while (n < PATH_MAX) {
		size_t room = 4096 - (at + n) % 4096, most = PATH_MAX - n < room ? PATH_MAX - n : room;
		ssize_t got = read_memory(q, at + n, to + n, most);

		if (got <= 0)
			return -1;
		if (memchr(to + n, '\0', (size_t)got))
			return 0;
		n += (size_t)got;
	}
	return -1;
}

static int take_fd(const struct question *q, int fd)
{
	int pidfd, got;
	char path[64], line[128];
	long tgid = q->in.pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", q->in.pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %ld", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	pidfd = (int)syscall(__NR_pidfd_open, (pid_t)tgid, 0);
	if (pidfd < 0)
		return -1;
	got = (int)syscall(__NR_pidfd_getfd, pidfd, fd, 0);
	close(pidfd);
	if (got >= 0 && !still_asks(q)) {
		close(got);
		return -1;
	}
	return got;
}

/* ---- writing ---- */

/* Make an absolute path without links, from the root that the process shares with the supervisor. If the file
 * does not exist, its directory counts. */
static int absolute_path(const struct question *q, int dirfd, const char *path, char *out, bool *exists)
{
	char base[PATH_MAX] = "", link[64], full[2 * PATH_MAX], *slash;
	ssize_t n = 0;

	if (path[0] != '/') {
		if (dirfd == AT_FDCWD)
			snprintf(link, sizeof(link), "/proc/%u/cwd", q->in.pid);
		else
			snprintf(link, sizeof(link), "/proc/%u/fd/%d", q->in.pid, dirfd);
		n = readlink(link, base, sizeof(base) - 1);
		if (n <= 0 || base[0] != '/')
			return -1;
		base[n] = '\0';
	}
	snprintf(full, sizeof(full), "%s/%s", base, path);
	*exists = realpath(full, out) != NULL;
	if (*exists)
		return 0;
	for (slash = full + strlen(full); slash > full && slash[-1] == '/';)
		*--slash = '\0';
	slash = strrchr(full, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	return realpath(slash == full ? "/" : full, out) ? 0 : -1;
}

/* Is the file read-only inside, but writable outside? */
static bool is_protected(const struct question *q, const char *path)
{
	char inside[PATH_MAX + 64];
	struct statvfs vfs;

	if (!strncmp(path, "/proc", 5) || !strncmp(path, "/dev/", 5))
		return false;
	snprintf(inside, sizeof(inside), "/proc/%u/root%s", q->in.pid, path);
	return !statvfs(inside, &vfs) && vfs.f_flag & ST_RDONLY && !access(path, W_OK);
}

enum deed { OPEN, CREATE, REMOVE };

static void look_at_write(struct question *q, int dirfd, uint64_t at, enum deed deed, int flags)
{
	char path[PATH_MAX], full[PATH_MAX];
	bool exists;
	struct stat st;

	q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (read_path(q, at, path) < 0 || absolute_path(q, dirfd, path, full, &exists) < 0)
		return; /* the kernel will return the error */
	if (exists ? deed == CREATE || (deed == OPEN && !(flags & (O_WRONLY | O_RDWR | O_TRUNC))) :
		     deed == REMOVE || (deed == OPEN && !(flags & O_CREAT)))
		return;
	if (exists && deed == OPEN && (stat(full, &st) || !S_ISREG(st.st_mode)))
		return;
	if (exists && deed == REMOVE) {
		char *slash = strrchr(full, '/');

		slash[slash == full] = '\0';
	}
	if (is_protected(q, full))
		stop_program(q, "it tries to write %.300s", path);
}

/* A lock of a file outside succeeds without being one: other jobs of the user may wait for that file. */
static void look_at_lock(struct question *q)
{
	int fd = take_fd(q, (int)q->arg[0]);
	struct statvfs vfs;

	if (fd >= 0 && !fstatvfs(fd, &vfs) && vfs.f_flag & ST_RDONLY)
		q->out.flags = 0;
	else
		q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (fd >= 0)
		close(fd);
}

/* ---- the network ---- */

/* Append "ADDRESS PORT" for a listening socket. If it listens on all addresses, append each address of this node. */
static void note_listener(struct question *q, int fd)
{
	struct sockaddr_storage ss;
	struct ifaddrs *all = NULL;
	socklen_t n = sizeof(ss);
	char text[INET6_ADDRSTRLEN];
	int out;

	if (getsockname(fd, (struct sockaddr *)&ss, &n) < 0 || (ss.ss_family != AF_INET && ss.ss_family != AF_INET6))
		return;
	out = open(q->w->ports, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (out < 0 || getifaddrs(&all) < 0) {
		if (out >= 0)
			close(out);
		return;
	}
	for (struct ifaddrs *a = all; a; a = a->ifa_next) {
		const void *address;

		if (!a->ifa_addr || (a->ifa_addr->sa_family != AF_INET && a->ifa_addr->sa_family != AF_INET6))
			continue;
		address = a->ifa_addr->sa_family == AF_INET ? (void *)&((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr
							    : (void *)&((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr;
		inet_ntop(a->ifa_addr->sa_family, address, text, sizeof(text));
		/* the port is at the same offset in both structures */
		dprintf(out, "%s %u\n", text, ntohs(((struct sockaddr_in *)(void *)&ss)->sin_port));
	}
	freeifaddrs(all);
	close(out);
}

/* Is this line in a file of listeners of this run, from any node? */
static bool in_ports(const struct question *q, const char *wanted)
{
	const char *dir = q->w->s->shared[0];
	char path[PATH_MAX], line[128];
	bool found = false;
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && !found && (e = readdir(d))) {
		FILE *f;

		if (strncmp(e->d_name, "ports.", 6) || snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= PATH_MAX)
			continue;
		f = fopen(path, "re");
		while (f && !found && fgets(line, sizeof(line), f)) {
			line[strcspn(line, "\n")] = '\0';
			found = !strcmp(line, wanted);
		}
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

static bool may_connect(const struct question *q, const char *address, unsigned port)
{
	struct timespec nap = {.tv_nsec = 50000000};
	char text[128];

	snprintf(text, sizeof(text), "%s:%u", address, port);
	for (const char *s = q->w->s->servers; s && (s = strstr(s, text)); s++)
		if ((s == q->w->s->servers || s[-1] == ' ') && (s[strlen(text)] == ' ' || !s[strlen(text)]))
			return true;
	snprintf(text, sizeof(text), "%s %u", address, port);
	for (int ms = 0; ms < PORT_WAIT_MS; ms += 50) {
		if (in_ports(q, text))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* Decide on a socket with a name in the sandbox's or a shared directory. */
static void look_at_unix(struct question *q, const struct sockaddr_un *un, size_t len)
{
	char path[sizeof(un->sun_path) + 1] = "", inside[PATH_MAX + 64];
	struct statvfs vfs;

	if (len <= offsetof(struct sockaddr_un, sun_path) || !un->sun_path[0]) {
		/* no name in the file system: in the node's network, the socket may belong to another program */
		if (q->w->s->network)
			refuse_call(q, ECONNREFUSED);
		else
			q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		return;
	}
	memcpy(path, un->sun_path, len - offsetof(struct sockaddr_un, sun_path));
	snprintf(inside, sizeof(inside), "/proc/%u/%s/%s", q->in.pid, path[0] == '/' ? "root" : "cwd", path);
	if (statvfs(inside, &vfs) < 0)
		refuse_call(q, errno);
	else if (vfs.f_flag & ST_RDONLY)
		refuse_call(q, ECONNREFUSED);
	else
		q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void connect_for(struct question *q, int fd, const struct sockaddr_storage *ss, size_t len)
{
	q->out.flags = 0;
	q->out.error = connect(fd, (const struct sockaddr *)ss, (socklen_t)len) < 0 ? -errno : 0;
}

static void look_at_connect(struct question *q)
{
	struct sockaddr_storage ss = {0};
	size_t len = (uint32_t)q->arg[2] < sizeof(ss) ? (uint32_t)q->arg[2] : sizeof(ss);
	int fd, type = 0, domain = 0;
	socklen_t n = sizeof(type);
	char address[INET6_ADDRSTRLEN] = "";
	unsigned port;

	if (len < sizeof(sa_family_t) || read_memory(q, (uint64_t)q->arg[1], &ss, len) != (ssize_t)len)
		return refuse_call(q, EFAULT);
	fd = take_fd(q, (int)q->arg[0]);
	if (fd < 0)
		return refuse_call(q, EBADF);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
	n = sizeof(domain);
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n);
	/* The kernel reads the address of such a socket again. By then it may be another, but it is a name of a file. */
	if (domain == AF_UNIX) {
		close(fd);
		return look_at_unix(q, (struct sockaddr_un *)&ss, len);
	}
	if (ss.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&ss)->sin_addr, address, sizeof(address));
	else if (ss.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&ss)->sin6_addr, address, sizeof(address));
	port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	if (ss.ss_family == AF_UNSPEC || ss.ss_family == AF_NETLINK)
		connect_for(q, fd, &ss, len);
	else if (!address[0] || type != SOCK_STREAM)
		refuse_call(q, ENETUNREACH); /* mostly name lookups */
	else if (q->w->s->network ? may_connect(q, address, port) : !strncmp(address, "127.", 4) || !strcmp(address, "::1"))
		connect_for(q, fd, &ss, len);
	else
		stop_program(q, "it tries to connect to %s port %u", address, port);
	close(fd);
}

/* Decide on a datagram to a named socket: UCX wakes its own processes so. Without an address, it goes to the
 * connected peer. */
static void look_at_unix_send(struct question *q)
{
	struct sockaddr_un un = {0};
	struct msghdr m = {.msg_name = (void *)(uintptr_t)q->arg[4], .msg_namelen = (socklen_t)q->arg[5]};

	if (q->nr == __NR_sendmmsg)
		return refuse_call(q, EPERM);
	if (q->nr == __NR_sendmsg && read_memory(q, (uint64_t)q->arg[1], &m, sizeof(m)) != sizeof(m))
		return refuse_call(q, EFAULT);
	if (m.msg_namelen > sizeof(un))
		return refuse_call(q, EINVAL);
	if (!m.msg_name)
		q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (read_memory(q, (uint64_t)(uintptr_t)m.msg_name, &un, m.msg_namelen) != (ssize_t)m.msg_namelen)
		refuse_call(q, EFAULT);
	else
		look_at_unix(q, &un, m.msg_namelen);
}

/* Decide on a message with an address. For streams the address has no meaning. */
static void look_at_send(struct question *q)
{
	int fd = take_fd(q, (int)q->arg[0]), type = 0, domain = 0;
	socklen_t n = sizeof(type);
	struct sockaddr_storage ss;

	if (fd < 0)
		return refuse_call(q, EBADF);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n);
	n = sizeof(domain);
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n);
	n = sizeof(ss);
	/* a socket pair is connected and keeps its address */
	if (type == SOCK_STREAM || domain == AF_NETLINK || (domain == AF_UNIX && !getpeername(fd, (struct sockaddr *)&ss, &n)))
		q->out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (domain == AF_UNIX)
		look_at_unix_send(q);
	else
		refuse_call(q, EPERM);
	close(fd);
}

static void look_at_listen(struct question *q)
{
	int fd = take_fd(q, (int)q->arg[0]);

	if (fd < 0)
		return refuse_call(q, EBADF);
	q->out.error = listen(fd, (int)q->arg[1]) < 0 ? -errno : 0;
	if (!q->out.error)
		note_listener(q, fd);
	close(fd);
}

/* ---- all questions ---- */

static void decide_call(struct question *q)
{
	const int64_t *a = q->arg;

	switch (q->nr) {
	case __NR_connect: return look_at_connect(q);
	case __NR_listen: return look_at_listen(q);
	case __NR_flock: case __NR_fcntl: return look_at_lock(q);
	case __NR_sendto: case __NR_sendmsg: case __NR_sendmmsg: return look_at_send(q);
	case __NR_openat: return look_at_write(q, (int)a[0], (uint64_t)a[1], OPEN, (int)a[2]);
	case __NR_mkdirat: case __NR_mknodat: return look_at_write(q, (int)a[0], (uint64_t)a[1], CREATE, 0);
	case __NR_unlinkat: return look_at_write(q, (int)a[0], (uint64_t)a[1], REMOVE, 0);
	case __NR_symlinkat: return look_at_write(q, (int)a[1], (uint64_t)a[2], CREATE, 0);
	case __NR_linkat:
#ifdef __NR_renameat
	case __NR_renameat:
#endif
	case __NR_renameat2: return look_at_write(q, (int)a[2], (uint64_t)a[3], q->nr == __NR_linkat ? CREATE : OPEN, O_CREAT | O_WRONLY);
	case __NR_truncate: return look_at_write(q, AT_FDCWD, (uint64_t)a[0], OPEN, O_WRONLY);
#ifdef __NR_mkdir
	case __NR_open: return look_at_write(q, AT_FDCWD, (uint64_t)a[0], OPEN, (int)a[1]);
	case __NR_creat: return look_at_write(q, AT_FDCWD, (uint64_t)a[0], OPEN, O_CREAT | O_WRONLY);
	case __NR_mkdir: case __NR_mknod: return look_at_write(q, AT_FDCWD, (uint64_t)a[0], CREATE, 0);
	case __NR_rmdir: case __NR_unlink: return look_at_write(q, AT_FDCWD, (uint64_t)a[0], REMOVE, 0);
	case __NR_symlink: case __NR_link: return look_at_write(q, AT_FDCWD, (uint64_t)a[1], CREATE, 0);
	case __NR_rename: return look_at_write(q, AT_FDCWD, (uint64_t)a[1], OPEN, O_CREAT | O_WRONLY);
#endif
	default: return refuse_call(q, EPERM);
	}
}

bool sandbox_watch_one(struct sandbox_watch *w)
{
	struct question q = {.w = w};

	if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &q.in) < 0)
		return true;
	q.nr = q.in.data.nr;
	for (int i = 0; i < 6; i++)
		q.arg[i] = (int64_t)q.in.data.args[i];
	q.out.id = q.in.id;
	decide_call(&q);
	if (!still_asks(&q)) { /* the answer may belong to another process */
		w->stopped[0] = '\0';
		return true;
	}
	if (w->stopped[0])
		return false;
	ioctl(w->listener, SECCOMP_IOCTL_NOTIF_SEND, &q.out);
	return true;
}
