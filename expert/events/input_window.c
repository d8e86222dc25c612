/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows and files to events: see input_impl.h. */
#include "expert/events/input_impl.h"

/* ---- windows ---- */

/* A number that all ranks of the window give it: communicator, ordinal, and how often there was one like it. */
static int add_window(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_rank *k = &in->rank[rank];
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_window *w = &k->win[g->window];
	uint32_t comm = d->win[g->window].comm;
	struct input_sig with = *g;

	if (comm >= d->n_comm || d->comm[comm].kind != TCOMM_INTRA)
		return 0;
	w->number = (int64_t)(((uint64_t)in->names.comm[rank][comm] << 40 | (uint64_t)d->win[g->window].ordinal << 24 |
			       (w->created++ & 0xffffff)) & INT64_MAX);
	w->access = w->exposure = 0;
	w->start = w->post = NULL;
	w->fences = 0;
	w->flushed = -1;
	with.comm_index = comm;
	with.comm = in->names.comm[rank][comm];
	with.size = d->comm[comm].members.n;
	if (input_collective(in, rank, c, &with, k->instance[comm]++, MSG_NONE, -1) < 0)
		return -1;
	input_last(k)->v[9].i = w->number;
	return 0;
}

/* A fence holds for all ranks of the window. */
static int add_fence(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_rank *k = &in->rank[rank];
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_window *w = &k->win[g->window];
	struct input_sig with = *g;

	if (g->comm_index >= d->n_comm || d->comm[g->comm_index].kind != TCOMM_INTRA)
		return 0;
	with.comm = in->names.comm[rank][g->comm_index];
	with.size = d->comm[g->comm_index].members.n;
	if (input_collective(in, rank, c, &with, w->fences++, MSG_NONE, -1) < 0)
		return -1;
	input_last(k)->v[9].i = w->number;
	return 0;
}

/* ---- locks ---- */

static int add_lock(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, int64_t target)
{
	struct input_window *w = &in->rank[rank].win[g->window];
	bool unlock = g->kind == IK_UNLOCK || g->kind == IK_UNLOCK_ALL;
	struct pending *p = input_append(in, rank, c, unlock ? in->type.unlock : in->type.lock);

	if (!p)
		return -1;
	p->v[0].i = w->number;
	p->v[1].i = target;
	if (unlock && w->flushed >= 0 && (w->flushed == target || w->flushed == INPUT_ALL)) {
		p->v[2].i = (int64_t)w->flush_enter_ns;
		p->v[3].i = (int64_t)w->flush_leave_ns;
	} else if (!unlock) {
		p->v[2].i = g->is_exclusive;
		w->flushed = -1;
	}
	return 0;
}

/* A lock of the parts of all ranks is shared: where nobody asks for another kind, nobody waits for it. */
static int add_lock_all(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;

	if (!in->locks_exclude || g->comm_index >= d->n_comm)
		return 0;
	for (uint32_t i = 0; i < d->comm[g->comm_index].members.n; i++)
		if (add_lock(in, rank, c, g, d->comm[g->comm_index].members.rank[i]) < 0)
			return -1;
	return 0;
}

/* What was asked for with the lock may be waited for here. */
static int on_flush(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_window *w = &in->rank[rank].win[g->window];
	int64_t target = g->target >= 0 ? g->target : INPUT_ALL;
	struct pending *p;

	if (w->flushed >= 0)
		return 0;
	if (in->told) {
		p = input_append(in, rank, c, in->type.flush);
		if (!p)
			return -1;
		p->v[0].i = w->number;
		p->v[1].i = target;
	}
	w->flushed = target;
	w->flush_enter_ns = c->enter_ns;
	w->flush_leave_ns = c->leave_ns;
	return 0;
}

/* ---- epochs ---- */

/* An event for each rank on the other side; `with` names them. */
static int add_epoch(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g,
		     const struct input_sig *with, uint64_t epoch)
{
	const struct input_window *w = &in->rank[rank].win[g->window];
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	bool access = g->kind == IK_START || g->kind == IK_COMPLETE;

	for (uint32_t i = 0; with && i < with->n_group; i++) {
		const struct trace_comm *m = with->comm_index < d->n_comm ? &d->comm[with->comm_index] : NULL;
		struct pending *p;
		int64_t other;

		if (!m || with->group[i] < 0 || with->group[i] >= (int64_t)m->members.n)
			continue;
		other = m->members.rank[with->group[i]];
		p = input_append(in, rank, c, g->type);
		if (!p)
			return -1;
		p->v[0].i = w->number;
		p->v[1].i = access ? rank : other;
		p->v[2].i = access ? other : rank;
		p->v[3].i = (int64_t)epoch;
		p->v[4].i = with->n_group;
	}
	return 0;
}

int input_window_call(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_window *w = &in->rank[rank].win[g->window];

	switch (g->kind) {
	case IK_WINDOW: return add_window(in, rank, c, g);
	case IK_FENCE: return add_fence(in, rank, c, g);
	case IK_LOCK_ALL:
	case IK_UNLOCK_ALL: return add_lock_all(in, rank, c, g);
	case IK_FLUSH: return on_flush(in, rank, c, g);
	case IK_POST:
		w->post = g;
		return add_epoch(in, rank, c, g, g, ++w->exposure);
	case IK_START:
		w->start = g;
		return add_epoch(in, rank, c, g, g, ++w->access);
	case IK_COMPLETE: return add_epoch(in, rank, c, g, w->start, w->access);
	case IK_WAIT: return add_epoch(in, rank, c, g, w->post, w->exposure);
	default: return add_lock(in, rank, c, g, g->target);
	}
}

/* ---- files ---- */

int input_file_call(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_rank *k = &in->rank[rank];
	struct pending *p;

	if (g->kind == IK_FILE_COLL) {
		uint64_t instance = (uint64_t)d->file[g->file].ordinal << 40 | k->file_instance[g->file]++;

		if (input_collective(in, rank, c, g, instance, MSG_NONE, g->request) < 0)
			return -1;
		p = input_last(k);
		p->v[9].i = d->file[g->file].ordinal;
		p->v[10].i = g->is_write;
		return 0;
	}
	p = input_append(in, rank, c, in->type.file);
	if (!p)
		return -1;
	p->v[0].i = d->file[g->file].ordinal;
	p->v[1].i = g->bytes;
	p->v[2].i = g->is_write;
	return 0;
}
