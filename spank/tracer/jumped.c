/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that a program leaves without a return: by longjmp or a C++ exception out of an error handler, a reduction or
 * another function of its own that the MPI library calls. The wrapper of such a call never learns it, so that the next
 * call seems to come from inside of it. Here the stack says whether it does.
 */
#include <unwind.h>

#include "spank/tracer/record.h"
#include "spank/tracer/site.h"

#define KNOWN 64u /* power of two: return addresses in the MPI library, which calls its own functions */

static uintptr_t library_ra[KNOWN]; /* single words: threads may race */

struct walk {
	uintptr_t lo, hi; /* the tracer's code */
	uintptr_t ra;     /* of the call that was made now: its own wrapper is passed by */
	uintptr_t cfa;    /* of the last frame */
	bool started, inside;
};

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *ctx, void *data)
{
	struct walk *w = data;
	uintptr_t pc = _Unwind_GetIP(ctx);

	w->started |= pc == w->ra;
	if (!w->started)
		return _URC_NO_REASON;
	w->cfa = _Unwind_GetCFA(ctx);
	w->inside = pc >= w->lo && pc < w->hi;
	return w->inside ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

static bool is_in_library(uintptr_t ra)
{
	bool yes;

	if (rec.locking)
		rec_lock();
	yes = site_is_library(ra);
	if (rec.locking)
		rec_unlock();
	return yes;
}

/* Is a wrapper of the tracer among the frames that the call was made from? */
static bool comes_from_inside(const struct rec_thread *t, uintptr_t ra)
{
	struct walk w = {.ra = ra};

	if (!site_tracer(&w.lo, &w.hi))
		return true; /* nobody knows: as if it did */
	_Unwind_Backtrace(look_at_frame, &w);
	/* A walk that ended below the call in question has not seen its frame. */
	return w.inside || !w.started || w.cfa < t->outer_cfa;
}

bool rec_jumped(struct rec_thread *t, uintptr_t ra, uintptr_t cfa)
{
	uintptr_t *known = &library_ra[(ra >> 2) & (KNOWN - 1)];

	if (*known == ra || (t->nested_ra == ra && t->nested_cfa == cfa))
		return false;
	if (is_in_library(ra)) {
		*known = ra;
		return false;
	}
	if (comes_from_inside(t, ra)) {
		t->nested_ra = ra;
		t->nested_cfa = cfa;
		return false;
	}
	t->depth = 0;
	rec.live->enter_tick = 0;
	if (rec_polls.n >= REC_POLL_INSIDE)
		rec_polls.n -= REC_POLL_INSIDE;
	return true;
}
