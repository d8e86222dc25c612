/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes the calls of one rank against the simulated network. */
#include "skelgen/simulate/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/simulate/window.h"

#define MAX_SLOTS (1u << 26)
#define EMPTY_SLOT .request = NET_NONE, .second = NET_NONE, .collective = SKEL_NOTHING

int sim_rank_open(struct sim *s, uint32_t rank)
{
	struct sim_rank *r = &s->rank[rank];
	const struct trace_defs *d = skel_defs(s->tree, rank);

	r->rank = rank;
	r->matching = NET_NONE;
	r->sequence = calloc(d->n_comm + 1u, sizeof *r->sequence);
	r->place = calloc(d->n_comm + 1u, sizeof *r->place);
	r->win = calloc(s->tree->globals->n_win + 1u, sizeof *r->win);
	r->file_sequence = calloc(s->tree->globals->n_file + 1u, sizeof *r->file_sequence);
	if (r->sequence == NULL || r->place == NULL || r->win == NULL || r->file_sequence == NULL ||
	    sim_objects_open(&r->objects, d) != 0)
		return -1;
	for (uint32_t i = 0; i < s->tree->globals->n_win; i++)
		r->win[i].started = r->win[i].posted = SKEL_NOTHING;
	scaled_begin(&r->it, s->tree, s->plan, rank);
	return 0;
}

void sim_rank_close(struct sim_rank *r)
{
	free(r->pending);
	free(r->slot);
	free(r->sequence);
	free(r->place);
	sim_objects_close(&r->objects);
	free(r->win);
	free(r->file_sequence);
}

static int fail_memory(struct sim *s)
{
	s->no_memory = true;
	return err_set(s->err, "no memory to simulate the skeleton");
}

/* Put "rank 3, MPI_Send at heat+0x12: " before what is wrong. */
int sim_fail_here(struct sim *s, const struct sim_rank *r)
{
	char text[256];

	if (s->no_memory || net_no_memory(s->net))
		return fail_memory(s);
	s->report->node = r->leaf->id;
	skel_call_describe(skel_defs(s->tree, r->rank), r->sym, text, sizeof text);
	return err_prefix(s->err, "rank %u, %s", r->rank, text);
}

int sim_pend(struct sim *s, struct sim_rank *r, uint32_t request)
{
	if (request == NET_NONE)
		return sim_fail_here(s, r);
	if (ARRAY_ROOM(r->pending, r->cap_pending, r->n_pending + 1) != 0)
		return fail_memory(s);
	r->pending[r->n_pending++] = request;
	return 0;
}

static struct sim_slot *slot_at(struct sim *s, struct sim_rank *r, int64_t slot)
{
	uint32_t before;

	if (slot < 0 || slot > MAX_SLOTS) {
		err_set(s->err, "request slot %lld is out of range", (long long)slot);
		return NULL;
	}
	before = r->n_slot;
	if (ARRAY_ROOM(r->slot, r->n_slot, (size_t)slot + 1) != 0) {
		s->no_memory = true;
		return NULL;
	}
	for (uint32_t i = before; i < r->n_slot; i++)
		r->slot[i] = (struct sim_slot){EMPTY_SLOT};
	return &r->slot[slot];
}

int sim_odd(struct sim *s, const struct sim_rank *r, const char *what)
{
	s->report->oddities++;
	if (s->plan->n_cut == 0)
		return 0;
	err_set(s->err, "%s", what);
	return sim_fail_here(s, r);
}

static int odd(struct sim *s, const struct sim_rank *r, const char *what, int64_t slot)
{
	char text[96];

	snprintf(text, sizeof text, "request %lld %s", (long long)slot, what);
	return sim_odd(s, r, text);
}

static int slot_fill(struct sim *s, struct sim_rank *r, int64_t slot, uint32_t request)
{
	struct sim_slot *q;

	if (request == NET_NONE)
		return sim_fail_here(s, r);
	q = slot_at(s, r, slot);
	if (q == NULL)
		return sim_fail_here(s, r);
	if (q->request != NET_NONE) {
		if (odd(s, r, "is still under way and is started again", slot) != 0)
			return -1;
		net_release(s->net, q->request);
	}
	q->request = request;
	q->node = r->leaf->id;
	return 0;
}

