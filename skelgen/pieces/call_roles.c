/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See call_roles.h. */
#include "skelgen/pieces/call_roles.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/pieces/open_requests.h"
#include "trace/functions.h"

/* Messages of MPI_Mprobe have slots of their own, which are numbered behind those of requests. */
#define MESSAGE_SLOT ((int64_t)1 << 30)
#define SENDS        0 /* call_role.request of sends: one can stand for any other; receives have hashes there */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t w[2] = {a, b};

	return XXH3_64bits(w, sizeof w);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* ---- communicators ---- */

static uint64_t group_hash(const struct trace_group *g)
{
	return XXH3_64bits(g->rank, g->n * sizeof *g->rank);
}

/* The same on all members; both sides of an intercommunicator have the same hash. */
static uint64_t comm_hash(const struct trace_comm *c)
{
	return mix(c->ordinal, group_hash(&c->members) + (c->kind == TCOMM_INTER ? group_hash(&c->remote) : 0)) | 1;
}

/* One member balances all others: the first one; of an intercommunicator, the first one of the group with the lower hash. */
static int64_t comm_weight(const struct trace_comm *c, uint32_t rank)
{
	int64_t others = (int64_t)c->members.n + (c->kind == TCOMM_INTER ? c->remote.n : 0) - 1;
	bool leads = c->kind != TCOMM_INTER || group_hash(&c->members) < group_hash(&c->remote);

	return leads && c->members.n > 0 && c->members.rank[0] == rank ? -others : others > 0;
}

/* The members of the new communicator make it together. The call's communicator lacks some of them, or has others, too. */
static bool new_members_make(const char *name)
{
	return strcmp(name, "MPI_Comm_create_group") == 0 || strcmp(name, "MPI_Comm_create_from_group") == 0 ||
	       strcmp(name, "MPI_Intercomm_create") == 0;
}

/* The communicator on which the call is collective; -1: it is not collective. */
static int64_t collective_on(const struct trace_defs *d, uint32_t sym)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];
	int64_t comm = sig_scalar(d, sym, TK_COMM, TRACE_NULL), win = sig_scalar(d, sym, TK_WIN, TRACE_NULL);
	int64_t file = sig_scalar(d, sym, TK_FILE, TRACE_NULL);

	switch (f->cls) {
	case TC_COLL:
	case TC_ICOLL:
		return comm;
	case TC_COMM:
		return new_members_make(f->name) ? sig_scalar(d, sym, TK_NEWCOMM, TRACE_NULL) : comm;
	case TC_WIN:
		if (strcmp(f->name, "MPI_Win_attach") == 0 || strcmp(f->name, "MPI_Win_detach") == 0)
			return TRACE_NULL;
		return win >= 0 && win < d->n_win ? d->win[win].comm : comm;
	case TC_SYNC:
		return strcmp(f->name, "MPI_Win_fence") == 0 && win >= 0 && win < d->n_win ? (int64_t)d->win[win].comm : TRACE_NULL;
	case TC_FILE:
		if (strcmp(f->name, "MPI_File_seek") == 0 || strcmp(f->name, "MPI_File_delete") == 0)
			return TRACE_NULL;
		return file >= 0 && file < d->n_file ? d->file[file].comm : comm;
	case TC_IO:
		return strstr(f->name, "_all") != NULL && file >= 0 && file < d->n_file ? (int64_t)d->file[file].comm : TRACE_NULL;
	default:
		return TRACE_NULL;
	}
}

/* ---- epochs ---- */

static const struct {
	const char *name;
	int8_t opens;
	char kind;
} epochs[] = {
	{"MPI_Win_lock", 1, 'l'},     {"MPI_Win_unlock", -1, 'l'},     {"MPI_Win_lock_all", 1, 'a'},
	{"MPI_Win_unlock_all", -1, 'a'}, {"MPI_Win_start", 1, 's'},    {"MPI_Win_complete", -1, 's'},
	{"MPI_Win_post", 1, 'p'},     {"MPI_Win_wait", -1, 'p'},       {"MPI_Win_test", -1, 'p'},
	{"MPI_Win_fence", 0, 'f'},    {"MPI_Win_free", -1, 'f'},
};

static void object_of(struct call_role *r, enum role_object kind, int64_t makes, int64_t frees)
{
	if (makes < 0 && frees < 0)
		return;
	r->object = (uint8_t)kind;
	r->makes = (int32_t)makes;
	r->frees = (int32_t)frees;
}

