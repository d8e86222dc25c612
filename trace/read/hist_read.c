/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a rank's histograms from a trace: see hist_read.h. */
#include <stdlib.h>

#include "trace/functions.h"
#include "trace/read/hist_read.h"

int trace_hist_read(const struct trace *t, uint32_t rank, struct hist_table *out, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct rdbuf in = {0};
	uint32_t len;
	uint8_t *raw;
	int rv;

	hist_table_init(out, TRACE_FN_N);
	if (!k || !k->present)
		return err_set(err, "rank %u is not in the trace", rank);
	if (!k->defs.proc.dropped_events)
		return 0;
	if (!k->hist_page)
		return err_set(err, "rank %u: its histograms are missing", rank);
	raw = trace_page_read(t, k->hist_page - 1, &len, err);
	if (!raw)
		return -1;
	in.data = raw;
	in.len = len;
	rv = hist_table_decode(&in, &k->defs.sigs, TRACE_FN_N, out, err);
	free(raw);
	return rv;
}

bool trace_hist_means(const struct trace *t, uint32_t rank, const struct hist_table *h, uint32_t symbol, double *gap_ns,
		      double *duration_ns)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	const struct trace_proc *p = &k->defs.proc;
	const struct hist_entry *e = hist_table_find(h, symbol, k->defs.sigs.sig[symbol].fn);
	double gap;

	if (!e || !e->gap.n)
		return false;
	gap = hist_mean(&e->gap) - p->overhead_ticks;
	*gap_ns = (gap > 0 ? gap : 0) * p->ns_per_tick;
	*duration_ns = hist_mean(&e->duration) * p->ns_per_tick;
	return true;
}
