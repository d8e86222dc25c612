/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of all ranks, counted: messages of each channel, collectives of each communicator, requests, locks. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/ending/ending_impl.h"
#include "trace/format/in_call.h"
#include "trace/functions.h"

#define SLOTS_MAX (1u << 26) /* as trace/messages */

/* ---- collectives ---- */

static uint64_t enter_collective(struct ending *e, uint32_t rank, uint32_t sym)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	const struct trace_sig *g = &d->sigs.sig[sym];
	uint32_t scope = ending_scope_of_symbol(d, sym);

	if (scope == ENDING_NONE)
		return 0;
	return ending_enter(e->own, rank, scope,
			    (struct ending_call){g->fn, g->site, sig_scalar(d, sym, TK_ROOT, TRACE_IN_CALL_NONE)});
}

/* ---- messages ---- */

struct ending_channel *ending_channel_at(struct ending_own *o, uint32_t channel)
{
	static struct ending_channel nothing;

	if (ARRAY_ROOM_ZEROED(o->channel, o->n_channel, (size_t)channel + 1) == 0)
		return &o->channel[channel];
	o->no_memory = true;
	return &nothing;
}

static uint64_t send_message(struct ending_own *o, uint32_t channel)
{
	return channel == MSG_NONE ? 0 : ++ending_channel_at(o, channel)->sent;
}

static void receive_message(struct ending_own *o, uint32_t channel)
{
	if (channel != MSG_NONE)
		ending_channel_at(o, channel)->received++;
}

/* ---- requests ---- */

static struct ending_slot *slot_at(struct ending_own *o, struct ending_state *s, int64_t slot)
{
	static struct ending_slot nothing;

	nothing = (struct ending_slot){0};
	if (slot < 0 || slot >= SLOTS_MAX)
		return &nothing;
	if (ARRAY_ROOM_ZEROED(s->slot, s->n_slot, (size_t)slot + 1) == 0)
		return &s->slot[slot];
	o->no_memory = true;
	return &nothing;
}

static bool is_persistent(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && !strcmp(name + len - 5, "_init");
}

static void make_request(struct ending *e, uint32_t rank, uint32_t sym, uint64_t number)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[rank];
	bool persistent = is_persistent(trace_fn[trace_get_rank(e->t, rank)->defs.sigs.sig[sym].fn].name);
	int64_t slot = msg_op_of(&s->ops, sym)->slot;

	if (slot >= 0)
		*slot_at(o, s, slot) = (struct ending_slot){
			.symbol = sym, .made = true, .active = !persistent, .persistent = persistent, .order = s->events,
			.number = number};
}

static void start_request(struct ending_own *o, struct ending_state *s, int64_t slot)
{
	struct ending_slot *q = slot_at(o, s, slot);
	const struct msg_op *op;

	if (!q->made)
		return;
	q->active = true;
	q->order = s->events;
	op = msg_op_of(&s->ops, q->symbol);
	if (op->action == MSG_SEND_INIT)
		q->number = send_message(o, op->send);
}

static void complete_request(struct ending *e, uint32_t rank, const struct msg_slots *done, uint32_t i)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[rank];
	struct ending_slot *q = slot_at(o, s, done->slot[i]);
	const struct msg_op *op = msg_op_of(&s->ops, q->symbol);
	int64_t src = done->src ? done->src[i] : TRACE_NULL, tag = done->tag ? done->tag[i] : TRACE_NULL;
	uint32_t channel = op->recv;

	if (!q->active)
		return;
	q->active = false;
	if (op->receives) {
		if (op->wild)
			channel = msg_channel_of(&o->names, rank, op->comm,
						 op->src == TRACE_ANY_SOURCE ? src : op->src,
						 op->tag == TRACE_ANY_TAG ? tag : op->tag, false, &o->no_memory);
		if (!q->cancelled)
			receive_message(o, channel);
	}
	if (!q->persistent)
		q->made = false;
}

/* ---- events ---- */

