/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls to events: see input_impl.h. The values of an event stand in the order in which expert/builtin.c declares them. */
#include <stdlib.h>
#include <string.h>

#include "expert/input_impl.h"

#define MAX_SLOTS (1u << 24)

static struct pending *pending_at(const struct input_rank *k, uint64_t number)
{
	return &k->ring[number & (k->cap - 1)];
}

static struct pending *append(struct input *in, uint32_t rank, const struct input_call *c, uint32_t type)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_sig *g = &k->sig[c->sym];
	struct pending *p;

	if (k->last - k->first == k->cap) {
		uint32_t cap = k->cap ? 2 * k->cap : 64;
		struct pending *ring = malloc(cap * sizeof(*ring));

		if (!ring)
			return NULL;
		for (uint64_t i = k->first; i < k->last; i++)
			ring[i & (cap - 1)] = *pending_at(k, i);
		free(k->ring);
		k->ring = ring;
		k->cap = cap;
	}
	p = pending_at(k, k->last++);
	*p = (struct pending){.type = type, .done = true};
	p->s = (struct engine_simple){.start_ns = c->enter_ns, .finish_ns = c->leave_ns, .rank = rank, .site = g->site,
				      .function = g->function, .event = (int64_t)c->event, .untimed = !c->timed};
	return p;
}

static void set_wait(struct pending *p, uint64_t begin, uint64_t end)
{
	p->v[p->wait].i = (int64_t)begin;
	p->v[p->wait + 1].i = (int64_t)end;
}

/* ---- requests ---- */

static struct input_slot *slot_of(struct input_rank *k, int64_t slot)
{
	return slot >= 0 && slot < k->n_slot ? &k->slot[slot] : NULL;
}

static int slot_set(struct input_rank *k, int64_t slot, uint64_t pending, uint32_t sym)
{
	if (slot < 0 || slot >= MAX_SLOTS)
		return 0;
	if (slot >= k->n_slot) {
		uint32_t n = k->n_slot ? k->n_slot : 16;
		struct input_slot *s;

		while (n <= slot)
			n *= 2;
		s = realloc(k->slot, n * sizeof(*s));
		if (!s)
			return -1;
		memset(s + k->n_slot, 0, (n - k->n_slot) * sizeof(*s));
		k->slot = s;
		k->n_slot = n;
	}
	k->slot[slot] = (struct input_slot){pending, sym};
	return 0;
}

/* The event under way of a slot, or NULL. */
static struct pending *under_way(struct input_rank *k, const struct input_slot *s)
{
	struct pending *p;

	if (!s || !s->pending || s->pending - 1 < k->first)
		return NULL;
	p = pending_at(k, s->pending - 1);
	return p->done ? NULL : p;
}

/* The wait of a request that began it: none yet. */
static void set_under_way(struct pending *p)
{
	p->done = false;
	set_wait(p, p->s.finish_ns, p->s.finish_ns);
}

/* ---- messages ---- */

static int add_send(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op, uint32_t made_by,
		    int64_t slot, bool blocking)
{
	const struct msg_channel *ch;
	struct pending *p;

	if (op->send == MSG_NONE)
		return 0;
	p = append(in, rank, c, in->type.send);
	if (!p)
		return -1;
	ch = &in->names.channel[op->send];
	p->v[0].i = rank;
	p->v[1].i = ch->dst;
	p->v[2].i = ch->tag;
	p->v[3].i = ch->comm;
	p->v[4].i = (int64_t)op->bytes;
	p->v[5].i = blocking;
	p->wait = 6;
	p->is_send = true;
	set_wait(p, c->enter_ns, in->rank[rank].sig[c->sym].sends_and_receives ? c->enter_ns : c->leave_ns);
	if (blocking)
		return 0;
	set_under_way(p);
	return slot_set(&in->rank[rank], slot, in->rank[rank].last, made_by);
}

