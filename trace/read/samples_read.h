/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a rank in a trace: see samples.h. */
#ifndef PRECEDENT_TRACE_SAMPLES_READ_H
#define PRECEDENT_TRACE_SAMPLES_READ_H

#include "trace/format/samples.h"
#include "trace/read/reader.h"

/* Read the samples of a rank. Returns 1; 0 if there are none; -1 on error (err says why). */
int trace_samples_read(const struct trace *t, uint32_t rank, struct trace_samples *out, struct errbuf *err);

#endif
