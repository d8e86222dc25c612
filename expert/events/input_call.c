/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls to events: see input_impl.h. The values of an event stand in the order in which expert/lang/builtin.c declares them. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/events/input_impl.h"

#define MAX_SLOTS (1u << 24)
#define RING_LEAST 8 /* events: few, for the rings of all ranks go through the caches in turn */

static struct pending *pending_at(const struct input_rank *k, uint64_t number)
{
	return &k->ring[number & (k->cap - 1)];
}

/* The call that it waits in. */
static void set_done_by(struct pending *p, const struct input_sig *g)
{
	if (!p->done_by)
		return;
	p->v[p->done_by].i = g->function;
	p->v[p->done_by + 1].i = g->site;
}

struct pending *input_append(struct input *in, uint32_t rank, const struct input_call *c, uint32_t type)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_sig *g = &k->sig[c->sym];
	struct pending *p;

	if (k->last - k->first == k->cap) {
		uint32_t cap = k->cap ? 2 * k->cap : RING_LEAST;
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
	p->type = type;
	p->done = true;
	p->is_receive = p->is_send = p->is_own = false;
	p->wait = 0;
	p->done_by = type < INPUT_TYPES ? in->done_by[type] : 0;
	p->sym = c->sym;
	p->channel = MSG_NONE;
	p->done_event = c->event;
	memset(p->v, 0, input_values(in, type) * sizeof(*p->v));
	p->s = (struct engine_simple){.start_ns = c->enter_ns, .finish_ns = c->leave_ns, .rank = rank, .site = g->site,
				      .function = g->function, .event = (int64_t)c->event, .untimed = !c->timed};
	set_done_by(p, g);
	return p;
}

struct pending *input_last(const struct input_rank *k)
{
	return pending_at(k, k->last - 1);
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
	if (ARRAY_ROOM_ZEROED(k->slot, k->n_slot, (size_t)slot + 1) != 0)
		return -1;
	k->slot[slot] = (struct input_slot){pending, sym, 0};
	return 0;
}

/* The event under way of a slot, or NULL. */
static struct pending *under_way(struct input_rank *k, const struct input_slot *s, uint32_t i)
{
	struct pending *p;

	if (!s || !s->pending || s->pending - 1 + i < k->first)
		return NULL;
	p = pending_at(k, s->pending - 1 + i);
	return p->done ? NULL : p;
}

/* While the rank was outside of MPI a message of it did not go on, as a rule: before the call that completed it. */
static void set_outside(struct pending *p, uint64_t from, uint64_t until)
{
	uint32_t at = p->is_send ? INPUT_SEND_OUTSIDE : INPUT_RECV_OUTSIDE;

	p->v[at].i = (int64_t)from;
	p->v[at + 1].i = (int64_t)until;
}

/* The wait of a request that began it: none yet. */
static void set_under_way(struct pending *p)
{
	p->done = false;
	set_wait(p, p->s.finish_ns, p->s.finish_ns);
}

/* ---- messages ---- */

/* Of different switches, as far as is known. */
static bool is_distant(const struct input *in, uint32_t a, uint32_t b)
{
	return in->network[a] != in->network[b] && in->network[a] && in->network[b];
}

static int add_send(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op, uint32_t made_by,
		    int64_t slot, bool blocking)
{
	uint64_t bytes = msg_bytes(&in->rank[rank].ops, made_by);
	const struct msg_channel *ch;
	struct pending *p;

	if (op->send == MSG_NONE)
		return 0;
	if (input_burst_add(in, rank, c, in->names.channel[op->send].dst, bytes) < 0)
		return -1;
	p = input_append(in, rank, c, in->type.send);
	if (!p)
		return -1;
	ch = &in->names.channel[op->send];
	p->channel = op->send;
	p->v[0].i = rank;
	p->v[1].i = ch->dst;
	p->v[2].i = ch->tag;
	p->v[3].i = ch->comm;
	p->v[4].i = (int64_t)bytes;
	p->v[5].i = blocking;
	p->wait = 6;
	p->v[8].i = in->rank[rank].sig[made_by].is_synchronous;
	p->v[9].i = is_distant(in, rank, ch->dst);
	p->v[12].i = (int64_t)c->event;
	p->v[13].i = 1;
	p->v[14].i = in->rank[rank].shortage.now.part > 0;
	p->is_send = true;
	set_outside(p, c->enter_ns, c->enter_ns);
	set_wait(p, c->enter_ns, in->rank[rank].sig[c->sym].sends_and_receives ? c->enter_ns : c->leave_ns);
	if (blocking)
		return 0;
	set_under_way(p);
	return slot_set(&in->rank[rank], slot, in->rank[rank].last, made_by);
}

