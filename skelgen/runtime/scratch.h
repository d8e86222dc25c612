/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scratch files: with --scratch DIR a skeleton reads and writes these instead of the program's files.
 * File numbers are those of the trace. The calls return 1 when the call was made, 0 when it failed; all processes of
 * a file agree on whether it is open.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SCRATCH_H
#define PRECEDENT_SKELGEN_RUNTIME_SCRATCH_H

#include <stdio.h>

#include "skelgen/runtime/skel.h"

/* The directory, from the options; NULL: there are no scratch files. Before skel_scratch_begin. */
void skel_scratch_set(const char *dir);
/* Collective: sees whether the directory can be used, and says so if not. */
void skel_scratch_begin(const struct skel_program *p);
/* Before the first file: make none, and say that n calls are not known well enough. */
void skel_scratch_refuse(int n);
/* Collective: closes what is open and says what failed. */
void skel_scratch_end(void);
/* After skel_scratch_end, rank 0: a line of the result, if there were scratch files. */
void skel_scratch_print(FILE *f);

int skel_scratch_is_open(int k);
/* c: the program's communicator, own: one that nothing else uses and that outlives the file. */
int skel_scratch_open(int k, MPI_Comm c, MPI_Comm own);
int skel_scratch_close(int k);
int skel_scratch_sync(int k);
int skel_scratch_size(int k, int allocate, int64_t size);
int skel_scratch_view(int k, int64_t disp, MPI_Datatype unit, MPI_Datatype t);
int skel_scratch_atomicity(int k, int flag);
int skel_scratch_seek(int k, int64_t offset, int whence);
int skel_scratch_seek_shared(int k, int64_t offset, int whence);
/* q: NULL for a blocking call, or the beginning of a split one. */
int skel_scratch_access(int k, int how, int64_t offset, int64_t count, MPI_Datatype t, MPI_Request *q);
int skel_scratch_finish(int k);
/* Wait for the accesses of these request slots. */
int skel_scratch_wait(int n, const int *slot);

#endif
