/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order that collectives impose on entries and returns: see messages_coll.h. */
#include "trace/messages/messages_coll.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/functions.h"

/* The part of one rank in a collective that is in progress. */
struct coll_part {
	uint64_t enter_ns, leave_ns;
	uint32_t rank;
	bool in, timed, gives, takes, waits;
};

struct coll_inst {
	struct coll_part *part; /* in the order of entry; for a scan, by rank in the communicator */
	uint32_t n_part, cap_part;
	uint32_t entered, missing;
	uint32_t next;            /* for a scan: the first place whose predecessors are not all in */
	uint32_t root;            /* index of the root's part, or MSG_NONE */
	struct trace_moment upto; /* for a scan: latest entry of the places before `next` */
	int64_t root_rank;
	uint16_t fn;
	uint8_t order;
	bool loose;               /* the collective imposes no order */
};

/* ---- memory ---- */

int coll_open(struct coll *c, const struct msg_names *names)
{
	c->names = names;
	c->comm = calloc(names->n_comm + 1ull, sizeof(*c->comm));
	c->rank = calloc(names->n_ranks + 1ull, sizeof(*c->rank));
	if (!c->comm || !c->rank)
		return -1;
	for (uint32_t r = 0; r < names->n_ranks; r++) {
		uint32_t n = trace_get_rank(names->t, r)->defs.n_comm;

		c->rank[r].passed = calloc(n + 1ull, sizeof(*c->rank[r].passed));
		if (!c->rank[r].passed)
			return -1;
		for (uint32_t i = 0; i < n && trace_get_rank(names->t, r)->present; i++)
			c->comm[names->comm[r][i]].members++;
	}
	return 0;
}

void coll_close(struct coll *c)
{
	for (uint32_t i = 0; c->comm && i < c->names->n_comm; i++) {
		for (uint32_t k = 0; k < c->comm[i].cap; k++)
			free(c->comm[i].ring[k].part);
		free(c->comm[i].ring);
	}
	for (uint32_t r = 0; c->rank && r < c->names->n_ranks; r++)
		free(c->rank[r].passed);
	free(c->comm);
	free(c->rank);
	c->comm = NULL;
	c->rank = NULL;
}

static struct coll_inst *inst_at(const struct coll_comm *m, uint32_t i)
{
	return &m->ring[(m->head + i) & (m->cap - 1)];
}

static int ring_grow(struct coll_comm *m)
{
	uint32_t cap = m->cap ? 2 * m->cap : 4;
	struct coll_inst *ring = cap < MSG_NONE / 4 ? calloc(cap, sizeof(*ring)) : NULL;

	if (!ring)
		return -1;
	for (uint32_t i = 0; i < m->n; i++)
		ring[i] = *inst_at(m, i);
	free(m->ring);
	m->ring = ring;
	m->head = 0;
	m->cap = cap;
	return 0;
}

/* Append a collective. Memory of finished collectives is reused. Returns NULL if memory runs out. */
static struct coll_inst *inst_new(struct coll_comm *m, const struct msg_op *op)
{
	struct coll_inst *s;
	struct coll_part *part;
	uint32_t cap;

	if (m->n == m->cap && ring_grow(m) < 0)
		return NULL;
	s = inst_at(m, m->n++);
	part = s->part;
	cap = s->cap_part;
	*s = (struct coll_inst){.part = part, .cap_part = cap, .missing = m->ended, .root = MSG_NONE, .fn = op->fn,
				.root_rank = op->src, .order = op->order, .loose = m->broken};
	return s;
}

/* The rank's part; n_part is raised to include it. Returns NULL if memory runs out. */
static struct coll_part *part_new(struct coll_inst *s, const struct msg_op *op)
{
	uint32_t i = s->order == COLL_SCAN ? op->place : s->n_part;

