/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event model. An event of a rank is a symbol and two times. The symbol is the number of the event's signature:
 * function, call site and parameters, interned per rank. The times are the gap since the return of the previous
 * call and the duration of the call.
 *
 * A signature's parameters are a flat list of int64 values. The function's row in conf/trace.rules gives the
 * meaning of each value. A scalar takes one value; an array takes its length and then its values. Ranks in
 * parameters are relative to the call's communicator. Communicators, datatypes and operations are indexes into the
 * rank's definitions. A request is a slot: the lowest free one at its creation. So a loop that creates and
 * completes requests repeats the same slots.
 */
#ifndef PRECEDENT_TRACE_EVENT_H
#define PRECEDENT_TRACE_EVENT_H

#include <stdint.h>

/* Values with a special meaning, the same for every MPI library. */
#define TRACE_ANY_SOURCE (-1)
#define TRACE_PROC_NULL  (-2)
#define TRACE_ROOT       (-3) /* MPI_ROOT of an intercommunicator */
#define TRACE_ANY_TAG    (-1)
#define TRACE_NULL       (-1) /* no communicator, datatype, request, ... */
#define TRACE_UNDEFINED  (-4)

/* Constants of MPI, as numbered in traces. */
enum trace_lock { TLOCK_EXCLUSIVE = 1, TLOCK_SHARED = 2 };
enum trace_split { TSPLIT_SHARED = 0, TSPLIT_OTHER = 1 };
enum trace_assert {
	TASSERT_NOCHECK = 1, TASSERT_NOSTORE = 2, TASSERT_NOPUT = 4, TASSERT_NOPRECEDE = 8, TASSERT_NOSUCCEED = 16
};

/* Kinds of parameters. Kinds from TK_COUNTS on are arrays. */
enum trace_kind {
	TK_COMM,    /* communicator: index of trace_comm */
	TK_NEWCOMM, /* communicator that the call created (out) */
	TK_DST,     /* destination rank, or TRACE_PROC_NULL */
	TK_SRC,     /* source rank; may be TRACE_ANY_SOURCE */
	TK_ASRC,    /* actual source of a wildcard (out), else TRACE_NULL */
	TK_TAG,     /* tag; may be TRACE_ANY_TAG */
	TK_ATAG,    /* actual tag of a wildcard (out), else TRACE_NULL */
	TK_COUNT,   /* element count */
	TK_TYPE,    /* datatype: index of trace_type */
	TK_NEWTYPE, /* datatype that the call created (out) */
	TK_OP,      /* operation: index of trace_op */
	TK_ROOT,    /* root rank, TRACE_ROOT or TRACE_PROC_NULL */
	TK_NEWREQ,  /* request slot that the call filled (out) */
	TK_REQ,     /* request slot that the call used, or TRACE_NULL */
	TK_INPLACE, /* 1 if MPI_IN_PLACE was given */
	TK_WIN,     /* window: index of trace_win */
	TK_NEWWIN,  /* window that the call created (out) */
	TK_FILE,    /* file: index of trace_file */
	TK_NEWFILE, /* file that the call opened (out) */
	/* displacement in a window or offset in a file; TRACE_UNDEFINED if a call site has too many different ones */
	TK_DISP,
	TK_INT,     /* any other integer */
	TK_COUNTS,  /* per-peer element counts */
	TK_TYPES,   /* per-peer datatypes */
	TK_REQS,    /* request slots; TRACE_NULL for null requests */
	TK_DONE,    /* request slots that the call completed (out), in order of index */
	TK_ASRCS,   /* actual sources of completed wildcard receives (out), parallel to TK_DONE */
	TK_ATAGS,   /* actual tags of completed wildcard receives (out), parallel to TK_DONE */
	TK_INTS,    /* any other integers (dimensions, periods, neighbours, ...) */
	TK_N
};

static inline int trace_kind_is_array(enum trace_kind k)
{
	return k >= TK_COUNTS;
}

/* Scalars that often differ in each call of a program. Decoded signatures do not share them: see sigtable.h. */
static inline int trace_kind_is_amount(enum trace_kind k)
{
	return k == TK_COUNT || k == TK_DISP;
}

