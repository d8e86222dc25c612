/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the stream of recorded calls to pages. When the stream is full it is taken apart: symbols into the fold,
 * times into a page, both into the spill; what each state took into the summary and the time line.
 *
 * Times are bounded. Once the kept pages reach the limit every second of them is given up, its times going into
 * histograms, and from then on every second page is kept, then every fourth: windows all over the run. Giving up
 * is spread over the following flushes.
 */
#ifndef PRECEDENT_SPANK_TRACER_PAGES_H
#define PRECEDENT_SPANK_TRACER_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/tracer/spill.h"
#include "trace/format/fold.h"
#include "trace/format/hist.h"
#include "trace/format/levels.h"
#include "trace/format/sigtable.h"

struct page_kept {
	uint64_t number;          /* of the flush that made it */
	uint64_t first, n, t0, t1;
	int32_t times, symbols;   /* entries of the spill; symbols -1: none */
	uint32_t bytes;
	bool leaving;
};

struct pages {
	struct spill spill;
	struct fold *fold;
	const struct sigtable *sigs;
	uint32_t rank;
	uint64_t dense_ticks;     /* calls that come closer than this are many: their times are compressed quickly */
	uint32_t raw_max;         /* bytes of the stream per page */
	uint64_t bytes_max;
	/* kept pages of times, in order */
	struct page_kept *kept;
	uint32_t n_kept, cap_kept;
	uint64_t bytes;
	unsigned sampling;        /* every 2^sampling-th page is kept */
	uint64_t number;
	/* over all events */
	uint64_t state[TSTATE_N];
	struct levels levels;
	/* events whose times were given up */
	struct hist_table hist;
	uint64_t given_up, given_up_state[TSTATE_N];
	struct levels given_up_levels;
	uint64_t epoch;
	int32_t hist_entry, levels_entry;
	/* structure in the file: up to struct_events, and pages of symbols beyond or beside kept times */
	int32_t struct_entry;
	uint64_t struct_events, struct_bytes;
	int32_t *loose;
	uint32_t n_loose, cap_loose;
	uint64_t loose_bytes;
	struct buf times, idle, symbols, page, raw;
};

/* local: directory for the spill file, or NULL; why in err when there is none although asked for. -1 without memory. */
int pages_begin(struct pages *p, const char *local, const char *id, uint32_t rank, uint32_t n_ranks, uint64_t bytes_max,
		struct fold *fold, const struct sigtable *sigs, struct errbuf *err);
/* Take the stream apart: its events are from live->stream_first on and end at tick `end`. The stream is empty
 * afterwards. The number of events; fewer than there were when the fold ran out of memory. */
uint64_t pages_flush(struct pages *p, uint64_t end);
/* Empty the stream without taking it apart: the next event has number `first`. */
void pages_forget(struct pages *p, uint64_t first, uint64_t end);

/* ---- at the end ---- */
/* Gives up every second of the kept pages, then the last one, then histograms of single calls. False: there is no more. */
bool pages_thin(struct pages *p);
/* Pages of histograms and levels, appended to out. */
int pages_tail(struct pages *p, struct buf *out);
/* The memory, and the spill file with it. */
void pages_free(struct pages *p);

#endif
