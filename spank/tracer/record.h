/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of one process: what a wrapper does before and after the real call.
 *
 *	struct rec_call c;
 *	if (!rec_enter(&c, RETURN_ADDRESS, CFA)) return real(...);
 *	... look at what the call will overwrite ...
 *	rec_start(&c);
 *	rc = real(...);
 *	if (!rec_leave(&c, rc == MPI_SUCCESS)) return rc;     failed, or not to be recorded
 *	... put the parameters into c.self->v, n of them ...
 *	rec_event(&c, FN_MPI_X, n);                           or rec_poll(&c)
 *
 * Between rec_leave that returns true and rec_event or rec_poll the recorder is locked when the program may call
 * MPI from several threads at once. A call inside a call (attribute callbacks, operations) is not seen.
 * RATIONALE: the state in memory (symbols, fold, tick buffers) is not the file: pages are encoded as they fill.
 */
#ifndef PRECEDENT_SPANK_TRACER_RECORD_H
#define PRECEDENT_SPANK_TRACER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/site.h"
#include "trace/event.h"
#include "trace/fold.h"
#include "trace/sigtable.h"

#define REC_VALUES 192 /* at first */

/* Small: a library that is opened late gets little of the memory that initial-exec takes. */
struct rec_thread {
	int depth;                     /* inside an MPI call */
	int64_t *v;                    /* parameters of the call being recorded */
	uint32_t cap;
	uintptr_t stack_lo, stack_hi;  /* 0: not asked yet */
	void *scratch[2];              /* statuses and request handles of long lists */
	size_t scratch_cap[2];
};

struct rec_call {
	struct rec_thread *self;
	uintptr_t ra, cfa;
	uint64_t t0, t1;
	uint32_t site;
	struct site_cached *at;
	int slow; /* something long was done for this event: its time is not the program's */
};

struct recorder {
	bool on;
	bool locking;
	uint32_t n_wild;       /* live requests that are wildcard receives */
	uint64_t last_end;     /* tick when the last call returned */
	uint64_t held_gap;     /* gaps between unsuccessful polls that count as computation */
	uint64_t start;        /* tick 0 */
	uint64_t tiny_gap;     /* 2 us in ticks, about */
	struct sigtable sigs;
	struct fold *fold;
	/* times of the page that is being filled */
	struct buf times;
	uint64_t page_first, page_t0;
	uint64_t n_events;
	/* encoded pages, in order */
	struct buf *page;
	uint32_t n_page, cap_page;
	size_t page_bytes, page_bytes_max;
	uint64_t dropped_pages;
	uint64_t polls, poll_ticks;
	double overhead_sum;
	uint64_t overhead_n;
	bool broken;           /* out of memory: there will be no trace */
	uint32_t rank;
};

extern struct recorder rec;
extern __thread struct rec_thread rec_self __attribute__((tls_model("initial-exec")));

#define RETURN_ADDRESS ((uintptr_t)__builtin_return_address(0))
#define CALLER_CFA     ((uintptr_t)__builtin_dwarf_cfa())

void rec_lock(void);
void rec_unlock(void);
void rec_thread_begin(struct rec_thread *t);

static inline bool rec_enter(struct rec_call *c, uintptr_t ra, uintptr_t cfa)
{
	struct rec_thread *t;

	if (!rec.on)
		return false;
	t = &rec_self;
	if (t->depth)
		return false;
	if (__builtin_expect(!t->v, 0))
		rec_thread_begin(t);
	t->depth = 1;
	c->self = t;
	c->ra = ra;
	c->cfa = cfa;
	c->slow = 0;
	return true;
}

static inline void rec_start(struct rec_call *c)
{
	c->t0 = clock_ticks();
}

/* True: put the parameters together and call rec_event or rec_poll. */
static inline bool rec_leave(struct rec_call *c, bool success)
{
	c->t1 = clock_ticks();
	c->self->depth = 0;
	if (!success || __builtin_expect(!rec.on, 0))
		return false;
	if (rec.locking)
		rec_lock();
	c->site = site_of(c->ra, c->cfa, c->self->stack_lo, c->self->stack_hi, &c->at, &c->slow);
	if (__builtin_expect(c->site == SITE_NONE, 0)) {
		if (rec.locking)
			rec_unlock();
		return false;
	}
	return true;
}

/* A call that tested something and found nothing: only counted. */
static inline void rec_poll(struct rec_call *c)
{
	uint64_t gap = c->t0 - rec.last_end;

	if ((int64_t)gap > (int64_t)rec.tiny_gap)
		rec.held_gap += gap;
	rec.polls++;
	rec.poll_ticks += c->t1 - c->t0;
	rec.last_end = c->t1;
	if (rec.locking)
		rec_unlock();
}

/* The shortcut for a poll that need not look at its call site. */
static inline bool rec_leave_poll(struct rec_call *c, bool success, bool found)
{
	if (found || !success)
		return false;
	c->t1 = clock_ticks();
	c->self->depth = 0;
	if (__builtin_expect(!rec.on, 0))
		return true;
	if (rec.locking)
		rec_lock();
	rec_poll(c);
	return true;
}

void rec_event(struct rec_call *c, uint16_t fn, uint32_t n);

/* Room for n further values after the first `used`; the values may move. Always leaves 64 to spare. */
int64_t *rec_room(struct rec_thread *t, uint32_t used, uint64_t n);
/* Memory of at least that size that lasts until the call ends, or NULL. Slot 0 or 1. */
void *rec_scratch(struct rec_thread *t, int slot, size_t size);

/* Begin recording (MPI_Init returned); -1 without memory. */
int rec_begin(uint32_t rank, bool locking, size_t memory);
/* Encode what is left of the times; recording is off afterwards. */
void rec_end(void);
/* Pages of times after rec_end: how many, and page i appended to out, after which the recorder holds it no more. */
uint32_t rec_n_pages(void);
size_t rec_page_size(uint32_t i);
int rec_page_take(uint32_t i, struct buf *out);

#endif
