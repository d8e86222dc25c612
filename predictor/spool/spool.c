/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Careful looks into the spool directory: see spool.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/fd.h"
#include "predictor/spool/spool.h"

#define LOOK_NAMES  4096 /* names that one look reads: users may make any number */
#define ROOM_MIN    (1u << 20) /* bytes: a trace of the smallest job, and reserve of the file system */
#define DIR_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/* Open the directory `number` in parent, which must belong to uid. */
static int numbered_open(int parent, uint32_t number, uid_t uid, const char *what, enum spool_gap missing,
			 enum spool_gap *gap, struct errbuf *errp)
{
	struct stat st;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%u", number);
	fd = fd_open_here(parent, name, DIR_FLAGS);
	if (fd < 0) {
		*gap = errno == ENOENT ? missing : SPOOL_UNSAFE;
		return err_set(errp, "%s: %s", what, strerror(errno));
	}
	if (fstat(fd, &st) < 0 || st.st_uid != uid) {
		close(fd);
		*gap = SPOOL_UNSAFE;
		return err_set(errp, "%s does not belong to uid %u", what, (unsigned)uid);
	}
	return fd;
}

int spool_job_open(const char *spool_dir, uid_t uid, uint32_t job_id, enum spool_gap *gap, struct errbuf *errp)
{
	int root, user, job = -1;
	enum spool_gap unused;
	char what[512];

	if (!gap)
		gap = &unused;
	root = open(spool_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		*gap = SPOOL_NO_ROOT;
		return err_set(errp, "%s: %s", spool_dir, strerror(errno));
	}
	snprintf(what, sizeof(what), "%.480s/%u", spool_dir, (unsigned)uid);
	user = numbered_open(root, (uint32_t)uid, uid, what, SPOOL_NO_USER, gap, errp);
	if (user >= 0) {
		snprintf(what, sizeof(what), "%.480s/%u/%u", spool_dir, (unsigned)uid, job_id);
		job = numbered_open(user, job_id, uid, what, SPOOL_NO_JOB, gap, errp);
		close(user);
	}
	close(root);
	if (job >= 0)
		*gap = SPOOL_THERE;
	return job;
}

static int is_own_file(int dirfd, const char *name, uid_t uid)
{
	struct stat st;

	return fd_stat_here(dirfd, name, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

bool spool_is_trace(const char *name)
{
	if (strlen(name) >= SPOOL_NAME_SIZE || name[0] == '.' || !ends_in(name, ".ptrace") ||
	    ends_in(name, ".partial.ptrace") || ends_in(name, ".spawned.ptrace"))
		return false;
	for (const char *p = name; *p; p++)
		if (*p <= 0x20 || *p > 0x7e || *p == '/')
			return false;
	return true;
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* A directory stream with a read position of its own. */
static DIR *dir_open(int dirfd)
{
	int fd = openat(dirfd, ".", DIR_FLAGS);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

int spool_traces(int dirfd, uid_t uid, char (*names)[SPOOL_NAME_SIZE], size_t max, struct errbuf *errp)
{
	DIR *dir = dir_open(dirfd);
	unsigned seen = 0, asked = 0, n = 0;
	struct dirent *e;

	if (!dir)
		return err_set(errp, "cannot read the spool directory: %s", strerror(errno));
	while (seen++ < LOOK_NAMES && asked < SPOOL_LOOK_FILES && (e = readdir(dir))) {
		if (!spool_is_trace(e->d_name))
			continue;
		asked++;
		if (!is_own_file(dirfd, e->d_name, uid))
			continue;
		if (n < max)
			memcpy(names[n], e->d_name, strlen(e->d_name) + 1); /* spool_is_trace looked at its length */
		n++;
	}
	closedir(dir);
	if (max)
		qsort(names, n < max ? n : max, SPOOL_NAME_SIZE, name_compare);
	return (int)n;
}

unsigned spool_signs(int dirfd, uid_t uid)
{
	static const char marker[] = ".present.";
	unsigned seen = 0, asked = 0, signs = 0;
	DIR *dir = dir_open(dirfd);
	struct dirent *e;

	while (dir && !signs && seen++ < LOOK_NAMES && asked < SPOOL_LOOK_FILES && (e = readdir(dir)))
		if (!strncmp(e->d_name, marker, sizeof(marker) - 1) && ++asked && is_own_file(dirfd, e->d_name, uid))
			signs = SPOOL_BEGUN;
	if (dir)
		closedir(dir);
	if (is_own_file(dirfd, "tracer.err", uid))
		signs |= SPOOL_COMPLAINED;
	if (is_own_file(dirfd, "untraced.txt", uid))
		signs |= SPOOL_REFUSED;
	return signs;
}

bool spool_is_full(const char *spool_dir, struct errbuf *why)
{
	struct statvfs v;

	if (statvfs(spool_dir, &v) < 0)
		return false;
	if (v.f_flag & ST_RDONLY)
		err_set(why, "%s is mounted read-only", spool_dir);
	else if (v.f_blocks && (uint64_t)v.f_bavail * v.f_frsize < ROOM_MIN)
		err_set(why, "the file system of %s is full", spool_dir);
	else if (v.f_files && !v.f_favail)
		err_set(why, "the file system of %s has no inode left", spool_dir);
	else
		return false;
	return true;
}
