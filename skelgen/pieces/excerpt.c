/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See excerpt.h. Times of an excerpt are in nanoseconds, and the rank's own (own_iter.h): without the recorder's cost, and
 * without the time that others had its processor. */
#include "skelgen/pieces/excerpt.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/pieces/excerpt_samples.h"
#include "skelgen/pieces/kept.h"
#include "skelgen/pieces/slot_names.h"
#include "trace/cpu_time/own_iter.h"
#include "trace/format/fold.h"
#include "trace/format/writer.h"
#include "trace/functions.h"

#define PAGE_EVENTS 65536u
#define SKIP_LEAST  2048u /* calls; fewer are read as fast */

struct rank_excerpt {
	const struct trace_defs *from;
	struct trace_writer *out;
	struct fold *fold;
	struct sigtable sigs;
	uint32_t *renamed;     /* by symbol of the trace: the excerpt's if slots keep their names, or UINT32_MAX */
	struct slot_names slots;
	int64_t *value;        /* of a call */
	uint32_t cap_value;
	uint32_t rank, n_piece;
	uint64_t n, tick;      /* calls, and end of the last one */
	struct trace_page page;
	struct buf times;
	struct excerpt_samples samples;
	struct errbuf *err;
};

/* ---- pages ---- */

static int page_put(struct rank_excerpt *x, const struct trace_page *page, const struct buf *raw)
{
	struct buf out = {0};
	int rv = -1;

	if (raw->failed || trace_page_encode(page, raw->data, raw->len, &out) < 0)
		err_set(x->err, "no memory for a page of the excerpt");
	else
		rv = trace_writer_pages(x->out, out.data, out.len, x->err);
	buf_free(&out);
	return rv;
}

static int times_flush(struct rank_excerpt *x)
{
	int rv = 0;

	x->page.type = TPAGE_TIMES;
	x->page.rank = x->rank;
	x->page.t1 = x->tick;
	if (x->page.n > 0)
		rv = page_put(x, &x->page, &x->times);
	x->page = (struct trace_page){.first = x->page.first + x->page.n, .t0 = x->tick};
	buf_reset(&x->times);
	return rv;
}

/* ---- calls ---- */

static int call_put(struct rank_excerpt *x, uint32_t sym, uint64_t gap, uint64_t dur)
{
	if (sym == UINT32_MAX)
		return err_set(x->err, "no memory for the calls of the excerpt");
	fold_push(x->fold, sym);
	trace_times_put(&x->times, gap, dur);
	x->tick += gap + dur;
	x->n++;
	return ++x->page.n < PAGE_EVENTS ? 0 : times_flush(x);
}

static uint32_t rename_symbol(struct rank_excerpt *x, uint32_t sym)
{
	const struct trace_sig *s = &x->from->sigs.sig[sym];
	uint32_t n;

	if (x->slots.same && x->renamed[sym] != UINT32_MAX)
		return x->renamed[sym];
	n = sig_values(x->from, sym, NULL);
	if (ARRAY_ROOM(x->value, x->cap_value, n) != 0)
		return UINT32_MAX;
	sig_values(x->from, sym, x->value);
	if (!x->slots.same && slot_names_put(&x->slots, x->from, sym, x->value))
		return sigtable_intern(&x->sigs, s->fn, s->site, x->value, n);
	if (x->renamed[sym] == UINT32_MAX)
		x->renamed[sym] = sigtable_intern(&x->sigs, s->fn, s->site, x->value, n);
	return x->renamed[sym];
}

static int border_put(struct rank_excerpt *x, uint32_t piece, uint64_t gap)
{
	const int64_t level = EXCERPT_LEVEL + (int64_t)piece;

	return call_put(x, sigtable_intern(&x->sigs, FN_MPI_Pcontrol, 0, &level, 1), gap, 0);
}

/* A call of the trace, as the iterator gave it last. */
struct source {
	const struct own_iter *it;
	struct trace_event ev;
	uint64_t event; /* its number */
};

static uint64_t part_of(double part, uint64_t ns)
{
	return part < 1 ? (uint64_t)(part * (double)ns + 0.5) : ns;
}

/* With this part of its times; 0: without times. */
static int event_put(struct rank_excerpt *x, const struct source *s, double part)
{
	uint64_t enter, leave, by_clock, gap = part_of(part, s->ev.gap_ns), dur = part_of(part, s->ev.dur_ns);

	if (!(part > 0))
		return call_put(x, rename_symbol(x, s->ev.sym), 0, 0);
	own_iter_when(s->it, &enter, &leave, &by_clock);
	excerpt_samples_pass(&x->samples, s->event,
			     &(struct excerpt_moment){enter, s->ev.gap_ns, x->n, x->tick + gap, dur, part});
	return call_put(x, rename_symbol(x, s->ev.sym), gap, dur);
}