/* ---- messages ---- */

static uint32_t own_place(struct sim *s, struct sim_rank *r, int64_t local)
{
	const struct trace_group *g = &skel_defs(s->tree, r->rank)->comm[local].members;

	if (r->place[local] == 0)
		for (uint32_t i = 0; i < g->n; i++)
			if (g->rank[i] == r->rank)
				r->place[local] = i + 1;
	return r->place[local] - 1;
}

static bool has_halves(const struct trace_fn_info *f)
{
	bool dst = false, src = false;

	for (uint32_t i = 0; i < f->n_param; i++) {
		dst |= f->param[i].kind == TK_DST;
		src |= f->param[i].kind == TK_SRC;
	}
	return dst && src;
}

/* Does one count stand for what is sent and what is received? */
static bool replaces(uint16_t fn)
{
	return strstr(trace_fn[fn].name, "_replace") != NULL;
}

static int64_t bytes_of(const struct trace_defs *d, uint32_t sym, uint32_t nth)
{
	int64_t count = call_scalar(d, sym, TK_COUNT, nth, -1), type = call_scalar(d, sym, TK_TYPE, nth, -1);

	if (nth > 0 && (count < 0 || type < 0)) {
		count = count < 0 ? call_scalar(d, sym, TK_COUNT, 0, -1) : count;
		type = type < 0 ? call_scalar(d, sym, TK_TYPE, 0, -1) : type;
	}
	if (count < 0 || type < 0 || type >= d->n_type)
		return 0;
	return count * d->type[type].size * call_named(d, sym, "partitions", 1);
}

/* Bytes that the skeleton's receive has room for; nth: of its counts. */
static int64_t room_of(const struct sim *s, const struct sim_rank *r, uint32_t nth)
{
	int64_t own = bytes_of(skel_defs(s->tree, r->rank), r->sym, nth);
	uint64_t least = replaces(r->leaf->fn) ? 0 : skel_room(&s->plan->rooms, r->rank, r->sym);

	return least > (uint64_t)own && least <= INT64_MAX ? (int64_t)least : own;
}

/* Communicator of the call, checked; NULL with err filled. */
static const struct trace_comm *call_comm(struct sim *s, const struct sim_rank *r, uint32_t sym, int64_t *local)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);

	*local = call_scalar(d, sym, TK_COMM, 0, TRACE_NULL);
	if (*local < 0 || *local >= d->n_comm) {
		err_set(s->err, "it names no communicator");
		return NULL;
	}
	if (!sim_objects_has_comm(&r->objects, *local)) {
		err_set(s->err, "no call of the trace makes its communicator");
		return NULL;
	}
	return &d->comm[*local];
}

static bool name_has(const struct sim_rank *r, const char *part, const char *or_part)
{
	const char *name = trace_fn[r->leaf->fn].name;

	return strstr(name, part) != NULL || strstr(name, or_part) != NULL;
}

/* Fill m for the sending or receiving half: 1, 0 when the peer is MPI_PROC_NULL, -1 when it makes no sense. */
static int message_of(struct sim *s, struct sim_rank *r, bool send, struct net_message *m)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	bool both = has_halves(&trace_fn[r->leaf->fn]);
	struct call_match got;
	int64_t local, peer;
	const struct trace_comm *c = call_comm(s, r, r->sym, &local);
	const struct trace_group *others;

	if (c == NULL)
		return -1;
	others = c->kind == TCOMM_INTER ? &c->remote : &c->members;
	memset(m, 0, sizeof *m);
	m->comm = s->tree->globals->comm[r->rank][local];
	m->node = r->leaf->id;
	if (send) {
		peer = call_scalar(d, r->sym, TK_DST, 0, TRACE_PROC_NULL);
		m->tag = call_scalar(d, r->sym, TK_TAG, 0, 0);
		m->bytes = bytes_of(d, r->sym, 0);
		m->sync = name_has(r, "ssend", "Ssend");
		m->forced = s->buffered != NULL && !m->sync && !name_has(r, "bsend", "Bsend");
		m->sync |= m->forced;
	} else {
		got = skel_call_match(s->tree->wildcards, r->leaf, r->index, r->occ, d, r->sym);
		peer = got.source;
		m->tag = got.tag;
		m->bytes = trace_fn[r->leaf->fn].cls == TC_PROBE ? INT64_MAX : room_of(s, r, both);
	}
	if (peer == TRACE_PROC_NULL)
		return 0;
	if (peer >= others->n || (send && peer < 0))
		return err_set(s->err, "peer %lld is not in a communicator of %u", (long long)peer, others->n);
	m->from = send ? r->rank : UINT32_MAX;
	m->to = send ? others->rank[peer] : r->rank;
	m->source = send ? (int64_t)own_place(s, r, local) : peer;
	return 1;
}

