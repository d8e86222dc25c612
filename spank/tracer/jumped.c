/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that a program leaves without a return: by longjmp or a C++ exception out of an error handler, a reduction
 * or another callback. The wrapper of such a call does not notice, so the next call seems to come from inside it.
 * The stack shows whether it does.
 */
#include <unwind.h>

#include "spank/tracer/record.h"
#include "spank/tracer/site.h"

/* power of two; cache of return addresses in the MPI library, which calls its own functions */
#define KNOWN 64u

static uintptr_t library_ra[KNOWN]; /* single words, so racing threads do no harm */

struct walk {
	uintptr_t lo, hi; /* code of the tracer */
	uintptr_t ra;     /* return address of the current call, whose own wrapper is skipped */
	uintptr_t cfa;    /* CFA of the last frame */
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

/* Is a wrapper of the tracer among the frames of the caller? */
static bool comes_from_inside(const struct rec_thread *t, uintptr_t ra)
{
	struct walk w = {.ra = ra};

	if (!site_tracer(&w.lo, &w.hi))
		return true; /* not known: treated as inside */
	_Unwind_Backtrace(look_at_frame, &w);
	/* If the walk ended below the frame of the outer call, the answer is not known. */
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
