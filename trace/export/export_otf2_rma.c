/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-sided communication in OTF2: windows, puts, gets, atomic operations and their completion, locks, and
 * synchronisation with all ranks or a group. Each operation ends once. It is complete locally at its request, a
 * local flush or MPI_Win_complete. It is complete at the target after a fence, an unlock or a flush.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/export/export_otf2_writer.h"

#define OPERATIONS_MAX (1u << 22)

int otf2_rma_begin(struct otf2_writer *w)
{
	w->epoch = malloc((w->d->n_win + 1ull) * sizeof(*w->epoch));
	if (!w->epoch)
		return -1;
	for (uint32_t i = 0; i < w->d->n_win; i++) {
		uint32_t comm = w->d->win[i].comm;

		w->epoch[i] = (struct otf2_epoch){.start = OTF2_UNDEFINED_GROUP, .post = OTF2_UNDEFINED_GROUP};
		w->epoch[i].number = otf2_window(w->o, i, w->comm[comm], w->d->win[i].ordinal);
		if (w->epoch[i].number == UINT32_MAX)
			return -1;
	}
	return 0;
}

void otf2_rma_end(struct otf2_writer *w)
{
	free(w->epoch);
	free(w->op);
}

/* ---- operations ---- */

static uint64_t operation_new(struct otf2_writer *w, uint32_t win, int64_t target)
{
	uint64_t id = w->next_op++;

	if (w->n_op == OPERATIONS_MAX || ARRAY_ROOM(w->op, w->cap_op, w->n_op + 1) != 0)
		return id; /* its end is not written */
	w->op[w->n_op++] = (struct otf2_operation){.id = id, .win = win, .target = target};
	return id;
}

/* Operations on the window to one target, or (-1) to all targets, are complete. remote: also at the target. */
static void complete_operations(struct otf2_writer *w, uint32_t win, int64_t target, bool remote, uint64_t t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_op; i++) {
		struct otf2_operation *p = &w->op[i];

		if (p->win != win || (target >= 0 && p->target != target))
			w->op[n++] = *p;
		else if (remote)
			otf2_keep(w, OTF2_EvtWriter_RmaOpCompleteRemote(w->w, NULL, t, w->epoch[win].number, p->id));
		else
			otf2_keep(w, OTF2_EvtWriter_RmaOpCompleteNonBlocking(w->w, NULL, t, w->epoch[win].number, p->id));
	}
	w->n_op = n;
}

void otf2_rma_done(struct otf2_writer *w, uint64_t id, uint64_t t)
{
	for (uint32_t i = w->n_op; i--;) {
		struct otf2_operation *p = &w->op[i];

		if (p->id != id)
			continue;
		otf2_keep(w, OTF2_EvtWriter_RmaOpCompleteNonBlocking(w->w, NULL, t, w->epoch[p->win].number, id));
		memmove(p, p + 1, (--w->n_op - i) * sizeof(*p));
		return;
	}
}

static const struct atomic {
	uint16_t fn;
	uint8_t type;
	int received; /* number of the received count and datatype; -1: none, -2: one element each way */
} atomics[] = {
	{FN_MPI_Accumulate, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, -1},
	{FN_MPI_Raccumulate, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, -1},
	{FN_MPI_Get_accumulate, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, 1},
	{FN_MPI_Rget_accumulate, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, 1},
	{FN_MPI_Fetch_and_op, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, -2},
	{FN_MPI_Compare_and_swap, OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP, -2},
};

