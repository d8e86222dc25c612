/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Index of the tiled store, which the files of its reader share. */
#ifndef PRECEDENT_TRACE_TILES_READ_H
#define PRECEDENT_TRACE_TILES_READ_H

#include "trace/tiles/tiles.h"

#define TILES_NO_PAGE    UINT32_MAX
#define TILES_DAMAGE_MAX 64
#define TILES_PAGE_TYPES 16
#define TILES_MARK_NS    1e6

/* A tile, with the page numbers of its summary and content; or a page of the pyramid, with its number in
 * `summary`. */
struct tile_ref {
	uint32_t level, p0, p1;
	uint32_t summary, content;
	uint64_t t0, t1, n; /* as in the page header */
	uint64_t own;       /* first mark that is not shared with the tile before */
};

/* Sorted by level, p0, t0, without overlap. */
struct tile_list {
	struct tile_ref *ref;
	uint32_t n;
};

/* Entries [begin, end) of a list, for processors [p0, p1). */
struct tile_group {
	uint32_t p0, p1, begin, end;
};

/* Pages of one kind of message list, sorted by t0. */
struct exchange_index {
	uint32_t *page;
	uint32_t n;
};

struct tiles {
	const struct trace *t;
	uint32_t n_ranks, n_levels;
	uint64_t first, last;
	double mark_ns;
	struct tile_list tile, pyramid;
	struct exchange_index exchange[EXCHANGE_LISTS];
	uint8_t *noted; /* a bit per page: its damage was noted */
	char *damage[TILES_DAMAGE_MAX];
	uint32_t n_damage;
	uint64_t pages_read[TILES_PAGE_TYPES];
};

void tiles_note(struct tiles *t, uint32_t page, const char *why);
uint8_t *tiles_page(struct tiles *t, uint32_t page, uint32_t *len);
int tiles_index_exchanges(struct tiles *t, struct errbuf *err);

#endif
