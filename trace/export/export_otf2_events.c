/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank's events in OTF2: enter and leave of every call with its call site, and between them sends, receives,
 * requests, collectives and one-sided communication. Requests are identified by their slots (event.h). See
 * export.h.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/export/export_otf2_writer.h"

#define SLOTS_MAX (1u << 22)

enum slot_kind { SLOT_NONE, SLOT_SEND, SLOT_RECV, SLOT_COLL, SLOT_MESSAGE, SLOT_RMA };

struct otf2_slot {
	uint8_t kind;      /* enum slot_kind */
	bool persistent;
	bool active;       /* its start was written, under id */
	struct otf2_message m;
	uint32_t sym;      /* SLOT_COLL: the call */
	uint64_t id;
	uint64_t event;    /* SLOT_RECV: the call that posted it */
};

/* ---- parameters ---- */

int64_t otf2_nth(const struct trace_defs *d, uint32_t sym, uint8_t kind, int n, int64_t missing)
{
	struct sig_walk k;

	for (sig_walk_begin(&k, d, sym); sig_walk_next(&k);)
		if (k.kind == kind && !n--)
			return k.val[0];
	return missing;
}

uint64_t otf2_bytes(const struct trace_defs *d, int64_t count, int64_t type)
{
	if (count <= 0 || type < 0 || type >= (int64_t)d->n_type || d->type[type].size < 0)
		return 0;
	return (uint64_t)count * (uint64_t)d->type[type].size;
}

uint64_t otf2_nth_bytes(const struct trace_defs *d, uint32_t sym, int n)
{
	return otf2_bytes(d, otf2_nth(d, sym, TK_COUNT, n, sig_scalar(d, sym, TK_COUNT, 0)),
			  otf2_nth(d, sym, TK_TYPE, n, sig_scalar(d, sym, TK_TYPE, TRACE_NULL)));
}

uint32_t otf2_world_rank(const struct otf2_writer *w, int64_t comm, int64_t peer)
{
	const struct trace_comm *c = &w->d->comm[comm];
	const struct trace_group *g = c->kind == TCOMM_INTER ? &c->remote : &c->members;

	return comm != TRACE_SELF && peer >= 0 && peer < (int64_t)g->n ? g->rank[peer] : (uint32_t)peer;
}

static struct otf2_message send_of(const struct otf2_writer *w, uint32_t sym)
{
	return (struct otf2_message){sig_scalar(w->d, sym, TK_COMM, 0), sig_scalar(w->d, sym, TK_DST, TRACE_PROC_NULL),
				sig_scalar(w->d, sym, TK_TAG, 0),
				otf2_nth_bytes(w->d, sym, 0)};
}

/* n: number of the count and datatype. sendrecv has the send's first; sendrecv_replace has only one. */
static struct otf2_message receive_of(const struct otf2_writer *w, uint32_t sym, int n)
{
	struct otf2_message m = {sig_scalar(w->d, sym, TK_COMM, 0), sig_scalar(w->d, sym, TK_SRC, TRACE_PROC_NULL),
			    otf2_nth(w->d, sym, TK_TAG, n, 0), otf2_nth_bytes(w->d, sym, n)};

	if (m.peer == TRACE_ANY_SOURCE)
		m.peer = sig_scalar(w->d, sym, TK_ASRC, TRACE_ANY_SOURCE);
	if (m.tag == TRACE_ANY_TAG)
		m.tag = sig_scalar(w->d, sym, TK_ATAG, TRACE_ANY_TAG);
	return m;
}

static bool is_message(const struct otf2_writer *w, const struct otf2_message *m)
{
	return m->peer >= 0 && m->comm >= 0 && m->comm < (int64_t)w->d->n_comm;
}

/* ---- messages and requests ---- */

static void put_send(struct otf2_writer *w, const struct otf2_message *m, uint64_t t)
{
	if (!is_message(w, m))
		return;
	w->o->x.report->messages++;
	otf2_keep(w, OTF2_EvtWriter_MpiSend(w->w, NULL, t, otf2_world_rank(w, m->comm, m->peer), w->comm[m->comm],
					       (uint32_t)m->tag, m->bytes));
}

