/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each rank waits for: pending sends and receives are matched by MPI's rules, the rest are waits. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/ending/ending_impl.h"
#include "trace/functions.h"

/* Sends of at most this many bytes complete without their receiver in all known MPI libraries: the smallest
 * default limit is that of Open MPI's shared memory. */
#define EAGER_BYTES 4096

/* ---- the calls that did not return ---- */

static bool is_send(uint8_t cls)
{
	return cls == TC_SEND || cls == TC_SENDRECV;
}

static bool is_receive(uint8_t cls)
{
	return cls == TC_RECV || cls == TC_SENDRECV || cls == TC_PROBE;
}

static void open_call(struct ending *e, uint32_t r)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[r];
	const struct trace_in_call *c = e->rank[r].call;
	uint8_t cls = trace_fn[c->fn].cls;
	uint32_t scope = ending_scope_of_call(&trace_get_rank(e->t, r)->defs, c);

	s->open_send = s->open_receive = MSG_NONE;
	if (scope != ENDING_NONE)
		s->open_number = ending_enter(
		    o, r, scope, (struct ending_call){c->fn, c->site, cls == TC_COLL ? c->dst : TRACE_IN_CALL_NONE});
	if (c->comm < 0)
		return;
	/* Of two tags the call has the receive's. Programs send with the same tag, as a rule. */
	if (is_send(cls) && c->dst >= 0)
		s->open_send =
		    msg_channel_of(&o->names, r, (uint32_t)c->comm, c->dst, c->tag, true, &o->no_memory);
	if (s->open_send != MSG_NONE)
		s->open_number = ++ending_channel_at(o, s->open_send)->sent;
	if (is_receive(cls) && c->src >= 0)
		s->open_receive =
		    msg_channel_of(&o->names, r, (uint32_t)c->comm, c->src, c->tag, false, &o->no_memory);
}

/* ---- messages ---- */

static int by_receiver(const void *a, const void *b, void *arg)
{
	const struct msg_channel *c = arg, *x = &c[*(const uint32_t *)a], *y = &c[*(const uint32_t *)b];

	return x->dst != y->dst ? (x->dst > y->dst) - (x->dst < y->dst) : (x > y) - (x < y);
}

static int list_open_channels(struct ending_own *o)
{
	o->open = malloc((o->names.n_channel + 1ull) * sizeof(*o->open));
	if (!o->open)
		return -1;
	for (uint32_t i = 0; i < o->names.n_channel && i < o->n_channel; i++)
		if (o->channel[i].sent > o->channel[i].received)
			o->open[o->n_open++] = i;
	qsort_r(o->open, o->n_open, sizeof(*o->open), by_receiver, o->names.channel);
	return 0;
}

static uint32_t first_open(const struct ending_own *o, uint32_t dst)
{
	uint32_t lo = 0, hi = o->n_open;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (o->names.channel[o->open[mid]].dst < dst)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A channel to rank r with a message that was not received; MSG_NONE: none. src: world rank or MSG_NONE for
 * any. */
static uint32_t find_message(const struct ending_own *o, uint32_t r, int64_t comm, uint32_t src, int64_t tag)
{
	for (uint32_t i = comm >= 0 ? first_open(o, r) : o->n_open; i < o->n_open; i++) {
		const struct msg_channel *c = &o->names.channel[o->open[i]];

		if (c->dst != r)
			break;
		if (o->channel[o->open[i]].sent > o->channel[o->open[i]].received &&
		    c->comm == o->names.comm[r][comm] && (src == MSG_NONE || c->src == src) &&
		    (tag == TRACE_ANY_TAG || c->tag == tag))
			return o->open[i];
	}
	return MSG_NONE;
}

static bool take_message(struct ending_own *o, uint32_t r, int64_t comm, uint32_t src, int64_t tag)
{
	uint32_t channel = find_message(o, r, comm, src, tag);

	if (channel != MSG_NONE)
		o->channel[channel].received++;
	return channel != MSG_NONE;
}

/* The world rank of a peer in a communicator of rank r. MSG_NONE: any, none or not known. */
static uint32_t peer_of(const struct ending *e, uint32_t r, int64_t comm, int64_t peer)
{
	const struct trace_defs *d = &trace_get_rank(e->t, r)->defs;
	const struct trace_comm *c = comm >= 0 && comm < (int64_t)d->n_comm ? &d->comm[comm] : NULL;
	const struct trace_group *g = c && c->kind == TCOMM_INTER ? &c->remote : c ? &c->members : NULL;

	return g && peer >= 0 && peer < (int64_t)g->n && g->rank[peer] < e->n_ranks ? g->rank[peer]
										    : MSG_NONE;
}

/* Let pending receives take the messages that are there, in the order in which they were posted. */
static void match_rank(struct ending *e, uint32_t r)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[r];
	const struct trace_in_call *c = e->rank[r].call;

	for (uint32_t i = 0; i < e->rank[r].n_request; i++) {
		struct ending_slot *q = &s->slot[e->rank[r].request[i]];
		const struct msg_op *op = msg_op_of(&s->ops, q->symbol);

		if (op->receives)
			q->matched = op->src == TRACE_PROC_NULL ||
				     take_message(o, r, op->comm, peer_of(e, r, op->comm, op->src), op->tag);
	}
	if (e->rank[r].where != ENDING_INSIDE || !is_receive(trace_fn[c->fn].cls))
		return;
	if (trace_fn[c->fn].cls == TC_PROBE)
		s->open_matched =
		    find_message(o, r, c->comm, peer_of(e, r, c->comm, c->src), c->tag) != MSG_NONE;
	else
		s->open_matched = take_message(o, r, c->comm, peer_of(e, r, c->comm, c->src), c->tag);
}

