/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histograms of a rank in a trace: see hist.h. */
#ifndef PRECEDENT_TRACE_HIST_READ_H
#define PRECEDENT_TRACE_HIST_READ_H

#include "trace/format/hist.h"
#include "trace/read/reader.h"

/* *out is empty if all times were kept. Returns 0 on success, -1 if the page is damaged. Free *out with
 * hist_table_free. */
int trace_hist_read(const struct trace *t, uint32_t rank, struct hist_table *out, struct errbuf *err);
/* Mean gap, without the recorder's cost, and mean duration of a symbol's calls whose times were not kept, in ns.
 * Returns false if there are no such calls. */
bool trace_hist_means(const struct trace *t, uint32_t rank, const struct hist_table *h, uint32_t symbol, double *gap_ns,
		      double *duration_ns);

#endif
