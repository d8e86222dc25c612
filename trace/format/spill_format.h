/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spill file of a rank: what it has recorded, in a form that survives its death at any instant.
 *
 *	window: header | live | counters | directory | journal | stream   shared mapping, allocated on disk beforehand
 *	pages, anywhere behind it, written with write(2)             as in a trace file, and two types of their own
 *
 * The stream holds the calls since the last page, the journal the definitions since the last journal page; a
 * length is stored after the bytes that it covers. The directory names the pages that count: an entry is filled
 * first and then switched on, off first and then its room is used again. So after a kill between any two stores
 * every call that was recorded is there exactly once.
 * The counters are those of the functions that are only counted: the process counts in the file itself.
 * The modules are those of MPI_Init: a call that has not returned may come from where no call came before.
 * Integers are those of the machine that wrote them.
 */
#ifndef PRECEDENT_TRACE_SPILL_FORMAT_H
#define PRECEDENT_TRACE_SPILL_FORMAT_H

#include <stdint.h>

#include "trace/format/event.h"

#define SPILL_MAGIC    "PRECSPL1"
#define SPILL_VERSION  3
#define SPILL_SUFFIX   ".spill"
#define SPILL_FACTS    3072
#define SPILL_STREAM_MAX  (512u << 10)
#define SPILL_JOURNAL_MAX (256u << 10)
#define SPILL_ENTRIES_MAX 65536u
#define SPILL_COUNTERS_MAX 1024u
#define SPILL_NAMES_MAX   (24u << 10)
#define SPILL_OBJECTS_MAX 256u  /* communicators, and windows, whose handles are told */
#define SPILL_MODULES_MAX 128u

/* Page types beside enum trace_page_type. first and n of their headers: */
enum spill_page_type {
	SPAGE_JOURNAL = 64, /* bytes of the journal */
	SPAGE_SYMBOLS = 65  /* uv symbol for each of n events, from `first` on */
};
/* TPAGE_STRUCT covers the events before n. TPAGE_HIST holds the times of n events that were given up, `state` of the
 * page header their ticks in each state, and all of them were before event `first`; TPAGE_LEVELS their time line. */

struct spill_entry {
	uint64_t on;       /* 1: counts */
	uint64_t offset;   /* of the page header in the file */
	uint64_t first, n;
	uint32_t type, len; /* header and payload */
	uint64_t epoch;    /* HIST, LEVELS: the number of this version. Others: 0, or the version that holds their times */
};

struct spill_header {
	char magic[8];
	uint32_t version, rank, world_size, pid;
	uint32_t thread_level, n_entry;
	uint64_t live_at, entry_at, journal_at, stream_at, window;
	uint64_t counter_at, name_at;   /* n_counter numbers; their names, each ended by a zero byte */
	uint32_t n_counter, names_len;
	uint64_t module_at;             /* n_module of struct spill_module */
	uint32_t n_module;
	int32_t any_source, proc_null, any_tag; /* as this MPI library has them */
	uint64_t functions;             /* trace_fn_hash() of the tracer: what numbers of functions mean */
	uint32_t journal_cap, stream_cap;
	uint64_t start_ticks, start_real_ns, start_mono_ns; /* MPI_Init returned */
	uint64_t init_ticks, init_mono_ns;                  /* it was called */
	uint64_t init_ns, before_ns;
	char id[192];
	char host[64];
	char program[512];
	char facts[SPILL_FACTS]; /* lines key=value */
	uint64_t hash;           /* of the bytes before: written last */
};

struct spill_live {
	/* what the recorder touches at every call, in one cache line */
	uint64_t stream_len;      /* bytes of whole records */
	uint64_t enter_tick;      /* the call that has not returned, 0: none */
	uint64_t enter_address;   /* its return address */
	uint64_t polls, poll_ticks;
	/* Of that call, as the program passed it: SPILL_CALL; the handle of its communicator or window, 0: none; the rank that
	 * it sends to, its root, or how many requests it waits for (low 32 bits), and the rank that it receives from (high). */
	uint64_t enter_call, enter_object, enter_peers;
	uint64_t stream_first;    /* index of the first event in the stream */
	uint64_t stream_tick;     /* end of the event before it, since the start */
	uint64_t journal_first, journal_len; /* bytes */
	uint64_t clock;           /* which of these is whole */
	uint64_t clock_ticks[2], clock_mono_ns[2];
	double overhead_ticks;
	char ended[96];           /* why recording stopped, "" while it goes on */
	/* The last handle of each communicator and window, by the numbers of their definitions; 0: none. */
	uint64_t comm[SPILL_OBJECTS_MAX], win[SPILL_OBJECTS_MAX];
};

/* A call: its function (enum trace_fn) + 1 and its tag, that of the receive where it has two. */
#define SPILL_CALL(fn, tag)  ((uint64_t)((fn) + 1) << 48 | (uint32_t)(tag))
#define SPILL_CALL_FN(call)  ((uint32_t)((call) >> 48) - 1)
#define SPILL_CALL_TAG(call) ((int32_t)(uint32_t)(call))

/* Code in the process, from lo to hi. */
struct spill_module {
	uint64_t base, lo, hi;
	char path[232];
};

/* A record of the stream: uv symbol + 1, uv gap, uv duration; or 0, uv ticks in unsuccessful tests, uv ticks of the
 * recorder's own, both since the last call and before the next one's gap. */

#endif
