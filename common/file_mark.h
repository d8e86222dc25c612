/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which version of a file was read: to see whether it has changed since. */
#ifndef PRECEDENT_COMMON_FILE_MARK_H
#define PRECEDENT_COMMON_FILE_MARK_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct file_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

/* Take the mark before the file is read. Returns whether the file is there; the mark of none is zero. */
bool file_mark_take(const char *path, struct file_mark *mark);
bool file_mark_same(const struct file_mark *a, const struct file_mark *b);
/* The same file, also if its contents have changed. */
bool file_mark_same_inode(const struct file_mark *a, const struct file_mark *b);

#endif
