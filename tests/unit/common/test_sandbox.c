/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox. This program runs itself inside with the name of an action. Outside, the test checks that no file
 * has changed by a byte, and the sandbox's answer. Without namespaces, all tests are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/sandbox.h"

static char self[4096], base[64], work[80], home[80], other[80], shared[80];

static void spew(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(50);
}

static bool holds(const char *dir, const char *name, const char *text)
{
	char path[256], got[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return !text;
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	return text && !strcmp(got, text);
}

/* ---- deeds: exit status 0 when it went as it should inside ---- */

static int deed_write(char **a)
{
	char from[256], to[256];

	for (int i = 0; i < 2; i++) {
		const char *dir = a[i];

		if (!holds(dir, "old", "old\n"))
			return 1;
		spew(dir, "old", "changed");
		spew(dir, "new", "new");
		snprintf(from, sizeof(from), "%s/new", dir);
		snprintf(to, sizeof(to), "%s/moved", dir);
		if (!holds(dir, "old", "changed") || rename(from, to) || chmod(to, 0600))
			return 2;
		snprintf(from, sizeof(from), "%s/gone", dir);
		snprintf(to, sizeof(to), "%s/sub/deep", dir);
		if (unlink(from) || mkdir(to, 0700) || !holds(dir, "gone", NULL))
			return 3;
	}
	return 0;
}

static int deed_open(char **a) { return open(a[0], O_WRONLY | O_CREAT, 0600) < 0 ? 1 : 0; }
static int deed_truncate(char **a) { return truncate(a[0], 0) ? 1 : 0; }
static int deed_mkdir(char **a) { return mkdir(a[0], 0700) ? 1 : 0; }
static int deed_unlink(char **a) { return unlink(a[0]) ? 1 : 0; }
static int deed_rename(char **a) { return rename(a[0], a[1]) ? 1 : 0; }
static int deed_chmod(char **a) { return chmod(a[0], 0777) && errno == EROFS ? 0 : 1; }
static int deed_exit(char **a) { return atoi(a[0]); }

static int deed_read_only(char **a)
{
	return open(a[0], O_RDONLY) >= 0 && open(a[0], O_RDONLY | O_CREAT, 0600) >= 0 && mkdir("/", 0700) && errno == EEXIST ?
		       0 : 1;
}

static int deed_signal(char **a)
{
	(void)a;
	raise(SIGTERM);
	return 0;
}

static int deed_sleep(char **a)
{
	(void)a;
	pause();
	return 0;
}

static int deed_kill(char **a)
{
	return kill(atoi(a[0]), SIGKILL) && errno == ESRCH && kill(-1, SIGKILL) && errno == ESRCH ? 0 : 1;
}

static int try_connect(const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) ? -1 : fd;
}

static int deed_connect(char **a) { return try_connect(a[0]) < 0 ? 0 : 1; }

static int deed_datagram(char **a)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[0])),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct iovec v = {"x", 1};
	struct msghdr m = {.msg_name = &in, .msg_namelen = sizeof(in), .msg_iov = &v, .msg_iovlen = 1};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return sendto(fd, "x", 1, 0, (struct sockaddr *)&in, sizeof(in)) < 0 && sendmsg(fd, &m, 0) < 0 &&
	       connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ? 0 : 1;
}

static int deed_unix(char **a)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", a[0]);
	return connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ? 0 : 1;
}

/* Its own listener, and a socket pair with a message, as MPI uses them. */
static int deed_own(char **a)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2], peer;
	struct iovec v = {"x", 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	socklen_t n = sizeof(in);
	char port[16];

	(void)a;
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) || listen(fd, 4) || getsockname(fd, (struct sockaddr *)&in, &n))
		return 1;
	snprintf(port, sizeof(port), "%u", ntohs(in.sin_port));
	peer = try_connect(port);
	if (peer < 0 || accept(fd, NULL, NULL) < 0 || sendmsg(peer, &m, 0) != 1)
		return 2;
	return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || sendmsg(pair[0], &m, 0) != 1 || send(pair[1], "x", 1, 0) != 1 ? 3 : 0;
}

static int deed_shm(char **a)
{
	int fd = shm_open(a[0], O_RDWR | O_CREAT, 0600);
	char *p;

	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	p[0] = 1;
	return 0;
}

/* Its own file can be locked, and a file outside only seems to be. Says so in the first argument, and waits for the second. */
static int deed_lock(char **a)
{
	struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = open(a[0], O_RDONLY), again = open(a[0], O_RDONLY);
	char byte;

	if (flock(fd, LOCK_EX | LOCK_NB) || fcntl(fd, F_SETLK, &l) || fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_RDLCK}))
		return 1;
	if (a[1] && (write(STDOUT_FILENO, "", 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1))
		return 2;
	return flock(again, LOCK_EX | LOCK_NB) ? 3 : 0;
}