/* ---- waits ---- */

void ending_add_wait(struct ending *e, uint32_t rank, struct ending_wait w)
{
	struct ending_rank *k = &e->rank[rank];
	struct ending_wait *v = realloc(k->wait, (k->n_wait + 1ull) * sizeof(*v));

	if (!v) {
		((struct ending_own *)e->own)->no_memory = true;
		return;
	}
	k->wait = v;
	v[k->n_wait++] = w;
}

static void wait_for_message(struct ending *e, uint32_t r, uint32_t symbol, int64_t comm, int64_t src,
			     int64_t tag)
{
	const struct trace_defs *d = &trace_get_rank(e->t, r)->defs;
	struct ending_wait w = {.need = NEED_MESSAGE,
				.symbol = symbol,
				.tag = tag,
				.other_tag = TRACE_NULL,
				.one = peer_of(e, r, comm, src)};
	uint32_t other;

	if (src == TRACE_PROC_NULL)
		return;
	if (w.one != MSG_NONE) {
		w.n_peer = 1;
		other = find_message(e->own, r, comm, w.one, TRACE_ANY_TAG);
		if (other != MSG_NONE)
			w.other_tag = ((struct ending_own *)e->own)->names.channel[other].tag;
	} else if (src == TRACE_ANY_SOURCE && comm >= 0 && comm < (int64_t)d->n_comm) {
		const struct trace_comm *c = &d->comm[comm];
		const struct trace_group *g = c->kind == TCOMM_INTER ? &c->remote : &c->members;

		w.any = true;
		w.peer = g->rank;
		w.n_peer = g->n;
	} else {
		w.need = NEED_UNKNOWN;
	}
	ending_add_wait(e, r, w);
}

/* w: the message; this fills in the rest. */
static void wait_for_receive(struct ending *e, uint32_t r, int64_t comm, int64_t dst, struct ending_wait w)
{
	w.one = peer_of(e, r, comm, dst);
	w.n_peer = w.one != MSG_NONE;
	w.need = w.n_peer ? NEED_RECEIVE : NEED_UNKNOWN;
	w.other_tag = TRACE_NULL;
	ending_add_wait(e, r, w);
}

static void add_missing(struct ending *e, struct ending_missing *m, const struct trace_group *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t r = g->rank[i];
		const struct ending_entries *c = r < e->n_ranks ? ending_entries_of(e, r, m->scope) : NULL;

		/* A rank that is not in the trace is not accused. */
		if (r < e->n_ranks && e->rank[r].where != ENDING_ABSENT && (!c || c->entered < m->k))
			m->rank[m->n++] = r;
	}
}

static const struct ending_missing *find_missing(struct ending *e, uint32_t r, uint32_t scope, uint64_t k)
{
	struct ending_own *o = e->own;
	const struct trace_defs *d = &trace_get_rank(e->t, r)->defs;
	const struct trace_comm *c = &d->comm[ending_comm_of(d, scope)];
	uint32_t number = o->state[r].scope[scope];
	struct ending_missing *m;

	for (uint32_t i = o->n_missing; i-- > 0;)
		if (o->missing[i].scope == number && o->missing[i].k == k)
			return &o->missing[i];
	if (ARRAY_ROOM(o->missing, o->cap_missing, o->n_missing + 1) != 0) {
		o->no_memory = true;
		return NULL;
	}
	m = &o->missing[o->n_missing];
	*m = (struct ending_missing){.scope = number, .k = k};
	m->rank = malloc((c->members.n + c->remote.n + 1ull) * sizeof(*m->rank));
	if (!m->rank) {
		o->no_memory = true;
		return NULL;
	}
	add_missing(e, m, &c->members);
	add_missing(e, m, &c->remote);
	o->n_missing++;
	return m;
}

