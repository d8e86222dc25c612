/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a rank of a trace: see samples.h. */
#ifndef PRECEDENT_TRACE_SAMPLES_READ_H
#define PRECEDENT_TRACE_SAMPLES_READ_H

#include "trace/format/samples.h"
#include "trace/read/reader.h"

/* The samples of a rank: 1, 0 when there are none, -1 with the reason. */
int trace_samples_read(const struct trace *t, uint32_t rank, struct trace_samples *out, struct errbuf *err);

#endif