/* An address that is changed while it is looked at, ever sooner, of a socket of the internet. */
static struct sockaddr_storage changing;
static struct sockaddr_in outside;
static unsigned turns, turn; /* turn: to be changed when it is odd */

static void *change(void *unused)
{
	(void)unused;
	for (;;) {
		while (!(__atomic_load_n(&turn, __ATOMIC_ACQUIRE) & 1))
			;
		for (volatile unsigned i = 0; i < turns; i++)
			;
		memcpy(&changing, &outside, sizeof(outside));
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int deed_change(char **a)
{
	static const struct sockaddr_un harmless = {.sun_family = AF_UNIX, .sun_path = "/dev/shm"};
	struct sockaddr_storage peer;
	pthread_t t;

	outside = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[0])),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (pthread_create(&t, NULL, change, NULL))
		return 1;
	for (turns = 1u << 20; turns > 1000; turns -= turns / 100) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		memcpy(&changing, &harmless, sizeof(harmless));
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
		connect(fd, (struct sockaddr *)&changing, sizeof(harmless));
		if (!getpeername(fd, (struct sockaddr *)&peer, &(socklen_t){sizeof(peer)}))
			return 2;
		close(fd);
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) & 1)
			;
	}
	return 0;
}

static int deed_privileges(char **a)
{
	(void)a;
	return ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 && errno == EPERM && mount("x", "/mnt", "tmpfs", 0, NULL) < 0 &&
	       errno == EPERM && unshare(CLONE_NEWUSER) < 0 && errno == EPERM && syscall(__NR_keyctl, 0, 0) < 0 &&
	       errno == EPERM && socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) < 0 && socket(AF_PACKET, SOCK_DGRAM, 0) < 0 &&
	       chroot("/") < 0 && umount2("/dev/shm", MNT_DETACH) < 0 && setuid(geteuid() + 1) < 0 &&
	       syscall(__NR_io_uring_setup, 1, NULL) < 0 && errno == ENOSYS && access("/dev/mem", F_OK) < 0 ? 0 : 1;
}

static const struct {
	const char *name;
	int (*f)(char **arguments);
} deeds[] = {
	{"write", deed_write}, {"open", deed_open}, {"truncate", deed_truncate}, {"mkdir", deed_mkdir}, {"unlink", deed_unlink},
	{"rename", deed_rename}, {"chmod", deed_chmod}, {"exit", deed_exit}, {"read-only", deed_read_only},
	{"signal", deed_signal}, {"sleep", deed_sleep}, {"kill", deed_kill}, {"connect", deed_connect},
	{"datagram", deed_datagram}, {"unix", deed_unix}, {"own", deed_own}, {"shm", deed_shm}, {"privileges", deed_privileges},
	{"lock", deed_lock}, {"change", deed_change},
};

static int do_deed(char **argv)
{
	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++)
		if (!strcmp(deeds[i].name, argv[1]))
			return deeds[i].f(argv + 2);
	return 99;
}

/* ---- outside ---- */

static uint64_t snapshot;