static uint64_t put_operation(struct otf2_writer *w, const struct export_call *c, uint16_t fn, uint32_t win)
{
	int64_t target = sig_scalar(w->d, c->sym, TK_DST, TRACE_PROC_NULL);
	uint32_t number = w->epoch[win].number, remote = otf2_world_rank(w, w->d->win[win].comm, target);
	uint64_t bytes = otf2_nth_bytes(w->d, c->sym, 0), back = 0, id;
	const struct atomic *a = NULL;

	if (target < 0 || !c->known) /* MPI_PROC_NULL */
		return UINT64_MAX;
	for (size_t i = 0; i < sizeof(atomics) / sizeof(*atomics); i++)
		a = atomics[i].fn == fn ? &atomics[i] : a;
	id = operation_new(w, win, target);
	if (a && a->received == -2)
		bytes = back = otf2_bytes(w->d, 1, sig_scalar(w->d, c->sym, TK_TYPE, TRACE_NULL));
	else if (a && a->received > 0)
		back = otf2_nth_bytes(w->d, c->sym, a->received);
	if (a)
		otf2_keep(w, OTF2_EvtWriter_RmaAtomic(w->w, NULL, c->t0, number, remote, a->type, bytes, back, id));
	else if (fn == FN_MPI_Get || fn == FN_MPI_Rget)
		otf2_keep(w, OTF2_EvtWriter_RmaGet(w->w, NULL, c->t0, number, remote, bytes, id));
	else
		otf2_keep(w, OTF2_EvtWriter_RmaPut(w->w, NULL, c->t0, number, remote, bytes, id));
	return id;
}

/* ---- windows ---- */

