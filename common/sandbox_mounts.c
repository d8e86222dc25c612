/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file systems that a program in the sandbox sees. All are read-only, with private copies over writable
 * directories. /dev has harmless devices and the devices of the MPI network; /proc shows the sandbox's processes.
 * See sandbox.h.
 *
 * Paths of users are passed to mount(2) as descriptors (/proc/self/fd/N), so no character in them has a special
 * meaning.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sandbox_impl.h"

#define SUBMOUNTS_MAX 256

static int set_readonly(const char *path, bool readonly, bool below, struct errbuf *err)
{
	struct mount_attr a = {0};

	if (readonly)
		a.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
	else
		a.attr_clr = MOUNT_ATTR_RDONLY;
	if (syscall(__NR_mount_setattr, AT_FDCWD, path, below ? AT_RECURSIVE : 0, &a, sizeof(a)) < 0)
		return err_set(err, "%s cannot be made %s: %s", path, readonly ? "read-only" : "writable", strerror(errno));
	return 0;
}

static int tree_clone(int at, const char *path)
{
	return (int)syscall(__NR_open_tree, at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
}

static int tree_attach(int tree, const char *path)
{
	return (int)syscall(__NR_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* ---- mounts below a directory, which an overlay would hide ---- */

struct submounts {
	char *path[SUBMOUNTS_MAX];
	int tree[SUBMOUNTS_MAX];
	unsigned n;
	bool failed;
};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	return !strncmp(path, dir, n) && path[n] == '/' && path[n + 1];
}

/* Decode \040 and similar escapes in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}

static void submounts_take(struct submounts *m, const char *dir)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[8192], path[PATH_MAX];

	m->failed = !f;
	while (f && fgets(line, sizeof(line), f)) {
		bool covered = false;

		if (sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1)
			continue;
		unescape(path);
		for (unsigned i = 0; i < m->n; i++)
			covered = covered || is_below(path, m->path[i]) || !strcmp(path, m->path[i]);
		if (covered || !is_below(path, dir))
			continue;
		if (m->n == SUBMOUNTS_MAX || !(m->path[m->n] = strdup(path))) {
			m->failed = true;
			break;
		}
		m->tree[m->n++] = tree_clone(AT_FDCWD, path);
	}
	if (f)
		fclose(f);
}

static void submounts_return(struct submounts *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		if (m->tree[i] >= 0) {
			tree_attach(m->tree[i], m->path[i]);
			close(m->tree[i]);
		}
		free(m->path[i]);
	}
}

/* ---- private copies ---- */

struct stage {
	const char *where; /* a directory that is covered by a tmpfs meanwhile */
	int fd;
	unsigned n;
	struct {
		char path[PATH_MAX];
		dev_t dev; /* device of the overlay */
	} done[SANDBOX_DIRS_MAX];
};

static int stage_begin(struct stage *st, const char *where, uint64_t memory, struct errbuf *err)
{
	char options[64];

	*st = (struct stage){.where = where, .fd = -1};
	snprintf(options, sizeof(options), "size=%llu,mode=0700", (unsigned long long)memory);
	if (mount("sandbox", where, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ||
	    (st->fd = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return err_set(err, "no memory file system in the sandbox: %s", strerror(errno));
	return 0;
}

/* Is the path in a copied directory, and not on a mount below it? */
static bool is_copied(const struct stage *st, const char *path)
{
	struct stat now;

	for (unsigned i = 0; i < st->n; i++)
		if ((is_below(path, st->done[i].path) || !strcmp(path, st->done[i].path)) && !stat(path, &now) &&
		    now.st_dev == st->done[i].dev)
			return true;
	return false;
}

static int overlay_mount(struct stage *st, const char *path, struct errbuf *err)
{
	char options[256], upper[16], work[16];
	struct submounts below = {0};
	struct stat now;
	int lower = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), rv = -1;

	snprintf(upper, sizeof(upper), "u%u", st->n);
	snprintf(work, sizeof(work), "w%u", st->n);
	if (lower < 0 || fstat(lower, &now) < 0 || mkdirat(st->fd, upper, 0700) < 0 || mkdirat(st->fd, work, 0700) < 0 ||
	    fchmodat(st->fd, upper, now.st_mode & 07777, 0) < 0)
		goto out;
	submounts_take(&below, path);
	snprintf(options, sizeof(options), "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/%s,workdir=/proc/self/fd/%d/%s,"
		 "userxattr", lower, st->fd, upper, st->fd, work);
	if (below.failed || mount("sandbox", path, "overlay", MS_NOSUID, options) < 0 || stat(path, &now) < 0)
		goto out;
	submounts_return(&below);
	snprintf(st->done[st->n].path, sizeof(st->done[0].path), "%s", path);
	st->done[st->n++].dev = now.st_dev;
	rv = 0;
out:
	if (rv < 0)
		err_set(err, "no private copy of %s: %s%s%s", path, strerror(errno), below.n ? "; a file system is mounted in it: " : "",
			below.n ? below.path[0] : "");
	if (lower >= 0)
		close(lower);
	return rv;
}

static int by_length(const void *a, const void *b)
{
	size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);

	return x < y ? -1 : x > y;
}

static int overlay_all(struct stage *st, const struct sandbox *s, struct errbuf *err)
{
	char *path[SANDBOX_DIRS_MAX];
	unsigned n = 0;
	int rv = 0;

	for (unsigned i = 0; i < SANDBOX_DIRS_MAX && s->overlay[i]; i++) {
		path[n] = realpath(s->overlay[i], NULL);
		if (path[n] && strcmp(path[n], "/") && strncmp(path[n], "/proc", 5) && strncmp(path[n], "/dev", 4) &&
		    strncmp(path[n], "/sys", 4))
			n++;
		else
			free(path[n]);
	}
	qsort(path, n, sizeof(*path), by_length);
	for (unsigned i = 0; i < n; i++) {
		if (!rv && !is_copied(st, path[i]))
			rv = overlay_mount(st, path[i], err);
		free(path[i]);
	}
	return rv;
}

/* ---- devices ---- */

static const char *const devices[] = {
	"null", "zero", "full", "random", "urandom", "tty",
	/* devices of networks and accelerators that MPI libraries use */
	"infiniband", "hfi1*", "ipath*", "psm*", "cxi*", "kgni*", "knem", "xpmem", "uverbs*", "ucm*", "nvidia*", "kfd", "dri",
	"gdrdrv",
};
#define N_DEVICES     (sizeof(devices) / sizeof(*devices))
#define DEVICES_FOUND 64

static int devices_mount(struct errbuf *err)
{
	static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"},
					       {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}};
	char pattern[64];
	glob_t g = {0};
	int tree[DEVICES_FOUND], rv = 0;
	struct stat is;

	for (size_t i = 0; i < N_DEVICES; i++) {
		snprintf(pattern, sizeof(pattern), "/dev/%s", devices[i]);
		glob(pattern, i ? GLOB_APPEND : 0, NULL, &g);
	}
	for (size_t i = 0; i < g.gl_pathc && i < DEVICES_FOUND; i++)
		tree[i] = tree_clone(AT_FDCWD, g.gl_pathv[i]);
	if (mount("sandbox", "/dev", "tmpfs", MS_NOSUID, "size=64k,mode=0755") < 0)
		rv = err_set(err, "no /dev in the sandbox: %s", strerror(errno));
	for (size_t i = 0; i < g.gl_pathc && i < DEVICES_FOUND; i++) {
		if (tree[i] < 0)
			continue;
		if (!rv && !fstat(tree[i], &is)) {
			if (S_ISDIR(is.st_mode))
				mkdir(g.gl_pathv[i], 0755);
			else
				close(open(g.gl_pathv[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
			if (tree_attach(tree[i], g.gl_pathv[i]) < 0)
				rv = err_set(err, "no %s in the sandbox: %s", g.gl_pathv[i], strerror(errno));
		}
		close(tree[i]);
	}
	globfree(&g);
	for (size_t i = 0; i < 4 && !rv; i++)
		rv = symlink(links[i][0], links[i][1]);
	if (!rv && (mkdir("/dev/shm", 01777) < 0 || mount("sandbox", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0))
		rv = err_set(err, "no shared memory in the sandbox: %s", strerror(errno));
	return rv;
}

/* ---- all of it ---- */

static int shared_take(const struct sandbox *s, int *tree, struct errbuf *err)
{
	for (unsigned i = 0; i < SANDBOX_DIRS_MAX && s->shared[i]; i++) {
		tree[i] = tree_clone(AT_FDCWD, s->shared[i]);
		if (tree[i] < 0)
			return err_set(err, "%s: %s", s->shared[i], strerror(errno));
	}
	return 0;
}

static int shared_return(const struct sandbox *s, const int *tree, struct errbuf *err)
{
	for (unsigned i = 0; i < SANDBOX_DIRS_MAX && s->shared[i]; i++) {
		if (tree_attach(tree[i], s->shared[i]) < 0)
			return err_set(err, "%s cannot be shared: %s", s->shared[i], strerror(errno));
		close(tree[i]);
		if (set_readonly(s->shared[i], false, false, err) < 0)
			return -1;
	}
	return 0;
}

int sandbox_mount(const struct sandbox *s, struct errbuf *err)
{
	int tree[SANDBOX_DIRS_MAX];
	struct stage st;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_set(err, "mounts cannot be made private: %s", strerror(errno));
	if (shared_take(s, tree, err) < 0 || stage_begin(&st, s->shared[0], s->memory ? s->memory : SANDBOX_MEMORY, err) < 0 ||
	    overlay_all(&st, s, err) < 0 || devices_mount(err) < 0)
		return -1;
	close(st.fd);
	/* the copies keep it alive */
	if (umount2(st.where, MNT_DETACH) < 0)
		return err_set(err, "%s: %s", st.where, strerror(errno));
	if (set_readonly("/", true, true, err) < 0 || set_readonly("/dev/shm", false, false, err) < 0)
		return -1;
	for (unsigned i = 0; i < st.n; i++)
		if (set_readonly(st.done[i].path, false, false, err) < 0)
			return -1;
	if (shared_return(s, tree, err) < 0)
		return -1;
	return chdir(s->dir) < 0 ? err_set(err, "%s: %s", s->dir, strerror(errno)) : 0;
}

int sandbox_mount_proc(struct errbuf *err)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) < 0)
		return err_set(err, "no /proc of its own: %s", strerror(errno));
	return 0;
}
