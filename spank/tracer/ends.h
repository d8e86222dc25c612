/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After MPI_Finalize: a process that goes on for a while notes in the trace, which is complete, how long it did
 * (trace/format/ends.h). One that ends soon costs nothing, one that is killed or calls _exit notes nothing.
 */
#ifndef PRECEDENT_SPANK_TRACER_ENDS_H
#define PRECEDENT_SPANK_TRACER_ENDS_H

#include <limits.h>
#include <stdint.h>

/* The file that was written, the same on all ranks; passed among them as it is. */
struct ends_file {
	uint64_t written, inode, size;
	char path[PATH_MAX + 64];
};

/* Of the complete file: it is written. */
void ends_file_of(const char *path, struct ends_file *f);
void ends_begin(const struct ends_file *f, uint32_t rank, uint32_t n_ranks);
/* MPI_Finalize has returned. */
void ends_finalized(void);

#endif
