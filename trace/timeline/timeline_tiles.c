/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time line of an imported trace, from its tiles (tiles.h). A mark lasts tiles_mark_ns. See timeline.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/tiles/tiles.h"
#include "trace/timeline/timeline_impl.h"

#define COUNTS_MAX (1u << 20) /* steps of the pyramid in memory at a time */

struct timeline_tiles {
	struct tiles *t;
	uint64_t first, end; /* marks */
	double mark_ns;
	struct tile_totals *total;
};

static uint64_t ns_of(const struct timeline_tiles *k, uint64_t mark)
{
	double ns = mark > k->first ? (double)(mark - k->first) * k->mark_ns : 0;

	return ns < 0x1p62 ? (uint64_t)ns : 1ull << 62;
}

/* The mark that contains this time; up: the first mark at or after this time. */
static uint64_t mark_of(const struct timeline_tiles *k, uint64_t ns, bool up)
{
	double marks = (double)ns / k->mark_ns;
	uint64_t m;

	if (marks >= (double)(k->end - k->first))
		return k->end;
	m = k->first + (uint64_t)marks;
	if (up ? ns_of(k, m) < ns : ns_of(k, m + 1) <= ns)
		m++;
	return m < k->end ? m : k->end;
}

void timeline_tiles_destroy(struct timeline_tiles *k)
{
	if (!k)
		return;
	tiles_close(k->t);
	free(k->total);
	free(k);
}

struct timeline_tiles *timeline_tiles_create(const struct trace *t, uint64_t *end_ns, struct errbuf *err)
{
	struct timeline_tiles *k = calloc(1, sizeof(*k));
	uint32_t n = trace_n_ranks(t);

	if (!k || !(k->total = calloc(n, sizeof(*k->total)))) {
		err_set(err, "no memory for the time line");
		goto fail;
	}
	k->t = tiles_open(t, err);
	if (!k->t)
		goto fail;
	k->first = tiles_first(k->t);
	k->end = tiles_end(k->t);
	k->mark_ns = tiles_mark_ns(k->t);
	if (!(k->mark_ns > 0)) {
		err_set(err, "marks that last %g ns", k->mark_ns);
		goto fail;
	}
	if (tiles_n_ranks(k->t) != n) {
		err_set(err, "tiles of %u processors in a trace of %u", tiles_n_ranks(k->t), n);
		goto fail;
	}
	if (tiles_totals(k->t, 0, n, k->total, err) < 0)
		goto fail;
	*end_ns = ns_of(k, k->end);
	return k;
fail:
	timeline_tiles_destroy(k);
	return NULL;
}

void timeline_tiles_totals(const struct timeline_tiles *k, uint32_t rank, double seconds[TSTATE_N])
{
	for (int s = 0; s < TSTATE_N; s++)
		seconds[s] = (double)k->total[rank].marks[s] * k->mark_ns * 1e-9;
}

/* ---- spans ---- */

struct spans {
	const struct timeline_tiles *k;
	uint64_t t0, t1;
	int (*f)(const struct timeline_span *s, void *arg);
	void *arg;
};

static int give_span(const struct tile_span *s, void *arg)
{
	const struct spans *w = arg;
	struct timeline_span out = {s->rank, s->state, UINT32_MAX, TIMELINE_NO_EVENT, ns_of(w->k, s->t0),
				    ns_of(w->k, s->t1)};

	return out.t0_ns < w->t1 && out.t1_ns > w->t0 ? w->f(&out, w->arg) : 0;
}

int timeline_tiles_spans(struct timeline_tiles *k, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1,
			 int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err)
{
	struct spans w = {k, t0, t1, f, arg};
	uint64_t a = mark_of(k, t0, false), b = mark_of(k, t1, true);

	return r0 < r1 && a < b ? tiles_spans(k->t, r0, r1, a, b, give_span, &w, err) : 0;
}

/* ---- levels ---- */

struct rows {
	struct timeline_row *row;
	uint32_t r0, next; /* next: first rank whose row is not complete */
	float (*share)[TSTATE_N];
};

