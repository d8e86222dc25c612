/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of one process. A wrapper calls it before and after the real function:
 *
 *	struct rec_call c;
 *	if (!rec_enter(&c, RETURN_ADDRESS, CFA)) return real(...);
 *
 *	... read the values that the call will overwrite ...
 *	rec_start(&c, parameters);                            or rec_start_poll
 *	rc = real(...);
 *
 *	if (!rec_leave(&c, rc == MPI_SUCCESS)) return rc;     failed, or not to be recorded
 *	... put the parameters into c.self->v, n of them ...
 *
 *	rec_event(&c, FN_MPI_X, n);                           or rec_poll(&c)
 *
 * If several threads call MPI at once, the recorder is locked from a rec_leave that returns true to
 * rec_event or rec_poll. A call inside a call (attribute callbacks, operations) is not seen. A call may be left without
 * a return (jumped.c).
 *
 * Programs poll tens of millions of times, and most of the cost would be two clock readings per poll. So if polls follow
 * each other closely, one in ten and later one in a hundred is timed; the others are counted. Time between two readings
 * that is too long for both is divided between computation and polls like the timed ones.
 *
 * RATIONALE: a recorded call is a few bytes at the end of a stream in the spill file's window. It is committed when the
 * stream's length is stored, and then survives the process. All other work (folding, compressing, the time line) is
 * done once per page of the stream (pages.h).
 */
#ifndef PRECEDENT_SPANK_TRACER_RECORD_H
#define PRECEDENT_SPANK_TRACER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/pages.h"
#include "spank/tracer/site.h"
#include "trace/format/event.h"
#include "trace/format/fold.h"
#include "trace/format/sigtable.h"

#define REC_VALUES 192 /* initial size */

/* Small: a library that is loaded late gets little static TLS (initial-exec). */
struct rec_thread {
	int depth;                     /* > 0: inside an MPI call */
	bool holds_lock;
	uintptr_t outer_cfa;           /* CFA of that call */
	uintptr_t nested_ra, nested_cfa; /* a call that is known to come from inside another one */
	int64_t *v;                    /* parameters of the current call */
	uint32_t cap;
	uintptr_t stack_lo, stack_hi;  /* stack bounds; 0: not known yet */
	void *scratch[2];              /* memory for statuses and request handles of long lists */
	size_t scratch_cap[2];
	const int *group;              /* of the current call, as ranks of the window's group; NULL: not known */
	int n_group;
};

struct rec_call {
	struct rec_thread *self;
	uintptr_t ra, cfa;
	uint64_t t0, t1;
	uint32_t polls_max; /* rec_polls.max before an untimed poll */
	uint32_t site;
	struct site_cached *at;
	int slow; /* the tracer did slow work for this event, which does not count as the program's time */
};

struct recorder {
	bool on;
	bool locking;
	uint32_t n_wild;       /* pending wildcard receives */
	uint64_t last_end;     /* tick when the last call returned */
	uint64_t held_gap;     /* gaps between unsuccessful polls that count as computation */
	uint64_t start;        /* tick 0 */
	uint64_t tiny_gap;     /* about 2 us in ticks */
	/* Unsuccessful polls in close succession; most of these are only counted. */
	uint32_t poll_streak;  /* timed polls without another call between them */
	uint64_t poll_mean;    /* mean ticks of a poll */
	/* of timed polls: ticks of gaps that were not tiny, and ticks of polls beyond the mean */
	uint64_t long_gap, long_poll;
	/* The stream of calls. */
	struct spill_live *live; /* never NULL */
	uint8_t *stream;
	uint32_t stream_full;    /* size in bytes at which the stream is split */
	uint32_t n_journaled;    /* number of signatures in the journal */
	uint64_t event_end;      /* tick when the last recorded call returned */
	uint64_t own_ticks;      /* ticks of the recorder itself since then */
	uint64_t n_events;
	struct sigtable sigs;
	/* fold of the events before live->stream_first; after rec_end, of all events */
	struct fold *fold;
	struct pages pages;
	uint64_t structure_max;  /* bytes */
	const char *ended;       /* why recording stopped early; the trace up to there is kept */
	double overhead_sum;
	uint64_t overhead_n;
	double cost_factor;    /* full cost of recording a call / rec_overhead's, see cost.h; 0: not known */
	bool broken;             /* there will be no trace */
	void (*watch)(uint32_t sym, uint64_t gap, uint64_t tick); /* see rec_watch */
	/* If *sample_head differs from sample_seen, there are samples to read. */
	const uint64_t *sample_head;
	uint64_t sample_seen;
	double sample_cost;      /* ticks in which the kernel takes a sample, over what that adds to *sample_head */
	void (*sample_take)(uint64_t t0, uint64_t t1);
	void (*define)(struct trace_defs *d);
};

