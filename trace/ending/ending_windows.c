/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks and epochs of windows. An origin begins its k-th epoch with a target when the target has posted k times to it.
 * A target ends its k-th epoch with an origin when the origin has completed k times. A library may wait for the post in
 * MPI_Win_start, in the first access, or in MPI_Win_complete.
 */
#include "common/array.h"
#include "trace/ending/ending_impl.h"
#include "trace/format/in_call.h"
#include "trace/functions.h"

/* ---- locks ---- */

static void take_lock(struct ending_own *o, struct ending_lock l)
{
	if (ARRAY_ROOM(o->lock, o->cap_lock, o->n_lock + 1) == 0)
		o->lock[o->n_lock++] = l;
	else
		o->no_memory = true;
}

static void release_lock(struct ending_own *o, struct ending_lock l)
{
	for (uint32_t i = o->n_lock; i-- > 0;)
		if (o->lock[i].rank == l.rank && o->lock[i].scope == l.scope && o->lock[i].target == l.target) {
			o->lock[i] = o->lock[--o->n_lock];
			return;
		}
}

/* Do two sets of targets have a rank in common? A negative target stands for all ranks of the window. */
static bool targets_meet(int64_t a, int64_t b)
{
	return a == b || a < 0 || b < 0;
}

/* Is one of the rank's own locks on the target exclusive? */
static bool holds_exclusive(const struct ending_own *o, uint32_t rank, uint32_t scope, int64_t target)
{
	for (uint32_t i = 0; i < o->n_lock; i++)
		if (o->lock[i].rank == rank && o->lock[i].scope == scope && o->lock[i].exclusive &&
		    targets_meet(o->lock[i].target, target))
			return true;
	return false;
}

/* A library may ask for the lock in MPI_Win_lock, in the first access, or in a later call. */
static bool may_wait_for_lock(uint32_t fn)
{
	switch (fn) {
	case FN_MPI_Win_lock:
	case FN_MPI_Win_lock_all:
	case FN_MPI_Win_unlock:
	case FN_MPI_Win_unlock_all:
	case FN_MPI_Win_flush:
	case FN_MPI_Win_flush_all:
	case FN_MPI_Win_flush_local:
	case FN_MPI_Win_flush_local_all:
		return true;
	default:
		return trace_fn[fn].cls == TC_RMA;
	}
}

/* Is the rank in a call that may ask for a lock of the window that the rank seems to hold? */
static bool may_lack_lock(const struct ending *e, uint32_t rank, uint32_t scope)
{
	const struct trace_in_call *c = e->rank[rank].call;
	uint32_t i = e->rank[rank].where == ENDING_INSIDE
			 ? ending_scope_of_win(&trace_get_rank(e->t, rank)->defs, c->win)
			 : ENDING_NONE;

	return i != ENDING_NONE && ((const struct ending_own *)e->own)->state[rank].scope[i] == scope &&
	       may_wait_for_lock(c->fn);
}

/* Two locks exclude each other unless both are shared. If the rank's own MPI_Win_lock has returned, one of both locks
 * is not taken yet. */
static void wait_for_unlock(struct ending *e, uint32_t r, uint32_t scope, const struct trace_in_call *c)
{
	const struct ending_own *o = e->own;
	bool asks = c->fn == FN_MPI_Win_lock || c->fn == FN_MPI_Win_lock_all;
	bool exclusive = asks ? c->lock == TLOCK_EXCLUSIVE : holds_exclusive(o, r, scope, c->dst);

	for (uint32_t i = 0; i < o->n_lock; i++) {
		const struct ending_lock *l = &o->lock[i];

		if (l->rank != r && l->scope == scope && (exclusive || l->exclusive) &&
		    targets_meet(l->target, c->dst) && (asks || !may_lack_lock(e, l->rank, scope)))
			ending_add_wait(e, r,
					(struct ending_wait){.need = NEED_UNLOCK,
							     .symbol = ENDING_NONE,
							     .tag = TRACE_NULL,
							     .other_tag = TRACE_NULL,
							     .one = l->rank,
							     .n_peer = 1});
	}
}

/* ---- epochs ---- */

static uint64_t epoch_hash(uint32_t scope, uint32_t origin, uint32_t target)
{
	return (((uint64_t)origin << 32 | target) * 0x9e3779b97f4a7c15ull + scope) * 0x9e3779b97f4a7c15ull;
}

/* NULL if the pair has had no epoch. */
static struct ending_epoch *epoch_find(const struct ending_own *o, uint32_t scope, uint32_t origin, uint32_t target)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&o->known_epoch, epoch_hash(scope, origin, target), at, i)
		if (o->epoch[i].scope == scope && o->epoch[i].origin == origin && o->epoch[i].target == target)
			return &o->epoch[i];
	return NULL;
}

