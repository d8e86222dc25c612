/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File descriptors: complete writes, and careful steps through directories of users. */
#ifndef PRECEDENT_COMMON_FD_H
#define PRECEDENT_COMMON_FD_H

#include <stddef.h>
#include <sys/stat.h>

/* Write len bytes; interrupted calls are repeated. Returns 0; -1 with errno set, after which part of the data may
 * be written. */
int fd_write_all(int fd, const void *data, size_t len);

/*
 * As openat and fstatat, but not into another file system (EXDEV), and not through a link. A user can mount a file system of his
 * own in his directories (FUSE), and let it never answer.
 */
int fd_open_here(int dir, const char *name, int flags);
int fd_stat_here(int dir, const char *name, struct stat *st);

#endif