/* With no exclusive locks, MPI_Win_lock_all waits for no other rank. So its epoch is an object, like its window. */
static void epoch_of(const struct trace_defs *d, uint32_t sym, bool exclusive, struct call_role *r)
{
	const char *name = trace_fn[d->sigs.sig[sym].fn].name;
	int64_t win = sig_scalar(d, sym, TK_WIN, TRACE_NULL);
	uint64_t of = (uint64_t)(win + 1);

	for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
		if (strcmp(epochs[i].name, name) != 0)
			continue;
		if (epochs[i].kind == 'a' && !exclusive) {
			object_of(r, ROLE_LOCK_ALL, epochs[i].opens > 0 ? win : TRACE_NULL,
				  epochs[i].opens < 0 ? win : TRACE_NULL);
			return;
		}
		r->opens = epochs[i].opens;
		of = mix(of, (uint64_t)epochs[i].kind);
		r->epoch = mix(of, epochs[i].kind == 'l' ? (uint64_t)sig_scalar(d, sym, TK_DST, 0) : 0) | 1;
	}
	if (trace_fn[d->sigs.sig[sym].fn].cls == TC_RMA)
		r->accesses = mix(mix(of, 'f'), 0) | 1;
	if (trace_fn[d->sigs.sig[sym].fn].cls == TC_IO && (ends_with(name, "_begin") || ends_with(name, "_end"))) {
		r->opens = ends_with(name, "_begin") ? 1 : -1;
		r->epoch = mix((uint64_t)sig_scalar(d, sym, TK_FILE, TRACE_NULL), 'b') | 1;
	}
}

/* A hash for each rank of the group: of the window, the rank that starts an epoch, and the rank that posts it. */
static void exposure_of(const struct trace_defs *d, uint32_t rank, uint32_t sym, struct call_role *r)
{
	const char *name = trace_fn[d->sigs.sig[sym].fn].name;
	bool starts = strcmp(name, "MPI_Win_start") == 0;
	int64_t of = sig_scalar(d, sym, TK_WIN, TRACE_NULL);
	const struct trace_comm *c;
	struct sig_walk w;
	uint64_t win;

	if ((!starts && strcmp(name, "MPI_Win_post") != 0) || of < 0 || of >= d->n_win)
		return;
	c = &d->comm[d->win[of].comm];
	win = mix(comm_hash(c), d->win[of].ordinal);
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		for (uint32_t i = 0; w.kind == TK_INTS && i < w.n; i++) {
			bool known = w.val[i] >= 0 && w.val[i] < c->members.n;
			uint64_t peer = known ? c->members.rank[w.val[i]] : UINT32_MAX;

			r->exposure += starts ? mix(win, mix(rank, peer)) : -mix(win, mix(peer, rank));
		}
}

/* ---- one symbol ---- */

static void objects_of(const struct trace_defs *d, uint32_t sym, struct call_role *r)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];

	if (f->cls == TC_COMM && (strcmp(f->name, "MPI_Comm_free") == 0 || strcmp(f->name, "MPI_Comm_disconnect") == 0))
		object_of(r, ROLE_COMM, TRACE_NULL, sig_scalar(d, sym, TK_COMM, TRACE_NULL));
	else if (f->cls == TC_COMM) {
		r->object = ROLE_COMM;
		r->makes = (int32_t)sig_scalar(d, sym, TK_NEWCOMM, TRACE_NULL);
	} else if (f->cls == TC_WIN)
		object_of(r, ROLE_WIN, sig_scalar(d, sym, TK_NEWWIN, TRACE_NULL),
			  strcmp(f->name, "MPI_Win_free") == 0 ? sig_scalar(d, sym, TK_WIN, TRACE_NULL) : TRACE_NULL);
	else if (f->cls == TC_FILE)
		object_of(r, ROLE_FILE, sig_scalar(d, sym, TK_NEWFILE, TRACE_NULL),
			  strcmp(f->name, "MPI_File_close") == 0 ? sig_scalar(d, sym, TK_FILE, TRACE_NULL) : TRACE_NULL);
	if (ends_with(f->name, "_init") && sig_scalar(d, sym, TK_NEWREQ, TRACE_NULL) >= 0)
		object_of(r, ROLE_PERSISTENT, sig_scalar(d, sym, TK_NEWREQ, TRACE_NULL), TRACE_NULL);
}

