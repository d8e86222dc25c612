/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See left_requests.h. */
#include "skelgen/tree/left_requests.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/tree/callinfo.h"
#include "skelgen/tree/wildcard.h"

#define SLOTS_MOST (1u << 20) /* of a rank: tracers give the lowest free one, and requests in others are not counted */

/* The requests of a rank, by slot. */
struct under_way {
	bool *is;
	uint32_t cap, n; /* n: slots of the rank at hand; all slots from n on are false */
	bool no_memory;
};

static void mark(struct under_way *u, int64_t slot, bool is)
{
	if (slot < 0 || slot >= SLOTS_MOST || (!is && slot >= u->n))
		return;
	if (ARRAY_ROOM_ZEROED(u->is, u->cap, (size_t)slot + 1) != 0) {
		u->no_memory = true;
		return;
	}
	u->n = slot < u->n ? u->n : (uint32_t)slot + 1;
	u->is[slot] = is;
}

static void call(struct under_way *u, const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];
	bool starts = f->cls == TC_START, ends = f->cls == TC_WAIT || strcmp(f->name, "MPI_Request_free") == 0;
	uint32_t n;
	const int64_t *slot = f->cls == TC_WAIT ? call_done_slots(d, sym, &n) : call_request_slots(d, sym, &n);

	for (uint32_t i = 0; (starts || ends) && i < n; i++)
		mark(u, slot[i], starts);
	if (f->cls != TC_PROBE && strstr(f->name, "_init") == NULL) /* a probe's slot is a message's */
		mark(u, call_scalar(d, sym, TK_NEWREQ, 0, TRACE_NULL), true);
}

int skel_count_left_requests(const struct trace *t, uint64_t *left)
{
	struct under_way u = {.n = 0};

	*left = 0;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		struct folded_iter it;
		uint32_t sym;

		folded_begin(&it, &k->events);
		while (folded_next(&it, &sym))
			call(&u, &k->defs, sym);
		for (; u.n > 0; u.n--) {
			*left += u.is[u.n - 1];
			u.is[u.n - 1] = false;
		}
	}
	free(u.is);
	return u.no_memory ? -1 : 0;
}