static uint32_t start_half(struct sim *s, const struct net_message *m, bool send)
{
	s->report->messages += send;
	return send ? net_send(s->net, m, s->err) : net_receive(s->net, m, s->err);
}

static int blocking_half(struct sim *s, struct sim_rank *r, bool send)
{
	struct net_message m;
	int there = message_of(s, r, send, &m);

	if (there <= 0)
		return there < 0 ? sim_fail_here(s, r) : 0;
	return sim_pend(s, r, start_half(s, &m, send));
}

static int nonblocking(struct sim *s, struct sim_rank *r, bool send)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	int64_t slot = call_scalar(d, r->sym, TK_NEWREQ, 0, TRACE_NULL);
	bool persistent = strstr(trace_fn[r->leaf->fn].name, "_init") != NULL;
	struct net_message m;
	int there = message_of(s, r, send, &m);
	struct sim_slot *q;

	if (there < 0)
		return sim_fail_here(s, r);
	if (!persistent && there > 0)
		return slot_fill(s, r, slot, start_half(s, &m, send));
	q = slot_at(s, r, slot);
	if (q == NULL)
		return sim_fail_here(s, r);
	q->persistent = persistent;
	q->collective = SKEL_NOTHING;
	q->is_send = send;
	q->m = m;
	if (there == 0)
		q->m.comm = NET_NONE; /* MPI_PROC_NULL: complete as soon as started */
	return 0;
}

/* Both halves of a combined call in one request. */
static int nonblocking_both(struct sim *s, struct sim_rank *r)
{
	int64_t slot = call_scalar(skel_defs(s->tree, r->rank), r->sym, TK_NEWREQ, 0, TRACE_NULL);
	struct sim_slot *q;
	struct net_message m;
	int there;

	if (nonblocking(s, r, true) != 0)
		return -1;
	there = message_of(s, r, false, &m);
	if (there <= 0)
		return there < 0 ? sim_fail_here(s, r) : 0;
	q = slot_at(s, r, slot);
	if (q == NULL)
		return sim_fail_here(s, r);
	q->second = start_half(s, &m, false);
	return q->second == NET_NONE ? sim_fail_here(s, r) : 0;
}

/* Imrecv: the message that a matched probe holds becomes the receive. */
static int take_message(struct sim *s, struct sim_rank *r, int64_t from, int64_t to)
{
	struct sim_slot *q = slot_at(s, r, from);
	uint32_t request;

	if (q == NULL)
		return sim_fail_here(s, r);
	request = q->request;
	q->request = NET_NONE;
	if (request == NET_NONE && !q->no_proc && odd(s, r, "holds no message and is received", from) != 0)
		return -1;
	q->no_proc = false;
	if (request == NET_NONE)
		return 0;
	if (net_room(s->net, request, room_of(s, r, 0), s->err) != 0)
		return sim_fail_here(s, r);
	return to == TRACE_NULL ? sim_pend(s, r, request) : slot_fill(s, r, to, request);
}

static int receive(struct sim *s, struct sim_rank *r, bool block)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);

	if (strstr(trace_fn[r->leaf->fn].name, "mrecv") != NULL || strstr(trace_fn[r->leaf->fn].name, "Mrecv") != NULL)
		return take_message(s, r, call_scalar(d, r->sym, TK_REQ, 0, TRACE_NULL),
				    block ? TRACE_NULL : call_scalar(d, r->sym, TK_NEWREQ, 0, TRACE_NULL));
	return block ? blocking_half(s, r, false) : nonblocking(s, r, false);
}

