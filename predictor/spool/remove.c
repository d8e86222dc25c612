/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See remove.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/spool/remove.h"

#define DEPTH_MAX 64 /* descriptors that are open at a time; nothing of ours is as deep */
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

static void empty_directory(int fd, int depth, uint64_t *files);

static void remove_entry(int parent, const char *name, int depth, uint64_t *files)
{
	int fd = depth < DEPTH_MAX ? openat(parent, name, DIR_FLAGS) : -1;

	if (fd >= 0)
		empty_directory(fd, depth + 1, files);
	if (unlinkat(parent, name, fd >= 0 ? AT_REMOVEDIR : 0) == 0)
		++*files;
}

/* Takes the descriptor. Entries that cannot be removed stay, and so does the directory. */
static void empty_directory(int fd, int depth, uint64_t *files)
{
	DIR *list = fdopendir(fd);
	const struct dirent *e;

	if (!list) {
		close(fd);
		return;
	}
	while ((e = readdir(list)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_entry(dirfd(list), e->d_name, depth, files);
	closedir(list);
}

static int become(uid_t uid, gid_t gid)
{
	if (geteuid() == 0)
		return setegid(gid) < 0 || seteuid(uid) < 0 ? -1 : 0;
	return seteuid(uid) < 0 || setegid(gid) < 0 ? -1 : 0;
}

int spool_user_remove(const char *spool_dir, uid_t uid, gid_t gid, uint64_t *files, struct errbuf *err)
{
	int top = open(spool_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, rv = 0;
	struct stat st;
	char name[16];

	*files = 0;
	snprintf(name, sizeof(name), "%u", (unsigned)uid);
	if (top < 0)
		return err_set(err, "%s: %s", spool_dir, strerror(errno));
	fd = openat(top, name, DIR_FLAGS);
	if (fd < 0 && errno == ENOENT)
		goto out;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != uid) {
		rv = err_set(err, "%s/%s is no directory of uid %s: look at it by hand", spool_dir, name, name);
		if (fd >= 0)
			close(fd);
		goto out;
	}
	if (become(uid, gid) < 0) {
		close(fd);
		rv = err_set(err, "cannot act as uid %s: %s", name, strerror(errno));
		goto out;
	}
	empty_directory(fd, 0, files);
	if (become(0, 0) < 0)
		rv = err_set(err, "cannot act as root again: %s", strerror(errno));
	else if (unlinkat(top, name, AT_REMOVEDIR) < 0)
		rv = err_set(err, "%s/%s: %s: something remains; look at it by hand", spool_dir, name, strerror(errno));
out:
	close(top);
	return rv;
}