static void set_source(struct input *in, struct pending *p, const struct msg_op *op, uint32_t channel)
{
	p->channel = channel;
	if (channel != MSG_NONE) {
		p->v[0].i = in->names.channel[channel].src;
		p->v[2].i = in->names.channel[channel].tag;
		p->v[3].i = in->names.channel[channel].comm;
	} else {
		p->v[0].i = op->from == MSG_NONE ? TRACE_ANY_SOURCE : (int64_t)op->from;
		p->v[2].i = op->tag;
	}
}

/* No more is known of the last probe, but that the call c, or NULL, received what it found. */
static void end_probe(struct input_rank *k, const struct input_call *c)
{
	struct pending *p = k->probe.pending > k->first ? pending_at(k, k->probe.pending - 1) : NULL;

	if (p && !p->done) {
		p->done = true;
		p->channel = c ? p->channel : MSG_NONE;
		p->v[0].i = c ? (int64_t)c->event : -1;
	}
	k->probe.pending = 0;
	k->probe.channel = MSG_NONE;
}

/* A program that looks for its message first waits there. */
static uint64_t probed_at(struct input_rank *k, const struct input_call *c, const struct msg_op *op)
{
	bool same = k->probe.channel != MSG_NONE && k->probe.channel == op->recv;

	end_probe(k, same ? c : NULL);
	return same ? k->probe.enter_ns : c->enter_ns;
}

static int on_probe(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_rank *k = &in->rank[rank];
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	int64_t src = sig_scalar(d, c->sym, TK_SRC, TRACE_NULL), tag = sig_scalar(d, c->sym, TK_TAG, TRACE_NULL);
	struct pending *p;
	bool failed = false;

	end_probe(k, NULL);
	if (src == TRACE_ANY_SOURCE)
		src = sig_scalar(d, c->sym, TK_ASRC, TRACE_NULL);
	if (tag == TRACE_ANY_TAG)
		tag = sig_scalar(d, c->sym, TK_ATAG, TRACE_NULL);
	k->probe.channel = msg_channel_of(&in->names, rank, k->sig[c->sym].comm_index, src, tag, false, &failed);
	k->probe.enter_ns = c->enter_ns;
	if (!in->told || k->probe.channel == MSG_NONE)
		return 0;
	p = input_append(in, rank, c, in->type.probe);
	if (!p)
		return -1;
	p->done = false;
	p->channel = k->probe.channel;
	p->v[0].i = -1;
	k->probe.pending = k->last;
	return 0;
}

static int add_receive(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op, uint32_t made_by,
		       int64_t slot, bool blocking)
{
	struct pending *p;

	if (op->recv == MSG_NONE && !op->wild && !op->lost)
		return 0;
	p = input_append(in, rank, c, in->type.recv);
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
	p->v[12].i = (int64_t)in->rank[rank].received++;
	p->is_receive = true;
	set_outside(p, c->enter_ns, c->enter_ns);
	set_wait(p, blocking ? probed_at(&in->rank[rank], c, op) : c->enter_ns, c->leave_ns);
	if (blocking)
		return input_bursts_end(in, rank, c);
	set_under_way(p);
	return slot_set(&in->rank[rank], slot, in->rank[rank].last, made_by);
}

/* MPI_Isendrecv: both messages are under way in one slot. */
static int add_both(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op, int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	uint64_t sent;

	if (add_send(in, rank, c, op, c->sym, slot, slot < 0) < 0)
		return -1;
	sent = op->send == MSG_NONE ? 0 : k->last;
	if (!op->receives || add_receive(in, rank, c, op, c->sym, slot, slot < 0) < 0)
		return op->receives ? -1 : 0;
	if (sent && k->last > sent && slot_of(k, slot))
		*slot_of(k, slot) = (struct input_slot){sent, c->sym, 1};
	return 0;
}

/* ---- completion ---- */

/* What a wildcard received. */
static void learn_source(struct input *in, uint32_t rank, struct pending *p, const struct msg_op *made,
			 const struct msg_slots *done, uint32_t i)
{
	int64_t src = made->src, tag = made->tag;
	bool failed = false;

	if (!made->wild)
		return;
	if (src == TRACE_ANY_SOURCE && done->src)
		src = done->src[i];
	if (tag == TRACE_ANY_TAG && done->tag)
		tag = done->tag[i];
	if (src >= 0 && tag >= 0)
		set_source(in, p, made, msg_channel_of(&in->names, rank, made->comm, src, tag, false, &failed));
}

