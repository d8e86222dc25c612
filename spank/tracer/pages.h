/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the stream of recorded calls into pages. A full stream is split: symbols go to the fold, times to a page,
 * both to the spill file. The times in each state go to the page's summary and to the time line.
 *
 * Memory for times is bounded. When the kept pages reach the limit, every second page is dropped, and its times go
 * to histograms. From then on every second new page is kept, then every fourth. So the kept windows cover the whole
 * run. Dropping is spread over the following flushes.
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
	uint64_t number;          /* number of the flush that made the page */
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
	/* calls that are closer than this are frequent, and their times are compressed by the fast method */
	uint64_t dense_ticks;
	uint32_t raw_max;         /* bytes of the stream per page */
	uint64_t bytes_max;
	/* Kept pages of times, in order. */
	struct page_kept *kept;
	uint32_t n_kept, cap_kept;
	uint64_t bytes;
	unsigned sampling;        /* every 2^sampling-th page is kept */
	uint64_t number;
	/* Totals of all events. */
	uint64_t state[TSTATE_N];
	struct levels levels;
	/* Events whose times are in histograms only. */
	struct hist_table hist;
	uint64_t given_up, given_up_state[TSTATE_N];
	struct levels given_up_levels;
	uint64_t epoch;
	int32_t hist_entry, levels_entry;
	/* Structure in the file covers the events up to struct_events. Later symbols, or symbols without kept
	 * times, have pages of their own. */
	int32_t struct_entry;
	uint64_t struct_events, struct_bytes;
	int32_t *loose;
	uint32_t n_loose, cap_loose;
	uint64_t loose_bytes;
	struct buf times, idle, symbols, page, raw;
};

/* local: directory of the spill file, or NULL. If the file cannot be created, err says why. Returns 0, or -1 if
 * memory runs out. */
int pages_begin(struct pages *p, const char *local, const char *id, uint32_t rank, uint32_t n_ranks, uint64_t bytes_max,
		struct fold *fold, const struct sigtable *sigs, struct errbuf *err);
/* Split the stream. Its events start at live->stream_first and end at tick `end`; the stream is empty afterwards.
 * Returns the number of events, which is smaller than the stream's if the fold ran out of memory. */
uint64_t pages_flush(struct pages *p, uint64_t end);
/* Empty the stream without splitting it. The next event has number `first`. */
void pages_forget(struct pages *p, uint64_t first, uint64_t end);

/* ---- at the end ---- */
/* Drop every second kept page, then the last page, then the histograms per signature. Returns false if there is no
 * more to drop. */
bool pages_thin(struct pages *p);
/* Append the pages of histograms and levels to out. */
int pages_tail(struct pages *p, struct buf *out);
/* Free the memory and remove the spill file. */
void pages_free(struct pages *p);

#endif
