/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over all ranks. The rank that is furthest behind in time goes on. A rank waits for the sender if it has
 * completed a receive whose send has not been read. So a message is reported after all earlier events, and few
 * messages are in flight. A trace can contradict itself by lost calls, damage or threads that overtake each other.
 * Then a rank reads on without the send for a while, and finally gives the receive up.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/messages/messages_coll.h"

#define TURN_MIN 8
#define TURN_MAX 4096
#define ALL_TURNS (1u << 16) /* calls of all ranks in one round; bounds the sends in flight */
#define PATIENCE 64          /* calls that a rank may read on without the send while all ranks wait */

struct runner {
	struct trace_iter *it;
	double base, mean;     /* start on the clock of day, mean time per call, ns */
	double now;
	uint32_t waits;        /* channel whose send the rank waits for, or MSG_NONE */
	uint32_t patience;     /* calls that the rank may still read without the send */
	bool tried;            /* patience was given for the current receive */
};

struct walk {
	struct msg_match m;
	struct coll coll;
	struct runner *run;
	uint32_t *heap, n_heap; /* ranks that can go on; the furthest behind first */
	uint32_t *sent, cap_sent;
	uint32_t turn;
};

/* ---- the heap ---- */

static void heap_push(struct walk *w, uint32_t r)
{
	uint32_t i = w->n_heap++;

	for (; i && w->run[w->heap[(i - 1) / 2]].now > w->run[r].now; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = r;
}

/* Put r at the top and let it sink to its place. */
static void heap_sink(struct walk *w, uint32_t r)
{
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < w->n_heap) {
		k += k + 1 < w->n_heap && w->run[w->heap[k + 1]].now < w->run[w->heap[k]].now;
		if (w->run[w->heap[k]].now >= w->run[r].now)
			break;
		w->heap[i] = w->heap[k];
		i = k;
	}
	w->heap[i] = r;
}

static uint32_t heap_pop(struct walk *w)
{
	uint32_t top = w->heap[0];

	if (--w->n_heap)
		heap_sink(w, w->heap[w->n_heap]);
	return top;
}

/* ---- ranks ---- */

static void wake_rank(struct walk *w, uint32_t r)
{
	w->run[r].waits = MSG_NONE;
	w->run[r].tried = false;
	w->run[r].patience = 0;
	heap_push(w, r);
}

/* A message was sent: wake its receiver if it waits for this channel. */
static void arrived(struct walk *w, uint32_t channel)
{
	uint32_t to = w->m.names.channel[channel].dst;

	if (w->run[to].waits == channel)
		wake_rank(w, to);
}

static void wake_member(void *walk, uint32_t r)
{
	heap_push(walk, r);
}

static void rank_ends(struct walk *w, uint32_t r)
{
	msg_end(&w->m, r);
	if (w->coll.orders)
		coll_end(&w->coll, r);
	trace_iter_destroy(w->run[r].it);
	w->run[r].it = NULL;
	for (uint32_t i = 0; i < w->m.names.n_ranks; i++)
		if (w->run[i].waits != MSG_NONE && w->m.names.channel[w->run[i].waits].src == r)
			wake_rank(w, i);
}

static int sent_room(struct walk *w, uint32_t n)
{
	if (ARRAY_ROOM(w->sent, w->cap_sent, n) == 0)
		return 0;
	w->m.no_memory = true;
	return -1;
}

/* Does the rank wait for other ranks in a collective? */
static bool sleeps(const struct walk *w, uint32_t r)
{
	return w->coll.orders && w->coll.rank[r].sleeps;
}

static bool stopped(const struct walk *w)
{
	return w->m.stopped || w->m.no_memory || w->coll.stopped || w->coll.no_memory;
}

/* Read one event of the rank. Returns false if the rank has no more events. */
static bool read_event(struct walk *w, uint32_t r)
{
	struct runner *k = &w->run[r];
	const struct msg_op *op;
	struct trace_event ev;
	struct msg_at at = {0};
	uint32_t n = 0;
	double now;

	if (!trace_iter_next(k->it, &ev, &at.timed))
		return false;
	at.event = trace_iter_when(k->it, &at.enter_ns, &at.leave_ns);
	at.sym = ev.sym;
	now = k->base + (double)at.leave_ns;
	k->now = at.timed ? now : k->now + k->mean;
	if (sent_room(w, msg_sends_of(&w->m, r, ev.sym)) < 0)
		return false;
	msg_event(&w->m, r, &at, w->sent, &n);
	for (uint32_t i = 0; i < n; i++)
		arrived(w, w->sent[i]);
	op = msg_op_of(&w->m.rank[r].ops, ev.sym);
	if (w->coll.orders && op->action == MSG_COLL)
		coll_enter(&w->coll, r, op, &at);
	return true;
}