static void follow_event(struct ending *e, uint32_t rank, uint32_t sym)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[rank];
	const struct msg_op *op = msg_op_of(&s->ops, sym);
	struct msg_slots slots = msg_slots_of(&s->ops, sym);
	uint64_t number = enter_collective(e, rank, sym);

	switch (op->action) {
	case MSG_SEND:
		make_request(e, rank, sym, send_message(o, op->send));
		break;
	case MSG_SENDRECV:
		send_message(o, op->send);
		receive_message(o, op->recv);
		break;
	case MSG_RECV:
	case MSG_MPROBE: /* takes the message out of the channel */
		receive_message(o, op->recv);
		break;
	case MSG_MRECV:
		break;
	case MSG_START:
		if (!slots.slot)
			start_request(o, s, op->message);
		for (uint32_t i = 0; slots.slot && i < slots.n; i++)
			start_request(o, s, slots.slot[i]);
		break;
	case MSG_DONE:
		for (uint32_t i = 0; i < slots.n; i++)
			complete_request(e, rank, &slots, i);
		break;
	case MSG_FREE:
		*slot_at(o, s, op->message) = (struct ending_slot){0};
		break;
	case MSG_CANCEL:
		slot_at(o, s, op->message)->cancelled = true;
		break;
	default:
		make_request(e, rank, sym, number);
		ending_follow_window(e, rank, sym);
		break;
	}
	s->events++;
}

static int by_order(const void *a, const void *b, void *arg)
{
	const struct ending_slot *slot = arg, *x = &slot[*(const uint32_t *)a], *y = &slot[*(const uint32_t *)b];

	return (x->order > y->order) - (x->order < y->order);
}

/* The requests under way, in the order of their start: first as slots. */
static int list_requests(struct ending_own *o, uint32_t rank, struct ending_rank *k)
{
	struct ending_state *s = &o->state[rank];

	k->request = malloc((s->n_slot + 1ull) * sizeof(*k->request));
	if (!k->request)
		return -1;
	for (uint32_t i = 0; i < s->n_slot; i++)
		if (s->slot[i].active)
			k->request[k->n_request++] = i;
	qsort_r(k->request, k->n_request, sizeof(*k->request), by_order, s->slot);
	return 0;
}

static enum ending_where where_is(const struct trace_defs *d, const struct ending_rank *k)
{
	uint32_t fn = k->last == ENDING_NONE ? TRACE_FN_N : d->sigs.sig[k->last].fn;

	if (k->call->inside)
		return ENDING_INSIDE;
	if (d->proc.finalized || fn == FN_MPI_Finalize)
		return ENDING_FINISHED;
	return fn == FN_MPI_Abort ? ENDING_ABORTS : ENDING_OUTSIDE;
}

static int read_rank(struct ending *e, uint32_t rank)
{
	const struct trace_rank *t = trace_get_rank(e->t, rank);
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[rank];
	struct ending_rank *k = &e->rank[rank];
	struct folded_iter it;
	uint32_t sym, before = ENDING_NONE;

	k->call = &t->defs.proc.in_call;
	k->last = ENDING_NONE;
	if (!t->present)
		return 0;
	if (msg_ops_build(&s->ops, &o->names, rank) < 0)
		return -1;
	folded_begin(&it, &t->events);
	/* one event later, as the last one may be the call that did not return */
	while (folded_next(&it, &sym)) {
		if (before != ENDING_NONE)
			follow_event(e, rank, before);
		k->last = before;
		before = sym;
	}
	if (before != ENDING_NONE && !trace_in_call_is(&t->defs, before, k->call)) {
		follow_event(e, rank, before);
		k->last = before;
	}
	k->seconds = (double)k->call->ticks * t->defs.proc.ns_per_tick * 1e-9;
	k->where = where_is(&t->defs, k);
	return list_requests(o, rank, k);
}

int ending_read(struct ending *e, struct errbuf *err)
{
	struct ending_own *o = e->own;

	o->state = calloc(e->n_ranks + 1ull, sizeof(*o->state));
	if (!o->state || msg_names_build(&o->names, e->t) < 0 || ending_scopes_build(e) < 0)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < e->n_ranks; r++)
		if (read_rank(e, r) < 0 || o->no_memory)
			return err_set(err, "no memory");
	return 0;
}
