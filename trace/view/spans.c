/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single calls as packs. The server gets one window. The page gets columns of equal duration from the start of the
 * run on. The columns are filled rank by rank in one pass. When they exceed the budget, the last columns are
 * dropped. So the budget bounds memory, and all ranks have calls up to the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/view/pack.h"

#define SPANS_PER_COLUMN 32768
#define COLUMNS_MAX      4096

/* The spans of one rank in one window, before they are written. */
struct run {
	struct buf spans;
	uint64_t n, first, prev;
	uint64_t begin, end;  /* window */
	uint64_t known_to;    /* time up to which the rank's spans are known */
	bool any;             /* some span is known within the window */
};

static uint32_t kind_of(const struct view *v, const struct timeline_span *s)
{
	if (s->sym != UINT32_MAX && v->kind[s->rank])
		return v->kind[s->rank][s->sym];
	return VIEW_KIND_STATE + s->state;
}

/* Work between calls is not written: readers take time between spans for work. Unknown time is written as a span. */
static bool is_work(const struct view *v, const struct timeline_span *s)
{
	return s->sym == UINT32_MAX && s->state == TSTATE_WORKING && !trace_is_imported(v->in->trace);
}

static void run_begin(struct run *u, uint64_t begin, uint64_t end, uint64_t known_to)
{
	u->begin = begin;
	u->end = end;
	u->known_to = known_to > begin ? known_to : begin;
	u->any = false;
	u->n = u->first = u->prev = 0;
	buf_reset(&u->spans);
}

static void run_put(struct run *u, uint32_t kind, uint64_t t0, uint64_t t1, uint64_t late)
{
	if (!u->n) {
		buf_put_sv(&u->spans, (int64_t)(t0 - u->begin));
		u->prev = t0;
	}
	if (t0 < u->prev)
		t0 = u->prev;
	buf_put_uv(&u->spans, kind);
	buf_put_uv(&u->spans, t0 - u->prev);
	buf_put_uv(&u->spans, t1 > t0 ? t1 - t0 : 0);
	if (late)
		buf_put_uv(&u->spans, late);
	u->prev = t1 > t0 ? t1 : t0;
	u->n++;
}

static void run_add(struct run *u, const struct view *v, const struct timeline_span *s)
{
	uint64_t late;

	u->any = true;
	if (s->t0_ns > u->known_to)
		run_put(u, VIEW_KIND_UNKNOWN, u->known_to, s->t0_ns, 0);
	if (s->t1_ns > u->known_to)
		u->known_to = s->t1_ns;
	if (is_work(v, s))
		return;
	if (!u->first && s->event != TIMELINE_NO_EVENT)
		u->first = s->event + 1;
	late = view_late_of(v, s);
	run_put(u, kind_of(v, s) + (late ? v->n_sig : 0), s->t0_ns, s->t1_ns, late);
}

/* Write the rank's spans. A rank without spans worked all the time. */
static void run_flush(struct run *u, uint32_t rank, struct buf *out)
{
	if (u->any && u->known_to < u->end)
		run_put(u, VIEW_KIND_UNKNOWN, u->known_to, u->end, 0);
	if (u->any) {
		buf_put_uv(out, rank);
		buf_put_uv(out, u->n);
		buf_put_uv(out, u->first);
		buf_put_uv(out, u->spans.len);
		buf_put(out, u->spans.data, u->spans.len);
	}
	out->failed |= u->spans.failed;
}

/* ---- one window ---- */

struct window {
	const struct view *v;
	struct run run;
	struct buf *out;
	uint32_t rank;
	bool begun;
	uint64_t t0, t1, n, max;
};

static int add_to_window(const struct timeline_span *s, void *arg)
{
	struct window *w = arg;

	if (!w->begun || s->rank != w->rank) {
		run_flush(&w->run, w->rank, w->out);
		run_begin(&w->run, w->t0, w->t1, w->t0);
		w->begun = true;
		w->rank = s->rank;
	}
	run_add(&w->run, w->v, s);
	return ++w->n > w->max || w->out->failed;
}

int view_spans(struct view *v, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1, uint64_t max, bool *cut,
	       struct buf *out, struct errbuf *err)
{
	struct window w = {.v = v, .out = out, .t0 = t0, .t1 = t1 < v->end_ns ? t1 : v->end_ns, .max = max};
	int rv;