/* The probe takes its message out of the channel, and waits for it. */
static int matched_probe(struct sim *s, struct sim_rank *r, int64_t slot, bool no_proc)
{
	struct sim_slot *q;

	r->matching = no_proc ? NET_NONE : net_receive(s->net, &r->probe, s->err);
	if (!no_proc)
		return slot_fill(s, r, slot, r->matching);
	q = slot_at(s, r, slot);
	if (q == NULL)
		return sim_fail_here(s, r);
	q->no_proc = true;
	return 0;
}

static int probe(struct sim *s, struct sim_rank *r)
{
	int64_t slot = call_scalar(skel_defs(s->tree, r->rank), r->sym, TK_NEWREQ, 0, TRACE_NULL);
	int there = message_of(s, r, false, &r->probe);

	if (there < 0)
		return sim_fail_here(s, r);
	if (slot != TRACE_NULL)
		return matched_probe(s, r, slot, there == 0);
	r->probing = there > 0;
	return 0;
}

/* ---- requests ---- */

static int wait_for(struct sim *s, struct sim_rank *r)
{
	uint32_t n;
	const int64_t *slot = call_done_slots(skel_defs(s->tree, r->rank), r->sym, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct sim_slot *q = slot[i] >= 0 ? slot_at(s, r, slot[i]) : NULL;

		if (q == NULL)
			continue;
		if (q->incomplete) {
			err_set(s->err, "another thread completes its generalized request, which a skeleton cannot repeat");
			return sim_fail_here(s, r);
		}
		if (q->request != NET_NONE && sim_pend(s, r, q->request) != 0)
			return -1;
		if (q->second != NET_NONE && sim_pend(s, r, q->second) != 0)
			return -1;
		/* Nothing under way: to MPI_PROC_NULL, or of a call that is not followed. */
		q->request = q->second = NET_NONE;
	}
	return 0;
}

static int slot_general(struct sim *s, struct sim_rank *r, int64_t slot, bool incomplete)
{
	struct sim_slot *q = slot_at(s, r, slot);

	if (q == NULL)
		return sim_fail_here(s, r);
	*q = (struct sim_slot){EMPTY_SLOT, .incomplete = incomplete};
	return 0;
}

static int local_call(struct sim *s, struct sim_rank *r)
{
	const char *name = trace_fn[r->leaf->fn].name;
	bool drop = strcmp(name, "MPI_Request_free") == 0, cancel = strcmp(name, "MPI_Cancel") == 0;
	int64_t made = call_scalar(skel_defs(s->tree, r->rank), r->sym, TK_NEWREQ, 0, TRACE_NULL);
	uint32_t n;
	const int64_t *slot = call_request_slots(skel_defs(s->tree, r->rank), r->sym, &n);

	if (strcmp(name, "MPI_Grequest_start") == 0 && made >= 0)
		return slot_general(s, r, made, true);
	if (strcmp(name, "MPI_Grequest_complete") == 0 && n > 0 && slot[0] >= 0)
		return slot_general(s, r, slot[0], false);
	for (uint32_t i = 0; (drop || cancel) && i < n; i++) {
		struct sim_slot *q = slot[i] >= 0 ? slot_at(s, r, slot[i]) : NULL;

		if (q == NULL)
			continue;
		if (cancel && q->request != NET_NONE)
			net_cancel(s->net, q->request);
		if (drop)
			*q = (struct sim_slot){EMPTY_SLOT}; /* under way, it goes on unseen */
	}
	return 0;
}

/* ---- collectives ---- */

static uint8_t pattern_of(const char *name, bool inter)
{
	static const char *const from[] = {"cast", "catter", NULL}, *const to[] = {"_Reduce", "_Ireduce", "ather", NULL};

	if (inter || strstr(name, "scan") != NULL || strstr(name, "Scan") != NULL || strstr(name, "eighbor") != NULL)
		return NET_FREE;
	if (strstr(name, "All") != NULL || strstr(name, "all") != NULL || strstr(name, "catter_block") != NULL ||
	    strstr(name, "educe_scatter") != NULL)
		return NET_ALL;
	for (int i = 0; from[i] != NULL; i++)
		if (strstr(name, from[i]) != NULL)
			return NET_FROM_ROOT;
	for (int i = 0; to[i] != NULL; i++)
		if (strstr(name, to[i]) != NULL)
			return NET_TO_ROOT;
	return NET_ALL;
}