/* The call c completes an event that was under way. */
static void complete_one(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_slots *done,
			 uint32_t i, struct pending *p, uint32_t receives, uint32_t sends)
{
	struct input_rank *k = &in->rank[rank];

	p->done = true;
	p->done_event = c->event;
	p->s.untimed |= !c->timed;
	set_done_by(p, &k->sig[c->sym]);
	if (p->is_send || p->is_receive)
		set_outside(p, k->outside_ns, c->enter_ns);
	if (!p->is_send || !receives) /* who completes receives with sends waits for the receives */
		set_wait(p, c->enter_ns, c->leave_ns);
	if (p->is_send) {
		p->v[12].i = (int64_t)c->event;
		p->v[13].i = receives ? 1 : sends; /* who does not wait for it has no others to wait for with it */
	}
	if (p->is_receive) {
		p->v[10].i = (int64_t)c->event;
		p->v[11].i = receives;
		learn_source(in, rank, p, msg_op_of(&k->ops, slot_of(k, done->slot[i])->sym), done, i);
	}
}

static int complete(struct input *in, uint32_t rank, const struct input_call *c)
{
	struct input_rank *k = &in->rank[rank];
	struct msg_slots done = msg_slots_of(&k->ops, c->sym);
	uint32_t receives = 0, sends = 0;
	bool sends_only = true;

	for (uint32_t i = 0; i < done.n; i++) {
		const struct input_slot *s = slot_of(k, done.slot[i]);

		for (uint32_t j = 0; s && j <= s->more; j++) {
			const struct pending *p = under_way(k, s, j);

			receives += p && p->is_receive;
			sends += p && p->is_send;
			sends_only &= !p || p->is_send;
		}
	}
	if (!sends_only && input_bursts_end(in, rank, c) < 0)
		return -1;
	for (uint32_t i = 0; i < done.n; i++) {
		struct input_slot *s = slot_of(k, done.slot[i]);

		if (!s || !s->pending)
			continue;
		for (uint32_t j = 0; j <= s->more; j++) {
			struct pending *p = under_way(k, s, j);

			if (p)
				complete_one(in, rank, c, &done, i, p, receives, sends);
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
	in->report->unfinished += p->type != in->type.probe;
}

static int start_request(struct input *in, uint32_t rank, const struct input_call *c, int64_t slot);

static int start_requests(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op)
{
	struct msg_slots slots = msg_slots_of(&in->rank[rank].ops, c->sym);

	if (!slots.slot)
		return start_request(in, rank, c, op->message);
	for (uint32_t i = 0; i < slots.n; i++)
		if (start_request(in, rank, c, slots.slot[i]) < 0)
			return -1;
	return 0;
}

/* ---- collectives and windows ---- */

int input_collective(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, uint64_t instance,
		     uint32_t made_by, int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	struct pending *p = input_append(in, rank, c, g->type);

	if (!p)
		return -1;
	p->v[0].i = g->comm;
	p->v[1].i = (int64_t)instance;
	p->v[2].i = g->size;
	p->v[3].i = g->root;
	p->v[4].i = g->is_root;
	p->v[5].i = !g->starts_request;
	p->v[6].i = g->bytes;
	p->place = g->place;
	p->wait = 7;
	set_wait(p, c->enter_ns, c->leave_ns);
	if (!g->starts_request)
		return input_bursts_end(in, rank, c);
	set_under_way(p);
	return slot_set(k, slot, k->last, made_by);
}

static int add_collective(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, uint32_t made_by,
			  int64_t slot)
{
	return input_collective(in, rank, c, g, in->rank[rank].instance[g->comm_index]++, made_by, slot);
}

/* To each neighbour, and from each. */
static int add_neighbours(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, uint32_t made_by,
			  int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_topology *t = &k->topology[g->comm_index];
	uint64_t instance = k->instance[g->comm_index]++, first;
	struct pending *p;
	uint32_t peers = 0;

	for (uint32_t i = 0; i < t->n_to; i++) {
		if (t->to[i] == MSG_NONE)
			continue;
		p = input_append(in, rank, c, in->type.neighbour_data);
		if (!p)
			return -1;
		p->v[0].i = rank;
		p->v[1].i = t->to[i];
		p->v[2].i = g->comm;
		p->v[3].i = (int64_t)instance;
	}
	for (uint32_t i = 0; i < t->n_from; i++)
		peers += t->from[i] != MSG_NONE;
	first = k->last + 1;
	for (uint32_t i = 0; i < t->n_from; i++) {
		if (t->from[i] == MSG_NONE)
			continue;
		p = input_append(in, rank, c, in->type.neighbour);
		if (!p)
			return -1;
		p->v[0].i = t->from[i];
		p->v[1].i = rank;
		p->v[2].i = g->comm;
		p->v[3].i = (int64_t)instance;
		p->v[4].i = peers;
		p->v[5].i = !g->starts_request;
		p->wait = 6;
		set_wait(p, c->enter_ns, c->leave_ns);
		if (g->starts_request)
			set_under_way(p);
	}
	if (!g->starts_request)
		return input_bursts_end(in, rank, c);
	if (!peers)
		return 0;
	if (slot_set(k, slot, first, made_by) < 0)
		return -1;
	if (slot_of(k, slot))
		slot_of(k, slot)->more = peers - 1;
	return 0;
}

/* ---- all ---- */

static int start_request(struct input *in, uint32_t rank, const struct input_call *c, int64_t slot)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_slot *s = slot_of(k, slot);
	const struct msg_op *op;

	if (!s || s->sym == MSG_NONE || s->sym >= trace_get_rank(in->t, rank)->defs.sigs.n)
		return 0;
	op = msg_op_of(&k->ops, s->sym);
	if (op->action == MSG_SEND_INIT)
		return add_send(in, rank, c, op, s->sym, slot, false);
	if (op->action == MSG_RECV_INIT)
		return add_receive(in, rank, c, op, s->sym, slot, false);
	if (k->sig[s->sym].kind == IK_COLL)
		return add_collective(in, rank, c, &k->sig[s->sym], s->sym, slot);
	if (k->sig[s->sym].kind == IK_NEIGHBOURS)
		return add_neighbours(in, rank, c, &k->sig[s->sym], s->sym, slot);
	return 0;
}

static int on_message(struct input *in, uint32_t rank, const struct input_call *c, const struct msg_op *op,
		      const struct input_sig *g)
{
	struct input_rank *k = &in->rank[rank];
	const struct input_slot *s;
	struct pending *p;

	switch (op->action) {
	case MSG_SEND:
	case MSG_SENDRECV: return add_both(in, rank, c, op, g->request);
	case MSG_RECV:
	case MSG_MPROBE: return add_receive(in, rank, c, op, c->sym, -1, true);
	case MSG_IRECV: return add_receive(in, rank, c, op, c->sym, g->request, false);
	case MSG_SEND_INIT:
	case MSG_RECV_INIT: return slot_set(k, g->request, 0, c->sym);
	case MSG_START: return start_requests(in, rank, c, op);
	case MSG_DONE: return complete(in, rank, c);
	case MSG_FREE:
	case MSG_CANCEL:
		s = slot_of(k, op->message);
		for (uint32_t i = 0; s && i <= s->more; i++)
			if ((p = under_way(k, s, i)))
				p->done = true;
		return 0;
	default: return 0;
	}
}

static int on_call(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g)
{
	struct input_rank *k = &in->rank[rank];

	if (g->persistent)
		return slot_set(k, g->request, 0, c->sym);
	switch (g->kind) {
	case IK_OTHER: return on_message(in, rank, c, msg_op_of(&k->ops, c->sym), g);
	case IK_OWN_CALL:
	case IK_OWN_RETURN: return input_own_call(in, rank, c, g->kind == IK_OWN_RETURN);
	case IK_COLL: return add_collective(in, rank, c, g, MSG_NONE, g->request);
	case IK_NEIGHBOURS: return add_neighbours(in, rank, c, g, MSG_NONE, g->request);
	case IK_PROBE: return on_probe(in, rank, c);
	case IK_FILE:
	case IK_FILE_COLL: return input_file_call(in, rank, c, g);
	default: return input_window_call(in, rank, c, g);
	}
}

int input_call(struct input *in, uint32_t rank, const struct input_call *c)
{
	const struct input_sig *g = &in->rank[rank].sig[c->sym];

	if (input_rank_before(in, rank, c) < 0)
		return -1;
	if (in->wants_calls) {
		struct pending *p = input_append(in, rank, c, in->type.call);

		if (!p)
			return -1;
		p->v[0].i = (int64_t)c->gap_ns;
	}
	return on_call(in, rank, c, g) < 0 ? -1 : input_rank_after(in, rank, c);
}
