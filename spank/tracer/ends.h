/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * After MPI_Finalize the trace is complete. A process that runs on notes its further run time in the trace when it
 * ends (trace/format/ends.h). A short time is not noted. Neither does a process note it that is killed or calls
 * _exit.
 */
#ifndef PRECEDENT_SPANK_TRACER_ENDS_H
#define PRECEDENT_SPANK_TRACER_ENDS_H

#include <limits.h>
#include <stdint.h>

/* Identity of the trace file, the same on all ranks; sent among them as bytes. */
struct ends_file {
	uint64_t written, inode, size;
	char path[PATH_MAX + 64];
};

/* Read the identity of the complete file. */
void ends_file_of(const char *path, struct ends_file *f);
void ends_begin(const struct ends_file *f, uint32_t rank, uint32_t n_ranks);
/* Call when MPI_Finalize has returned. */
void ends_finalized(void);

#endif
