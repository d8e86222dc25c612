/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a rank's samples from a trace. Their encoding is in trace/format/samples.c, which the tracer also links. */
#include <stdlib.h>

#include "trace/read/samples_read.h"

int trace_samples_read(const struct trace *t, uint32_t rank, struct trace_samples *out, struct errbuf *err)
{
	const struct trace_rank *r = trace_get_rank(t, rank);
	uint32_t len;
	uint8_t *raw;
	int rv;

	*out = (struct trace_samples){0};
	if (!r || !r->samples_page)
		return 0;
	raw = trace_page_read(t, r->samples_page - 1, &len, err);
	if (!raw)
		return -1;
	rv = trace_samples_decode(raw, len, out, err);
	free(raw);
	for (uint32_t k = 0; rv == 0 && k < out->n_place; k++)
		if (out->place[k].module >= r->defs.n_module)
			rv = err_set(err, "rank %u: samples in module %u, which is not defined", rank,
				     out->place[k].module);
	if (rv < 0)
		trace_samples_free(out);
	return rv < 0 ? -1 : 1;
}
