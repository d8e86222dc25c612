/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File descriptors: complete reads and writes, and careful steps through directories of users. */
#ifndef PRECEDENT_COMMON_FD_H
#define PRECEDENT_COMMON_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Write len bytes; interrupted calls are repeated. Returns 0; -1 with errno set, after which part of the data may
 * be written. */
int fd_write_all(int fd, const void *data, size_t len);

/* Read len bytes from `at`; interrupted calls are repeated. Returns false if the file ends before, or on error. */
bool fd_read_at(int fd, void *buf, size_t len, uint64_t at);
/* The content of a regular file of at most `most` bytes. Nothing else is opened. Returns NULL if it is no such file or cannot be
 * read. *of is what fstat said; the caller frees the result. */
char *fd_read_file(const char *path, size_t most, struct stat *of);

/*
 * As openat and fstatat, but not into another file system (EXDEV), and not through a link. A user can mount a file system of his
 * own in his directories (FUSE), and let it never answer.
 */
int fd_open_here(int dir, const char *name, int flags);
int fd_stat_here(int dir, const char *name, struct stat *st);

#endif