struct rec_options {
	uint32_t rank, n_ranks;
	bool locking;
	uint64_t memory;         /* limit of encoded times in bytes */
	uint64_t structure;      /* limit of definitions and structure in bytes; 0: the default */
	const char *local;       /* directory of the spill file, or NULL */
	const char *id;          /* id of the run */
	void (*define)(struct trace_defs *d); /* fills in all definitions but signatures; borrowed */
};

/* Unsuccessful polls that were only counted. Apart from struct recorder, so that the fast path has few
 * instructions. */
struct rec_polls {
	/* polls that are not yet in live->polls; inside a poll, REC_POLL_INSIDE more */
	uint32_t n;
	uint32_t max; /* polls are only counted while n < max; 0 inside any other call */
};
#define REC_POLL_INSIDE (1u << 30)

extern struct recorder rec __attribute__((visibility("hidden")));
extern struct rec_polls rec_polls __attribute__((visibility("hidden")));
extern __thread struct rec_thread rec_self __attribute__((tls_model("initial-exec")));

#define RETURN_ADDRESS ((uintptr_t)__builtin_return_address(0))
#define CALLER_CFA     ((uintptr_t)__builtin_dwarf_cfa())

void rec_lock(void);
void rec_unlock(void);
void rec_thread_begin(struct rec_thread *t);
/* The thread seems to be inside a call. Returns true if that call was left by a jump, so that this call is the
 * program's. */
bool rec_jumped(struct rec_thread *t, uintptr_t ra, uintptr_t cfa);

static inline bool rec_enter(struct rec_call *c, uintptr_t ra, uintptr_t cfa)
{
	struct rec_thread *t;

	if (!rec.on)
		return false;
	t = &rec_self;
	if (__builtin_expect(t->depth || rec_polls.n >= REC_POLL_INSIDE, 0) && !rec_jumped(t, ra, cfa))
		return false;
	if (__builtin_expect(!t->v, 0))
		rec_thread_begin(t);
	t->depth = 1;
	t->outer_cfa = cfa;
	c->self = t;
	c->ra = ra;
	c->cfa = cfa;
	c->slow = 0;
	return true;
}

/* This thread begins a call while another thread is in a call, and the program asked for less than MPI_THREAD_MULTIPLE.
 * Some libraries do so. From now on the recorder is locked, and the trace says that threads call MPI at once. */
void rec_threads_meet(void);

/* A call's parameters as passed, for readers of the spill file if it does not return: see struct spill_live. */
struct rec_inside {
	uint64_t call, object, peers;
	uint64_t type; /* of a blocking send; otherwise the constant 0 */
};
/* A count for enter_peers. */
#define REC_COUNT(n) ((n) > 0 && (n) <= INT32_MAX ? (uint32_t)(n) : 0u)
#define REC_PEERS(dst, src) ((uint64_t)(uint32_t)(dst) | (uint64_t)(uint32_t)(src) << 32)

__attribute__((always_inline)) static inline void rec_start(struct rec_call *c, struct rec_inside in)
{
	struct spill_live *live = rec.live;

	if (__builtin_expect(live->enter_tick != 0, 0) && !rec.locking)
		rec_threads_meet();
	rec_polls.max = 0;
	c->t0 = clock_ticks();
	live->enter_address = c->ra;
	live->enter_call = in.call;
	live->enter_object = in.object;
	live->enter_peers = in.peers;
	if (!__builtin_constant_p(in.type) || in.type)
		live->enter_type = in.type;
	__atomic_store_n(&live->enter_tick, c->t0, __ATOMIC_RELEASE);
}

/*
 * Can this poll be made without recording more than its number, if it is unsuccessful?
 *
 *	if (!rec_poll_untimed()) ... as any other call
 *	... remember the arguments if they differ from the last ones ...
 *	rec_polls.n += REC_POLL_INSIDE;
 *	rc = real(...);
 *	if (unsuccessful) { rec_polls.n -= REC_POLL_INSIDE - 1; return rc; }
 *	rec_enter_late(...) does the work of rec_enter and rec_start
 *
 * RATIONALE: a program may poll between memory accesses that all miss the cache. The number of outstanding misses is
 * limited by the instructions, loads and stores between them, and the tracer's stores wait behind the program's. So a
 * single comparison decides whether a poll is only counted. Arguments are compared with the remembered ones instead of
 * saved, and no register is live across the call.
 */
static inline bool rec_poll_untimed(void)
{
	return rec_polls.n < rec_polls.max;
}

