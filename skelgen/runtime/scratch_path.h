/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of a process's scratch files. A name is registered before its file is made. So every end of the process leaves no
 * file: its own end, SIGTERM, SIGINT, SIGHUP and SIGXCPU, but not SIGKILL. Files that an MPI library makes beside a scratch
 * file begin with its name and are removed too.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SCRATCH_PATH_H
#define PRECEDENT_SKELGEN_RUNTIME_SCRATCH_PATH_H

#include <stdint.h>

#define SCRATCH_PATH_BYTES 1024

/* Names 0 to n - 1 in that directory, which the caller keeps; the calling thread makes and removes them. 0, or errno. */
int scratch_paths_begin(const char *dir, int n);
/*
 * Makes file k of so many bytes, with a unique name. number: differs for each file of the process. Returns 0, or errno
 * without a file.
 */
int scratch_path_make(int k, char path[SCRATCH_PATH_BYTES], unsigned number, int64_t bytes);
/* Remove file k, if there is one. */
void scratch_path_forget(int k);
/* Remove all of them, and the files beside them. Async-signal-safe. */
void scratch_paths_remove(void);
/* The same, and forget the names. */
void scratch_paths_end(void);

#endif
