/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matching of sends and receives. A channel is a communicator, sender, receiver and tag. On a channel, sends meet
 * receives in the order in which each were posted: MPI's rule for receives without wildcards. A wildcard receive
 * joins its channel when it completes, at the place where it was posted. Until then, later receives that its
 * message could have matched are not paired.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/messages/messages_match.h"
#include "common/array.h"

#define MAX_SLOTS (1u << 26)
#define OUT_MAX   (1u << 16) /* completed receives of a rank that wait; more occur in damaged traces only */

enum slot_kind { SLOT_FREE, SLOT_RECV, SLOT_MESSAGE, SLOT_SEND_INIT, SLOT_RECV_INIT };

struct msg_send {
	uint64_t event, ns, bytes;
	uint32_t sym, made_by; /* made_by: the signature with count, datatype and communicator */
	uint32_t next;
	bool timed;
};

struct msg_recv {
	uint64_t order, post_event, recv_event, recv_enter_ns, recv_ns;
	uint32_t post_sym, made_by, room_sym;
	uint32_t channel;
	uint32_t next;      /* next receive of its channel, or of the free list */
	uint32_t next_out;
	uint32_t next_wild, prev_wild;
	bool wild, lost, done, freed, cancelled, paired, timed;
	struct msg_send from; /* the matching send, if paired */
};

/* ---- pools ---- */

static uint32_t send_new(struct msg_match *m)
{
	uint32_t i = m->free_send;

	if (i != MSG_NONE) {
		m->free_send = m->send[i].next;
		return i;
	}
	if (ARRAY_ROOM(m->send, m->cap_send, m->n_send + 1) != 0) {
		m->no_memory = true;
		return MSG_NONE;
	}
	return m->n_send++;
}

static uint32_t recv_new(struct msg_match *m)
{
	uint32_t i = m->free_recv;

	if (i != MSG_NONE) {
		m->free_recv = m->recv[i].next;
		return i;
	}
	if (ARRAY_ROOM(m->recv, m->cap_recv, m->n_recv + 1) != 0) {
		m->no_memory = true;
		return MSG_NONE;
	}
	return m->n_recv++;
}

static void recv_free(struct msg_match *m, uint32_t i)
{
	m->recv[i].next = m->free_recv;
	m->free_recv = i;
}

void msg_match_free(struct msg_match *m)
{
	for (uint32_t r = 0; m->rank && r < m->names.n_ranks; r++) {
		msg_ops_free(&m->rank[r].ops);
		free(m->rank[r].slot);
	}
	free(m->rank);
	free(m->send);
	free(m->recv);
	msg_names_free(&m->names);
}

/* ---- sends ---- */

static bool put_send(struct msg_match *m, const struct msg_ops *ops, uint32_t channel, const struct msg_at *at,
		     uint32_t made_by)
{
	struct msg_channel *c;
	const struct msg_rank *to;
	uint32_t i;

	if (channel == MSG_NONE)
		return false;
	c = &m->names.channel[channel];
	to = &m->rank[c->dst];
	if (!to->present || (to->ended && !to->n_out && c->r_head == MSG_NONE)) {
		m->report.unmatched_sends++;
		return false;
	}
	i = send_new(m);
	if (i == MSG_NONE)
		return false;
	m->send[i] = (struct msg_send){.event = at->event, .ns = at->enter_ns, .sym = at->sym, .made_by = made_by,
				       .bytes = msg_bytes(ops, made_by), .next = MSG_NONE, .timed = at->timed};
	if (c->s_head == MSG_NONE)
		c->s_head = i;
	else
		m->send[c->s_tail].next = i;
	c->s_tail = i;
	return true;
}

static void take_send(struct msg_match *m, struct msg_channel *c, struct msg_send *out)
{
	uint32_t i = c->s_head;

	*out = m->send[i];
	c->s_head = out->next;
	m->send[i].next = m->free_send;
	m->free_send = i;
}

/* ---- receives ---- */

/* Insert the receive into its channel by order of posting; it is nearly always the last. */
static void join_channel(struct msg_match *m, uint32_t i)
{
	struct msg_recv *r = &m->recv[i];
	struct msg_channel *c = &m->names.channel[r->channel];
	uint32_t *at = &c->r_head;

	r->next = MSG_NONE;
	if (c->r_head == MSG_NONE) {
		c->r_head = c->r_tail = i;
		return;
	}
	if (m->recv[c->r_tail].order < r->order) {
		m->recv[c->r_tail].next = i;
		c->r_tail = i;
		return;
	}
	while (m->recv[*at].order < r->order)
		at = &m->recv[*at].next;
	r->next = *at;
	*at = i;
}