	if (ARRAY_ROOM(s->part, s->cap_part, i + 1) != 0)
		return NULL;
	if (i >= s->n_part) {
		memset(&s->part[s->n_part], 0, (i + 1 - s->n_part) * sizeof(*s->part));
		s->n_part = i + 1;
	}
	if (op->is_root)
		s->root = i;
	return &s->part[i];
}

/* ---- order ---- */

static const struct trace_moment nobody;

static void raise_moment(struct trace_moment *max, const struct trace_moment *t)
{
	max->linear = t->linear > max->linear ? t->linear : max->linear;
	max->corrected = t->corrected > max->corrected ? t->corrected : max->corrected;
}

static void add_entry(struct coll *c, const struct coll_part *p, struct trace_moment *max)
{
	if (p->in && p->timed && p->gives) {
		struct trace_moment t = c->orders->at(c->arg, p->rank, p->enter_ns);

		raise_moment(max, &t);
	}
}

/* Report the return of a part that waited for `latest`. A `latest` of 0 means that no rank gave data. */
static void let_part_go(struct coll *c, struct coll_part *p, const struct trace_moment *latest)
{
	if (!p->in || !p->waits)
		return;
	p->waits = false;
	if (latest->linear && p->timed && c->orders->leaves &&
	    c->orders->leaves(c->arg, p->rank, p->leave_ns, *latest))
		c->stopped = true;
	c->rank[p->rank].held = false;
	if (c->rank[p->rank].sleeps) {
		c->rank[p->rank].sleeps = false;
		c->wake(c->walk, p->rank);
	}
}

static void let_all_go(struct coll *c, struct coll_inst *s, const struct trace_moment *latest)
{
	for (uint32_t i = 0; i < s->n_part; i++)
		let_part_go(c, &s->part[i], latest);
}

/* Let the places of a scan return whose predecessors are all in. over: no other rank enters any more. */
static void let_scan_go(struct coll *c, struct coll_inst *s, bool over)
{
	for (; s->next < s->n_part && (over || s->part[s->next].in); s->next++) {
		let_part_go(c, &s->part[s->next], &s->upto);
		add_entry(c, &s->part[s->next], &s->upto);
	}
}

/* All ranks that will enter have entered: let the remaining parts return. */
static void let_rest_go(struct coll *c, struct coll_inst *s)
{
	struct trace_moment latest = nobody;

	if (s->loose) {
		let_all_go(c, s, &nobody);
	} else if (s->order == COLL_SCAN) {
		let_scan_go(c, s, true);
	} else {
		for (uint32_t i = 0; i < s->n_part; i++)
			add_entry(c, &s->part[i], &latest);
		let_all_go(c, s, &latest);
	}
}

/* Report for each entry the earliest return that waited for it. */
static void hold_entries(struct coll *c, const struct coll_inst *s)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = s->n_part; i--;) {
		const struct coll_part *p = &s->part[i];

		if (s->order == COLL_SCAN && p->in && p->timed && p->gives && first < UINT64_MAX)
			c->orders->entered(c->arg, p->rank, p->enter_ns, first);
		if (p->in && p->timed && p->takes) {
			uint64_t t = c->orders->at(c->arg, p->rank, p->leave_ns).corrected;

			first = t < first ? t : first;
		}
	}
	for (uint32_t i = 0; s->order != COLL_SCAN && first < UINT64_MAX && i < s->n_part; i++) {
		const struct coll_part *p = &s->part[i];

		if (p->in && p->timed && p->gives)
			c->orders->entered(c->arg, p->rank, p->enter_ns, first);
	}
}

static void finish_oldest(struct coll *c, struct coll_comm *m)
{
	while (m->n && inst_at(m, 0)->entered + inst_at(m, 0)->missing >= m->members) {
		struct coll_inst *s = inst_at(m, 0);

		let_rest_go(c, s);
		if (c->orders->entered && !s->loose)
			hold_entries(c, s);
		m->head = (m->head + 1) & (m->cap - 1);
		m->base++;
		m->n--;
	}
}

/* ---- the walk ---- */

