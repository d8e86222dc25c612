/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Temporary directories, also of a process that a signal ends. Directories are listed from their creation to their removal,
 * and temp_dir_remove_all() may be called by a signal handler.
 */
#ifndef PRECEDENT_COMMON_TEMP_DIR_H
#define PRECEDENT_COMMON_TEMP_DIR_H

/* mkdtemp(template), and the directory is listed. Returns 0, or -1 with errno set. */
int temp_dir_make(char *template);
/* The same for a directory with a name of its own: mkdir(path, 0700). */
int temp_dir_make_named(const char *path);

/* Removes a directory with everything below, listed or not. Follows no link. NULL and a missing directory are legal. */
void temp_dir_remove(const char *path);
/* The directory stays: temp_dir_remove_all() leaves it. */
void temp_dir_keep(const char *path);
/* Removes all that are listed. Async-signal-safe. */
void temp_dir_remove_all(void);

#endif