/* Size of a message whose receive, posted by call `posted`, has room for m->bytes. */
static uint64_t message_size(struct otf2_writer *w, const struct otf2_message *m, uint64_t posted)
{
	uint32_t src = m->comm == TRACE_SELF ? w->rank : otf2_world_rank(w, m->comm, m->peer);

	return otf2_received_size(w, posted, src, m->tag, m->bytes);
}

static void put_receive(struct otf2_writer *w, const struct otf2_message *m, uint64_t posted, uint64_t t)
{
	if (is_message(w, m))
		otf2_keep(w, OTF2_EvtWriter_MpiRecv(w->w, NULL, t, otf2_world_rank(w, m->comm, m->peer), w->comm[m->comm],
					       (uint32_t)m->tag, message_size(w, m, posted)));
}

/* The slot with this number. Returns NULL if there is none and `make` is false. */
static struct otf2_slot *slot_at(struct otf2_writer *w, int64_t i, bool make)
{
	if (i < 0 || i >= SLOTS_MAX)
		return NULL;
	if (i >= w->n_slot && !make)
		return NULL;
	if (ARRAY_ROOM_ZEROED(w->slot, w->n_slot, (size_t)i + 1) != 0) {
		otf2_keep(w, OTF2_ERROR_MEM_ALLOC_FAILED);
		return NULL;
	}
	return &w->slot[i];
}

/* The receive of MPI_Isendrecv in this slot, or NULL. */
static struct otf2_slot *half_at(struct otf2_writer *w, int64_t i)
{
	return i >= 0 && i < w->n_half ? &w->half[i] : NULL;
}

/* The request of this slot is gone, or another one takes its place. */
static void half_drop(struct otf2_writer *w, int64_t i)
{
	if (half_at(w, i))
		*half_at(w, i) = (struct otf2_slot){0};
}

/* Write the start of a request. Nothing is written without a peer or without a known time. */
static void start_request(struct otf2_writer *w, struct otf2_slot *s, const struct export_call *c)
{
	uint64_t t = c->t0;

	s->event = c->event;
	s->active = c->known && (s->kind == SLOT_COLL || (s->kind != SLOT_RECV && is_message(w, &s->m)) ||
			      (s->kind == SLOT_RECV && s->m.peer != TRACE_PROC_NULL));
	if (!s->active)
		return;
	s->id = w->next_id++;
	if (s->kind == SLOT_SEND) {
		w->o->x.report->messages++;
		otf2_keep(w, OTF2_EvtWriter_MpiIsend(w->w, NULL, t, otf2_world_rank(w, s->m.comm, s->m.peer),
						w->comm[s->m.comm], (uint32_t)s->m.tag, s->m.bytes, s->id));
	} else if (s->kind == SLOT_RECV) {
		otf2_keep(w, OTF2_EvtWriter_MpiIrecvRequest(w->w, NULL, t, s->id));
	} else {
		otf2_keep(w, OTF2_EvtWriter_NonBlockingCollectiveRequest(w->w, NULL, t, s->id));
	}
}

/* ---- collectives ---- */

/* Data that a rank gives or takes: nothing, its own part, the parts of all ranks, or these at the root only. */
enum part { NONE, PART, ALL, ROOT_ALL };

