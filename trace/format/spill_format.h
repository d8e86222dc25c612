/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spill file of a rank: its recorded calls and definitions, readable after the rank dies at any moment.
 *
 *	window: header | live | group | counters | directory | journal | stream   shared mapping, allocated on disk
 *
 *	pages, anywhere behind the window, written by write(2)     as in a trace file, and two more types
 *
 * The stream holds the calls since the last page; the journal holds the definitions since the last journal page.
 * A length is stored after the bytes that it covers. The directory names the valid pages. An entry is filled before
 * it is switched on, and switched off before its room is reused. So after a kill between any two stores, every
 * recorded call is in the file exactly once.
 *
 * Functions that are only counted have their counters in the file. The modules are those loaded at MPI_Init: a call
 * that has not returned may come from a call site without a definition. Integers are in the byte order of the
 * machine.
 */
#ifndef PRECEDENT_TRACE_SPILL_FORMAT_H
#define PRECEDENT_TRACE_SPILL_FORMAT_H

#include <stdint.h>

#include "trace/format/event.h"

#define SPILL_MAGIC    "PRECSPL1"
#define SPILL_VERSION  7
#define SPILL_SUFFIX   ".spill"
#define SPILL_FACTS    3072
#define SPILL_STREAM_MAX  (512u << 10)
#define SPILL_JOURNAL_MAX (256u << 10)
#define SPILL_ENTRIES_MAX 65536u
#define SPILL_COUNTERS_MAX 1024u
#define SPILL_NAMES_MAX   (24u << 10)
/* largest number of communicators, of windows, and of files, whose handles are stored */
#define SPILL_OBJECTS_MAX 256u
#define SPILL_MODULES_MAX 128u
#define SPILL_TYPES_MAX   48u
#define SPILL_PLACES_MAX  16u /* at 2 s each: the last half minute */

/* Page types in addition to enum trace_page_type, with the meaning of first and n in their headers: */
enum spill_page_type {
	SPAGE_JOURNAL = 64, /* part of the journal, in bytes */
	SPAGE_SYMBOLS = 65  /* uv symbol for each of n events, from `first` on */
};
/* TPAGE_STRUCT covers the first n events. TPAGE_HIST holds the times of n events whose times were not kept, all
 * before event `first`. Its page header has their ticks in each state. TPAGE_LEVELS holds their time line. */

struct spill_entry {
	uint64_t on;       /* 1: the entry is valid */
	uint64_t offset;   /* of the page header in the file */
	uint64_t first, n;
	uint32_t type, len; /* len: of header and payload */
	/* HIST, LEVELS: number of this version; other pages: 0, or the version that holds their times */
	uint64_t epoch;
};

struct spill_header {
	char magic[8];
	uint32_t version, rank, world_size, pid;
	uint32_t thread_level, n_entry;
	uint64_t live_at, entry_at, journal_at, stream_at, window;
	uint64_t group_at;              /* a bit for each of world_size ranks: see spill_live.n_group */
	uint64_t counter_at, name_at;   /* n_counter numbers; their names, each ended by a zero byte */
	uint32_t n_counter, names_len;
	uint64_t module_at;             /* n_module entries of struct spill_module */
	uint32_t n_module;
	int32_t any_source, proc_null, any_tag; /* values of this MPI library */
	/* trace_fn_hash() of the tracer; shows whether numbers of functions mean the same */
	uint64_t functions;
	uint32_t journal_cap, stream_cap;
	uint64_t start_ticks, start_real_ns, start_mono_ns; /* at the return of MPI_Init */
	uint64_t init_ticks, init_mono_ns;                  /* at the call of MPI_Init */
	uint64_t init_ns, before_ns;
	char id[192];
	char host[64];
	char program[512];
	char facts[SPILL_FACTS]; /* lines key=value */
	uint64_t hash;           /* of the bytes before; written last */
};

/* A predefined datatype of this MPI library. */
struct spill_type {
	uint64_t handle; /* 0: no more types */
	uint64_t size;
};

/* Where the thread that initialised MPI was outside of MPI. */
struct spill_place {
	uint64_t event;  /* number of events recorded before */
	uint64_t pc;
	uint64_t caller; /* return address into the program, if pc is in a library; 0: not known */
};

struct spill_live {
	/* written at every call, in one cache line */
	uint64_t stream_len;      /* bytes of complete records */
	uint64_t enter_tick;      /* entry of the call that has not returned; 0: none */
	uint64_t enter_address;   /* return address of that call */
	uint64_t polls, poll_ticks;
	/* The call that has not returned, as the program passed its parameters:
	 *
	 * enter_call: SPILL_CALL.
	 * enter_object: handle of the communicator, window or file; 0: none.
	 * enter_peers: destination, root or number of requests in the low 32 bits; source in the high 32 bits. A blocking
	 * send has its count in the high 32 bits; 0: none or not known. MPI_Win_lock has its enum trace_lock there. */
	uint64_t enter_call, enter_object, enter_peers;
	uint64_t enter_type;      /* of a blocking send: handle of the datatype; valid for such a call only */
	uint64_t stream_first;    /* index of the first event in the stream */
	uint64_t stream_tick;     /* end of the event before it, in ticks since the start */
	uint64_t journal_first, journal_len; /* bytes */
	uint64_t clock;           /* index of the valid one of the two clock records */
	uint64_t clock_ticks[2], clock_mono_ns[2];
	double overhead_ticks;
	char ended[96];           /* why recording stopped; "" while recording goes on */
	/* Last handle of each communicator, window and file, by number of the definition; 0: none. */
	uint64_t comm[SPILL_OBJECTS_MAX], win[SPILL_OBJECTS_MAX], file[SPILL_OBJECTS_MAX];
	struct spill_type type[SPILL_TYPES_MAX];
	/* Members of the group of the last MPI_Win_start; 0: not known. Bit i % 8 of byte i / 8 at group_at is set if rank i
	 * of the window is a member. After a spawn and a merge, a window may have more ranks than the world. A group with a
	 * rank from world_size on is not known. */
	uint64_t n_group;
	/* Number of looks that were stored. Look i is at i % SPILL_PLACES_MAX. The oldest one may be half overwritten. */
	uint64_t n_place;
	struct spill_place place[SPILL_PLACES_MAX];
};

/* A call: function (enum trace_fn) + 1, and its tag. A call with two tags gives the receive's. */
#define SPILL_CALL(fn, tag)  ((uint64_t)((fn) + 1) << 48 | (uint32_t)(tag))
#define SPILL_CALL_FN(call)  ((uint32_t)((call) >> 48) - 1)
#define SPILL_CALL_TAG(call) ((int32_t)(uint32_t)(call))

/* Executable code mapped from lo to hi. */
struct spill_module {
	uint64_t base, lo, hi;
	char path[232];
};

/* A record of the stream is uv symbol + 1, uv gap, uv duration. Or it is 0, uv ticks in unsuccessful tests, uv
 * ticks of the recorder itself; both lie between the last call and the next call's gap. */

#endif