/* Report the completed receives. Returns true if the rank must wait for a send. */
static bool must_wait(struct walk *w, uint32_t r)
{
	struct runner *k = &w->run[r];
	uint32_t channel = MSG_NONE;

	if (w->m.rank[r].out == MSG_NONE)
		return false;
	if (msg_flush(&w->m, r, &channel) != MSG_WAITS) {
		k->patience = 0;
		k->tried = false;
		return false;
	}
	if (k->patience && k->it) {
		k->patience--;
		return false;
	}
	k->waits = channel;
	return true;
}

/* Read events of the rank until it must wait or another rank is behind. */
static void take_turn(struct walk *w, uint32_t r)
{
	struct runner *k = &w->run[r];

	for (uint32_t n = 0; !stopped(w); n++) {
		if (must_wait(w, r))
			return;
		if (!k->it)
			return;
		if ((n >= TURN_MIN && w->n_heap && w->run[w->heap[0]].now < k->now) || n >= w->turn) {
			heap_push(w, r);
			return;
		}
		if (!read_event(w, r))
			rank_ends(w, r);
		if (sleeps(w, r))
			return;
	}
}

/* All ranks wait: let the rank that is furthest behind go on. It reads on without the send for a while, gives the
 * receive up, or leaves its collective without the others. Returns false if no rank waits. */
static bool force_rank(struct walk *w)
{
	uint32_t r = MSG_NONE;

	for (uint32_t i = 0; i < w->m.names.n_ranks; i++)
		if ((w->run[i].waits != MSG_NONE || sleeps(w, i)) && (r == MSG_NONE || w->run[i].now < w->run[r].now))
			r = i;
	if (r == MSG_NONE)
		return false;
	if (sleeps(w, r)) {
		coll_give_up(&w->coll, r);
	} else if (w->run[r].tried || !w->run[r].it) {
		msg_give_up(&w->m, r);
		wake_rank(w, r);
	} else {
		wake_rank(w, r);
		w->run[r].tried = true;
		w->run[r].patience = PATIENCE;
	}
	return true;
}

static int walk_open(struct walk *w, const struct trace *t, struct errbuf *err)
{
	struct msg_match *m = &w->m;
	uint32_t n = trace_n_ranks(t);

	m->free_send = m->free_recv = MSG_NONE;
	w->turn = ALL_TURNS / n < TURN_MIN ? TURN_MIN : ALL_TURNS / n > TURN_MAX ? TURN_MAX : ALL_TURNS / n;
	m->rank = calloc(n, sizeof(*m->rank));
	w->run = calloc(n, sizeof(*w->run));
	w->heap = malloc(n * sizeof(*w->heap));
	if (!m->rank || !w->run || !w->heap || msg_names_build(&m->names, t) < 0 || sent_room(w, 16) < 0)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < n; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		const struct trace_proc *p = &k->defs.proc;

		m->rank[r].wild = m->rank[r].wild_last = m->rank[r].out = MSG_NONE;
		w->run[r].waits = MSG_NONE;
		m->rank[r].present = k->present;
		m->rank[r].ended = !k->present;
		if (!k->present)
			continue;
		if (msg_ops_build(&m->rank[r].ops, &m->names, r) < 0)
			return err_set(err, "no memory");
		w->run[r].it = trace_iter_create(t, r, err);
		if (!w->run[r].it)
			return -1;
		w->run[r].base = w->run[r].now = (double)p->start_real_ns;
		w->run[r].mean = (double)p->end_ticks * p->ns_per_tick / (double)(k->events.length + 1);
		heap_push(w, r);
	}
	w->coll.walk = w;
	if (w->coll.orders && coll_open(&w->coll, &m->names) < 0)
		return err_set(err, "no memory");
	return 0;
}

int trace_messages_ordered(const struct trace *t, int (*f)(const struct trace_message *m, void *arg),
			   const struct trace_orders *orders, void *arg, struct trace_messages_report *report,
			   struct errbuf *err)
{
	struct walk w = {.m = {.f = f, .arg = arg}, .coll = {.orders = orders, .arg = arg, .wake = wake_member}};
	int rv = -1;

	if (walk_open(&w, t, err) < 0)
		goto out;
	do {
		while (w.n_heap && !stopped(&w))
			take_turn(&w, heap_pop(&w));
	} while (!stopped(&w) && force_rank(&w));
	if (w.m.no_memory || w.coll.no_memory) {
		err_set(err, "no memory for the messages in flight");
		goto out;
	}
	if (!stopped(&w))
		msg_count_rest(&w.m);
	rv = stopped(&w);
out:
	if (report)
		*report = w.m.report;
	for (uint32_t r = 0; w.run && r < trace_n_ranks(t); r++)
		trace_iter_destroy(w.run[r].it);
	free(w.run);
	free(w.heap);
	free(w.sent);
	if (orders)
		coll_close(&w.coll);
	msg_match_free(&w.m);
	return rv;
}

int trace_messages(const struct trace *t, int (*f)(const struct trace_message *m, void *arg), void *arg,
		   struct trace_messages_report *report, struct errbuf *err)
{
	return trace_messages_ordered(t, f, NULL, arg, report, err);
}