static const struct collective {
	const char *name; /* without MPI_ and the I of nonblocking functions */
	uint8_t op, sent, received;
} collective[] = {
	{"Barrier", OTF2_COLLECTIVE_OP_BARRIER, NONE, NONE},
	{"Bcast", OTF2_COLLECTIVE_OP_BCAST, ROOT_ALL, PART},
	{"Gather", OTF2_COLLECTIVE_OP_GATHER, PART, ROOT_ALL},
	{"Gatherv", OTF2_COLLECTIVE_OP_GATHERV, PART, ROOT_ALL},
	{"Scatter", OTF2_COLLECTIVE_OP_SCATTER, ROOT_ALL, PART},
	{"Scatterv", OTF2_COLLECTIVE_OP_SCATTERV, ROOT_ALL, PART},
	{"Allgather", OTF2_COLLECTIVE_OP_ALLGATHER, ALL, ALL},
	{"Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV, ALL, ALL},
	{"Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL, ALL, ALL},
	{"Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV, ALL, ALL},
	{"Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW, ALL, ALL},
	{"Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE, ALL, ALL},
	{"Reduce", OTF2_COLLECTIVE_OP_REDUCE, PART, ROOT_ALL},
	{"Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, ALL, ALL},
	{"Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, ALL, ALL},
	{"Scan", OTF2_COLLECTIVE_OP_SCAN, PART, PART},
	{"Exscan", OTF2_COLLECTIVE_OP_EXSCAN, PART, PART},
};

static const struct collective *find_collective(const char *name)
{
	name += 4;
	for (size_t i = 0; i < sizeof(collective) / sizeof(*collective); i++) {
		const char *want = collective[i].name;

		if (!strcmp(name, want) ||
		    (name[0] == 'I' && name[1] == want[0] + 'a' - 'A' && !strcmp(name + 2, want + 1)))
			return &collective[i];
	}
	return NULL;
}

/* Sum of the n-th array of counts times the datatype. Returns false if the call has no such array. */
static bool counts_bytes(const struct otf2_writer *w, uint32_t sym, int n, uint64_t *bytes)
{
	int64_t type = otf2_nth(w->d, sym, TK_TYPE, n, sig_scalar(w->d, sym, TK_TYPE, TRACE_NULL));
	struct sig_walk k;

	for (sig_walk_begin(&k, w->d, sym); sig_walk_next(&k);) {
		if (k.kind != TK_COUNTS || n--)
			continue;
		for (uint32_t i = 0; i < k.n; i++)
			*bytes += otf2_bytes(w->d, k.val[i], type);
		return true;
	}
	return false;
}

static uint64_t part_bytes(const struct otf2_writer *w, uint32_t sym, enum part part, int n, uint32_t members, bool root)
{
	uint64_t one = otf2_nth_bytes(w->d, sym, n), sum = 0;

	if (part == NONE || (part == ROOT_ALL && !root))
		return 0;
	if (part == PART)
		return one;
	/* gatherv's receive and scatterv's send have the only array of counts. */
	if (counts_bytes(w, sym, n, &sum) || counts_bytes(w, sym, 0, &sum))
		return sum;
	return one * members;
}

struct collective_end {
	OTF2_CollectiveOp op;
	uint32_t comm, root;
	uint64_t sent, received;
};

/* Returns false if the call has no communicator. */
static bool collective_of(const struct otf2_writer *w, uint32_t sym, struct collective_end *e)
{
	const struct trace_fn_info *fn = &trace_fn[w->d->sigs.sig[sym].fn];
	const struct collective *c = find_collective(fn->name);
	int64_t comm = sig_scalar(w->d, sym, TK_COMM, TRACE_NULL), root = sig_scalar(w->d, sym, TK_ROOT, TRACE_NULL);
	const struct trace_comm *k;
	bool me;

	if (comm < 0 || comm >= (int64_t)w->d->n_comm)
		return false;
	k = &w->d->comm[comm];
	*e = (struct collective_end){.op = strstr(fn->name, "_free") ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE :
				     OTF2_COLLECTIVE_OP_CREATE_HANDLE, .comm = w->comm[comm],
				     .root = OTF2_COLLECTIVE_ROOT_NONE};
	if (!c)
		return true;
	if (root == TRACE_ROOT)
		e->root = OTF2_COLLECTIVE_ROOT_SELF;
	else if (root == TRACE_PROC_NULL)
		e->root = OTF2_COLLECTIVE_ROOT_THIS_GROUP;
	else if (root >= 0)
		e->root = otf2_world_rank(w, comm, root);
	me = root == TRACE_ROOT || (k->kind == TCOMM_INTRA && root >= 0 && root < k->members.n &&
				    k->members.rank[root] == w->rank);
	e->op = c->op;
	e->sent = part_bytes(w, sym, c->sent, 0, k->members.n, me);
	e->received = part_bytes(w, sym, c->received, 1, k->members.n, me);
	return true;
}

/* ---- completion ---- */

static void complete_request(struct otf2_writer *w, struct otf2_slot *s, uint64_t t, int64_t source, int64_t tag)
{
	struct collective_end e;
	struct otf2_message m = s->m;

	if (s->kind == SLOT_RMA)
		otf2_rma_done(w, s->id, t);
	if (m.peer == TRACE_ANY_SOURCE)
		m.peer = source;
	if (m.tag == TRACE_ANY_TAG)
		m.tag = tag;
	if (s->active && s->kind == SLOT_SEND)
		otf2_keep(w, OTF2_EvtWriter_MpiIsendComplete(w->w, NULL, t, s->id));
	else if (s->active && s->kind == SLOT_RECV && is_message(w, &m))
		otf2_keep(w, OTF2_EvtWriter_MpiIrecv(w->w, NULL, t, otf2_world_rank(w, m.comm, m.peer), w->comm[m.comm],
						(uint32_t)m.tag, message_size(w, &m, s->event), s->id));
	else if (s->active && s->kind == SLOT_RECV) /* was cancelled */
		otf2_keep(w, OTF2_EvtWriter_MpiRequestCancelled(w->w, NULL, t, s->id));
	else if (s->active && s->kind == SLOT_COLL && collective_of(w, s->sym, &e))
		otf2_keep(w, OTF2_EvtWriter_NonBlockingCollectiveComplete(w->w, NULL, t, e.op, e.comm, e.root, e.sent, e.received,
								     s->id));
	else if (s->kind == SLOT_RECV && is_message(w, &m)) /* was posted at an unknown time */
		put_receive(w, &m, s->event, t);
	s->active = false;
	if (!s->persistent)
		s->kind = SLOT_NONE;
}

static void complete_all(struct otf2_writer *w, uint32_t sym, uint64_t t, bool known)
{
	struct sig_walk k, done = {0}, sources = {0}, tags = {0};

	for (sig_walk_begin(&k, w->d, sym); sig_walk_next(&k);) {
		if (k.kind == TK_DONE)
			done = k;
		else if (k.kind == TK_ASRCS)
			sources = k;
		else if (k.kind == TK_ATAGS)
			tags = k;
	}
	for (uint32_t i = 0; i < 2 * done.n; i++) {
		uint32_t at = i / 2;
		struct otf2_slot *s = i % 2 ? half_at(w, done.val[at]) : slot_at(w, done.val[at], false);

		if (!s || s->kind == SLOT_NONE)
			continue;
		if (known) {
			complete_request(w, s, t, at < sources.n ? sources.val[at] : TRACE_NULL, at < tags.n ? tags.val[at] : TRACE_NULL);
		} else {
			s->active = false;
			s->kind = s->persistent ? s->kind : SLOT_NONE;
		}
	}
}

/* ---- calls ---- */

/* The call creates a request or a matched-probe message. */
static void new_request(struct otf2_writer *w, const struct export_call *c, const struct trace_fn_info *fn, uint8_t kind)
{
	struct otf2_slot *s = slot_at(w, sig_scalar(w->d, c->sym, TK_NEWREQ, TRACE_NULL), true), *probed;

	if (!s)
		return;
	half_drop(w, s - w->slot);
	*s = (struct otf2_slot){.kind = kind, .sym = c->sym, .persistent = strstr(fn->name, "_init") != NULL};
	if (kind == SLOT_SEND) {
		s->m = send_of(w, c->sym);
	} else if (kind != SLOT_COLL) {
		uint64_t bytes = receive_of(w, c->sym, 0).bytes;

		s->m = receive_of(w, c->sym, 0);
		probed = slot_at(w, sig_scalar(w->d, c->sym, TK_REQ, TRACE_NULL), false);
		if (probed && probed->kind == SLOT_MESSAGE) {
			s->m = probed->m;
			s->m.bytes = bytes;
			probed->kind = probed == s ? probed->kind : SLOT_NONE;
		}
	}
	if (!s->persistent && kind != SLOT_MESSAGE)
		start_request(w, s, c);
}

/* The receive of MPI_Isendrecv, if the call is one. */
static void new_half(struct otf2_writer *w, const struct export_call *c)
{
	int64_t slot = sig_scalar(w->d, c->sym, TK_NEWREQ, TRACE_NULL);

	if (slot < 0 || slot >= SLOTS_MAX || sig_scalar(w->d, c->sym, TK_SRC, INT64_MIN) == INT64_MIN)
		return;
	if (ARRAY_ROOM_ZEROED(w->half, w->n_half, (size_t)slot + 1) != 0) {
		otf2_keep(w, OTF2_ERROR_MEM_ALLOC_FAILED);
		return;
	}
	w->half[slot] = (struct otf2_slot){.kind = SLOT_RECV, .sym = c->sym, .m = receive_of(w, c->sym, 1)};
	start_request(w, &w->half[slot], c);
}

/* The call starts a one-sided operation, which may have a request. */
static void new_operation(struct otf2_writer *w, const struct export_call *c, const struct trace_fn_info *fn)
{
	uint64_t id = otf2_rma_call(w, c);
	struct otf2_slot *s;

	if (fn->name[4] != 'R') /* not MPI_Rput or another function with a request */
		return;
	s = slot_at(w, sig_scalar(w->d, c->sym, TK_NEWREQ, TRACE_NULL), true);
	if (s)
		*s = (struct otf2_slot){.kind = id == UINT64_MAX ? SLOT_NONE : SLOT_RMA, .id = id};
}

static void start_all(struct otf2_writer *w, const struct export_call *c)
{
	struct sig_walk k;

	for (sig_walk_begin(&k, w->d, c->sym); sig_walk_next(&k);)
		for (uint32_t i = 0; (k.kind == TK_REQ || k.kind == TK_REQS) && i < k.n; i++) {
			struct otf2_slot *s = slot_at(w, k.val[i], false);

			if (s && s->kind != SLOT_NONE)
				start_request(w, s, c);
		}
}

static void blocking_receive(struct otf2_writer *w, const struct export_call *c, int n)
{
	struct otf2_message m = receive_of(w, c->sym, n);
	struct otf2_slot *probed = slot_at(w, sig_scalar(w->d, c->sym, TK_REQ, TRACE_NULL), false);

	if (probed && probed->kind == SLOT_MESSAGE) {
		probed->m.bytes = m.bytes;
		m = probed->m;
		probed->kind = SLOT_NONE;
	}
	if (c->known)
		put_receive(w, &m, c->event, c->t1);
}

static void inner_events(struct otf2_writer *w, const struct export_call *c, const struct trace_fn_info *fn)
{
	struct collective_end e;
	struct otf2_message m;
	struct otf2_slot *s;

	switch (fn->cls) {
	case TC_SEND: case TC_SENDRECV:
		m = send_of(w, c->sym);
		if (c->known)
			put_send(w, &m, c->t0);
		if (fn->cls == TC_SENDRECV)
			blocking_receive(w, c, 1);
		break;
	case TC_RECV: blocking_receive(w, c, 0); break;
	case TC_ISEND:
		new_request(w, c, fn, SLOT_SEND);
		new_half(w, c);
		break;
	case TC_IRECV: new_request(w, c, fn, SLOT_RECV); break;
	case TC_ICOLL: new_request(w, c, fn, SLOT_COLL); break;
	case TC_PROBE: new_request(w, c, fn, SLOT_MESSAGE); break;
	case TC_START: start_all(w, c); break;
	case TC_WAIT: complete_all(w, c->sym, c->t1, c->known); break;
	case TC_WIN: case TC_SYNC: otf2_rma_call(w, c); break;
	case TC_RMA: new_operation(w, c, fn); break;
	case TC_COLL: case TC_COMM: case TC_FILE:
		if (c->known && collective_of(w, c->sym, &e)) {
			otf2_keep(w, OTF2_EvtWriter_MpiCollectiveBegin(w->w, NULL, c->t0));
			otf2_keep(w, OTF2_EvtWriter_MpiCollectiveEnd(w->w, NULL, c->t1, e.op, e.comm, e.root, e.sent,
								e.received));
		}
		break;
	case TC_LOCAL:
		s = slot_at(w, sig_scalar(w->d, c->sym, TK_REQ, TRACE_NULL), false);
		if (s && !strcmp(fn->name, "MPI_Request_free")) {
			half_drop(w, s - w->slot);
			*s = (struct otf2_slot){0};
		}
		break;
	default:
		break;
	}
}

static int put_call(const struct export_call *c, void *arg, struct errbuf *err)
{
	struct otf2_writer *w = arg;
	uint32_t fn = w->d->sigs.sig[c->sym].fn, region = otf2_region(w->o, fn);

	otf2_received_at(w, c->event);
	if (c->known) {
		if (w->site[c->sym] == OTF2_UNDEFINED_STRING)
			w->site[c->sym] = otf2_site(w->o, w->d, c->sym);
		otf2_keep(w, OTF2_AttributeList_AddStringRef(w->attributes, OTF2_SITE_ATTRIBUTE, w->site[c->sym]));
		/* empties the attribute list */
		otf2_keep(w, OTF2_EvtWriter_Enter(w->w, w->attributes, c->t0, region));
	} else {
		w->o->x.report->events--;
	}
	inner_events(w, c, &trace_fn[fn]);
	if (c->known) {
		otf2_keep(w, OTF2_EvtWriter_Leave(w->w, NULL, c->t1, region));
		w->o->end = c->t1 > w->o->end ? c->t1 : w->o->end;
	}
	return w->rc == OTF2_SUCCESS ? 0 : otf2_check(w->rc, "event", err);
}

static int write_calls(struct otf2_writer *w, struct errbuf *err)
{
	w->d = &trace_get_rank(w->o->x.t, w->rank)->defs;
	w->comm = otf2_comms(w->o, w->rank, err);
	w->site = malloc((w->d->sigs.n + 1u) * sizeof(*w->site));
	w->attributes = OTF2_AttributeList_New();
	if (!w->comm)
		return -1;
	if (!w->site || !w->attributes || otf2_rma_begin(w) < 0)
		return err_set(err, "no memory");
	otf2_received_begin(w);
	for (uint32_t i = 0; i < w->d->sigs.n; i++)
		w->site[i] = OTF2_UNDEFINED_STRING;
	if (w->rank < w->o->x.o->r0 || w->rank >= w->o->x.o->r1)
		return 0;
	return export_calls(&w->o->x, w->rank, put_call, w, err);
}

int otf2_write_rank(struct otf2 *o, uint32_t rank, struct errbuf *err)
{
	struct otf2_writer w = {.o = o, .rank = rank, .rc = OTF2_SUCCESS};
	int rv = 0;

	w.w = OTF2_Archive_GetEvtWriter(o->archive, rank);
	if (!w.w)
		return err_set(err, "OTF2: no event writer for rank %u", rank);
	if (trace_get_rank(o->x.t, rank)->present)
		rv = write_calls(&w, err);
	if (rv == 0)
		rv = otf2_check(OTF2_EvtWriter_GetNumberOfEvents(w.w, &o->n_events[rank]), "number of events", err);
	if (OTF2_Archive_CloseEvtWriter(o->archive, w.w) != OTF2_SUCCESS && rv == 0)
		rv = err_set(err, "OTF2: the events of rank %u cannot be written; is the disk full?", rank);
	if (w.attributes)
		OTF2_AttributeList_Delete(w.attributes);
	free(w.comm);
	free(w.site);
	free(w.slot);
	free(w.half);
	otf2_rma_end(&w);
	otf2_received_end(&w);
	return rv;
}
