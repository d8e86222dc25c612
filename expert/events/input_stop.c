/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why ranks did not reach MPI_Finalize, as events: trace/ending says it. */
#include "expert/events/input_impl.h"
#include "trace/functions.h"

int input_stops_open(struct input *in)
{
	if (in->told || !trace_is_partial(in->t) || !engine_wants(in->e, in->type.stop))
		return 0;
	in->ending = ending_create(in->t, in->err);
	return in->ending ? 0 : -1;
}

/* The rank in one finding. The event has the place of the call in which the rank was, or of its last call. */
static int tell_stop(struct input *in, uint32_t rank, const struct input_call *c, const struct ending_finding *f)
{
	const struct ending_rank *k = &in->ending->rank[rank];
	struct pending *p = input_append(in, rank, c, in->type.stop);

	if (!p)
		return -1;
	if (k->where == ENDING_INSIDE) {
		p->s.site = k->call->site == UINT32_MAX ? -1 : (int64_t)k->call->site;
		p->s.function = engine_string(in->e, trace_fn[k->call->fn].name);
	}
	p->v[0].i = engine_string(in->e, ending_kind_name(f->kind));
	p->v[1].i = f->n_rank;
	p->v[2].i = k->n_wait && k->wait[0].n_peer ? (int64_t)k->wait[0].peer[0] : -1;
	p->v[3].i = (int64_t)(k->seconds * 1e9);
	p->v[4].i = (int64_t)c->leave_ns - p->v[3].i;
	p->v[5].i = (int64_t)c->leave_ns;
	return 0;
}

int input_stops(struct input *in, uint32_t rank, const struct input_call *c)
{
	for (uint32_t i = 0; in->ending && i < in->ending->n_finding; i++) {
		const struct ending_finding *f = &in->ending->finding[i];

		for (uint32_t k = 0; k < f->n_rank; k++)
			if (f->rank[k] == rank && tell_stop(in, rank, c, f) < 0)
				return -1;
	}
	return 0;
}