static void set_source(struct input *in, struct pending *p, const struct msg_op *op, uint32_t channel)
{
	if (channel != MSG_NONE) {
		p->v[0].i = in->names.channel[channel].src;
		p->v[2].i = in->names.channel[channel].tag;
		p->v[3].i = in->names.channel[channel].comm;
	} else {
		p->v[0].i = op->from == MSG_NONE ? TRACE_ANY_SOURCE : (int64_t)op->from;
		p->v[2].i = op->tag;
	}
}

static int add_receive(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op, uint32_t made_by,
		       int64_t slot, bool blocking)
{
	struct pending *p;

	if (op->recv == MSG_NONE && !op->wild && !op->lost)
		return 0;
	p = append(in, rank, c, in->type.recv);
	if (!p)
		return -1;
	p->v[1].i = rank;
	p->v[3].i = op->comm == MSG_NONE ? -1 : (int64_t)in->names.comm[rank][op->comm];
	set_source(in, p, op, op->recv);
	p->v[4].i = in->rank[rank].sig[c->sym].sends_and_receives ? 0 : in->rank[rank].sig[made_by].bytes;
	p->v[5].i = op->src < 0 ? op->src : p->v[0].i;
	p->v[6].i = op->tag;
	p->v[7].i = blocking;
	p->wait = 8;
	p->v[10].i = (int64_t)c->event;
	p->v[11].i = 1;
	p->is_receive = true;
	set_wait(p, c->enter_ns, c->leave_ns);
	if (blocking)
		return 0;
	set_under_way(p);
	return slot_set(&in->rank[rank], slot, in->rank[rank].last, made_by);
}

/* ---- completion ---- */

/* What a wildcard received. */
static void learn_source(struct input *in, uint32_t rank, struct pending *p, const struct msg_op *made, const struct msg_op *op,
			 uint32_t i)
{
	int64_t src = made->src, tag = made->tag;
	bool failed = false;

	if (!made->wild)
		return;
	if (src == TRACE_ANY_SOURCE && op->asrc)
		src = op->asrc[i];
	if (tag == TRACE_ANY_TAG && op->atag)
		tag = op->atag[i];
	if (src >= 0 && tag >= 0)
		set_source(in, p, made, msg_channel_of(&in->names, rank, made->comm, src, tag, false, &failed));
}

static int complete(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op)
{
	struct input_rank *k = &in->rank[rank];
	uint32_t receives = 0;

	for (uint32_t i = 0; i < op->n_done; i++) {
		const struct pending *p = under_way(k, slot_of(k, op->done[i]));

		receives += p && p->is_receive;
	}
	for (uint32_t i = 0; i < op->n_done; i++) {
		struct input_slot *s = slot_of(k, op->done[i]);
		struct pending *p = under_way(k, s);

		if (!p)
			continue;
		p->done = true;
		p->s.untimed |= !c->timed;
		if (!p->is_send || !receives) /* who completes receives with sends waits for the receives */
			set_wait(p, c->enter_ns, c->leave_ns);
		if (p->is_receive) {
			p->v[10].i = (int64_t)c->event;
			p->v[11].i = receives;
			learn_source(in, rank, p, &k->op[s->sym], op, i);
		}
		s->pending = 0;
	}
	return 0;
}

void input_give_up(struct input *in, struct pending *p)
{
	if (p->done)
		return;
	p->done = true;
	in->report->unfinished++;
}

static int start_request(struct input *in, uint32_t rank, const struct input_call *c, int64_t slot);

static int start_requests(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op)
{
	if (!op->done)
		return start_request(in, rank, c, op->message);
	for (uint32_t i = 0; i < op->n_done; i++)
		if (start_request(in, rank, c, op->done[i]) < 0)
			return -1;
	return 0;
}

/* ---- collectives and windows ---- */

