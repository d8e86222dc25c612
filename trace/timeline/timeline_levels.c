/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of states per step of a window. The rank's LEVELS page is used if its steps are fine enough. Otherwise the
 * pages of times are read. If a page lies within one step, its summary suffices. See timeline.h.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/format/levels.h"
#include "trace/timeline/timeline_impl.h"

void timeline_row_add(struct timeline_row *row, uint64_t a, uint64_t b, int state, double share)
{
	double step = (double)(row->t1 - row->t0) / row->n, from, to;
	uint32_t i, last;

	if (a < row->t0)
		a = row->t0;
	if (b > row->t1)
		b = row->t1;
	if (a >= b)
		return;
	from = (double)(a - row->t0) / step;
	to = (double)(b - row->t0) / step;
	i = (uint32_t)from;
	last = (uint32_t)to;
	if (last >= row->n)
		last = row->n - 1;
	for (; i < last; i++) {
		row->share[i][state] += share * (i + 1 - from);
		from = i + 1;
	}
	if (to > from)
		row->share[last][state] += share * (to - from);
}

/* ---- from the LEVELS page ---- */

static void add_levels(struct timeline *tl, uint32_t rank, const struct levels *l, struct timeline_row *row)
{
	uint64_t width = levels_width(l), a = timeline_of_ticks(tl, rank, 0), b;

	for (uint32_t i = 0; i < l->n && a < row->t1; i++, a = b) {
		b = timeline_of_ticks(tl, rank, (i + 1) * width);
		if (b <= row->t0)
			continue;
		for (int s = 0; s < TSTATE_N; s++)
			if (l->step[i][s])
				timeline_row_add(row, a, b, s, (double)l->step[i][s] / (double)width);
	}
}

static bool fine_enough(const struct timeline *tl, uint32_t rank, const struct timeline_row *row)
{
	double ns_per_tick = trace_get_rank(tl->t, rank)->defs.proc.ns_per_tick;

	return (double)tl->levels_width[rank] * ns_per_tick <= (double)(row->t1 - row->t0) / row->n;
}

/* Returns 1 if the row is complete, 0 if there are no levels that are fine enough. */
static int from_levels(struct timeline *tl, uint32_t rank, struct timeline_row *row)
{
	uint32_t page = tl->levels_page[rank], len;
	struct rdbuf in = {0};
	struct levels l;
	uint8_t *raw;
	int rv = 0;

	if (page == TIMELINE_NO_PAGE || !fine_enough(tl, rank, row))
		return 0;
	raw = trace_page_read(tl->t, page, &len, NULL);
	in = (struct rdbuf){.data = raw, .len = raw ? len : 0};
	if (!raw || levels_decode(&in, &l, NULL) < 0) {
		tl->levels_page[rank] = TIMELINE_NO_PAGE; /* damaged */
		free(raw);
		return 0;
	}
	tl->levels_width[rank] = levels_width(&l);
	if (fine_enough(tl, rank, row)) {
		add_levels(tl, rank, &l, row);
		rv = 1;
	}
	levels_free(&l);
	free(raw);
	return rv;
}

/* ---- from pages of times ---- */

/* If the page, from a to b, lies within one step of the row and has a summary, add the summary and return true. */
static bool add_summary(struct timeline_row *row, const struct trace_page *p, uint64_t a, uint64_t b)
{
	double step = (double)(row->t1 - row->t0) / row->n, ticks = (double)p->t1 - (double)p->t0, sum = 0;

	for (int s = 0; s < TSTATE_N; s++)
		sum += (double)p->state[s];
	if (a < row->t0 || b > row->t1 || b <= a || sum <= 0 || ticks <= 0 ||
	    (uint64_t)((double)(a - row->t0) / step) != (uint64_t)((double)(b - 1 - row->t0) / step))
		return false;
	for (int s = 0; s < TSTATE_N; s++)
		if (p->state[s])
			timeline_row_add(row, a, b, s, (double)p->state[s] / ticks);
	return true;
}

struct part {
	struct timeline_row *row;
	uint64_t a, b; /* borders of the page, cut to the row */
};

static int add_span(const struct timeline_span *s, void *arg)
{
	const struct part *p = arg;

	timeline_row_add(p->row, s->t0_ns > p->a ? s->t0_ns : p->a, s->t1_ns < p->b ? s->t1_ns : p->b, s->state, 1);
	return 0;
}

/* The first page that ends after t. */
static uint32_t find_page(const struct timeline *tl, uint32_t rank, const uint32_t *list, uint32_t n, uint64_t t)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (timeline_of_ticks(tl, rank, trace_page_at(tl->t, list[mid])->t1) > t)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int from_times(struct timeline *tl, uint32_t rank, struct timeline_row *row, struct errbuf *err)
{
	const uint32_t *list;
	uint32_t n;
	int rv = 0;

	list = trace_times_pages(tl->t, rank, &n);
	for (uint32_t i = find_page(tl, rank, list, n, row->t0); i < n && rv == 0; i++) {
		const struct trace_page *p = trace_page_at(tl->t, list[i]);
		uint64_t a = timeline_of_ticks(tl, rank, p->t0), b = timeline_of_ticks(tl, rank, p->t1);
		struct part part = {row, a > row->t0 ? a : row->t0, b < row->t1 ? b : row->t1};

		if (a >= row->t1)
			break;
		if (part.a < part.b && !add_summary(row, p, a, b))
			rv = timeline_rank_spans(tl, rank, part.a, part.b, add_span, &part, err);
	}
	return rv;
}

int timeline_rank_levels(struct timeline *tl, uint32_t rank, struct timeline_row *row, struct errbuf *err)
{
	return from_levels(tl, rank, row) ? 0 : from_times(tl, rank, row, err);
}
