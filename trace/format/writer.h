/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace file from encoded pages: beside its final name, then fsync and rename, so that a reader sees
 * the whole file or none.
 */
#ifndef PRECEDENT_TRACE_WRITER_H
#define PRECEDENT_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

struct trace_writer;

struct trace_writer *trace_writer_create(const char *path, uint32_t n_ranks, struct errbuf *err);
/* Append one or more encoded pages (trace_page_encode output, concatenated). */
int trace_writer_pages(struct trace_writer *w, const void *pages, size_t len, struct errbuf *err);
/* Room for the ends of processes: ends.h. */
void trace_writer_ends(struct trace_writer *w);
/* Index, trailer, fsync, rename. `partial` marks a run that did not reach MPI_Finalize. Frees w, also on error
 * (the temporary file is then removed). */
int trace_writer_close(struct trace_writer *w, bool partial, struct errbuf *err);
void trace_writer_abort(struct trace_writer *w);

#endif
