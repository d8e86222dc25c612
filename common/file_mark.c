/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See file_mark.h. */
#include <sys/stat.h>

#include "common/file_mark.h"

bool file_mark_take(const char *path, struct file_mark *mark)
{
	struct stat st;

	*mark = (struct file_mark){0};
	if (stat(path, &st) < 0)
		return false;
	*mark = (struct file_mark){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
	return true;
}

bool file_mark_same_inode(const struct file_mark *a, const struct file_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

bool file_mark_same(const struct file_mark *a, const struct file_mark *b)
{
	return file_mark_same_inode(a, b) && a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}
