/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See left_requests.h. */
#include "skelgen/tree/left_requests.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/tree/callinfo.h"
#include "skelgen/tree/wildcard.h"

#define SLOTS_MOST (1u << 20) /* of a rank: tracers give the lowest free one, and requests in others are not counted */

static void mark(bool *under_way, int64_t slot, bool is)
{
	if (slot >= 0 && slot < SLOTS_MOST)
		under_way[slot] = is;
}

static void call(bool *under_way, const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];
	bool starts = f->cls == TC_START, ends = f->cls == TC_WAIT || strcmp(f->name, "MPI_Request_free") == 0;
	uint32_t n;
	const int64_t *slot = f->cls == TC_WAIT ? call_done_slots(d, sym, &n) : call_request_slots(d, sym, &n);

	for (uint32_t i = 0; (starts || ends) && i < n; i++)
		mark(under_way, slot[i], starts);
	if (f->cls != TC_PROBE && strstr(f->name, "_init") == NULL) /* a probe's slot is a message's */
		mark(under_way, call_scalar(d, sym, TK_NEWREQ, 0, TRACE_NULL), true);
}

int skel_count_left_requests(const struct trace *t, uint64_t *left)
{
	bool *under_way = malloc(SLOTS_MOST);

	*left = 0;
	for (uint32_t r = 0; under_way != NULL && r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		struct folded_iter it;
		uint32_t sym;

		memset(under_way, 0, SLOTS_MOST);
		folded_begin(&it, &k->events);
		while (folded_next(&it, &sym))
			call(under_way, &k->defs, sym);
		for (uint32_t i = 0; i < SLOTS_MOST; i++)
			*left += under_way[i];
	}
	if (under_way == NULL)
		return -1;
	free(under_way);
	return 0;
}