static void leave_channel(struct msg_match *m, uint32_t i)
{
	struct msg_channel *c = &m->names.channel[m->recv[i].channel];
	uint32_t *at = &c->r_head, before = MSG_NONE;

	while (*at != MSG_NONE && *at != i) {
		before = *at;
		at = &m->recv[*at].next;
	}
	if (*at == MSG_NONE)
		return;
	*at = m->recv[i].next;
	if (c->r_tail == i)
		c->r_tail = before;
}

static void leave_wild(struct msg_match *m, struct msg_rank *k, uint32_t i)
{
	uint32_t next = m->recv[i].next_wild, prev = m->recv[i].prev_wild;

	*(prev == MSG_NONE ? &k->wild : &m->recv[prev].next_wild) = next;
	*(next == MSG_NONE ? &k->wild_last : &m->recv[next].prev_wild) = prev;
	m->recv[i].wild = false;
}

/* Post a receive. Returns MSG_NONE if no message can come (MPI_PROC_NULL) or if memory runs out. */
static uint32_t post(struct msg_match *m, struct msg_rank *k, const struct msg_at *at, uint32_t made_by)
{
	const struct msg_op *op = msg_op_of(&k->ops, made_by);
	uint32_t i;

	if (op->recv == MSG_NONE && !op->wild && !op->lost)
		return MSG_NONE;
	i = recv_new(m);
	if (i == MSG_NONE)
		return MSG_NONE;
	m->recv[i] = (struct msg_recv){.order = k->posted++, .post_event = at->event, .post_sym = at->sym,
				       .made_by = made_by, .room_sym = made_by, .channel = op->recv, .next = MSG_NONE,
				       .next_out = MSG_NONE, .next_wild = MSG_NONE, .prev_wild = k->wild_last, .wild = op->wild, .lost = op->lost};
	if (op->wild) {
		*(k->wild_last == MSG_NONE ? &k->wild : &m->recv[k->wild_last].next_wild) = i;
		k->wild_last = i;
	} else if (!op->lost) {
		join_channel(m, i);
	}
	return i;
}

/* The completion of receive i will not be recorded. */
static void abandon(struct msg_match *m, struct msg_rank *k, uint32_t i)
{
	struct msg_recv *r = &m->recv[i];

	if (r->paired || r->wild || r->lost) {
		if (r->wild)
			leave_wild(m, k, i);
		m->report.incomplete++;
		recv_free(m, i);
		return;
	}
	r->freed = true; /* the receive still takes its message from the channel */
}

static void report_message(struct msg_match *m, uint32_t i)
{
	const struct msg_recv *r = &m->recv[i];
	const struct msg_channel *c = &m->names.channel[r->channel];
	const struct trace_message msg = {
		.src = c->src, .dst = c->dst, .send_event = r->from.event, .recv_event = r->recv_event,
		.post_event = r->post_event, .send_ns = r->from.ns, .recv_ns = r->recv_ns,
		.recv_enter_ns = r->recv_enter_ns, .bytes = r->from.bytes, .tag = c->tag,
		.comm = msg_op_of(&m->rank[c->src].ops, r->from.made_by)->comm, .send_sym = r->from.sym,
		.recv_sym = r->post_sym,
		.room = msg_room(&m->rank[c->dst].ops, r->room_sym), .room_sym = r->room_sym, .channel = r->channel,
		.timed = r->from.timed && r->timed};

	m->report.matched++;
	m->report.untimed += !msg.timed;
	if (!m->stopped && m->f && m->f(&msg, m->arg))
		m->stopped = true;
}

/* Find an earlier posted wildcard receive that may have taken a message of r's channel. Its source is not known
 * yet. Returns MSG_NONE if there is none. */
static uint32_t wild_before(const struct msg_match *m, const struct msg_rank *k, const struct msg_recv *r)
{
	const struct msg_op *mine = msg_op_of(&k->ops, r->made_by);

	for (uint32_t w = k->wild; w != MSG_NONE && m->recv[w].order < r->order; w = m->recv[w].next_wild) {
		const struct msg_op *op = msg_op_of(&k->ops, m->recv[w].made_by);
		const struct msg_channel *c = &m->names.channel[r->channel];

		if (op->comm == mine->comm && (op->tag == TRACE_ANY_TAG || op->tag == c->tag) &&
		    (op->src == TRACE_ANY_SOURCE || op->from == c->src))
			return w;
	}
	return MSG_NONE;
}

