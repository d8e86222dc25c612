/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time lines of ranks: opening, totals, and shared iterators. See timeline.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/functions.h"
#include "trace/timeline/timeline_impl.h"

/* ---- time ---- */

uint64_t timeline_of_local(const struct timeline *tl, uint32_t rank, uint64_t local_ns)
{
	return trace_clock_ns(tl->clock, rank, local_ns);
}

uint64_t timeline_to_local(const struct timeline *tl, uint32_t rank, uint64_t t_ns)
{
	return trace_clock_local(tl->clock, rank, t_ns);
}

uint64_t timeline_of_ticks(const struct timeline *tl, uint32_t rank, uint64_t ticks)
{
	double ns = (double)ticks * trace_get_rank(tl->t, rank)->defs.proc.ns_per_tick;

	return timeline_of_local(tl, rank, ns < 0x1p62 ? (uint64_t)ns : 1ull << 62);
}

/* ---- opening ---- */

static void find_levels(struct timeline *tl)
{
	for (uint32_t r = 0; r < tl->n_ranks; r++)
		tl->levels_page[r] = TIMELINE_NO_PAGE;
	for (uint32_t i = 0; i < trace_n_pages(tl->t); i++) {
		const struct trace_page *p = trace_page_at(tl->t, i);

		if (p->type == TPAGE_LEVELS && p->rank < tl->n_ranks)
			tl->levels_page[p->rank] = i;
	}
}

static void find_ends(struct timeline *tl)
{
	tl->end_ns = 0;
	for (uint32_t r = 0; r < tl->n_ranks; r++) {
		const struct trace_rank *k = trace_get_rank(tl->t, r);
		uint64_t ticks, end;
		uint32_t n;

		if (!k->present)
			continue;
		ticks = k->defs.proc.end_ticks;
		const uint32_t *list = trace_times_pages(tl->t, r, &n);
		if (n && trace_page_at(tl->t, list[n - 1])->t1 > ticks)
			ticks = trace_page_at(tl->t, list[n - 1])->t1;
		end = timeline_of_ticks(tl, r, ticks);
		if (end > tl->end_ns)
			tl->end_ns = end;
	}
}

int timeline_control(struct timeline *tl, struct errbuf *err)
{
	if (tl->tiles || tl->controlled)
		return 0;
	if (trace_clock_control(tl->clock, tl->t, NULL, err) < 0)
		return -1;
	tl->controlled = true;
	find_ends(tl);
	return 0;
}

struct timeline *timeline_create(const struct trace *t, struct errbuf *err)
{
	struct timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		goto no_memory;
	tl->t = t;
	tl->n_ranks = trace_n_ranks(t);
	if (trace_is_imported(t)) {
		tl->tiles = timeline_tiles_create(t, &tl->end_ns, err);
		if (tl->tiles)
			return tl;
		timeline_destroy(tl);
		return NULL;
	}
	tl->it = calloc(tl->n_ranks, sizeof(*tl->it));
	tl->levels_page = malloc(tl->n_ranks * sizeof(*tl->levels_page));
	tl->levels_width = calloc(tl->n_ranks, sizeof(*tl->levels_width));
	if (!tl->it || !tl->levels_page || !tl->levels_width)
		goto no_memory;
	tl->clock = trace_clock_create(t, err);
	if (!tl->clock)
		goto fail;
	find_levels(tl);
	find_ends(tl);
	return tl;
no_memory:
	err_set(err, "no memory for the time line");
fail:
	timeline_destroy(tl);
	return NULL;
}

void timeline_destroy(struct timeline *tl)
{
	if (!tl)
		return;
	for (uint32_t r = 0; tl->it && r < tl->n_ranks; r++)
		trace_iter_destroy(tl->it[r]);
	trace_clock_destroy(tl->clock);
	timeline_tiles_destroy(tl->tiles);
	timeline_spool_destroy(tl->spool);
	timeline_late_free(tl);
	free(tl->it);
	free(tl->levels_page);
	free(tl->levels_width);
	free(tl);
}

uint32_t timeline_n_ranks(const struct timeline *tl)
{
	return tl->n_ranks;
}

uint64_t timeline_end_ns(const struct timeline *tl)
{
	return tl->end_ns;
}

/* ---- totals ---- */

enum trace_state timeline_state(const struct trace_defs *d, uint32_t sym)
{
	return trace_class_state(trace_fn[d->sigs.sig[sym].fn].cls);
}

/* Count the states from events: the trace has no totals. */
static void count_states(const struct timeline *tl, uint32_t rank, double seconds[TSTATE_N])
{
	const struct trace_defs *d = &trace_get_rank(tl->t, rank)->defs;
	struct trace_iter *it = trace_iter_create(tl->t, rank, NULL);
	struct trace_event ev;
	uint64_t enter, leave;
	bool known;

	while (it && trace_iter_next(it, &ev, &known)) {
		if (!known) {
			trace_iter_skip_unknown(it);
			continue;
		}
		trace_iter_when(it, &enter, &leave);
		seconds[TSTATE_WORKING] += (double)(enter - trace_iter_gap_begin(it)) * 1e-9;
		seconds[timeline_state(d, ev.sym)] += (double)(leave - enter) * 1e-9;
	}
	trace_iter_destroy(it);
}