/* Adds the pair if it is new. Returns a place that nobody reads if memory ran out. */
static struct ending_epoch *epoch_at(struct ending_own *o, uint32_t scope, uint32_t origin, uint32_t target)
{
	static struct ending_epoch nothing;
	struct ending_epoch *known = epoch_find(o, scope, origin, target);

	if (known)
		return known;
	if (ARRAY_ROOM(o->epoch, o->cap_epoch, o->n_epoch + 1) != 0 ||
	    hash_table_add(&o->known_epoch, epoch_hash(scope, origin, target), o->n_epoch) != 0) {
		o->no_memory = true;
		nothing = (struct ending_epoch){0};
		return &nothing;
	}
	o->epoch[o->n_epoch] = (struct ending_epoch){.scope = scope, .origin = origin, .target = target};
	return &o->epoch[o->n_epoch++];
}

/* The rank in the world of member i of the group in a signature of MPI_Win_post or MPI_Win_start; MSG_NONE: none. */
static uint32_t world_rank(const struct ending *e, uint32_t rank, uint32_t scope, int64_t member)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	const struct trace_group *g = &d->comm[ending_comm_of(d, scope)].members;

	return member >= 0 && member < (int64_t)g->n && g->rank[member] < e->n_ranks ? g->rank[member] : MSG_NONE;
}

/* Members of the group in a signature; their number. */
static uint32_t group_of(const struct trace_defs *d, uint32_t symbol, const int64_t **member)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, symbol);
	while (sig_walk_next(&w))
		if (w.kind == TK_INTS) {
			*member = w.val;
			return w.n;
		}
	return 0;
}

/* Where the symbol of the rank's last MPI_Win_start, or MPI_Win_post, on the window is kept. */
static uint32_t *last_epoch(const struct ending *e, uint32_t rank, uint32_t scope, bool access)
{
	const struct ending_state *s = &((const struct ending_own *)e->own)->state[rank];
	uint32_t win = s->same[scope] - trace_get_rank(e->t, rank)->defs.n_comm;

	return access ? &s->start[win] : &s->post[win];
}

static void count_epochs(struct ending *e, uint32_t rank, uint32_t scope, uint32_t fn, uint32_t symbol)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	struct ending_own *o = e->own;
	bool access = fn == FN_MPI_Win_start || fn == FN_MPI_Win_complete;
	const int64_t *member;

	for (uint32_t i = 0; symbol != ENDING_NONE && i < group_of(d, symbol, &member); i++) {
		uint32_t other = world_rank(e, rank, scope, member[i]);
		struct ending_epoch *x;

		if (other == MSG_NONE)
			continue;
		x = epoch_at(o, o->state[rank].scope[scope], access ? rank : other, access ? other : rank);
		x->started += fn == FN_MPI_Win_start;
		x->completed += fn == FN_MPI_Win_complete;
		x->posted += fn == FN_MPI_Win_post;
	}
}

void ending_follow_window(struct ending *e, uint32_t rank, uint32_t symbol)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	struct ending_own *o = e->own;
	uint32_t fn = d->sigs.sig[symbol].fn, scope;
	struct ending_lock l = {.rank = rank};

	if (trace_fn[fn].cls != TC_SYNC)
		return;
	scope = ending_scope_of_win(d, sig_scalar(d, symbol, TK_WIN, TRACE_NULL));
	if (scope == ENDING_NONE)
		return;
	l.scope = o->state[rank].scope[scope];
	l.target = sig_scalar(d, symbol, TK_DST, TRACE_NULL);
	l.exclusive = fn == FN_MPI_Win_lock && sig_scalar(d, symbol, TK_INT, TLOCK_SHARED) == TLOCK_EXCLUSIVE;
	switch (fn) {
	case FN_MPI_Win_lock:
	case FN_MPI_Win_lock_all:
		take_lock(o, l);
		break;
	case FN_MPI_Win_unlock:
	case FN_MPI_Win_unlock_all:
		release_lock(o, l);
		break;
	case FN_MPI_Win_start:
	case FN_MPI_Win_post:
		*last_epoch(e, rank, scope, fn == FN_MPI_Win_start) = symbol;
		count_epochs(e, rank, scope, fn, symbol);
		break;
	case FN_MPI_Win_complete:
		count_epochs(e, rank, scope, fn, *last_epoch(e, rank, scope, true));
		*last_epoch(e, rank, scope, true) = ENDING_NONE;
		break;
	default:
		break;
	}
}