static void drop_out(struct msg_match *m, struct msg_rank *k)
{
	uint32_t i = k->out;

	k->out = m->recv[i].next_out;
	k->n_out--;
	recv_free(m, i);
}

/* Pair the receives of the channel up to receive i. Returns true if receive i is paired. */
static bool pair_until(struct msg_match *m, uint32_t i)
{
	struct msg_channel *c = &m->names.channel[m->recv[i].channel];

	while (!m->recv[i].paired && c->s_head != MSG_NONE && c->r_head != MSG_NONE) {
		uint32_t head = c->r_head;
		struct msg_recv *r = &m->recv[head];

		c->r_head = r->next;
		take_send(m, c, &r->from);
		r->paired = true;
		if (r->freed) {
			m->report.incomplete++;
			recv_free(m, head);
		}
	}
	return m->recv[i].paired;
}

void msg_give_up(struct msg_match *m, uint32_t rank)
{
	struct msg_rank *k = &m->rank[rank];
	uint32_t i = k->out;

	if (i == MSG_NONE)
		return;
	if (!m->recv[i].lost && !m->recv[i].paired)
		leave_channel(m, i);
	m->report.unmatched_receives++;
	drop_out(m, k);
}

enum msg_wait msg_flush(struct msg_match *m, uint32_t rank, uint32_t *channel)
{
	struct msg_rank *k = &m->rank[rank];

	while (k->out != MSG_NONE && !m->stopped) {
		uint32_t i = k->out, before;
		const struct msg_channel *c;

		if (m->recv[i].lost) {
			msg_give_up(m, rank);
			continue;
		}
		if (!m->recv[i].paired) {
			before = k->wild != MSG_NONE ? wild_before(m, k, &m->recv[i]) : MSG_NONE;
			if (before != MSG_NONE && k->n_out < OUT_MAX && !k->ended)
				return MSG_GOES_ON;
			c = &m->names.channel[m->recv[i].channel];
			if (!pair_until(m, i)) {
				*channel = m->recv[i].channel;
				if (!m->rank[c->src].present || (m->rank[c->src].ended)) {
					msg_give_up(m, rank);
					continue;
				}
				if (c->src != rank)
					return MSG_WAITS;
				if (k->n_out < OUT_MAX)
					return MSG_FOR_ITSELF;
				msg_give_up(m, rank);
				continue;
			}
		}
		report_message(m, i);
		drop_out(m, k);
	}
	return MSG_GOES_ON;
}

static void complete_receive(struct msg_match *m, struct msg_rank *k, uint32_t i, const struct msg_at *at)
{
	struct msg_recv *r = &m->recv[i];

	r->done = true;
	r->recv_event = at->event;
	r->recv_enter_ns = at->enter_ns;
	r->recv_ns = at->leave_ns;
	r->timed = at->timed;
	r->next_out = MSG_NONE;
	if (k->out == MSG_NONE)
		k->out = i;
	else
		m->recv[k->out_tail].next_out = i;
	k->out_tail = i;
	k->n_out++;
}

/* Fast path without queues: the send is in the channel and no earlier receive waits. */
static bool receive_at_once(struct msg_match *m, struct msg_rank *k, const struct msg_at *at)
{
	const struct msg_op *op = msg_op_of(&k->ops, at->sym);
	struct msg_channel *c;
	uint32_t i;

	if (op->recv == MSG_NONE)
		return !op->lost;
	c = &m->names.channel[op->recv];
	if (c->s_head == MSG_NONE || c->r_head != MSG_NONE || k->out != MSG_NONE || k->wild != MSG_NONE)
		return false;
	i = recv_new(m);
	if (i == MSG_NONE)
		return true;
	m->recv[i] = (struct msg_recv){.order = k->posted++, .post_event = at->event, .recv_event = at->event,
				       .recv_enter_ns = at->enter_ns, .recv_ns = at->leave_ns, .post_sym = at->sym, .room_sym = at->sym,
				       .channel = op->recv, .timed = at->timed};
	take_send(m, c, &m->recv[i].from);
	report_message(m, i);
	recv_free(m, i);
	return true;
}

static void post_and_complete(struct msg_match *m, struct msg_rank *k, const struct msg_at *at)
{
	uint32_t i;

	if (receive_at_once(m, k, at))
		return;
	i = post(m, k, at, at->sym);
	if (i != MSG_NONE)
		complete_receive(m, k, i, at);
}

