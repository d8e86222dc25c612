/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace file, byte for byte (see also precedent-trace.5): file header, pages, index page, room for ends.h,
 * trailer. All integers are little endian. Every page has its own checksum, so a damaged page is named and the
 * other pages are still read. If the trailer is damaged, pages are found by scanning for their magic number.
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
	TPAGE_JOB = 1,    /* facts of the whole run, from rank 0: lines key = value */
	TPAGE_DEFS = 2,   /* trace_defs of a rank */
	TPAGE_STRUCT = 3, /* folded symbols of a rank */
	TPAGE_TIMES = 4,  /* (gap, duration) in ticks of n events of a rank, from event `first` on */
	TPAGE_INDEX = 5,  /* position of every other page */
	TPAGE_HIST = 6,   /* histograms of a rank's times that were not kept */
	TPAGE_LEVELS = 7, /* a rank's time line in steps: ticks in each state */
	TPAGE_TILE = 8,   /* totals of a tile of ranks x time marks (imported traces) */
	TPAGE_PYRAMID = 9,  /* counts of states per rank and 64, 1024, ... marks (imported traces) */
	TPAGE_EXCHANGE = 10, /* messages, by time */
	TPAGE_STATES = 11, /* states of a tile (imported traces) */
	TPAGE_SAMPLES = 12 /* samples of a rank's computation: samples.h */
};


struct trace_page {
	uint32_t type, rank;
	uint64_t first, n;    /* events covered (TIMES), else 0 */
	/* from the rank's start: begin of the first event's gap, end of the last event */
	uint64_t t0, t1;
	uint64_t state[TSTATE_N]; /* TIMES: ticks in each state */
	uint32_t raw_len, comp_len;
	uint64_t offset;      /* offset of the page header in the file (when read) */
	/* hash of the page header, which contains the hash of the payload (when read) */
	uint64_t hash;
};

/* Compress raw, and append header and payload to out. Returns 0 on success, -1 if memory or compression failed. */
int trace_page_encode(const struct trace_page *meta, const void *raw, size_t raw_len, struct buf *out);
/* Like trace_page_encode, but faster and a little larger. Used for pages that are not part of a finished trace,
 * and if calls come densely. */
int trace_page_encode_passing(const struct trace_page *meta, const void *raw, size_t raw_len, struct buf *out);
/* Parse and check a page header of TRACE_PAGE_HEADER bytes. Returns 0 on success; -1 if it is damaged or no
 * header. */
int trace_page_header(const uint8_t *hdr, struct trace_page *out);
/* Check and decompress the payload behind the header. *raw is malloced and has p->raw_len bytes. */
int trace_page_payload(const struct trace_page *p, const uint8_t *hdr, const uint8_t *comp, uint8_t **raw,
		       struct errbuf *err);

/* Append the times of an event as two varints. */
static inline void trace_times_put(struct buf *b, uint64_t gap_ticks, uint64_t dur_ticks)
{
	buf_put_uv(b, gap_ticks);
	buf_put_uv(b, dur_ticks);
}

#endif