/* Has the other rank not done yet what the rank needs? begun: epochs that the call itself begins. */
static bool lacks(const struct ending *e, uint32_t r, uint32_t scope, uint32_t other, uint8_t need, uint64_t begun)
{
	const struct ending_own *o = e->own;
	bool access = need == NEED_POST;
	const struct ending_epoch *x =
	    epoch_find(o, o->state[r].scope[scope], access ? r : other, access ? other : r);

	if (!x)
		return access && begun;
	return access ? x->posted < x->started + begun : x->completed < x->posted;
}

static void wait_for_epoch(struct ending *e, uint32_t r, uint8_t need, const uint32_t *peer, uint32_t n)
{
	ending_add_wait(e, r,
			(struct ending_wait){.need = need,
					     .symbol = ENDING_NONE,
					     .tag = TRACE_NULL,
					     .other_tag = TRACE_NULL,
					     .peer = n > 1 ? peer : NULL,
					     .one = peer[0],
					     .n_peer = n});
}

static void wait_for_target(struct ending *e, uint32_t r, uint32_t scope, int64_t target)
{
	uint32_t other = world_rank(e, r, scope, target);

	if (other != MSG_NONE && lacks(e, r, scope, other, NEED_POST, 0))
		wait_for_epoch(e, r, NEED_POST, &other, 1);
}

/* The rank waits for some of the n ranks in the list: for all at once. Takes ownership of the list. */
static void wait_for_list(struct ending *e, uint32_t r, uint32_t scope, struct ending_missing list, uint8_t need,
			  uint64_t begun)
{
	struct ending_own *o = e->own;
	uint32_t n = 0;

	for (uint32_t i = 0; i < list.n; i++)
		if (list.rank[i] != MSG_NONE && lacks(e, r, scope, list.rank[i], need, begun))
			list.rank[n++] = list.rank[i];
	list.n = n;
	if (!n || ARRAY_ROOM(o->missing, o->cap_missing, o->n_missing + 1) != 0) {
		o->no_memory |= n > 0;
		free(list.rank);
		return;
	}
	o->missing[o->n_missing++] = list;
	wait_for_epoch(e, r, need, list.rank, n);
}

/* Room for n ranks that wait for no collective. */
static struct ending_missing new_list(struct ending_own *o, uint32_t n)
{
	struct ending_missing list = {.scope = ENDING_NONE, .rank = malloc((n + 1ull) * sizeof(*list.rank)), .n = n};

	if (!list.rank) {
		o->no_memory = true;
		list.n = 0;
	}
	return list;
}

static void wait_in_start(struct ending *e, uint32_t r, uint32_t scope, const struct trace_group *g)
{
	struct ending_missing list = new_list(e->own, g->n);

	for (uint32_t i = 0; i < list.n; i++)
		list.rank[i] = world_rank(e, r, scope, g->rank[i]);
	wait_for_list(e, r, scope, list, NEED_POST, 1);
}

static void wait_for_group(struct ending *e, uint32_t r, uint32_t scope, bool access)
{
	const struct trace_defs *d = &trace_get_rank(e->t, r)->defs;
	uint32_t symbol = *last_epoch(e, r, scope, access);
	const int64_t *member = NULL;
	struct ending_missing list = new_list(e->own, symbol != ENDING_NONE ? group_of(d, symbol, &member) : 0);

	for (uint32_t i = 0; i < list.n; i++)
		list.rank[i] = world_rank(e, r, scope, member[i]);
	wait_for_list(e, r, scope, list, access ? NEED_POST : NEED_COMPLETE, 0);
}

void ending_wait_on_window(struct ending *e, uint32_t rank, const struct trace_in_call *c)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	uint32_t scope = ending_scope_of_win(d, c->win);
	bool is_access = trace_fn[c->fn].cls == TC_RMA;

	if (scope == ENDING_NONE)
		return;
	if (c->fn == FN_MPI_Win_start) {
		wait_in_start(e, rank, scope, &c->group);
	} else if (c->fn == FN_MPI_Win_complete) {
		wait_for_group(e, rank, scope, true);
	} else if (c->fn == FN_MPI_Win_wait || c->fn == FN_MPI_Win_test) {
		wait_for_group(e, rank, scope, false);
	} else if (is_access && *last_epoch(e, rank, scope, true) != ENDING_NONE) {
		wait_for_target(e, rank, scope, c->dst);
	} else if (c->dst != TRACE_PROC_NULL && may_wait_for_lock(c->fn)) {
		wait_for_unlock(e, rank, ((struct ending_own *)e->own)->state[rank].scope[scope], c);
	}
}
