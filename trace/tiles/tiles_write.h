/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the tiled store of a state matrix that comes as changes in order of time. Held in memory: two strips of tiles
 * (all processors x the marks of a tile; one is filled while a thread encodes and writes the other) and some steps of
 * each level of the pyramid.
 */
#ifndef PRECEDENT_TRACE_TILES_WRITE_H
#define PRECEDENT_TRACE_TILES_WRITE_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/exchange.h"
#include "trace/format/writer.h"
#include "trace/tiles/tiles.h"

struct tiles_extent {
	uint32_t n_ranks;
	uint64_t first, last; /* marks */
	uint64_t tile_bytes;  /* memory bound of a tile; 0: TILES_BYTES */
	uint32_t exchanges_per_page, exchanges_waiting; /* 0: the defaults of exchange.h */
};

struct tile_change {
	uint64_t t;
	uint32_t rank;
	uint8_t state; /* from mark t on */
};

struct tiles_writer;

/* out is borrowed: its pages come from here until tiles_writer_finish. NULL with the reason. */
struct tiles_writer *tiles_writer_create(struct trace_writer *out, const struct tiles_extent *extent, struct errbuf *err);
/* Changes in order of t, first <= t <= last. Of several at one mark the last one holds. Before its first change a
 * processor waits. -1 with the reason, of an earlier write too. */
int tiles_writer_put(struct tiles_writer *w, const struct tile_change *c, uint32_t n, struct errbuf *err);
/* See exchange_writer_add. */
int tiles_writer_exchange(struct tiles_writer *w, const struct exchange *m, struct errbuf *err);
/* The rest. The caller then writes its own pages and closes `out`. */
int tiles_writer_finish(struct tiles_writer *w, struct errbuf *err);
void tiles_writer_destroy(struct tiles_writer *w); /* at any time */

#endif