/* ---- slots ---- */

static struct msg_slot *slot_of(struct msg_rank *k, int64_t s)
{
	return s >= 0 && s < (int64_t)k->n_slot ? &k->slot[s] : NULL;
}

static void slot_clear(struct msg_match *m, struct msg_rank *k, struct msg_slot *s)
{
	if (s->recv != MSG_NONE)
		abandon(m, k, s->recv);
	*s = (struct msg_slot){.recv = MSG_NONE};
}

static void slot_set(struct msg_match *m, struct msg_rank *k, int64_t slot, uint8_t kind, uint32_t recv, uint32_t sym)
{
	uint32_t before = k->n_slot;

	if (slot < 0 || slot >= MAX_SLOTS || (slot >= before && kind == SLOT_FREE))
		return;
	if (ARRAY_ROOM(k->slot, k->n_slot, (size_t)slot + 1) != 0) {
		m->no_memory = true;
		return;
	}
	for (uint32_t i = before; i < k->n_slot; i++)
		k->slot[i] = (struct msg_slot){.recv = MSG_NONE};
	slot_clear(m, k, &k->slot[slot]);
	k->slot[slot] = (struct msg_slot){.kind = kind, .recv = recv, .sym = sym};
}

/* The source and tag of a wildcard receive have become known. */
static void resolve(struct msg_match *m, struct msg_rank *k, uint32_t rank, uint32_t i, int64_t src, int64_t tag)
{
	const struct msg_op *op = msg_op_of(&k->ops, m->recv[i].made_by);

	leave_wild(m, k, i);
	src = op->src == TRACE_ANY_SOURCE ? src : op->src;
	tag = op->tag == TRACE_ANY_TAG ? tag : op->tag;
	m->recv[i].channel = msg_channel_of(&m->names, rank, op->comm, src, tag, false, &m->no_memory);
	if (m->recv[i].channel == MSG_NONE)
		m->recv[i].lost = true;
	else
		join_channel(m, i);
}

/* The n-th completed request. */
static void finish_request(struct msg_match *m, uint32_t rank, const struct msg_slots *done, uint32_t n,
			   const struct msg_at *at)
{
	struct msg_rank *k = &m->rank[rank];
	struct msg_slot *s = slot_of(k, done->slot[n]);
	uint32_t i = s ? s->recv : MSG_NONE;

	if (!s)
		return;
	s->recv = MSG_NONE;
	if (s->kind != SLOT_SEND_INIT && s->kind != SLOT_RECV_INIT)
		s->kind = SLOT_FREE;
	if (i == MSG_NONE)
		return;
	if (m->recv[i].wild) {
		int64_t src = done->src ? done->src[n] : TRACE_NULL;
		int64_t tag = done->tag ? done->tag[n] : TRACE_NULL;

		resolve(m, k, rank, i, src, tag);
		if (m->recv[i].lost && (m->recv[i].cancelled || src == TRACE_PROC_NULL)) {
			recv_free(m, i);
			return;
		}
	} else if (m->recv[i].cancelled && !m->recv[i].paired) {
		leave_channel(m, i);
		recv_free(m, i);
		return;
	}
	complete_receive(m, k, i, at);
}

static bool start_request(struct msg_match *m, uint32_t rank, int64_t slot, const struct msg_at *at, uint32_t *channel)
{
	struct msg_rank *k = &m->rank[rank];
	struct msg_slot *s = slot_of(k, slot);

	if (!s)
		return false;
	if (s->kind == SLOT_SEND_INIT) {
		*channel = msg_op_of(&k->ops, s->sym)->send;
		return put_send(m, &k->ops, *channel, at, s->sym);
	}
	if (s->kind == SLOT_RECV_INIT) {
		if (s->recv != MSG_NONE)
			abandon(m, k, s->recv);
		s->recv = post(m, k, at, s->sym);
	}
	return false;
}

static void matched_receive(struct msg_match *m, struct msg_rank *k, const struct msg_op *op, const struct msg_at *at)
{
	struct msg_slot *s = slot_of(k, op->message);
	uint32_t i = s && s->kind == SLOT_MESSAGE ? s->recv : MSG_NONE;

	if (i != MSG_NONE) {
		*s = (struct msg_slot){.recv = MSG_NONE};
		m->recv[i].post_event = at->event;
		m->recv[i].post_sym = m->recv[i].room_sym = at->sym;
	}
	if (op->action == MSG_IMRECV)
		slot_set(m, k, op->slot, SLOT_RECV, i, at->sym);
	else if (i != MSG_NONE)
		complete_receive(m, k, i, at);
}