static int add_to_snapshot(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	const uint64_t numbers[] = {st->st_mode, st->st_ino, (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
				    (uint64_t)st->st_size, (uint64_t)st->st_ctim.tv_nsec};
	char text[256];
	FILE *f = S_ISREG(st->st_mode) ? fopen(path, "r") : NULL;
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	(void)flag;
	(void)ftw;
	for (size_t i = 0; i < sizeof(numbers); i++)
		snapshot = snapshot * 1099511628211u ^ ((const unsigned char *)numbers)[i];
	for (size_t i = 0; i < n; i++)
		snapshot = snapshot * 1099511628211u ^ (unsigned char)text[i];
	for (; *path; path++)
		snapshot = snapshot * 1099511628211u ^ (unsigned char)*path;
	if (f)
		fclose(f);
	return 0;
}

static uint64_t take_snapshot(void)
{
	const char *all[] = {work, home, other};

	snapshot = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(nftw(all[i], add_to_snapshot, 16, FTW_PHYS), 0);
	return snapshot;
}

static struct errbuf why;

static int run_in(struct sandbox *s, const char *deed, const char *a, const char *b)
{
	char *argv[] = {self, (char *)deed, (char *)a, (char *)b, NULL};
	uint64_t before = take_snapshot();
	int rc;

	s->dir = work;
	s->overlay[0] = work;
	s->overlay[1] = home;
	s->shared[0] = shared;
	s->memory = 16 << 20;
	s->limit_s = s->limit_s > 0 ? s->limit_s : 60;
	why.text[0] = '\0';
	rc = sandbox_run(s, argv, &why);
	assert_true(take_snapshot() == before);
	return rc;
}

static int run(const char *deed, const char *a, const char *b)
{
	struct sandbox s = {0};

	return run_in(&s, deed, a, b);
}

static void assert_stopped(const char *deed, const char *a, const char *b, const char *said)
{
	int rc = run(deed, a, b);

	if (rc != -1 || !strstr(why.text, said))
		fail_msg("%s %s: %d, %s", deed, a, rc, why.text);
}

static char *in_other(const char *name)
{
	static char path[2][256];
	static int k;

	k = !k;
	snprintf(path[k], sizeof(path[k]), "%s/%s", other, name);
	return path[k];
}

static void test_writes_are_private(void **state)
{
	(void)state;
	assert_int_equal(run("write", work, home), 0);
	assert_true(holds(work, "old", "old\n") && holds(home, "gone", "gone\n"));
}

static void test_writing_elsewhere_is_stopped(void **state)
{
	(void)state;
	assert_stopped("open", in_other("new"), NULL, "stopped: it tries to write");
	assert_stopped("open", in_other("old"), NULL, "stopped: it tries to write");
	assert_stopped("truncate", in_other("old"), NULL, "stopped: it tries to write");
	assert_stopped("mkdir", in_other("dir"), NULL, "stopped: it tries to write");
	assert_stopped("unlink", in_other("gone"), NULL, "stopped: it tries to write");
	assert_stopped("rename", in_other("old"), in_other("renamed"), "stopped: it tries to write");
	assert_stopped("open", "link/new", NULL, "stopped: it tries to write");
	assert_stopped("open", "../other/new", NULL, "stopped: it tries to write");
	assert_int_equal(run("chmod", in_other("old"), NULL), 0);
	assert_int_equal(run("read-only", in_other("old"), NULL), 0);
}

static void test_network(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sandbox s = {.network = true};
	socklen_t n = sizeof(in);
	char port[16], c;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)) | listen(fd, 4) |
			 getsockname(fd, (struct sockaddr *)&in, &n), 0);
	assert_int_equal(bind(udp, (struct sockaddr *)&in, sizeof(in)), 0);
	snprintf(port, sizeof(port), "%u", ntohs(in.sin_port));
	assert_int_equal(run("connect", port, NULL), 0);
	assert_int_equal(run("datagram", port, NULL), 0);
	assert_int_equal(run("own", NULL, NULL), 0);
	/* With the node's network, only its own sockets are reachable. */
	assert_int_equal(run_in(&s, "connect", port, NULL), -1);
	assert_non_null(strstr(why.text, "it tries to connect to 127.0.0.1"));
	assert_int_equal(run_in(&s, "datagram", port, NULL), 0);
	assert_int_equal(run_in(&s, "own", NULL, NULL), 0);
	s.servers = (char[64]){0};
	snprintf((char *)s.servers, 64, "10.1.2.3:4 127.0.0.1:%s", port);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(run_in(&s, "connect", port, NULL), 1); /* this server was named */
	assert_true(accept(fd, NULL, NULL) >= 0);
	assert_int_equal(recv(udp, &c, 1, 0), -1);
	close(fd);
	close(udp);
}

static void test_sockets_of_files(void **state)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)state;
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/socket", other);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)) | listen(fd, 4), 0);
	assert_int_equal(run("unix", un.sun_path, NULL), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	close(fd);
	unlink(un.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/socket", work);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)) | listen(fd, 4), 0);
	assert_int_equal(run("unix", un.sun_path, NULL), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	close(fd);
	unlink(un.sun_path);
}

static void test_processes(void **state)
{
	pid_t child = fork();
	char pid[16];

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "%d", (int)child);
	assert_int_equal(run("kill", pid, NULL), 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The program holds a lock while another process of the user takes it. */
static void test_locks(void **state)
{
	char path[128];
	int fd, told[2], go[2], status;
	pid_t child;

	(void)state;
	snprintf(path, sizeof(path), "%s/old", other);
	assert_int_equal(pipe(told) | pipe(go), 0);
	child = fork();
	if (!child) {
		dup2(go[0], STDIN_FILENO);
		dup2(told[1], STDOUT_FILENO);
		close(told[0]);
		close(told[1]);
		close(go[1]);
		_exit(run("lock", path, "wait"));
	}
	close(told[1]);
	close(go[0]);
	assert_int_equal(read(told[0], path + 100, 1), 1);
	fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd);
	close(told[0]);
	close(go[1]);
	snprintf(path, sizeof(path), "%s/old", home);
	assert_int_equal(run("lock", path, NULL), 3); /* a lock of its own file holds */
}

static void test_address_that_changes(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), rc;
	struct sandbox s = {.network = true};
	socklen_t n = sizeof(in);
	char port[16];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)) | listen(fd, 4) |
			 getsockname(fd, (struct sockaddr *)&in, &n), 0);
	snprintf(port, sizeof(port), "%u", ntohs(in.sin_port));
	rc = run_in(&s, "change", port, NULL);
	if (rc != 0 && (rc != -1 || !strstr(why.text, "it tries to connect to 127.0.0.1")))
		fail_msg("%d, %s", rc, why.text);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	close(fd);
}