/* One slot is told by its number alone: singles_point() sets the pointer. */
static void slots_of(const struct trace_defs *d, uint32_t sym, struct call_role *r)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		int64_t first = w.n > 0 ? w.val[0] : TRACE_NULL;

		if (w.kind == TK_NEWREQ && first >= 0 && r->object != ROLE_PERSISTENT) {
			r->slot = strcmp(w.name, "message") == 0 ? MESSAGE_SLOT + first : first;
		} else if (w.kind == TK_DONE || (w.kind == TK_REQS && f->cls == TC_START)) {
			*(f->cls == TC_START ? &r->starts : &r->ends) = w.val;
			*(f->cls == TC_START ? &r->n_starts : &r->n_ends) = w.n;
		} else if (w.kind == TK_REQ && first >= 0) {
			r->single = strcmp(w.name, "message") == 0 ? MESSAGE_SLOT + first : first;
			if (f->cls == TC_START)
				r->n_starts = 1;
			else if (strcmp(w.name, "message") == 0 || strcmp(f->name, "MPI_Request_free") == 0)
				r->n_ends = 1;
		}
	}
	if (strcmp(f->name, "MPI_Request_free") == 0 && r->n_ends == 1)
		object_of(r, ROLE_PERSISTENT, TRACE_NULL, r->single);
}

static void singles_point(struct call_roles *out)
{
	for (uint32_t i = 0; i < out->n_role; i++) {
		struct call_role *r = &out->role[i];

		r->starts = r->n_starts == 1 && r->starts == NULL ? &r->single : r->starts;
		r->ends = r->n_ends == 1 && r->ends == NULL ? &r->single : r->ends;
	}
}

/* Does a receive of this rank take messages of several envelopes? */
static bool wildcards(const struct trace_defs *d)
{
	for (uint32_t s = 0; s < d->sigs.n; s++)
		if (sig_scalar(d, s, TK_SRC, 0) == TRACE_ANY_SOURCE || sig_scalar(d, s, TK_TAG, 0) == TRACE_ANY_TAG)
			return true;
	return false;
}

/* Of sends, the envelope is that of the message. Calls that send and receive, and partitioned sends, have none. */
static void send_envelope_of(const struct trace_defs *d, uint32_t sym, struct call_role *r)
{
	int64_t dst = sig_scalar(d, sym, TK_DST, INT64_MIN), comm = sig_scalar(d, sym, TK_COMM, TRACE_NULL);

	if (dst == INT64_MIN || comm < 0 || sig_scalar(d, sym, TK_SRC, INT64_MIN) != INT64_MIN ||
	    strcmp(trace_fn[d->sigs.sig[sym].fn].name, "MPI_Psend_init") == 0)
		return;
	r->envelope = mix(~(uint64_t)comm, mix((uint64_t)dst, (uint64_t)sig_scalar(d, sym, TK_TAG, 0))) | 1;
	r->request = SENDS;
}

/* With wildcards, all receives on a communicator may compete for a message. */
static void envelope_of(const struct trace_defs *d, uint32_t sym, bool wild, struct call_role *r)
{
	int64_t src = sig_scalar(d, sym, TK_SRC, INT64_MIN), comm = sig_scalar(d, sym, TK_COMM, TRACE_NULL);
	struct sig_walk w;

	if (trace_fn[d->sigs.sig[sym].fn].cls == TC_ISEND)
		send_envelope_of(d, sym, r);
	if (trace_fn[d->sigs.sig[sym].fn].cls != TC_IRECV || src == INT64_MIN || comm < 0)
		return;
	r->envelope = mix((uint64_t)comm, wild ? 0 : mix((uint64_t)src, (uint64_t)sig_scalar(d, sym, TK_TAG, 0))) | 1;
	r->request = d->sigs.sig[sym].fn;
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		for (uint32_t i = 0; w.kind != TK_NEWREQ && i < w.n; i++)
			r->request = mix(r->request, (uint64_t)w.val[i]);
}

/* Number of request slots; 0 if a request persists, which is used in many pieces under its slot's number. Tracers give the lowest
 * free slot, and calls with different slots are different symbols. So there are no more slots than symbols. */
static uint32_t slots_count(const struct call_roles *r)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < r->n_role; i++) {
		const struct call_role *of = &r->role[i];
		bool message = of->slot >= MESSAGE_SLOT;

		if ((of->object == ROLE_PERSISTENT && of->makes >= 0) || (message && of->envelope != 0))
			return 0;
		n = message || of->slot < n ? n : of->slot + 1;
	}
	return n <= r->n ? (uint32_t)n : 0;
}