static void collective_end(struct otf2_writer *w, uint64_t t, uint32_t number, OTF2_CollectiveOp op,
			   OTF2_RmaSyncLevel level)
{
	otf2_keep(w, OTF2_EvtWriter_RmaCollectiveEnd(w->w, NULL, t, op, level, number, OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
}

static void put_window(struct otf2_writer *w, const struct export_call *c, uint16_t fn, uint32_t win)
{
	uint32_t number = w->epoch[win].number;
	bool allocates = w->d->win[win].kind == TWIN_ALLOCATE || w->d->win[win].kind == TWIN_SHARED;

	if (fn == FN_MPI_Win_attach || fn == FN_MPI_Win_detach || !c->known)
		return;
	otf2_keep(w, OTF2_EvtWriter_RmaCollectiveBegin(w->w, NULL, c->t0));
	if (fn == FN_MPI_Win_free) {
		complete_operations(w, win, -1, true, c->t0);
		otf2_keep(w, OTF2_EvtWriter_RmaWinDestroy(w->w, NULL, c->t1, number));
		collective_end(w, c->t1, number, allocates ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE :
			       OTF2_COLLECTIVE_OP_DESTROY_HANDLE, OTF2_RMA_SYNC_LEVEL_PROCESS);
	} else {
		otf2_keep(w, OTF2_EvtWriter_RmaWinCreate(w->w, NULL, c->t1, number));
		collective_end(w, c->t1, number, allocates ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE :
			       OTF2_COLLECTIVE_OP_CREATE_HANDLE, OTF2_RMA_SYNC_LEVEL_PROCESS);
	}
}

/* ---- synchronisation ---- */

/* The ranks that the call names, as a group of the archive. */
static uint32_t named_group(struct otf2_writer *w, uint32_t sym, uint32_t win)
{
	uint32_t group = OTF2_UNDEFINED_GROUP, *rank;
	struct sig_walk k;

	for (sig_walk_begin(&k, w->d, sym); sig_walk_next(&k);) {
		if (k.kind != TK_INTS)
			continue;
		rank = malloc((k.n + 1ull) * sizeof(*rank));
		for (uint32_t i = 0; rank && i < k.n; i++)
			rank[i] = otf2_world_rank(w, w->d->win[win].comm, k.val[i]);
		group = rank ? otf2_group(w->o, rank, k.n) : OTF2_UNDEFINED_GROUP;
		free(rank);
		if (group == OTF2_UNDEFINED_GROUP)
			otf2_keep(w, OTF2_ERROR_MEM_ALLOC_FAILED);
	}
	return group;
}

static void group_sync(struct otf2_writer *w, uint64_t t, uint32_t win, uint32_t group, OTF2_RmaSyncLevel level)
{
	if (group != OTF2_UNDEFINED_GROUP)
		otf2_keep(w, OTF2_EvtWriter_RmaGroupSync(w->w, NULL, t, level, w->epoch[win].number, group));
}

/* Locks and flushes of passive targets, and MPI_Win_sync. */
static void put_passive(struct otf2_writer *w, const struct export_call *c, uint16_t fn, uint32_t win)
{
	uint32_t number = w->epoch[win].number;
	int64_t target = sig_scalar(w->d, c->sym, TK_DST, -1);
	uint32_t remote = target >= 0 ? otf2_world_rank(w, w->d->win[win].comm, target) : OTF2_UNDEFINED_UINT32;
	OTF2_LockType lock = OTF2_LOCK_SHARED;

	switch (fn) {
	case FN_MPI_Win_lock:
		if (sig_scalar(w->d, c->sym, TK_INT, TLOCK_SHARED) == TLOCK_EXCLUSIVE)
			lock = OTF2_LOCK_EXCLUSIVE;
		if (target < 0)
			break;
		/* fall through */
	case FN_MPI_Win_lock_all:
		otf2_keep(w, OTF2_EvtWriter_RmaRequestLock(w->w, NULL, c->t0, number, remote, 0, lock));
		break;
	case FN_MPI_Win_unlock:
		if (target < 0)
			break;
		/* fall through */
	case FN_MPI_Win_unlock_all:
		complete_operations(w, win, target, true, c->t1);
		otf2_keep(w, OTF2_EvtWriter_RmaReleaseLock(w->w, NULL, c->t1, number, remote, 0));
		break;
	case FN_MPI_Win_flush:
	case FN_MPI_Win_flush_local:
		if (target < 0)
			break;
		/* fall through */
	case FN_MPI_Win_flush_all:
	case FN_MPI_Win_flush_local_all:
		complete_operations(w, win, target, fn == FN_MPI_Win_flush || fn == FN_MPI_Win_flush_all, c->t1);
		break;
	case FN_MPI_Win_sync:
		otf2_keep(w, OTF2_EvtWriter_RmaSync(w->w, NULL, c->t1, number,
						    w->d->win[win].comm == TRACE_SELF ? 0 : w->rank, OTF2_RMA_SYNC_TYPE_MEMORY));
		break;
	default:
		break;
	}
}

static void put_sync(struct otf2_writer *w, const struct export_call *c, uint16_t fn, uint32_t win)
{
	struct otf2_epoch *e = &w->epoch[win];

	switch (fn) {
	case FN_MPI_Win_fence:
		otf2_keep(w, OTF2_EvtWriter_RmaCollectiveBegin(w->w, NULL, c->t0));
		complete_operations(w, win, -1, true, c->t1);
		collective_end(w, c->t1, e->number, OTF2_COLLECTIVE_OP_BARRIER,
			       OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY);
		break;
	case FN_MPI_Win_post:
		e->post = named_group(w, c->sym, win);
		group_sync(w, c->t0, win, e->post, OTF2_RMA_SYNC_LEVEL_NONE);
		break;
	case FN_MPI_Win_start:
		e->start = named_group(w, c->sym, win);
		group_sync(w, c->t0, win, e->start, OTF2_RMA_SYNC_LEVEL_NONE);
		break;
	case FN_MPI_Win_complete:
		complete_operations(w, win, -1, false, c->t1);
		group_sync(w, c->t1, win, e->start, OTF2_RMA_SYNC_LEVEL_MEMORY);
		e->start = OTF2_UNDEFINED_GROUP;
		break;
	case FN_MPI_Win_wait:
	case FN_MPI_Win_test:
		group_sync(w, c->t1, win, e->post, OTF2_RMA_SYNC_LEVEL_MEMORY);
		e->post = OTF2_UNDEFINED_GROUP;
		break;
	default:
		put_passive(w, c, fn, win);
	}
}

uint64_t otf2_rma_call(struct otf2_writer *w, const struct export_call *c)
{
	uint16_t fn = (uint16_t)w->d->sigs.sig[c->sym].fn;
	int64_t win = sig_scalar(w->d, c->sym, TK_WIN, sig_scalar(w->d, c->sym, TK_NEWWIN, TRACE_NULL));

	if (win < 0 || win >= (int64_t)w->d->n_win)
		return UINT64_MAX;
	switch (trace_fn[fn].cls) {
	case TC_RMA: return put_operation(w, c, fn, (uint32_t)win);
	case TC_WIN: put_window(w, c, fn, (uint32_t)win); break;
	default:
		if (c->known)
			put_sync(w, c, fn, (uint32_t)win);
	}
	return UINT64_MAX;
}