static void test_privileges(void **state)
{
	(void)state;
	assert_int_equal(run("privileges", NULL, NULL), 0);
}

static void test_shared_memory(void **state)
{
	char name[64], path[96];

	(void)state;
	snprintf(name, sizeof(name), "/precedent-test-%ld", (long)getpid());
	snprintf(path, sizeof(path), "/dev/shm%s", name);
	assert_int_equal(run("shm", name, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_ends(void **state)
{
	struct sandbox s = {.limit_s = 0.5};
	char *const none[] = {"/nonexistent/program", NULL};

	(void)state;
	assert_int_equal(run("exit", "7", NULL), 7);
	assert_int_equal(run("signal", NULL, NULL), 128 + SIGTERM);
	assert_int_equal(run_in(&s, "sleep", NULL, NULL), -1);
	assert_non_null(strstr(why.text, "did not end"));
	s.limit_s = 60; /* on a busy machine, making a sandbox may take longer than the other one's run */
	assert_int_equal(sandbox_run(&s, none, &why), -1);
	assert_non_null(strstr(why.text, "/nonexistent/program"));
	s.shared[0] = "/nonexistent";
	assert_int_equal(run("exit", "0", NULL), 0);
	assert_int_equal(sandbox_run(&s, none, &why), -1);
}

/* The second process joins the sandbox of the first, and sees its files. */
static void test_join(void **state)
{
	struct sandbox s = {.join = "node", .first = true, .network = true};
	char path[128];
	int status;
	pid_t first = fork();

	(void)state;
	if (!first) {
		char *argv[] = {"sh", "-c", "echo x > made; while [ ! -e seen ]; do sleep 0.02; done", NULL};

		s.dir = work;
		s.overlay[0] = work;
		s.shared[0] = shared;
		s.limit_s = 60;
		_exit(sandbox_run(&s, argv, &why) == 0 ? 0 : 1);
	}
	s.first = false;
	s.dir = work;
	s.shared[0] = shared;
	s.limit_s = 60;
	char *argv[] = {"sh", "-c", "while [ ! -s made ]; do sleep 0.02; done; echo > seen", NULL};

	assert_int_equal(sandbox_run(&s, argv, &why), 0);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(status, 0);
	snprintf(path, sizeof(path), "%s/made", work);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/node.node", shared);
	unlink(path);
}

/* ---- all of it ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int set_up(void **state)
{
	char *dirs[] = {work, home, other};

	(void)state;
	snprintf(base, sizeof(base), "/tmp/sandbox-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(work, sizeof(work), "%s/work", base);
	snprintf(home, sizeof(home), "%s/home", base);
	snprintf(other, sizeof(other), "%s/other", base);
	snprintf(shared, sizeof(shared), "%s/shared", base);
	mkdir(shared, 0700);
	for (int i = 0; i < 3; i++) {
		char sub[128];

		mkdir(dirs[i], 0755);
		snprintf(sub, sizeof(sub), "%s/sub", dirs[i]);
		mkdir(sub, 0755);
		spew(dirs[i], "old", "old\n");
		spew(dirs[i], "gone", "gone\n");
	}
	char link[128];

	snprintf(link, sizeof(link), "%s/link", work);
	return symlink(other, link);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes_are_private), cmocka_unit_test(test_writing_elsewhere_is_stopped),
		cmocka_unit_test(test_network), cmocka_unit_test(test_sockets_of_files), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_locks), cmocka_unit_test(test_address_that_changes), cmocka_unit_test(test_privileges), cmocka_unit_test(test_shared_memory), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_join),
	};
	struct errbuf err;

	if (argc > 1)
		_exit(do_deed(argv)); /* a leak checker would use ptrace */
	if (readlink("/proc/self/exe", self, sizeof(self) - 16) < 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (sandbox_check(&err) < 0) {
		printf("1..0 # SKIP no sandbox here: %s\n", err.text);
		return 0;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
