/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder of one process: what a wrapper does before and after the real call.
 *
 *	struct rec_call c;
 *	if (!rec_enter(&c, RETURN_ADDRESS, CFA)) return real(...);
 *	... look at what the call will overwrite ...
 *	rec_start(&c, what it passes);                        or rec_start_poll
 *	rc = real(...);
 *	if (!rec_leave(&c, rc == MPI_SUCCESS)) return rc;     failed, or not to be recorded
 *	... put the parameters into c.self->v, n of them ...
 *	rec_event(&c, FN_MPI_X, n);                           or rec_poll(&c)
 *
 * Between rec_leave that returns true and rec_event or rec_poll the recorder is locked when the program may call
 * MPI from several threads at once. A call inside a call (attribute callbacks, operations) is not seen. A call may be left
 * without a return (jumped.c).
 *
 * Programs poll tens of millions of times, and reading the clock twice costs more than all else: once polls follow
 * each other closely, one in ten, then in a hundred, is timed and the others are counted. Time between two readings that neither can
 * explain is shared between computation and polls as it was among those timed.
 *
 * RATIONALE: a recorded call is a few bytes appended to a stream that lies in the spill file's window, committed by
 * storing its length: from then on it survives the process. All else (folding, compressing, the time line) is done
 * once per page of the stream (pages.h).
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

#define REC_VALUES 192 /* at first */

/* Small: a library that is opened late gets little of the memory that initial-exec takes. */
struct rec_thread {
	int depth;                     /* inside an MPI call, */
	uintptr_t outer_cfa;           /* which was made here */
	uintptr_t nested_ra, nested_cfa; /* a call that is known to come from inside another */
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
	uint32_t polls_max; /* as it was, of an untimed poll */
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
	/* unsuccessful polls in close succession: of most only the number is taken */
	uint32_t poll_streak;  /* timed ones, without anything else between them */
	uint64_t poll_mean;    /* ticks of one of them */
	uint64_t long_gap, long_poll; /* ticks of gaps between polls that were not tiny, and of polls beyond the mean, of those timed */
	/* the stream of calls */
	struct spill_live *live; /* never NULL */
	uint8_t *stream;
	uint32_t stream_full;    /* bytes at which it is taken apart */
	uint32_t n_journaled;    /* signatures whose definitions are in the journal */
	uint64_t event_end;      /* tick when the last recorded call returned */
	uint64_t own_ticks;      /* of the recorder's own since then */
	uint64_t n_events;
	struct sigtable sigs;
	struct fold *fold;       /* of the events before live->stream_first; of all after rec_end */
	struct pages pages;
	uint64_t structure_max;  /* bytes */
	const char *ended;       /* why recording stopped early; what is there is a trace */
	double overhead_sum;
	uint64_t overhead_n;
	double cost_factor;    /* how many times these looks recording a call takes, see cost.h; 0: not known */
	bool broken;             /* there will be no trace */
	void (*watch)(uint32_t sym, uint64_t gap, uint64_t tick); /* see rec_watch */
	/* While *sample_head is not sample_seen, there are samples to take: with the ticks of the call that has ended. */
	const uint64_t *sample_head;
	uint64_t sample_seen;
	void (*sample_take)(uint64_t t0, uint64_t t1);
	void (*define)(struct trace_defs *d);
};

struct rec_options {
	uint32_t rank, n_ranks;
	bool locking;
	uint64_t memory;         /* bytes of encoded times */
	uint64_t structure;      /* bytes of definitions and structure; 0: the default */
	const char *local;       /* directory for the spill file, or NULL */
	const char *id;          /* of the run */
	void (*define)(struct trace_defs *d); /* all definitions but signatures, borrowed */
};