/* ---- events ---- */

uint32_t msg_sends_of(const struct msg_match *m, uint32_t rank, uint32_t sym)
{
	const struct msg_op *op = msg_op_of(&m->rank[rank].ops, sym);

	return op->action == MSG_START && op->slots_at != MSG_NONE ? op->n_slots : 1;
}

static void on_slot(struct msg_match *m, struct msg_rank *k, const struct msg_op *op, const struct msg_at *at)
{
	struct msg_slot *s = slot_of(k, op->message);

	switch (op->action) {
	case MSG_IRECV:
		slot_set(m, k, op->slot, SLOT_RECV, post(m, k, at, at->sym), at->sym);
		break;
	case MSG_MPROBE:
		slot_set(m, k, op->slot, SLOT_MESSAGE, post(m, k, at, at->sym), at->sym);
		break;
	case MSG_SEND_INIT:
		slot_set(m, k, op->slot, SLOT_SEND_INIT, MSG_NONE, at->sym);
		break;
	case MSG_RECV_INIT:
		slot_set(m, k, op->slot, SLOT_RECV_INIT, MSG_NONE, at->sym);
		break;
	case MSG_MRECV:
	case MSG_IMRECV:
		matched_receive(m, k, op, at);
		break;
	case MSG_FREE:
		if (s)
			slot_clear(m, k, s);
		break;
	case MSG_CANCEL:
		if (s && s->recv != MSG_NONE)
			m->recv[s->recv].cancelled = true;
		break;
	case MSG_OTHER:
		slot_set(m, k, op->slot, SLOT_FREE, MSG_NONE, at->sym);
		break;
	default:
		break;
	}
}

void msg_event(struct msg_match *m, uint32_t rank, const struct msg_at *at, uint32_t *sent, uint32_t *n_sent)
{
	struct msg_rank *k = &m->rank[rank];
	const struct msg_op *op = msg_op_of(&k->ops, at->sym);
	struct msg_slots slots;
	uint32_t posted;

	*n_sent = 0;
	switch (op->action) {
	case MSG_NOTHING:
	case MSG_COLL:
		break;
	case MSG_SEND:
	case MSG_SENDRECV:
		if (put_send(m, &k->ops, op->send, at, at->sym))
			sent[(*n_sent)++] = op->send;
		if (op->action == MSG_SENDRECV) {
			post_and_complete(m, k, at);
		} else if (op->slot >= 0) {
			posted = post(m, k, at, at->sym);
			slot_set(m, k, op->slot, posted != MSG_NONE ? SLOT_RECV : SLOT_FREE, posted, at->sym);
		}
		break;
	case MSG_RECV:
		post_and_complete(m, k, at);
		break;
	case MSG_DONE:
		slots = msg_slots_of(&k->ops, at->sym);
		for (uint32_t i = 0; i < slots.n; i++)
			finish_request(m, rank, &slots, i, at);
		break;
	case MSG_START:
		slots = msg_slots_of(&k->ops, at->sym);
		if (!slots.slot && start_request(m, rank, op->message, at, &sent[*n_sent]))
			++*n_sent;
		for (uint32_t i = 0; slots.slot && i < slots.n; i++)
			if (start_request(m, rank, slots.slot[i], at, &sent[*n_sent]))
				++*n_sent;
		break;
	default:
		on_slot(m, k, op, at);
	}
}

/* ---- the end ---- */

void msg_end(struct msg_match *m, uint32_t rank)
{
	struct msg_rank *k = &m->rank[rank];

	for (uint32_t i = 0; i < k->n_slot; i++)
		slot_clear(m, k, &k->slot[i]);
	while (k->wild != MSG_NONE)
		abandon(m, k, k->wild);
	k->ended = true;
}

void msg_count_rest(struct msg_match *m)
{
	for (uint32_t i = 0; i < m->names.n_channel; i++) {
		struct msg_channel *c = &m->names.channel[i];

		/* Posted receives whose completion was not recorded take the remaining messages. */
		for (; c->s_head != MSG_NONE; c->s_head = m->send[c->s_head].next) {
			if (c->r_head == MSG_NONE) {
				m->report.unmatched_sends++;
				continue;
			}
			m->report.incomplete++;
			c->r_head = m->recv[c->r_head].next;
		}
	}
}
