/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the tiled store of a state matrix from state changes in order of time. Memory holds two strips of tiles:
 * all processors x the marks of a tile. One strip is filled while a thread encodes and writes the other. Memory
 * also holds some steps of each level of the pyramid.
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
	uint8_t state; /* state from mark t on */
};

struct tiles_writer;

/* out is borrowed: until tiles_writer_finish, only this writer writes its pages. Returns NULL on error (err says
 * why). */
struct tiles_writer *tiles_writer_create(struct trace_writer *out, const struct tiles_extent *extent, struct errbuf *err);
/* Add changes in order of t, first <= t <= last. Of several changes at one mark the last one counts. A processor
 * waits before its first change. Returns 0; -1 on error (err says why), also if an earlier write failed. */
int tiles_writer_put(struct tiles_writer *w, const struct tile_change *c, uint32_t n, struct errbuf *err);
/* Add a message: see exchange_writer_add. */
int tiles_writer_exchange(struct tiles_writer *w, const struct exchange *m, struct errbuf *err);
/* Write the remaining pages. The caller then writes its own pages and closes `out`. */
int tiles_writer_finish(struct tiles_writer *w, struct errbuf *err);
void tiles_writer_destroy(struct tiles_writer *w); /* at any time */

#endif