/* Classes of calls, for time by state, timelines and skeletons. */
enum trace_class {
	TC_SEND,       /* blocking send, also the send half of sendrecv */
	TC_RECV,       /* blocking receive */
	TC_SENDRECV,   /* both */
	TC_ISEND,      /* starts a nonblocking send, or creates a persistent one */
	TC_IRECV,      /* starts a nonblocking receive, or creates a persistent one */
	TC_START,      /* starts persistent requests */
	TC_WAIT,       /* completes requests: wait and successful test of any form */
	TC_PROBE,      /* probe, successful iprobe, and matched probes */
	TC_COLL,       /* blocking collective */
	TC_ICOLL,      /* nonblocking collective: starts a request */
	TC_COMM,       /* creates or frees a communicator (collective) */
	TC_LOCAL,      /* local call: groups, datatypes, operations, attributes, request_free, cancel */
	TC_INIT,       /* MPI_Init, MPI_Init_thread */
	TC_FINALIZE,   /* MPI_Finalize: the last event; its duration is not recorded */
	TC_WIN,        /* creates or frees a window (collective), attaches memory */
	TC_RMA,        /* one-sided data: put, get, accumulate, and the request-based forms */
	TC_SYNC,       /* one-sided synchronisation: fence, post, start, complete, wait, lock, unlock, flush */
	TC_FILE,       /* opens, closes or sets up a file (collective) */
	TC_IO,         /* reads or writes a file */
	TC_DYN,        /* dynamic processes: spawn, connect, accept, join; no skeleton repeats them */
	TC_N
};

/* State of a rank during a call; between calls the rank is working. States are those of Orlov (2017), cited in
 * trace/tiles/tiles.h. */
enum trace_state { TSTATE_WAITING, TSTATE_WORKING, TSTATE_SENDING, TSTATE_RECEIVING, TSTATE_N };

static inline enum trace_state trace_class_state(enum trace_class c)
{
	switch (c) {
	case TC_SEND: case TC_SENDRECV: case TC_ISEND: case TC_START: case TC_RMA:
		return TSTATE_SENDING;
	case TC_RECV: case TC_IRECV: case TC_IO:
		return TSTATE_RECEIVING;
	case TC_LOCAL: case TC_INIT: case TC_FINALIZE:
		return TSTATE_WORKING;
	default:
		return TSTATE_WAITING;
	}
}

struct trace_param_info {
	const char *name;
	uint8_t kind; /* enum trace_kind */
};

struct trace_fn_info {
	const char *name; /* "MPI_Send" */
	uint8_t cls;      /* enum trace_class */
	uint8_t n_param;
	const struct trace_param_info *param;
};

/* Generated from conf/trace.rules into trace/functions.{h,c}:
 *   enum trace_fn { FN_MPI_Send, ..., TRACE_FN_N };
 *   extern const struct trace_fn_info trace_fn[TRACE_FN_N];
 * The order may change between versions, so trace files name functions by their strings. */

/* One recorded call. */
struct trace_event {
	uint32_t sym;     /* index of the signature in the rank's definitions */
	uint64_t gap_ns;  /* from the return of the previous call (or from the start) to this call */
	uint64_t dur_ns;  /* inside the call */
};

/* Hash of a symbol sequence: polynomial over symbol + 1, modulo 2^61 - 1. Loops hash by geometric sums. */
#define TRACE_HASH_MOD  ((1ull << 61) - 1)
#define TRACE_HASH_BASE 0x1b873593cc9e2d51ull

static inline uint64_t trace_hash_mulmod(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	uint64_t r = (uint64_t)(p & TRACE_HASH_MOD) + (uint64_t)(p >> 61);

	return r >= TRACE_HASH_MOD ? r - TRACE_HASH_MOD : r;
}

static inline uint64_t trace_hash_step(uint64_t h, uint32_t sym)
{
	uint64_t r = trace_hash_mulmod(h, TRACE_HASH_BASE % TRACE_HASH_MOD) + sym + 1;

	return r >= TRACE_HASH_MOD ? r - TRACE_HASH_MOD : r;
}

#endif