/* Bytes that every member must name alike. */
static int64_t bytes_compared(const struct trace_defs *d, uint32_t sym, const char *name)
{
	if (strcmp(name + 4, "Bcast") == 0 || strcmp(name + 4, "Ibcast") == 0 || strstr(name, "llreduce") != NULL ||
	    strcmp(name + 4, "Reduce") == 0 || strcmp(name + 4, "Ireduce") == 0)
		return bytes_of(d, sym, 0);
	return -1;
}

static uint32_t join(struct sim *s, struct sim_rank *r, uint32_t sym)
{
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	int64_t local, root = call_scalar(d, sym, TK_ROOT, 0, -1);
	const struct trace_comm *c = call_comm(s, r, sym, &local);
	const char *name = call_name(d, sym);
	struct net_collective n;

	if (c == NULL)
		return NET_NONE;
	n = (struct net_collective){.comm = s->tree->globals->comm[r->rank][local], .rank = r->rank,
				    .members = c->members.n + c->remote.n, .sequence = r->sequence[local]++,
				    .name = name, .root = -1, .bytes = -1, .node = r->leaf->id,
				    .pattern = pattern_of(name, c->kind == TCOMM_INTER)};
	if (c->kind != TCOMM_INTER) {
		n.root = root;
		n.is_root = root >= 0 && root == (int64_t)own_place(s, r, local);
		n.bytes = bytes_compared(d, sym, name);
	}
	s->report->collectives++;
	return net_collective(s->net, &n, s->err);
}

/* The call waits for all ranks: do all make it at the same place? */
static void meets_note(struct sim *s, const struct sim_rank *r, uint32_t request)
{
	uint8_t *meets = s->plan->meets;
	uint32_t here = r->leaf->id, first;

	if (request == NET_NONE || meets == NULL || s->buffered != NULL) /* that run may end early */
		return;
	first = net_first_node(s->net, request);
	if (first != here)
		meets[first] = meets[here] = SKEL_MEETS_APART;
	else if (meets[here] == SKEL_MEETS_UNKNOWN)
		meets[here] = SKEL_MEETS_HERE;
}

static bool waits_for_all(struct sim *s, const struct sim_rank *r)
{
	int64_t local;
	const struct trace_comm *c = call_comm(s, r, r->sym, &local);

	return c != NULL && c->kind != TCOMM_INTER && c->members.n == s->tree->n_ranks &&
	       pattern_of(trace_fn[r->leaf->fn].name, false) == NET_ALL;
}

static int start_persistent(struct sim *s, struct sim_rank *r)
{
	uint32_t n;
	const int64_t *slot = call_request_slots(skel_defs(s->tree, r->rank), r->sym, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct sim_slot *q = slot[i] >= 0 ? slot_at(s, r, slot[i]) : NULL;

		if (q == NULL || !q->persistent) {
			if (slot[i] >= 0 && odd(s, r, "is started and is not persistent", slot[i]) != 0)
				return -1;
			continue;
		}
		if (q->collective != SKEL_NOTHING) {
			if (slot_fill(s, r, slot[i], join(s, r, q->collective)) != 0)
				return -1;
			continue;
		}
		if (q->m.comm == NET_NONE)
			continue;
		q->m.node = r->leaf->id;
		if (slot_fill(s, r, slot[i], start_half(s, &q->m, q->is_send)) != 0)
			return -1;
	}
	return 0;
}

static int collective(struct sim *s, struct sim_rank *r)
{
	const char *name = trace_fn[r->leaf->fn].name;
	const struct trace_defs *d = skel_defs(s->tree, r->rank);
	int64_t slot = call_scalar(d, r->sym, TK_NEWREQ, 0, TRACE_NULL);
	uint32_t request;

	/* Frees need not wait for anybody; create_group is called by its members alone. */
	if (strstr(name, "_free") != NULL || strstr(name, "_disconnect") != NULL || strstr(name, "_group") != NULL)
		return 0;
	if (slot != TRACE_NULL && strstr(name, "_init") != NULL) {
		struct sim_slot *q = slot_at(s, r, slot);

		if (q == NULL)
			return sim_fail_here(s, r);
		*q = (struct sim_slot){EMPTY_SLOT, .persistent = true};
		q->collective = r->sym;
		return 0;
	}
	request = join(s, r, r->sym);
	if (slot != TRACE_NULL)
		return slot_fill(s, r, slot, request);
	if (trace_fn[r->leaf->fn].cls == TC_COLL && waits_for_all(s, r))
		meets_note(s, r, request);
	return sim_pend(s, r, request);
}