void timeline_totals(const struct timeline *tl, uint32_t rank, double seconds[TSTATE_N])
{
	const struct trace_rank *k = trace_get_rank(tl->t, rank);
	double sum = 0, ns_per_tick;
	const uint32_t *list;
	uint32_t n;

	memset(seconds, 0, TSTATE_N * sizeof(*seconds));
	if (tl->tiles && rank < tl->n_ranks)
		timeline_tiles_totals(tl->tiles, rank, seconds);
	if (!k || !k->present)
		return;
	ns_per_tick = k->defs.proc.ns_per_tick;
	for (int s = 0; s < TSTATE_N; s++)
		sum += seconds[s] = (double)k->defs.proc.state_ticks[s] * ns_per_tick * 1e-9;
	if (sum > 0)
		return;
	list = trace_times_pages(tl->t, rank, &n);
	for (uint32_t i = 0; i < n; i++)
		for (int s = 0; s < TSTATE_N; s++) {
			double part = (double)trace_page_at(tl->t, list[i])->state[s] * ns_per_tick * 1e-9;

			seconds[s] += part;
			sum += part;
		}
	if (sum <= 0)
		count_states(tl, rank, seconds);
}

/* ---- iterators ---- */

static void drop_iter(struct timeline *tl, uint32_t rank)
{
	tl->it_memory -= trace_iter_memory(tl->it[rank]);
	trace_iter_destroy(tl->it[rank]);
	tl->it[rank] = NULL;
}

struct trace_iter *timeline_iter(struct timeline *tl, uint32_t rank, struct errbuf *err)
{
	if (!tl->it[rank]) {
		tl->it[rank] = trace_iter_create(tl->t, rank, err);
		if (!tl->it[rank])
			return NULL;
	} else {
		tl->it_memory -= trace_iter_memory(tl->it[rank]);
	}
	return tl->it[rank];
}

void timeline_iter_done(struct timeline *tl, uint32_t rank)
{
	tl->it_memory += trace_iter_memory(tl->it[rank]);
	for (uint32_t i = 0; i < tl->n_ranks && tl->it_memory > TIMELINE_ITER_MEMORY; i++) {
		if (tl->it[tl->it_victim])
			drop_iter(tl, tl->it_victim);
		tl->it_victim = (tl->it_victim + 1) % tl->n_ranks;
	}
}

/* ---- windows ---- */

static int check_ranks(const struct timeline *tl, uint32_t r0, uint32_t *r1, struct errbuf *err)
{
	if (*r1 > tl->n_ranks)
		*r1 = tl->n_ranks;
	return r0 <= *r1 ? 0 : err_set(err, "ranks %u to %u: the trace has %u", r0, *r1, tl->n_ranks);
}

int timeline_spans(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns,
		   int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err)
{
	int rv = check_ranks(tl, r0, &r1, err);

	if (rv == 0 && tl->tiles)
		return timeline_tiles_spans(tl->tiles, r0, r1, t0_ns, t1_ns, f, arg, err);
	for (uint32_t r = r0; rv == 0 && r < r1 && t0_ns < t1_ns; r++)
		if (trace_get_rank(tl->t, r)->present)
			rv = timeline_rank_spans(tl, r, t0_ns, t1_ns, f, arg, err);
	return rv;
}

void timeline_round_shares(double (*share)[TSTATE_N], uint32_t n, float (*out)[TSTATE_N])
{
	for (uint32_t i = 0; i < n; i++) {
		double sum = 0;

		for (int s = 0; s < TSTATE_N; s++)
			sum += share[i][s];
		for (int s = 0; s < TSTATE_N; s++)
			out[i][s] = (float)(sum > 1 ? share[i][s] / sum : share[i][s]);
	}
}

int timeline_levels(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint32_t n,
		    float (*share)[TSTATE_N], struct errbuf *err)
{
	struct timeline_row row = {.t0 = t0_ns, .t1 = t1_ns, .n = n};
	int rv = check_ranks(tl, r0, &r1, err);

	if (rv < 0)
		return -1;
	if (!n || t0_ns >= t1_ns)
		return err_set(err, "an empty window");
	row.share = malloc(n * sizeof(*row.share));
	if (!row.share)
		return err_set(err, "no memory for %u steps", n);
	if (tl->tiles)
		rv = timeline_tiles_levels(tl->tiles, r0, r1, &row, share, err);
	for (uint32_t r = r0; rv == 0 && r < r1 && !tl->tiles; r++) {
		memset(row.share, 0, n * sizeof(*row.share));
		if (trace_get_rank(tl->t, r)->present)
			rv = timeline_rank_levels(tl, r, &row, err);
		timeline_round_shares(row.share, n, share + (size_t)(r - r0) * n);
	}
	free(row.share);
	return rv;
}