/* ---- a rank ---- */

struct reader {
	const struct cuts *cuts;
	const bool *chosen;
	const double *part; /* by segment */
	const struct call_roles *roles;
	const struct kept *kept; /* of the rank */
	uint64_t next_kept;
	uint32_t seg, piece; /* at hand; the piece that begins next */
	uint32_t last;       /* segment of the piece before */
	/* this call is wanted next; UINT64_MAX: each call may be; not known if the call at hand is not before it */
	uint64_t skip;
	bool inside;         /* of a piece */
};

/* Nothing is wanted before the next piece or the next kept call. Behind the last piece MPI_Finalize is wanted. */
static void skip_find(const struct rank_excerpt *x, struct reader *r, uint64_t event)
{
	const struct cuts *c = r->cuts;
	uint32_t seg = r->seg + 1;

	while (seg <= c->n && !r->chosen[seg])
		seg++;
	r->skip = seg <= c->n ? c->at[(size_t)(seg - 1) * c->n_ranks + x->rank] : UINT64_MAX;
	while (r->next_kept < r->kept->n && r->kept->event[r->next_kept] <= event)
		r->next_kept++;
	if (r->next_kept < r->kept->n && r->kept->event[r->next_kept] < r->skip)
		r->skip = r->kept->event[r->next_kept];
}

/* Segment `to` begins: the piece that ends, the one that begins. */
static int segment_enter(struct rank_excerpt *x, struct reader *r, uint32_t to, uint64_t gap)
{
	bool chosen = to < r->cuts->n + 1 && r->chosen[to];
	int rv = 0;

	if (r->inside || chosen)
		rv = border_put(x, chosen ? r->piece : x->n_piece, gap);
	if (!chosen)
		excerpt_samples_leave(&x->samples);
	if (chosen && r->piece > 0)
		slot_names_pass(&x->slots, r->last, to);
	r->last = chosen ? to : r->last;
	r->piece += chosen;
	r->inside = chosen;
	return rv;
}

/* MPI_Finalize ends the last piece; the computation before it belongs to the piece. */
static int always_put(struct rank_excerpt *x, struct reader *r, const struct source *s)
{
	bool ends = trace_fn[x->from->sigs.sig[s->ev.sym].fn].cls == TC_FINALIZE;

	if (ends && r->inside && segment_enter(x, r, UINT32_MAX, part_of(r->part[r->seg], s->ev.gap_ns)) != 0)
		return -1;
	return event_put(x, s, ends ? 0 : 1);
}

static int event_read(struct rank_excerpt *x, struct reader *r, const struct source *s)
{
	const struct cuts *c = r->cuts;
	uint64_t e = s->event;

	while (r->seg < c->n && c->at[(size_t)r->seg * c->n_ranks + x->rank] <= e)
		if (segment_enter(x, r, ++r->seg, 0) != 0)
			return -1;
	if (call_role_of(r->roles, s->ev.sym)->always) {
		int rv = always_put(x, r, s);

		return rv == 0 && e == 0 ? segment_enter(x, r, 0, 0) : rv;
	}
	if (r->inside)
		return event_put(x, s, r->part[r->seg]);
	while (r->next_kept < r->kept->n && r->kept->event[r->next_kept] < e)
		r->next_kept++;
	return r->next_kept < r->kept->n && r->kept->event[r->next_kept] == e ? event_put(x, s, 0) : 0;
}

static int events_read(struct rank_excerpt *x, struct reader *r, const struct trace *t)
{
	struct own_iter *it = own_iter_with_polls(t, x->rank, x->err);
	struct source s = {.it = it};
	int rv = it != NULL ? 0 : -1;

	while (rv == 0 && own_iter_next(it, &s.ev, NULL)) {
		rv = event_read(x, r, &s);
		if (!r->inside && s.event >= r->skip)
			skip_find(x, r, s.event);
		if (!r->inside && r->skip != UINT64_MAX && r->skip - s.event >= SKIP_LEAST)
			s.event = own_iter_skip(it, r->skip);
		else
			s.event++;
	}
	own_iter_destroy(it);
	return rv == 0 && fold_failed(x->fold) ? err_set(x->err, "no memory for the calls of the excerpt") : rv;
}