static int role_of(const struct trace_defs *d, uint32_t sym, bool exclusive, struct call_role *r, struct errbuf *err)
{
	const struct trace_fn_info *f = &trace_fn[d->sigs.sig[sym].fn];
	const struct probed_call probed = probed_call_of(d, sym);

	r->always = f->cls == TC_INIT || f->cls == TC_FINALIZE;
	r->makes = r->frees = -1;
	r->slot = -1;
	objects_of(d, sym, r);
	slots_of(d, sym, r);
	epoch_of(d, sym, exclusive, r);
	r->probed.role = probed.role; /* a copy of all may change the bytes between */
	r->probed.comm = probed.comm;
	r->probed.src = probed.src;
	r->probed.tag = probed.tag;
	if (r->object == ROLE_COMM && r->slot >= 0)
		return err_set(err, "%s makes a communicator in the background", f->name);
	return 0;
}

/* What roles are built with. */
struct roles_builder {
	const struct trace_defs *d;
	uint32_t rank, *counter; /* by communicator: its number; UINT32_MAX: none */
	bool wild, exclusive;
	struct hash_table roles;
	uint32_t cap;
};

/* The communicator of a collective call has a number. */
static void counter_of(struct roles_builder *b, uint32_t sym, struct call_role *r, struct call_roles *out)
{
	int64_t comm = collective_on(b->d, sym);
	const struct trace_comm *c = comm >= 0 && comm < b->d->n_comm ? &b->d->comm[comm] : NULL;

	if (c == NULL || comm_weight(c, b->rank) == 0)
		return;
	if (b->counter[comm] == UINT32_MAX)
		b->counter[comm] = out->n_counter++;
	r->collective = comm_hash(c);
	r->weight = comm_weight(c, b->rank);
	r->counter = b->counter[comm];
}

/* Number the symbol's role. Bytes between its members are 0. Returns 0, or -1 without memory. */
static int role_add(struct roles_builder *b, uint32_t sym, const struct call_role *r, struct call_roles *out)
{
	uint64_t hash = XXH3_64bits(r, sizeof *r);
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&b->roles, hash, at, i)
		if (memcmp(&out->role[i], r, sizeof *r) == 0)
			break;
	if (i == HASH_TABLE_NONE) {
		i = out->n_role;
		if (ARRAY_ROOM(out->role, b->cap, i + 1) != 0 || hash_table_add(&b->roles, hash, i) != 0)
			return -1;
		memcpy(&out->role[out->n_role++], r, sizeof *r);
	}
	out->of[sym] = i;
	return 0;
}

static int roles_build(struct roles_builder *b, struct call_roles *out, struct errbuf *err)
{
	struct call_role r;

	if (out->of == NULL || b->counter == NULL)
		return err_set(err, "no memory for %u kinds of calls", out->n);
	memset(b->counter, 0xff, (b->d->n_comm + 1u) * sizeof *b->counter);
	for (uint32_t s = 0; s < out->n; s++) {
		memset(&r, 0, sizeof r);
		counter_of(b, s, &r, out);
		envelope_of(b->d, s, b->wild, &r);
		exposure_of(b->d, b->rank, s, &r);
		if (role_of(b->d, s, b->exclusive, &r, err) != 0)
			return -1;
		if (role_add(b, s, &r, out) != 0)
			return err_set(err, "no memory for %u kinds of calls", out->n);
	}
	return 0;
}

bool call_roles_exclude(const struct trace *t)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		for (uint32_t s = 0; s < d->sigs.n; s++)
			if (d->sigs.sig[s].fn == FN_MPI_Win_lock &&
			    sig_scalar(d, s, TK_INT, TLOCK_SHARED) == TLOCK_EXCLUSIVE)
				return true;
	}
	return false;
}

int call_roles_build(const struct trace_defs *d, uint32_t rank, bool exclusive, struct call_roles *out,
		     struct errbuf *err)
{
	struct roles_builder b = {.d = d, .rank = rank, .exclusive = exclusive,
				  .counter = malloc((d->n_comm + 1u) * sizeof *b.counter)};
	int rv;

	b.wild = wildcards(d);
	*out = (struct call_roles){.n = d->sigs.n, .of = calloc(d->sigs.n + 1u, sizeof *out->of)};
	rv = roles_build(&b, out, err);
	hash_table_free(&b.roles);
	free(b.counter);
	if (rv != 0) {
		call_roles_free(out);
		return -1;
	}
	singles_point(out);
	out->n_slot = slots_count(out);
	return 0;
}

void call_roles_free(struct call_roles *r)
{
	free(r->role);
	free(r->of);
	*r = (struct call_roles){0};
}