static void contradict(struct coll *c, struct coll_comm *m)
{
	m->broken = true;
	for (uint32_t i = 0; i < m->n; i++) {
		struct coll_inst *s = inst_at(m, i);

		s->loose = true;
		let_all_go(c, s, &nobody);
	}
}

/* Does the call's return wait for other ranks? */
static bool takes_from_others(const struct msg_op *op)
{
	return op->takes && (op->order != COLL_TO_ROOT || op->is_root) && (op->order != COLL_FROM_ROOT || !op->is_root);
}

static void enter_inst(struct coll *c, struct coll_inst *s, uint32_t rank, const struct msg_op *op,
		       const struct msg_at *at)
{
	struct coll_part *p = part_new(s, op);
	struct trace_moment root = nobody;

	if (!p) {
		c->no_memory = true;
		return;
	}
	*p = (struct coll_part){.enter_ns = at->enter_ns, .leave_ns = at->leave_ns, .rank = rank, .in = true,
				.timed = at->timed, .gives = op->gives && (op->order != COLL_FROM_ROOT || op->is_root)};
	p->takes = takes_from_others(op);
	p->waits = c->rank[rank].held = p->takes && !s->loose;
	s->entered++;
	if (s->loose)
		return;
	if (s->order == COLL_SCAN) {
		let_scan_go(c, s, false);
	} else if (s->order == COLL_FROM_ROOT && s->root != MSG_NONE) {
		add_entry(c, &s->part[s->root], &root);
		if (op->is_root)
			let_all_go(c, s, &root);
		else
			let_part_go(c, p, &root);
	}
}

bool coll_enter(struct coll *c, uint32_t rank, const struct msg_op *op, const struct msg_at *at)
{
	uint32_t number = c->names->comm[rank][op->comm];
	struct coll_comm *m = &c->comm[number];
	uint64_t k = c->rank[rank].passed[op->comm]++;
	struct coll_inst *s;

	if (k < m->base || k > m->base + m->n) /* the communicator has two names: no order is known */
		return false;
	s = k < m->base + m->n ? inst_at(m, (uint32_t)(k - m->base)) : inst_new(m, op);
	if (!s) {
		c->no_memory = true;
		return false;
	}
	if (s->fn != op->fn || s->root_rank != op->src)
		contradict(c, m);
	c->rank[rank].comm = number;
	c->rank[rank].k = k;
	enter_inst(c, s, rank, op, at);
	finish_oldest(c, m);
	return c->rank[rank].sleeps = c->rank[rank].held;
}

void coll_give_up(struct coll *c, uint32_t rank)
{
	struct coll_comm *m = &c->comm[c->rank[rank].comm];
	struct coll_inst *s = inst_at(m, (uint32_t)(c->rank[rank].k - m->base));

	s->loose = true;
	let_all_go(c, s, &nobody);
}

void coll_end(struct coll *c, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(c->names->t, rank);

	for (uint32_t i = 0; i < k->defs.n_comm; i++) {
		struct coll_comm *m = &c->comm[c->names->comm[rank][i]];
		uint64_t passed = c->rank[rank].passed[i];

		m->ended++;
		for (uint32_t j = passed > m->base ? (uint32_t)(passed - m->base) : 0; j < m->n; j++)
			inst_at(m, j)->missing++;
		finish_oldest(c, m);
	}
}

/* ---- signatures ---- */

/* The parameters that tell how much data is exchanged. Index 1: the second parameter of that kind. */
struct amounts {
	int64_t count[2], type[2];
	const int64_t *counts;  /* the last arrays of counts and of datatypes */
	const int64_t *types;
	uint32_t n_count, n_type, n_counts, n_types;
};