	*cut = false;
	if (r1 > v->n_ranks)
		r1 = v->n_ranks;
	if (r0 >= r1 || w.t0 >= w.t1)
		return 0;
	rv = timeline_spans(v->in->timeline, r0, r1, t0, w.t1, add_to_window, &w, err);
	run_flush(&w.run, w.rank, out);
	buf_free(&w.run.spans);
	*cut = w.n > max;
	if (rv >= 0 && out->failed)
		return err_set(err, "no memory");
	return rv < 0 ? -1 : 0;
}

/* ---- columns of the page ---- */

struct fill {
	struct view *v;
	struct view_columns *c;
	struct run run;
	uint64_t bytes;
	uint32_t at;       /* current column of the run */
};

static uint64_t column_begin(const struct view_columns *c, uint32_t i)
{
	double t = (double)i * c->width_ns;

	return t < (double)c->end_ns ? (uint64_t)t : c->end_ns;
}

static void begin_column(struct fill *f, uint32_t at, uint64_t known_to)
{
	f->at = at;
	run_begin(&f->run, column_begin(f->c, at), column_begin(f->c, at + 1), known_to);
}

/* Add a span to each column that it overlaps. */
static int add_to_columns(const struct timeline_span *s, void *arg)
{
	struct fill *f = arg;
	struct view_columns *c = f->c;

	for (;;) {
		if (s->t0_ns < f->run.end || f->at + 1 == c->n)
			run_add(&f->run, f->v, s);
		if (s->t1_ns <= f->run.end || f->at + 1 == c->n)
			break;
		run_flush(&f->run, s->rank, &c->column[f->at]);
		begin_column(f, f->at + 1, f->run.known_to);
	}
	c->n_span++;
	return c->column[f->at].failed;
}

/* Drop the last columns, so that all ranks are expected to fit by the size of the ranks so far. */
static void shrink(struct fill *f, uint32_t done, uint64_t budget)
{
	struct view_columns *c = f->c;
	double aim = (double)budget * done / f->v->n_ranks, sum = 0;
	uint32_t keep = 0;

	if ((double)f->bytes <= aim * 1.05 || c->n == 1)
		return;
	while (keep < c->n && (sum += (double)c->column[keep].len) <= aim)
		keep++;
	if (!keep)
		keep = 1;
	for (uint32_t i = keep; i < c->n; i++) {
		f->bytes -= c->column[i].len;
		buf_free(&c->column[i]);
	}
	c->n = keep;
}

static int fill_rank(struct fill *f, uint32_t r, struct errbuf *err)
{
	struct view_columns *c = f->c;

	begin_column(f, 0, 0);
	if (timeline_spans(f->v->in->timeline, r, r + 1, 0, column_begin(c, c->n), add_to_columns, f, err) < 0)
		return -1;
	run_flush(&f->run, r, &c->column[f->at]);
	f->bytes = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		f->bytes += c->column[i].len;
		if (c->column[i].failed)
			return err_set(err, "no memory");
	}
	return 0;
}

int view_columns_build(struct view *v, uint64_t budget, struct view_columns *c, struct errbuf *err)
{
	struct fill f = {.v = v, .c = c};
	uint64_t n = v->events / SPANS_PER_COLUMN + 1;
	int rv = 0;

	*c = (struct view_columns){.end_ns = v->end_ns};
	if (!v->end_ns)
		return 0;
	if (trace_is_imported(v->in->trace))
		n = 256;
	c->n = n < COLUMNS_MAX ? (uint32_t)n : COLUMNS_MAX;
	c->width_ns = (double)v->end_ns / c->n;
	c->column = calloc(c->n, sizeof(*c->column));
	if (!c->column)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < v->n_ranks && rv == 0; r++) {
		view_progress(v, "single calls", r, v->n_ranks);
		rv = fill_rank(&f, r, err);
		if (rv == 0)
			shrink(&f, r + 1, budget);
	}
	buf_free(&f.run.spans);
	c->end_ns = column_begin(c, c->n);
	if (rv == 0 && f.bytes > budget + budget / 4) { /* even one column of all ranks exceeds the budget */
		view_columns_free(c);
		*c = (struct view_columns){0};
	}
	return rv;
}

void view_columns_free(struct view_columns *c)
{
	for (uint32_t i = 0; c->column && i < c->n; i++)
		buf_free(&c->column[i]);
	free(c->column);
	c->column = NULL;
}
