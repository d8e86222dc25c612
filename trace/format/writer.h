/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace file from encoded pages. The file is written beside its final name, fsynced and renamed. So
 * readers see the complete file or none.
 */
#ifndef PRECEDENT_TRACE_WRITER_H
#define PRECEDENT_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

struct trace_writer;

struct trace_writer *trace_writer_create(const char *path, uint32_t n_ranks, struct errbuf *err);
/* Append encoded pages, the output of trace_page_encode. */
int trace_writer_pages(struct trace_writer *w, const void *pages, size_t len, struct errbuf *err);
/* Reserve room for the ends of processes: see ends.h. */
void trace_writer_ends(struct trace_writer *w);
/* Write index and trailer, then fsync and rename. `partial` marks a run that did not reach MPI_Finalize. Frees w.
 * On error, it also removes the temporary file. */
int trace_writer_close(struct trace_writer *w, bool partial, struct errbuf *err);
void trace_writer_abort(struct trace_writer *w);

#endif
