/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of a process's scratch files: each is known to be removed before the file is there, so that whatever ends the
 * process (its own end, SIGTERM, SIGINT, SIGHUP, SIGXCPU) leaves none. What an MPI library makes beside a file for as long as
 * it opens it has the file's name and more behind it, and goes too. From SIGKILL nothing is safe.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SCRATCH_PATH_H
#define PRECEDENT_SKELGEN_RUNTIME_SCRATCH_PATH_H

#include <stdint.h>

#define SCRATCH_PATH_BYTES 1024

/* Names 0 to n - 1 in that directory, which the caller keeps; the calling thread makes and removes them. 0, or errno. */
int scratch_paths_begin(const char *dir, int n);
/*
 * Make file k of so many bytes, of a name that nobody else has; `number` is another one for each file of the process. 0, or
 * errno, and then there is none.
 */
int scratch_path_make(int k, char path[SCRATCH_PATH_BYTES], unsigned number, int64_t bytes);
/* Remove file k, if there is one. */
void scratch_path_forget(int k);
/* Remove all of them, and what lies beside them. Async-signal-safe. */
void scratch_paths_remove(void);
/* The same, and forget the names. */
void scratch_paths_end(void);

#endif