/* Complete the rows before this rank: ranks come in order. */
static void rows_until(struct rows *o, uint32_t rank)
{
	for (; o->next < rank; o->next++) {
		timeline_round_shares(o->row->share, o->row->n, o->share + (size_t)(o->next - o->r0) * o->row->n);
		memset(o->row->share, 0, o->row->n * sizeof(*o->row->share));
	}
}

static int add_span(const struct timeline_span *s, void *arg)
{
	struct rows *o = arg;

	rows_until(o, s->rank);
	timeline_row_add(o->row, s->t0_ns, s->t1_ns, s->state, 1);
	return 0;
}

/* Add steps of a pyramid level for ranks [a, b). */
static int add_counts(struct timeline_tiles *k, uint32_t level, uint32_t a, uint32_t b, uint64_t s0, uint64_t s1,
		      struct rows *o, struct errbuf *err)
{
	uint64_t n = s1 - s0, step = tiles_level_step(level);
	uint32_t (*count)[TSTATE_N] = calloc((size_t)(b - a) * n, sizeof(*count));
	int rv = count ? tiles_counts(k->t, level, a, b, s0, s1, count, err) : err_set(err, "no memory for levels");

	for (uint32_t r = a; r < b && rv == 0; r++) {
		rows_until(o, r);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t m0 = k->first + (s0 + i) * step, m1 = m0 + step < k->end ? m0 + step : k->end;
			uint32_t *c = count[(r - a) * n + i];

			for (int s = 0; s < TSTATE_N; s++)
				if (c[s])
					timeline_row_add(o->row, ns_of(k, m0), ns_of(k, m1), s,
							 (double)c[s] / (double)(m1 - m0));
		}
	}
	free(count);
	return rv;
}

int timeline_tiles_levels(struct timeline_tiles *k, uint32_t r0, uint32_t r1, struct timeline_row *row,
			  float (*share)[TSTATE_N], struct errbuf *err)
{
	double wanted = (double)(row->t1 - row->t0) / row->n / k->mark_ns;
	uint64_t m0 = mark_of(k, row->t0, false), m1 = mark_of(k, row->t1, true), step, s0, s1;
	uint32_t level = tiles_n_levels(k->t), batch;
	struct rows o = {row, r0, r0, share};
	int rv = 0;

	memset(row->share, 0, row->n * sizeof(*row->share));
	while (level && (double)tiles_level_step(level - 1) > wanted)
		level--;
	if (!level) {
		rv = timeline_tiles_spans(k, r0, r1, row->t0, row->t1, add_span, &o, err);
	} else if (m0 < m1) {
		step = tiles_level_step(--level);
		s0 = (m0 - k->first) / step;
		s1 = (m1 - k->first + step - 1) / step;
		batch = s1 - s0 < COUNTS_MAX ? (uint32_t)(COUNTS_MAX / (s1 - s0)) : 1;
		for (uint32_t r = r0; r < r1 && rv == 0; r += batch)
			rv = add_counts(k, level, r, r1 - r < batch ? r1 : r + batch, s0, s1, &o, err);
	}
	if (rv == 0)
		rows_until(&o, r1);
	return rv;
}

/* ---- messages ---- */

struct messages {
	const struct timeline_tiles *k;
	uint64_t t0, t1;
	int (*f)(const struct timeline_message *m, void *arg);
	void *arg;
};

static int give_message(const struct exchange *m, void *arg)
{
	const struct messages *w = arg;
	struct timeline_message out = {m->src, m->dst, ns_of(w->k, m->t0), ns_of(w->k, m->t1), m->bytes, m->tag};

	return m->received && out.t0_ns < w->t1 && out.t1_ns >= w->t0 ? w->f(&out, w->arg) : 0;
}

int timeline_tiles_messages(struct timeline_tiles *k, uint64_t t0, uint64_t t1,
			    int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err)
{
	struct messages w = {k, t0, t1, f, arg};
	uint64_t a = mark_of(k, t0, false), b = mark_of(k, t1, true);

	return a < b ? tiles_exchanges(k->t, a, b, give_message, &w, err) : 0;
}