uint64_t call_role_key(const struct call_role *r, uint64_t count)
{
	return mix(r->collective, count);
}

/* ---- a rank's calls in order ---- */

#define NOT_OPEN UINT64_MAX

struct slots {
	uint64_t *since; /* call that opened it, or NOT_OPEN */
	uint32_t cap;
};

/* Persistent sends and receives by slot: the envelope and a hash of the call that made it, or zero, and the call. */
struct persistents {
	struct persistent {
		struct open_request request;
		struct probed_call probed;
	} *of;
	uint32_t cap;
};

/* Of a window's number: the epoch that is open since a fence, or 0, and how many windows of this number were freed. */
struct fence {
	uint64_t epoch, open, freed;
	uint64_t last; /* fence, by number of the rank's fences; plus 1 */
};

struct walk {
	const struct call_roles *roles;
	const struct walk_listener *l;
	struct slots slot, message;
	uint64_t *count; /* by counter */
	uint64_t open;   /* epochs */
	struct open_requests requests; /* sends and receives, if a cut may have them open */
	struct persistents persistent;
	struct fence *fence;
	uint32_t n_fence, cap_fence;
	bool *opens;      /* by number of the rank's fences: an access follows it */
	uint64_t n_opens, at_fence;
	struct hash_table fences; /* by epoch */
	struct probed probed;
	bool no_memory;
};

static uint64_t *slot_at(struct walk *w, int64_t slot)
{
	struct slots *s = slot >= MESSAGE_SLOT ? &w->message : &w->slot;
	uint32_t before = s->cap;

	slot -= slot >= MESSAGE_SLOT ? MESSAGE_SLOT : 0;
	if (slot < 0)
		return NULL;
	if (ARRAY_ROOM(s->since, s->cap, (size_t)slot + 1) != 0) {
		w->no_memory = true;
		return NULL;
	}
	if (s->cap > before)
		memset(s->since + before, 0xff, (s->cap - before) * sizeof *s->since);
	return &s->since[slot];
}

/* request: send or receive that a cut may have open, or NULL. */
static void slot_open(struct walk *w, int64_t slot, uint64_t event, const struct open_request *request)
{
	uint64_t *at = slot_at(w, slot);

	if (at == NULL)
		return;
	*at = event;
	if (request != NULL)
		w->no_memory |= open_requests_add(&w->requests, request) != 0;
}

static void slot_close(struct walk *w, int64_t slot, uint64_t event)
{
	uint64_t *at = slot_at(w, slot);

	if (at == NULL || *at == NOT_OPEN)
		return;
	if (!open_requests_remove(&w->requests, slot) && *at != event && w->l->pair != NULL)
		w->l->pair(w->l->arg, *at, event);
	*at = NOT_OPEN;
}

static struct fence *fence_at(struct walk *w, uint64_t epoch)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&w->fences, epoch, at, i)
		if (w->fence[i].epoch == epoch)
			return &w->fence[i];
	if (ARRAY_ROOM(w->fence, w->cap_fence, w->n_fence + 1) != 0 ||
	    hash_table_add(&w->fences, epoch, w->n_fence) != 0) {
		w->no_memory = true;
		return NULL;
	}
	w->fence[w->n_fence] = (struct fence){.epoch = epoch};
	return &w->fence[w->n_fence++];
}

/* A fence ends an epoch, and opens one if accesses follow. The next window of this number has other epochs. */
static void fence_step(struct walk *w, const struct call_role *r)
{
	struct fence *f = fence_at(w, r->epoch);

	if (f == NULL)
		return;
	w->open -= f->open;
	f->freed += r->opens < 0;
	f->open = r->opens == 0 && w->opens[w->at_fence++] ? mix(f->epoch, f->freed) | 1 : 0;
	w->open += f->open;
}

/* Find the fences that accesses follow. */
static void fences_find(struct walk *w, const struct trace_rank *rank)
{
	struct folded_iter it;
	uint64_t cap = 0;
	uint32_t sym, fences = 0;

	for (uint32_t i = 0; i < w->roles->n_role; i++)
		fences += w->roles->role[i].epoch != 0 && w->roles->role[i].opens == 0;
	folded_begin(&it, &rank->events);
	while (fences > 0 && !w->no_memory && folded_next(&it, &sym)) {
		const struct call_role *r = call_role_of(w->roles, sym);
		bool fence = r->epoch != 0 && r->opens == 0;
		struct fence *f = fence || r->accesses != 0 ? fence_at(w, fence ? r->epoch : r->accesses) : NULL;

		if (f != NULL && fence) {
			w->no_memory |= ARRAY_ROOM_ZEROED(w->opens, cap, w->n_opens + 1) != 0;
			f->last = ++w->n_opens;
		} else if (f != NULL && f->last > 0) {
			w->opens[f->last - 1] = true;
		}
	}
}