static void read_amounts(const struct trace_defs *d, uint32_t sym, struct amounts *a)
{
	struct sig_walk w;

	*a = (struct amounts){.type = {TRACE_NULL, TRACE_NULL}};
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		if (w.kind == TK_COUNT && a->n_count < 2)
			a->count[a->n_count++] = *w.val;
		if (w.kind == TK_TYPE && a->n_type < 2)
			a->type[a->n_type++] = *w.val;
		if (w.kind == TK_COUNTS) {
			a->counts = w.val;
			a->n_counts = w.n;
		}
		if (w.kind == TK_TYPES) {
			a->types = w.val;
			a->n_types = w.n;
		}
	}
}

static bool is_some_data(const struct trace_defs *d, int64_t count, int64_t type)
{
	return count > 0 && type >= 0 && type < (int64_t)d->n_type && d->type[type].size > 0;
}

/* Does each rank give some data? */
static bool some_of_each(const struct trace_defs *d, const struct amounts *a, bool typed)
{
	for (uint32_t i = 0; i < a->n_counts; i++)
		if (!is_some_data(d, a->counts[i], !typed ? a->type[a->n_type - 1] : i < a->n_types ? a->types[i] : TRACE_NULL))
			return false;
	return a->n_counts > 0;
}

static void order_of(const struct trace_defs *d, const struct amounts *a, struct msg_op *op)
{
	bool first = is_some_data(d, a->count[0], a->type[0]), second = is_some_data(d, a->count[1], a->type[1]);
	bool own = op->place < a->n_counts && a->n_type && is_some_data(d, a->counts[op->place], a->type[a->n_type - 1]);

	switch (op->fn) {
	case FN_MPI_Barrier: op->order = COLL_ALL; op->gives = op->takes = true; break;
	case FN_MPI_Allreduce:
	case FN_MPI_Reduce_scatter_block: op->order = COLL_ALL; op->gives = op->takes = first; break;
	case FN_MPI_Allgather:
	case FN_MPI_Alltoall: op->order = COLL_ALL; op->gives = op->takes = second; break;
	case FN_MPI_Allgatherv: op->order = COLL_ALL; op->gives = own; op->takes = true; break;
	case FN_MPI_Reduce_scatter: op->order = COLL_ALL; op->gives = true; op->takes = own; break;
	case FN_MPI_Alltoallv: op->order = COLL_ALL; op->gives = true; op->takes = some_of_each(d, a, false); break;
	case FN_MPI_Alltoallw: op->order = COLL_ALL; op->gives = true; op->takes = some_of_each(d, a, true); break;
	case FN_MPI_Bcast: op->order = COLL_FROM_ROOT; op->gives = op->takes = first; break;
	case FN_MPI_Scatter: op->order = COLL_FROM_ROOT; op->gives = true; op->takes = second; break;
	case FN_MPI_Scatterv:
		op->order = COLL_FROM_ROOT;
		op->gives = true;
		op->takes = is_some_data(d, a->count[0], a->type[1]);
		break;
	case FN_MPI_Gather:
	case FN_MPI_Gatherv:
	case FN_MPI_Reduce: op->order = COLL_TO_ROOT; op->gives = first; op->takes = true; break;
	case FN_MPI_Scan:
	case FN_MPI_Exscan: op->order = COLL_SCAN; op->gives = op->takes = first; break;
	default: break;
	}
}

void coll_decode(const struct trace_rank *k, uint32_t rank, uint32_t sym, struct msg_op *op)
{
	const struct trace_comm *comm = op->comm < k->defs.n_comm ? &k->defs.comm[op->comm] : NULL;
	struct amounts a;

	if (!comm || comm->kind != TCOMM_INTRA || comm->members.n < 2)
		return;
	while (op->place < comm->members.n && comm->members.rank[op->place] != rank)
		op->place++;
	op->fn = k->defs.sigs.sig[sym].fn;
	op->src = sig_scalar(&k->defs, sym, TK_ROOT, TRACE_NULL);
	op->is_root = op->src == op->place;
	read_amounts(&k->defs, sym, &a);
	order_of(&k->defs, &a, op);
	if (op->order != COLL_FREE && op->place < comm->members.n)
		op->action = MSG_COLL;
}