/* ---- the calls in turn ---- */

/* Why no skeleton can have this call, or NULL. */
static const char *unrepeatable(const struct trace_fn_info *f)
{
	if (f->cls == TC_DYN) {
		for (uint32_t i = 0; i < f->n_param; i++)
			if (f->param[i].kind == TK_NEWCOMM)
				return "programs that start processes while they run cannot be predicted by a skeleton";
		return NULL;
	}
	return NULL;
}

static bool creates_win(const struct sim *s, const struct sim_rank *r)
{
	return call_scalar(skel_defs(s->tree, r->rank), r->sym, TK_NEWWIN, 0, TRACE_NULL) >= 0;
}

static int begin_call(struct sim *s, struct sim_rank *r)
{
	const char *why = unrepeatable(&trace_fn[r->leaf->fn]), *wrong;

	if (why != NULL) {
		err_set(s->err, "%s", why);
		return sim_fail_here(s, r);
	}
	wrong = sim_objects_call(&r->objects, skel_defs(s->tree, r->rank), r->sym);
	if (wrong != NULL && sim_odd(s, r, wrong) != 0)
		return -1;
	switch (trace_fn[r->leaf->fn].cls) {
	case TC_SEND:
		return blocking_half(s, r, true);
	case TC_RECV:
		return receive(s, r, true);
	case TC_SENDRECV:
		return blocking_half(s, r, true) != 0 ? -1 : blocking_half(s, r, false);
	case TC_ISEND:
		return has_halves(&trace_fn[r->leaf->fn]) ? nonblocking_both(s, r) : nonblocking(s, r, true);
	case TC_IRECV:
		return receive(s, r, false);
	case TC_START:
		return start_persistent(s, r);
	case TC_WAIT:
		return wait_for(s, r);
	case TC_PROBE:
		return probe(s, r);
	case TC_COLL:
	case TC_ICOLL:
	case TC_COMM:
		return collective(s, r);
	case TC_LOCAL:
		return local_call(s, r);
	case TC_WIN:
		return creates_win(s, r) && collective(s, r) != 0 ? -1 : sim_win_call(s, r);
	case TC_RMA:
	case TC_SYNC:
		return sim_win_call(s, r);
	case TC_FILE:
		return strcmp(trace_fn[r->leaf->fn].name, "MPI_File_open") == 0 ? collective(s, r) : sim_file_call(s, r);
	case TC_IO:
		return sim_file_call(s, r);
	default:
		return 0;
	}
}

static bool call_complete(struct sim *s, struct sim_rank *r)
{
	if (r->probing) {
		if (!net_probe(s->net, &r->probe))
			return false;
		r->probing = false;
	}
	if (r->matching != NET_NONE && !net_done(s->net, r->matching))
		return false;
	r->matching = NET_NONE;
	while (r->n_pending > 0) {
		uint32_t q = r->pending[r->n_pending - 1];

		if (!net_done(s->net, q))
			return false;
		net_release(s->net, q);
		r->n_pending--;
	}
	return true;
}

int64_t sim_rank_run(struct sim *s, struct sim_rank *r, uint32_t quantum)
{
	int64_t made = 0;

	while (!r->finished && made < quantum) {
		if (!r->in_call) {
			if (!scaled_next(&r->it, &r->leaf, &r->occ, &r->index)) {
				r->finished = true;
				return sim_win_end(s, r) != 0 ? -1 : made + 1;
			}
			r->sym = skel_leaf_symbol(&r->leaf->by_rank[r->index], r->occ);
			if (begin_call(s, r) != 0)
				return -1;
			r->in_call = true;
			s->report->calls++;
		}
		if (!call_complete(s, r))
			break;
		r->in_call = false;
		made++;
	}
	return made;
}
