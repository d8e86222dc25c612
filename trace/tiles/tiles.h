/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tiled store of state matrices: processors x time marks, each cell one of four states, as pages of the trace
 * file. (Orlov, "The trace parsing algorithm of complex analysis tools of balancing algorithms performance in a
 * parallel branch and bound method", International Journal of Open Information Technologies 5(1), 2017.) This is the
 * reading side; tiles_write.h is the writing side; precedent-trace.5 specifies the bytes.
 *
 * The paper's seven rules, and where they are:
 *  1 a maximum of processors and marks per tile: tiles_shape_choose
 *  2 a tile's name gives its least and greatest processor and mark: the page header (rank, first, t0, t1)
 *  3 each tile starts at the last mark of the tile before: t0 = its t1, with the states carried over
 *  4 summary and content: a summary page, then a content page
 *  5 content: the states of each processor at each mark, two bits a cell or run lengths, whichever is shorter
 *  6 states: 0 waiting, 1 working, 2 sending, 3 receiving (enum trace_state)
 *  7 the summary holds totals per processor and comes first: statistics read no content
 *
 * A mark is one unit of the trace's own time; the state at mark t holds for [t, t + 1). A tile's totals exclude the
 * mark that it shares with the tile before. So sums over tiles count each mark once.
 */
#ifndef PRECEDENT_TRACE_TILES_H
#define PRECEDENT_TRACE_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/event.h"
#include "trace/format/exchange.h"
#include "trace/read/reader.h"

/* of a decoded tile; small, so that a window of any size is read from few tiles */
#define TILES_BYTES        (512u << 10)
/* marks per step of the pyramid's first level; each further level has 16 times wider steps */
#define TILES_STEP0        64u
#define TILES_STEP_FACTOR  16u
#define TILES_LEVELS_MAX   7u           /* so that counts fit 32 bits */
#define TILES_MARKS_MAX    (1ull << 40)

/* A processor in a tile, a window or a whole trace. */
struct tile_totals {
	uint64_t marks[TSTATE_N]; /* time in each state */
	/* how often the processor entered each state; a state carried over from before does not count */
	uint64_t spans[TSTATE_N];
};

struct tile_span {
	uint32_t rank;
	uint8_t state;   /* enum trace_state */
	uint64_t t0, t1; /* marks, t1 exclusive */
};

/* Choose the size of a tile by rule 1. Start with all processors x all marks. Halve the larger side while a tile
 * of 2-bit states exceeds `bytes`. More than 64 marks per tile are rounded to a multiple of 64. */
void tiles_shape_choose(uint32_t n_ranks, uint64_t n_marks, uint64_t bytes, uint32_t *ranks, uint64_t *marks);

struct tiles;

/* Index the tiles of an imported trace. The trace must outlive the result. Returns NULL on error (err says why). */
struct tiles *tiles_open(const struct trace *t, struct errbuf *err);
void tiles_close(struct tiles *t);

uint32_t tiles_n_ranks(const struct tiles *t);
uint64_t tiles_first(const struct tiles *t); /* first mark */
uint64_t tiles_end(const struct tiles *t);   /* last mark + 1 */
double tiles_mark_ns(const struct tiles *t); /* duration of a mark in ns */

/* Totals of processors [r0, r1) from the summaries; out has r1 - r0 entries. If a summary is damaged, the tile's
 * content is counted. */
int tiles_totals(struct tiles *t, uint32_t r0, uint32_t r1, struct tile_totals *out, struct errbuf *err);

/* Pyramid: step s of a level covers marks [first + s * step, first + (s + 1) * step). The last step may be
 * shorter. */
uint32_t tiles_n_levels(const struct tiles *t);
uint64_t tiles_level_step(uint32_t level); /* marks: 64, 1024, ... */
uint64_t tiles_level_steps(const struct tiles *t, uint32_t level);
/* Marks in each state: count[(rank - r0) * (s1 - s0) + step - s0][state]. All four counts are 0 if a page is
 * damaged. */
int tiles_counts(struct tiles *t, uint32_t level, uint32_t r0, uint32_t r1, uint64_t s0, uint64_t s1,
		 uint32_t (*count)[TSTATE_N], struct errbuf *err);

/* Call f for the spans of processors [r0, r1) in the marks [t0, t1), rank by rank in order of time. Spans are cut
 * at the window's borders. Only tiles of the window are read, and damaged tiles are left out. f returns non-zero
 * to stop. Returns 0 at the end, 1 if f stopped, -1 on error (err says why). */
int tiles_spans(struct tiles *t, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1,
		int (*f)(const struct tile_span *s, void *arg), void *arg, struct errbuf *err);

/* Call f for the messages in flight at some time of [t0, t1), in any order. Return values as for tiles_spans. */
int tiles_exchanges(struct tiles *t, uint64_t t0, uint64_t t1, int (*f)(const struct exchange *m, void *arg),
		    void *arg, struct errbuf *err);

/* Damage found so far: "page 12 (content of processors 0-1999, marks 671-1343) at byte 4096: bad checksum". */
uint32_t tiles_n_damage(const struct tiles *t);
const char *tiles_damage(const struct tiles *t, uint32_t i);
/* Pages of this type that were read so far; shows the cost of queries. */
uint64_t tiles_pages_read(const struct tiles *t, uint32_t type);

#endif