/* Unsuccessful polls that were only counted; apart from the rest, for the path of few instructions. */
struct rec_polls {
	uint32_t n;   /* those not yet in live->polls; REC_POLL_INSIDE more inside one */
	uint32_t max; /* while n is less, they are only counted; 0 inside of any other call */
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
/* The thread is inside a call, it seems. True: that call was left by a jump, and this one is the program's. */
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

/* What the program passes to a call, for whoever finds that it did not return: see struct spill_live. */
struct rec_inside {
	uint64_t call, object, peers;
};
#define REC_PEERS(dst, src) ((uint64_t)(uint32_t)(dst) | (uint64_t)(uint32_t)(src) << 32)

__attribute__((always_inline)) static inline void rec_start(struct rec_call *c, struct rec_inside in)
{
	struct spill_live *live = rec.live;

	rec_polls.max = 0;
	c->t0 = clock_ticks();
	live->enter_address = c->ra;
	live->enter_call = in.call;
	live->enter_object = in.object;
	live->enter_peers = in.peers;
	__atomic_store_n(&live->enter_tick, c->t0, __ATOMIC_RELEASE);
}

/*
 * Shall this poll be made without anything but counting it when it finds nothing?
 *
 *	if (!rec_poll_untimed()) ... as any other call
 *	... remember the arguments, if they are not those of the last time ...
 *	rec_polls.n += REC_POLL_INSIDE;
 *	rc = real(...);
 *	if (nothing was found) { rec_polls.n -= REC_POLL_INSIDE - 1; return rc; }
 *	rec_enter_late(...) makes up for rec_enter and rec_start
 *
 * RATIONALE: a program that polls between accesses to memory that miss every cache has as many of them under way as fit
 * between the instructions, loads and stores of its polls, and stores wait in line behind its own. So one comparison
 * says whether a poll is only counted, arguments are compared with those remembered, not saved, and nothing lives in a
 * register across the call.
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

/* rec_start for a call that may test something and find nothing; t0 stays 0 where the clock is not read. */
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

/* True: put the parameters together and call rec_event or rec_poll. */
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

/* What came before c while polls were only counted: shared out between polls and computation; c->t0 is set. */
void rec_poll_settle(struct rec_call *c);
/* A poll whose times were taken. */
void rec_poll_timed(struct rec_call *c);

/* A call that tested something and found nothing: only counted. */
static inline void rec_poll(struct rec_call *c)
{
	if (c->t0) {
		rec_poll_timed(c);
	} else {
		rec_polls.n++;
		rec_polls.max = c->polls_max;
	}
	if (rec.locking)
		rec_unlock();
}

/* The shortcut for a poll that need not look at its call site. */
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

/* Room for n further values after the first `used`; the values may move. Always leaves 64 to spare. */
int64_t *rec_room(struct rec_thread *t, uint32_t used, uint64_t n);
/* Memory of at least that size that lasts until the call ends, or NULL. Slot 0 or 1. */
void *rec_scratch(struct rec_thread *t, int slot, size_t size);

/* Make everything ready, before MPI_Init's time ends. err says why there is no spill file although asked for.
 * -1 without memory. */
int rec_begin(const struct rec_options *o, struct errbuf *err);
/* Call f after each event with its symbol, the ticks of the gap before it and the tick at which it returned; rec.n_events
 * counts it already. Nothing else becomes of the events then. */
void rec_watch(void (*f)(uint32_t sym, uint64_t gap, uint64_t tick));
/* Tick 0 is now. facts: what is known of the run, in the header of the spill file; may be NULL. */
void rec_go(const struct spill_header *facts);
/* Record no more; what was recorded stays. why: a constant. */
void rec_stop(const char *why);
/* Encode what is left; recording is off afterwards. */
void rec_end(void);
/* After rec_end: the bytes of all pages; and give times up until there are so many bytes at most. False: that is not
 * enough. */
uint64_t rec_bytes(void);
bool rec_fit(uint64_t bytes);
/* Ticks that the recorder takes for an event, by its own looks or, once cost_factor is known, in all; 0 before the first look. */
double rec_overhead(void);
/* What the recorder knows of the process. */
void rec_facts(struct trace_proc *p);
/* Pages of times after rec_end, then those of levels and histograms: how many, and page i appended to out, after
 * which the recorder holds it no more. */
uint32_t rec_n_pages(void);
size_t rec_page_size(uint32_t i);
int rec_page_take(uint32_t i, struct buf *out);
/* All pages are where they belong, or nobody wants them: the spill file is taken away. */
void rec_close(void);
/* The trace could not be written: the spill file stays. why: a constant. */
void rec_keep(const char *why);
/* In a child of fork: record nothing, leave the parent's file alone. */
void rec_forget(void);

#endif