/* Definitions are the trace's, but for the clock of the times and the kinds of calls. */
static int defs_put(struct rank_excerpt *x)
{
	struct trace_page page = {.type = TPAGE_DEFS, .rank = x->rank, .t1 = x->tick};
	struct trace_defs d = *x->from;
	struct buf raw = {0};
	int rv;

	d.sigs = x->sigs;
	d.proc.ns_per_tick = 1;
	d.proc.overhead_ticks = 0;
	d.proc.end_ticks = x->tick;
	d.proc.poll_ticks = 0;
	d.proc.dropped_events = 0;
	d.proc.clock.n = 0;
	memset(d.proc.state_ticks, 0, sizeof d.proc.state_ticks);
	trace_defs_encode(&d, &raw);
	rv = page_put(x, &page, &raw);
	buf_reset(&raw);
	page.type = TPAGE_STRUCT;
	if (rv == 0 && fold_encode(x->fold, &raw) < 0)
		rv = err_set(x->err, "no memory for the calls of the excerpt");
	if (rv == 0)
		rv = page_put(x, &page, &raw);
	buf_reset(&raw);
	page.type = TPAGE_SAMPLES;
	if (rv == 0 && excerpt_samples_encode(&x->samples, &raw))
		rv = page_put(x, &page, &raw);
	buf_free(&raw);
	return rv;
}

static int rank_put(struct rank_excerpt *x, const struct trace *t, struct reader *r)
{
	int rv = -1;

	x->fold = fold_create();
	x->renamed = malloc((x->from->sigs.n + 1u) * sizeof *x->renamed);
	if (x->fold == NULL || x->renamed == NULL) {
		err_set(x->err, "no memory for the excerpt of rank %u", x->rank);
		goto out;
	}
	memset(x->renamed, 0xff, (x->from->sigs.n + 1u) * sizeof *x->renamed);
	if (slot_names_begin(&x->slots, trace_get_rank(t, x->rank), r->roles, r->cuts, x->rank, x->err) != 0 ||
	    excerpt_samples_open(&x->samples, t, x->rank, x->err) != 0)
		goto out;
	if (events_read(x, r, t) == 0 && times_flush(x) == 0)
		rv = defs_put(x);
out:
	excerpt_samples_close(&x->samples);
	fold_destroy(x->fold);
	sigtable_free(&x->sigs);
	free(x->renamed);
	free(x->value);
	slot_names_free(&x->slots);
	buf_free(&x->times);
	return rv;
}

/* ---- the file ---- */

static int job_put(const struct trace *t, struct trace_writer *out, struct errbuf *err)
{
	struct rank_excerpt x = {.out = out, .err = err};
	int rv = 0;

	for (uint32_t i = 0; rv == 0 && i < trace_n_pages(t); i++) {
		struct trace_page page = *trace_page_at(t, i);
		struct buf raw = {0};
		uint32_t len;

		if (page.type != TPAGE_JOB)
			continue;
		raw.data = trace_page_read(t, i, &len, err);
		raw.len = raw.cap = len;
		rv = raw.data != NULL ? page_put(&x, &page, &raw) : -1;
		free(raw.data);
	}
	return rv;
}

int excerpt_write(const struct trace *t, const struct call_roles *roles, const struct cuts *cuts,
		  const struct excerpt_choice *choice, const char *path, struct errbuf *err)
{
	const bool *chosen = choice->chosen;
	struct kept *kept = kept_find(t, roles, cuts, chosen, err);
	struct trace_writer *out = kept != NULL ? trace_writer_create(path, cuts->n_ranks, err) : NULL;
	uint32_t n_piece = 0;
	int rv;

	if (out == NULL) {
		kept_free(kept, cuts->n_ranks);
		return -1;
	}
	for (uint32_t i = 0; i <= cuts->n; i++)
		n_piece += chosen[i];
	rv = job_put(t, out, err);
	for (uint32_t rank = 0; rv == 0 && rank < cuts->n_ranks; rank++) {
		struct rank_excerpt x = {.from = &trace_get_rank(t, rank)->defs, .out = out, .rank = rank, .n_piece = n_piece, .err = err};
		struct reader r = {.cuts = cuts, .chosen = chosen, .part = choice->part, .roles = &roles[rank],
				   .kept = &kept[rank]};

		rv = rank_put(&x, t, &r);
	}
	kept_free(kept, cuts->n_ranks);
	if (rv == 0)
		return trace_writer_close(out, false, err);
	trace_writer_abort(out);
	return rv;
}