static int add_collective(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, uint32_t made_by,
			  int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	struct pending *p = append(in, rank, c, g->type);

	if (!p)
		return -1;
	p->v[0].i = g->comm;
	p->v[1].i = (int64_t)k->instance[g->comm_index]++;
	p->v[2].i = g->size;
	p->v[3].i = g->root;
	p->v[4].i = g->is_root;
	p->v[5].i = !g->starts_request;
	p->v[6].i = g->bytes;
	p->wait = 7;
	set_wait(p, c->enter_ns, c->leave_ns);
	if (!g->starts_request)
		return 0;
	set_under_way(p);
	return slot_set(k, slot, k->last, made_by);
}

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
	with.comm_index = comm;
	with.comm = in->names.comm[rank][comm];
	with.size = d->comm[comm].members.n;
	if (add_collective(in, rank, c, &with, MSG_NONE, -1) < 0)
		return -1;
	pending_at(k, k->last - 1)->v[9].i = w->number;
	return 0;
}

static int add_lock(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct pending *p = append(in, rank, c, g->type);

	if (!p)
		return -1;
	p->v[0].i = in->rank[rank].win[g->window].number;
	p->v[1].i = g->target;
	p->v[2].i = g->is_exclusive;
	return 0;
}

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
		p = append(in, rank, c, g->type);
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

static int add_sync(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_window *w = &in->rank[rank].win[g->window];

	switch (g->kind) {
	case IK_POST:
		w->post = g;
		return add_epoch(in, rank, c, g, g, ++w->exposure);
	case IK_START:
		w->start = g;
		return add_epoch(in, rank, c, g, g, ++w->access);
	case IK_COMPLETE: return add_epoch(in, rank, c, g, w->start, w->access);
	case IK_WAIT: return add_epoch(in, rank, c, g, w->post, w->exposure);
	default: return add_lock(in, rank, c, g);
	}
}

/* ---- all ---- */

static int start_request(struct input *in, uint32_t rank, const struct input_call *c, int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_slot *s = slot_of(k, slot);
	const struct msg_op *op;

	if (!s || s->sym == MSG_NONE || s->sym >= trace_get_rank(in->t, rank)->defs.sigs.n)
		return 0;
	op = &k->op[s->sym];
	if (op->action == MSG_SEND_INIT)
		return add_send(in, rank, c, op, s->sym, slot, false);
	if (op->action == MSG_RECV_INIT)
		return add_receive(in, rank, c, op, s->sym, slot, false);
	if (k->sig[s->sym].kind == IK_COLL)
		return add_collective(in, rank, c, &k->sig[s->sym], s->sym, slot);
	return 0;
}

static int on_message(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op,
		      const struct input_sig *g)
{
	struct input_rank *k = &in->rank[rank];
	struct pending *p;

	switch (op->action) {
	case MSG_SEND: return add_send(in, rank, c, op, c->sym, g->request, g->request < 0);
	case MSG_SENDRECV:
		return add_send(in, rank, c, op, c->sym, -1, true) < 0 ? -1 : add_receive(in, rank, c, op, c->sym, -1, true);
	case MSG_RECV:
	case MSG_MPROBE: return add_receive(in, rank, c, op, c->sym, -1, true);
	case MSG_IRECV: return add_receive(in, rank, c, op, c->sym, g->request, false);
	case MSG_SEND_INIT:
	case MSG_RECV_INIT: return slot_set(k, g->request, 0, c->sym);
	case MSG_START: return start_requests(in, rank, c, op);
	case MSG_DONE: return complete(in, rank, c, op);
	case MSG_FREE:
	case MSG_CANCEL:
		p = under_way(k, slot_of(k, op->message));
		if (p)
			p->done = true;
		return 0;
	default: return 0;
	}
}

int input_call(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_sig *g = &k->sig[c->sym];

	if (in->wants_calls) {
		struct pending *p = append(in, rank, c, in->type.call);

		if (!p)
			return -1;
		p->v[0].i = (int64_t)c->gap_ns;
	}
	switch (g->kind) {
	case IK_OTHER: return on_message(in, rank, c, &k->op[c->sym], g);
	case IK_COLL: return g->persistent ? slot_set(k, g->request, 0, c->sym) : add_collective(in, rank, c, g, MSG_NONE, g->request);
	case IK_WINDOW: return add_window(in, rank, c, g);
	default: return add_sync(in, rank, c, g);
	}
}
