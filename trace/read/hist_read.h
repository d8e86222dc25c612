/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histograms of a rank of a trace: see hist.h. */
#ifndef PRECEDENT_TRACE_HIST_READ_H
#define PRECEDENT_TRACE_HIST_READ_H

#include "trace/format/hist.h"
#include "trace/read/reader.h"

/* Empty when no times were given up. -1: damaged. Free with hist_table_free. */
int trace_hist_read(const struct trace *t, uint32_t rank, struct hist_table *out, struct errbuf *err);
/* Mean gap (recorder's cost taken out) and duration of a symbol's calls whose times were given up, in ns; false when
 * there are none. */
bool trace_hist_means(const struct trace *t, uint32_t rank, const struct hist_table *h, uint32_t symbol, double *gap_ns,
		      double *duration_ns);

#endif
