/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace file, byte for byte (see also precedent-trace.5): a file header, pages, an index page, room for ends.h, a trailer.
 * All integers are little endian. Every page has its own checksum, so that a damaged page is named and the rest
 * is still read; without a valid trailer the pages are found by scanning for their magic.
 */
#ifndef PRECEDENT_TRACE_PAGE_H
#define PRECEDENT_TRACE_PAGE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/event.h"

#define TRACE_FILE_MAGIC    "PRECTRC1"
#define TRACE_END_MAGIC     "PRECEND1"
#define TRACE_VERSION       2
#define TRACE_FILE_HEADER   64
#define TRACE_TRAILER       40
#define TRACE_PARTIAL       1u /* flags of the trailer */
#define TRACE_HAS_ENDS      2u
#define TRACE_PAGE_MAGIC    0x31475050u /* "PPG1" */
#define TRACE_PAGE_HEADER   104
#define TRACE_PAGE_RAW_MAX  (256u << 20)
#define TRACE_MAX_RANKS     (1u << 20)

enum trace_page_type {
	TPAGE_JOB = 1,    /* key = value lines of the whole run, from rank 0 */
	TPAGE_DEFS = 2,   /* trace_defs of a rank */
	TPAGE_STRUCT = 3, /* folded symbols of a rank */
	TPAGE_TIMES = 4,  /* (gap, duration) in ticks of n events of a rank, from event `first` on */
	TPAGE_INDEX = 5,  /* where every other page is */
	TPAGE_HIST = 6,   /* histograms of a rank's times that were not kept one by one */
	TPAGE_LEVELS = 7, /* a rank's time line in steps: ticks in each state per step */
	TPAGE_TILE = 8,   /* summary of a tile of ranks x time marks: imported traces */
	TPAGE_PYRAMID = 9,  /* counts of states per ranks x 64, 1024, ... marks: imported traces */
	TPAGE_EXCHANGE = 10, /* messages, by time */
	TPAGE_STATES = 11, /* content of a tile: imported traces */
	TPAGE_SAMPLES = 12 /* of what a rank computed: samples.h */
};


struct trace_page {
	uint32_t type, rank;
	uint64_t first, n;    /* events covered (TIMES), else 0 */
	uint64_t t0, t1;      /* ticks from the rank's start: entry of the first event's gap, end of the last */
	uint64_t state[TSTATE_N]; /* the page's summary (TIMES): ticks in each state */
	uint32_t raw_len, comp_len;
	uint64_t offset;      /* of the page header in the file (reading) */
	uint64_t hash;        /* of the page header, which holds that of the payload (reading) */
};

/* Compress raw and append header and payload to out. -1 when out failed or the compressor did. */
int trace_page_encode(const struct trace_page *meta, const void *raw, size_t raw_len, struct buf *out);
/* The same, quicker and a little larger: for pages that no finished trace has, and where calls come densely. */
int trace_page_encode_passing(const struct trace_page *meta, const void *raw, size_t raw_len, struct buf *out);
/* Parse and check a page header of TRACE_PAGE_HEADER bytes. -1 when it is none (or damaged). */
int trace_page_header(const uint8_t *hdr, struct trace_page *out);
/* Check and decompress the payload that follows the header; *raw is malloced, raw_len bytes. */
int trace_page_payload(const struct trace_page *p, const uint8_t *hdr, const uint8_t *comp, uint8_t **raw,
		       struct errbuf *err);

/* Times of events: appended as they happen, two varints each. */
static inline void trace_times_put(struct buf *b, uint64_t gap_ticks, uint64_t dur_ticks)
{
	buf_put_uv(b, gap_ticks);
	buf_put_uv(b, dur_ticks);
}

#endif
