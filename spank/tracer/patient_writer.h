/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace file of rank 0, written with a deadline (patience.h). After any failure *w is NULL and err says why. */
#ifndef PRECEDENT_SPANK_TRACER_PATIENT_WRITER_H
#define PRECEDENT_SPANK_TRACER_PATIENT_WRITER_H

#include "common/buf.h"
#include "common/errbuf.h"
#include "spank/tracer/ends.h"
#include "trace/format/writer.h"

/* Append the pages. They may be gone afterwards: *pages is empty then. */
int patient_pages(struct trace_writer **w, struct buf *pages, struct errbuf *err);
/* As trace_writer_close; reads the identity of the file, which then lies at path. *w is NULL afterwards. */
int patient_close(struct trace_writer **w, bool partial, const char *path, struct ends_file *file, struct errbuf *err);
void patient_abort(struct trace_writer **w);

#endif