static void persistent_make(struct walk *w, uint32_t sym, const struct call_role *r)
{
	struct persistents *p = &w->persistent;
	uint32_t before = p->cap;

	if (r->object != ROLE_PERSISTENT || r->makes < 0)
		return;
	if (ARRAY_ROOM(p->of, p->cap, (size_t)r->makes + 1) != 0) {
		w->no_memory = true;
		return;
	}
	if (p->cap > before)
		memset(p->of + before, 0, (p->cap - before) * sizeof *p->of);
	p->of[r->makes] = (struct persistent){{r->makes, r->envelope, mix(sym, (uint64_t)r->makes)}, r->probed};
}

/* A probe and the receive that takes its message belong together. */
static void probe_follow(struct walk *w, uint64_t event, const struct probed_call *c)
{
	uint64_t since;

	if (c->role == PROBED_FINDS)
		w->no_memory |= probed_find(&w->probed, c, event) != 0;
	else if (c->role == PROBED_TAKES && probed_take(&w->probed, c, &since) && w->l->pair != NULL)
		w->l->pair(w->l->arg, since, event);
}

static void start(struct walk *w, int64_t slot, uint64_t event)
{
	const struct persistent *p = slot >= 0 && slot < w->persistent.cap ? &w->persistent.of[slot] : NULL;
	bool open = w->roles->open_requests && p != NULL && p->request.envelope != 0;

	slot_open(w, slot, event, open ? &p->request : NULL);
	if (p != NULL)
		probe_follow(w, event, &p->probed);
}

/* Where no messages are under way, the messages of all open sends have been received. These sends complete in any order. */
static void post(struct walk *w, uint64_t event, const struct call_role *r)
{
	bool any_slot = w->roles->any_slots && w->roles->n_slot > 0, received = r->request == SENDS && !w->roles->under_way;
	const struct open_request request = {r->slot, received ? 1 : r->envelope,
					     any_slot ? r->request : mix(r->request, (uint64_t)r->slot)};

	slot_open(w, r->slot, event, w->roles->open_requests && r->envelope != 0 ? &request : NULL);
}

static void step(struct walk *w, uint64_t event, uint32_t sym)
{
	const struct call_role *r = call_role_of(w->roles, sym);

	for (uint32_t i = 0; i < r->n_ends; i++)
		slot_close(w, r->ends[i], event);
	for (uint32_t i = 0; i < r->n_starts; i++)
		start(w, r->starts[i], event);
	if (r->slot >= 0)
		post(w, event, r);
	persistent_make(w, sym, r);
	if (r->object != ROLE_PERSISTENT)
		probe_follow(w, event, &r->probed);
	if (r->collective != 0 && w->l->collective != NULL)
		w->l->collective(w->l->arg, event, r, w->count[r->counter]++);
	if (r->exposure != 0 && w->l->exposure != NULL)
		w->l->exposure(w->l->arg, event, r->exposure);
	if (r->epoch != 0 && (r->opens == 0 || r->object == ROLE_WIN))
		fence_step(w, r);
	else if (r->epoch != 0)
		w->open += r->opens < 0 ? -r->epoch : r->epoch;
}

int rank_walk(const struct trace_rank *rank, const struct call_roles *roles, const struct walk_listener *l, struct errbuf *err)
{
	struct walk w = {.roles = roles, .l = l, .count = calloc(roles->n_counter + 1u, sizeof *w.count)};
	struct folded_iter it;
	uint32_t sym;

	w.no_memory = w.count == NULL;
	fences_find(&w, rank);
	folded_begin(&it, &rank->events);
	for (uint64_t e = 0; !w.no_memory && folded_next(&it, &sym); e++) {
		if (l->before != NULL)
			l->before(l->arg, e, w.open + w.requests.state, &w.requests);
		step(&w, e, sym);
	}
	free(w.count);
	free(w.slot.since);
	free(w.message.since);
	free(w.persistent.of);
	open_requests_free(&w.requests);
	probed_free(&w.probed);
	free(w.fence);
	free(w.opens);
	hash_table_free(&w.fences);
	return w.no_memory ? err_set(err, "no memory to follow the calls of a rank") : 0;
}