/* A rank may wait for a part of the others only: in a collective with a root, with lower ranks, or with
 * neighbours. For which part depends on the library. So one of the missing ranks is enough, unless the root
 * itself is missing. */
static bool waits_for_all(uint32_t fn, bool is_root)
{
	switch (fn) {
	case FN_MPI_Bcast:
	case FN_MPI_Ibcast:
	case FN_MPI_Scatter:
	case FN_MPI_Iscatter:
	case FN_MPI_Scatterv:
	case FN_MPI_Iscatterv:
	case FN_MPI_Scan:
	case FN_MPI_Iscan:
	case FN_MPI_Exscan:
	case FN_MPI_Iexscan:
		return false;
	case FN_MPI_Reduce:
	case FN_MPI_Ireduce:
	case FN_MPI_Gather:
	case FN_MPI_Igather:
	case FN_MPI_Gatherv:
	case FN_MPI_Igatherv:
		return is_root;
	default:
		return strncmp(trace_fn[fn].name, "MPI_Neighbor", 12) &&
		       strncmp(trace_fn[fn].name, "MPI_Ineighbor", 13);
	}
}

/* A collective that a rank has entered. */
struct entry {
	uint32_t symbol, fn; /* symbol: of the request, or ENDING_NONE */
	uint32_t scope;
	int64_t root;
	uint64_t k; /* its number in the scope; 0: not known */
};

static void wait_for_entry(struct ending *e, uint32_t r, const struct entry *c)
{
	const struct ending_missing *m = c->k ? find_missing(e, r, c->scope, c->k) : NULL;
	struct ending_wait w = {
	    .need = NEED_ENTRY, .symbol = c->symbol, .tag = TRACE_NULL, .other_tag = TRACE_NULL};
	uint32_t root_rank = peer_of(e, r, ending_comm_of(&trace_get_rank(e->t, r)->defs, c->scope), c->root);

	if (!m || !m->n)
		return;
	w.peer = m->rank;
	w.n_peer = m->n;
	w.any = !waits_for_all(c->fn, root_rank == r) && m->n > 1;
	for (uint32_t i = 0; i < m->n && w.any; i++)
		if (m->rank[i] == root_rank) {
			w.any = false;
			w.peer = NULL;
			w.one = root_rank;
			w.n_peer = 1;
		}
	ending_add_wait(e, r, w);
}

/* ---- requests ---- */

static void wait_for_request(struct ending *e, uint32_t r, uint32_t slot, bool sends)
{
	struct ending_own *o = e->own;
	struct ending_state *s = &o->state[r];
	const struct ending_slot *q = &s->slot[slot];
	const struct msg_op *op = msg_op_of(&s->ops, q->symbol);
	const struct trace_defs *d = &trace_get_rank(e->t, r)->defs;
	uint32_t fn = d->sigs.sig[q->symbol].fn;
	int64_t comm = sig_scalar(d, q->symbol, TK_COMM, TRACE_NULL);

	if (sends) {
		if (op->send != MSG_NONE && q->number > o->channel[op->send].received)
			wait_for_receive(
			    e, r, comm, sig_scalar(d, q->symbol, TK_DST, TRACE_NULL),
			    (struct ending_wait){.symbol = q->symbol,
						 .tag = sig_scalar(d, q->symbol, TK_TAG, TRACE_NULL),
						 .bytes = msg_bytes(&s->ops, q->symbol)});
	} else if (op->receives) {
		if (!q->matched)
			wait_for_message(e, r, q->symbol, comm, op->src, op->tag);
	} else if (ending_scope_of_symbol(d, q->symbol) != ENDING_NONE) {
		wait_for_entry(e, r,
			       &(struct entry){q->symbol, fn, ending_scope_of_symbol(d, q->symbol),
					       sig_scalar(d, q->symbol, TK_ROOT, TRACE_NULL), q->number});
	}
}

static bool is_any(uint32_t fn)
{
	return fn == FN_MPI_Waitany || fn == FN_MPI_Waitsome || fn == FN_MPI_Testany || fn == FN_MPI_Testsome;
}

