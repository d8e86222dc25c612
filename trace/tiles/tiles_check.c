/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks one page of the tiled store: see tiles_page_check in tiles_page.h. */
#include <stdlib.h>

#include "trace/tiles/tiles_page.h"

bool tiles_page_makes_sense(const struct trace_page *p, uint32_t n_ranks)
{
	uint32_t p1 = tile_page_p1(p), level = tile_page_level(p);

	if (p->rank >= p1 || p1 > n_ranks || p->t1 < p->t0 || p->t1 - p->t0 >= TILES_MARKS_MAX || p->t1 >= INT64_MAX ||
	    !p->n)
		return false;
	if (p->type != TPAGE_PYRAMID)
		return !level && (tile_page_carries(p) || p->n == p->t1 - p->t0 + 1);
	return level < TILES_LEVELS_MAX && p->n == (p->t1 - p->t0) / tiles_level_step(level) + 1;
}

static int check_summary(const struct trace_page *p, const uint8_t *raw, size_t len, struct errbuf *err)
{
	uint32_t n = tile_page_p1(p) - p->rank;
	struct tile_totals *sum;
	int rv;

	if (n > len)
		return err_set(err, "summary of the wrong size");
	sum = calloc(n, sizeof(*sum));
	if (!sum)
		return err_set(err, "no memory");
	rv = tile_summary_decode(raw, len, n, tile_page_carries(p), p->n, 0, n, sum, NULL, err);
	free(sum);
	return rv;
}

static int check_content(const struct trace_page *p, const uint8_t *raw, size_t len, struct errbuf *err)
{
	struct rdbuf r = {.data = raw, .len = len};
	uint64_t start, n;
	uint8_t state;

	for (uint32_t i = p->rank; i < tile_page_p1(p) && !r.failed; i++) {
		struct tile_row row = tile_row_next(&r);
		struct tile_runs it;
		int more = 0;

		if (r.failed)
			break;
		tile_runs_begin(&it, &row, p->t1 - p->t0 + 1);
		while ((more = tile_runs_next(&it, &start, &n, &state)) > 0)
			;
		if (more < 0)
			r.failed = true;
	}
	return r.failed || r.pos != len ? err_set(err, "malformed row of states") : 0;
}

static int check_pyramid(const struct trace_page *p, const uint8_t *raw, size_t len, struct errbuf *err)
{
	uint32_t width = tile_count_width(tile_page_level(p));
	uint64_t step = tiles_level_step(tile_page_level(p)), plane;

	if (p->n > len || len != 3ull * (tile_page_p1(p) - p->rank) * p->n * width)
		return err_set(err, "counts of the wrong size");
	plane = (tile_page_p1(p) - p->rank) * p->n;
	for (uint64_t i = 0; i < plane; i++) {
		uint64_t left = p->t1 - p->t0 + 1 - i % p->n * step, sum = 0;

		for (uint64_t k = 0; k < 3; k++)
			for (uint32_t b = 0; b < width; b++)
				sum += (uint64_t)raw[(k * plane + i) * width + b] << (8 * b);
		if (sum > (left < step ? left : step))
			return err_set(err, "counts that do not add up");
	}
	return 0;
}

int tiles_page_check(const struct trace_page *p, const uint8_t *raw, size_t len, uint32_t n_ranks, struct errbuf *err)
{
	struct exchange *m;
	uint32_t n;

	if (p->type == TPAGE_EXCHANGE) {
		if (p->rank >= EXCHANGE_LISTS || p->t0 > p->t1 || exchange_decode(raw, len, n_ranks, &m, &n, err) < 0)
			return err_set(err, "malformed list of messages");
		free(m);
		return n == p->n ? 0 : err_set(err, "has another number of messages than its header says");
	}
	if (!tiles_page_makes_sense(p, n_ranks))
		return err_set(err, "has contradictory header fields");
	if (p->type == TPAGE_TILE)
		return check_summary(p, raw, len, err);
	return p->type == TPAGE_STATES ? check_content(p, raw, len, err) : check_pyramid(p, raw, len, err);
}
