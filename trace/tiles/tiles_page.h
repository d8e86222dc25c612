/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of the pages of the tiled store: rows of states, summaries, planes of counts. Writer and reader share
 * this code; the bytes are specified in precedent-trace.5. In memory a row is two bit planes. 64 marks have one
 * word of low bits and one word of high bits, so states are handled 64 marks at a time.
 */
#ifndef PRECEDENT_TRACE_TILES_PAGE_H
#define PRECEDENT_TRACE_TILES_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/tiles/tiles.h"

#define TILES_NO_CARRY 0xff

/* The end of a tile's range of processors, from a page's header field `first`. Pyramid pages also store their
 * level there. */
static inline uint32_t tile_page_p1(const struct trace_page *p)
{
	return (uint32_t)p->first;
}
static inline uint32_t tile_page_level(const struct trace_page *p)
{
	return (uint32_t)(p->first >> 32);
}
/* Does the tile begin at the last mark of the tile before? n counts the tile's own marks, without that one. */
static inline bool tile_page_carries(const struct trace_page *p)
{
	return p->n == p->t1 - p->t0;
}

/* Set the cells [a, b) of a row that was all zeros. */
static inline void tile_row_fill(uint64_t *row, uint64_t a, uint64_t b, uint8_t state)
{
	uint64_t lo = state & 1 ? ~0ull : 0, hi = state & 2 ? ~0ull : 0;
	uint64_t first = a / 64, last, head, tail;

	if (a >= b || !state)
		return;
	last = (b - 1) / 64;
	head = ~0ull << (a % 64);
	tail = ~0ull >> (63 - (b - 1) % 64);
	if (first == last)
		head &= tail;
	row[2 * first] |= lo & head;
	row[2 * first + 1] |= hi & head;
	if (first == last)
		return;
	for (uint64_t w = first + 1; w < last; w++) {
		row[2 * w] = lo;
		row[2 * w + 1] = hi;
	}
	row[2 * last] |= lo & tail;
	row[2 * last + 1] |= hi & tail;
}

/*
 * Append n cells to `out` as a row of a tile's content, behind the carried cell (or TILES_NO_CARRY). Adds to the
 * totals. steps[state - 1][k]: marks of step k in states 1 to 3, at most 64.
 */
void tile_row_encode(const uint64_t *row, uint64_t n, uint8_t carry, struct tile_totals *totals,
		     uint8_t *const steps[TSTATE_N - 1], struct buf *scratch, struct buf *out);

/* A row in a page, found by stepping over the rows before it. */
struct tile_row {
	const uint8_t *data;
	uint32_t len;
	bool dense;
};
/* Next row of a content page. Sets r->failed if the row is malformed. */
struct tile_row tile_row_next(struct rdbuf *r);

/* Iterator over the runs of a row of `cells` cells. */
struct tile_runs {
	struct rdbuf in;
	bool dense;
	uint64_t cells, at; /* at: start of the next run */
};
void tile_runs_begin(struct tile_runs *it, const struct tile_row *row, uint64_t cells);
/* Returns 1 and a run of len cells from `start`, 0 at the end, -1 if the row is malformed (too few or too many
 * cells). */
int tile_runs_next(struct tile_runs *it, uint64_t *start, uint64_t *len, uint8_t *state);

/* Encode a summary page: carried states (carry == NULL: first tile), then the totals of n processors. */
void tile_summary_encode(const uint8_t *carry, const struct tile_totals *totals, uint32_t n, struct buf *out);
/* Add the totals of processors [r0, r1) to totals[0 .. r1 - r0). carry may be NULL. Returns 0 on success, -1 on
 * error (err says why). */
int tile_summary_decode(const uint8_t *raw, size_t len, uint32_t n, bool carries, uint64_t n_marks, uint32_t r0,
			uint32_t r1, struct tile_totals *totals, uint8_t *carry, struct errbuf *err);

/* Bytes per count of a pyramid level. */
uint32_t tile_count_width(uint32_t level);

/* Are the header fields of a summary, content or pyramid page valid? */
bool tiles_page_makes_sense(const struct trace_page *p, uint32_t n_ranks);
/* Decode a page of any of the four types. Returns 0, or -1 on error (err says what is wrong). */
int tiles_page_check(const struct trace_page *p, const uint8_t *raw, size_t len, uint32_t n_ranks, struct errbuf *err);

#endif