/* The same address, which the compiler has to compute again. */
#define REC_AGAIN(p) ({ __typeof__(p) again_; __asm__ volatile("" : "=r"(again_) : "0"(p) : "memory"); again_; })

static inline void rec_enter_late(struct rec_call *c, uintptr_t ra, uintptr_t cfa)
{
	rec_polls.n -= REC_POLL_INSIDE;
	*c = (struct rec_call){.self = &rec_self, .ra = ra, .cfa = cfa};
}

/* rec_start for a call that may be an unsuccessful test. t0 is 0 if the clock is not read. */
static inline void rec_start_poll(struct rec_call *c, struct rec_inside in)
{
	if (!rec_poll_untimed()) {
		rec_start(c, in);
		return;
	}
	c->t0 = 0;
	c->polls_max = rec_polls.max;
	rec_polls.max = 0;
	rec.live->enter_address = c->ra;
	rec.live->enter_call = in.call;
	rec.live->enter_object = in.object;
	rec.live->enter_peers = in.peers;
	rec.live->enter_tick = rec.last_end;
}

/* Returns true if the caller must collect the parameters and call rec_event or rec_poll. */
static inline bool rec_leave(struct rec_call *c, bool success)
{
	c->t1 = clock_ticks();
	rec.live->enter_tick = 0;
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

/* Divide the time before c, in which polls were only counted, between polls and computation. c->t0 is set. */
void rec_poll_settle(struct rec_call *c);
/* Account for a timed poll. */
void rec_poll_timed(struct rec_call *c);

/* An unsuccessful test: only counted. */
static inline void rec_poll(struct rec_call *c)
{
	if (c->t0) {
		rec_poll_timed(c);
	} else {
		rec_polls.n++;
		if (!rec.locking)
			rec_polls.max = c->polls_max;
	}
	if (rec.locking)
		rec_unlock();
}

/* Fast path of rec_leave for a poll that does not need its call site. */
static inline bool rec_leave_poll(struct rec_call *c, bool success, bool found)
{
	if (found || !success)
		return false;
	if (c->t0)
		c->t1 = clock_ticks();
	rec.live->enter_tick = 0;
	c->self->depth = 0;
	if (__builtin_expect(!rec.on, 0))
		return true;
	if (rec.locking)
		rec_lock();
	rec_poll(c);
	return true;
}

void rec_event(struct rec_call *c, uint16_t fn, uint32_t n);

/* Make room for n more values behind the first `used`; the values may move. Always leaves 64 to spare. */
int64_t *rec_room(struct rec_thread *t, uint32_t used, uint64_t n);
/* Scratch memory of at least this size until the call ends, or NULL. slot: 0 or 1. */
void *rec_scratch(struct rec_thread *t, int slot, size_t size);

/* Prepare recording before MPI_Init returns. If there is no spill file although one was asked for, err says why.
 * Returns 0, or -1 if memory runs out. */
int rec_begin(const struct rec_options *o, struct errbuf *err);
/* Call f after each event with its symbol, the gap before it in ticks, and the tick at which it returned.
 * rec.n_events already includes the event. Events are not recorded then. */
void rec_watch(void (*f)(uint32_t sym, uint64_t gap, uint64_t tick));
/* Start recording: tick 0 is now. facts: facts of the run for the header of the spill file; may be NULL. */
void rec_go(const struct spill_header *facts);
/* The time since the last call was the recorder's, not the program's. */
void rec_skip(void);
/* Stop recording, and keep the events so far. why: a string constant. */
void rec_stop(const char *why);
/* Encode the rest and turn recording off. */
void rec_end(void);
/* After rec_end. rec_bytes: size of all pages. rec_fit: drop times until the size is at most `bytes`; returns
 * false if that is not enough. */
uint64_t rec_bytes(void);
bool rec_fit(uint64_t bytes);
/* Ticks that recording an event takes: by the recorder's own measurement, and in full once cost_factor is known.
 * 0 before the first measurement. */
double rec_overhead(void);
/* Fill in the recorder's facts of the process. */
void rec_facts(struct trace_proc *p);
/* After rec_end: pages of times, then of levels and histograms. rec_n_pages: their number. rec_page_take: append
 * page i to out; the recorder then frees it. */
uint32_t rec_n_pages(void);
size_t rec_page_size(uint32_t i);
int rec_page_take(uint32_t i, struct buf *out);
/* All pages are written, or no trace is wanted: remove the spill file. */
void rec_close(void);
/* The trace could not be written: keep the spill file. why: a string constant. */
void rec_keep(const char *why);
/* In a child of fork: record nothing, and do not touch the parent's file. */
void rec_forget(void);

#endif