/* Is one of the requests complete, as far as the trace tells? */
static bool one_is_complete(const struct ending *e, uint32_t r)
{
	const struct ending_rank *k = &e->rank[r];

	return k->n_wait < k->n_request;
}

static void drop_waits(struct ending_rank *k)
{
	free(k->wait);
	k->wait = NULL;
	k->n_wait = 0;
}

/*
 * The trace tells how many requests a call was given, but not which. If the call was given fewer than are
 * under way, one of them may be enough. Small sends complete without a receiver. They count only if nothing
 * else explains the wait.
 */
static void wait_for_requests(struct ending *e, uint32_t r)
{
	struct ending_rank *k = &e->rank[r];
	const struct ending_state *s = &((struct ending_own *)e->own)->state[r];

	k->any = is_any(k->call->fn) || k->call->requests < k->n_request;
	for (uint32_t i = 0; i < k->n_request; i++)
		wait_for_request(e, r, k->request[i], false);
	for (uint32_t i = 0, none = !k->n_wait; i < k->n_request; i++) {
		const struct ending_slot *q = &s->slot[k->request[i]];
		const struct msg_op *op = msg_op_of(&s->ops, q->symbol);

		/* If one request is enough, MPI_Isendrecv has one wait as the others have. */
		if (none || (k->any ? !op->receives || q->matched : msg_bytes(&s->ops, q->symbol) > EAGER_BYTES))
			wait_for_request(e, r, k->request[i], true);
	}
	if (k->any && one_is_complete(e, r))
		drop_waits(k);
}

/* ---- all ---- */

static void wait_of_message_call(struct ending *e, uint32_t r)
{
	struct ending_own *o = e->own;
	const struct ending_state *s = &o->state[r];
	const struct trace_in_call *c = e->rank[r].call;
	uint8_t cls = trace_fn[c->fn].cls;
	bool waits = is_receive(cls) && c->src != TRACE_IN_CALL_NONE && !s->open_matched;

	if (waits)
		wait_for_message(e, r, ENDING_NONE, c->comm, c->src, c->tag);
	if (is_send(cls) && c->fn != FN_MPI_Bsend && c->dst >= 0 && (!waits || c->bytes > EAGER_BYTES) &&
	    (s->open_send == MSG_NONE || s->open_number > o->channel[s->open_send].received))
		wait_for_receive(
		    e, r, c->comm, c->dst,
		    (struct ending_wait){.symbol = ENDING_NONE, .tag = c->tag, .bytes = c->bytes});
}

static void find_waits(struct ending *e, uint32_t r)
{
	struct ending_own *o = e->own;
	struct ending_rank *k = &e->rank[r];
	const struct trace_in_call *c = k->call;
	uint8_t cls = trace_fn[c->fn].cls;
	uint32_t scope = ending_scope_of_call(&trace_get_rank(e->t, r)->defs, c);

	if (is_send(cls) || is_receive(cls))
		wait_of_message_call(e, r);
	else if (cls == TC_WAIT)
		wait_for_requests(e, r);
	else if (scope != ENDING_NONE)
		wait_for_entry(e, r,
			       &(struct entry){ENDING_NONE, c->fn, scope, cls == TC_COLL ? c->dst : TRACE_NULL,
					       o->state[r].open_number});
	else if (c->win >= 0)
		ending_wait_on_window(e, r, c);
	for (uint32_t i = 0; i < k->n_wait; i++)
		if (!k->wait[i].peer)
			k->wait[i].peer = &k->wait[i].one;
}

int ending_find_waits(struct ending *e, struct errbuf *err)
{
	struct ending_own *o = e->own;

	for (uint32_t r = 0; r < e->n_ranks; r++)
		if (e->rank[r].where == ENDING_INSIDE)
			open_call(e, r);
	if (list_open_channels(o) < 0)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < e->n_ranks; r++)
		if (e->rank[r].where != ENDING_ABSENT)
			match_rank(e, r);
	for (uint32_t r = 0; r < e->n_ranks; r++)
		if (e->rank[r].where == ENDING_INSIDE)
			find_waits(e, r);
	/* from slots to symbols, as callers want them */
	for (uint32_t r = 0; r < e->n_ranks; r++)
		for (uint32_t i = 0; i < e->rank[r].n_request; i++)
			e->rank[r].request[i] = o->state[r].slot[e->rank[r].request[i]].symbol;
	return o->no_memory ? err_set(err, "no memory") : 0;
}
