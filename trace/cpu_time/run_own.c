/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times without delay by other processes, and processors of ranks: see run_own.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/cpu_time/run_own.h"
#include "trace/read/samples_read.h"

#define PIECES_MAX 65536u

/* ---- windows between samples ---- */

static double above(const struct run_own_piece *p)
{
	return p->ns - p->usual;
}

/* Shorten the times above the usual down to one level. Returns the part of cut_ns that could not be cut.
 * C. Michelot, A finite algorithm for finding the projection of a point onto the canonical simplex of R^n, 1986.
 * Pieces below the present level are not cut. Without these pieces the level rises. A few passes suffice. */
static double cut_longest(struct run_own_piece *piece, uint32_t n, double cut_ns)
{
	double sum = 0, level = 0;

	if (!(cut_ns > 0))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		sum += above(&piece[i]);
	if (sum > cut_ns)
		level = (sum - cut_ns) / n;
	for (uint32_t k = n, before = n + 1; level > 0 && k > 0 && k < before;) {
		double longer = 0;

		before = k;
		k = 0;
		for (uint32_t i = 0; i < n; i++) {
			longer += above(&piece[i]) > level ? above(&piece[i]) : 0;
			k += above(&piece[i]) > level;
		}
		level = k > 0 ? fmax(level, (longer - cut_ns) / k) : level;
	}
	for (uint32_t i = 0; i < n; i++)
		piece[i].ns = piece[i].usual + fmin(level, above(&piece[i]));
	return fmax(0, cut_ns - sum);
}

void run_own_cut(struct run_own_piece *piece, uint32_t n, double cut_ns)
{
	cut_ns = cut_longest(piece, n, cut_ns);
	for (uint32_t i = 0; cut_ns > 0 && i < n; i++)
		piece[i].usual = 0;
	cut_longest(piece, n, cut_ns);
}

double run_own_usual(double usual_ns, double ns)
{
	if (!(usual_ns > 0))
		return ns;
	return ns > usual_ns ? fmin(ns, usual_ns * 1.05) : fmax(ns, usual_ns / 1.05);
}

/* Take `share` of the window's remaining delay out of the pending pieces. */
static void settle_pieces(struct run_own *o, double share)
{
	double cut = o->left_ns * share;

	for (uint32_t i = 0; i < o->n; i++)
		o->lost_ns += o->piece[i].ns;
	run_own_cut(o->piece, o->n, cut);
	for (uint32_t i = 0; i < o->n; i++) {
		*o->piece[i].sum += o->piece[i].ns;
		o->lost_ns -= o->piece[i].ns;
	}
	o->left_ns -= cut;
	o->n = 0;
}

static double window_end(const struct run_own *o)
{
	return o->at < o->s.n ? (double)o->s.sample[o->at].tick * o->ns_per_tick : INFINITY;
}

/* Go to the next sample of the thread that makes MPI calls. */
static void next_window(struct run_own *o)
{
	o->begin_ns = o->at < o->s.n ? window_end(o) : o->begin_ns;
	o->at += o->at < o->s.n;
	while (o->at < o->s.n && o->s.sample[o->at].thread != 0)
		o->at++;
	o->left_ns = o->at < o->s.n ? (double)o->s.sample[o->at].delayed_ns : 0;
}

int run_own_begin(struct run_own *o, const struct trace *t, uint32_t rank, struct errbuf *err)
{
	struct errbuf unread;

	*o = (struct run_own){.ns_per_tick = trace_get_rank(t, rank)->defs.proc.ns_per_tick};
	o->piece = malloc(PIECES_MAX * sizeof(*o->piece));
	if (!o->piece)
		return err_set(err, "no memory");
	o->cap = PIECES_MAX;
	if (trace_samples_read(t, rank, &o->s, &unread) != 1)
		o->s = (struct trace_samples){0};
	while (o->at < o->s.n && o->s.sample[o->at].thread != 0)
		o->at++;
	o->left_ns = o->at < o->s.n ? (double)o->s.sample[o->at].delayed_ns : 0;
	return 0;
}

void run_own_settle(struct run_own *o, double until_ns)
{
	double end = window_end(o);

	settle_pieces(o, end > o->begin_ns ? fmin(1, (until_ns - o->begin_ns) / (end - o->begin_ns)) : 1);
	o->begin_ns = until_ns;
}

void run_own_skip(struct run_own *o, uint64_t *event)
{
	uint32_t last = o->s.n;

	for (uint32_t i = o->at; i < o->s.n && o->s.sample[i].event <= *event; i++)
		if (o->s.sample[i].thread == 0)
			last = i;
	if (last < o->s.n) {
		*event = o->s.sample[last].event;
		o->at = last;
		next_window(o);
	} else if (o->left_ns > 0) {
		*event = 0;
		return;
	}
	o->n = 0;
}

static void add_piece(struct run_own *o, double until_ns, double ns, double usual_ns, double *sum)
{
	if (!(o->left_ns > 0)) {
		*sum += ns;
		return;
	}
	if (o->n == o->cap)
		run_own_settle(o, until_ns);
	o->piece[o->n++] = (struct run_own_piece){ns, fmin(ns, usual_ns), sum};
}

void run_own_add(struct run_own *o, double from_ns, double to_ns, double ns, double usual_ns, double *sum)
{
	double span = to_ns - from_ns, at = from_ns;

	while (o->at < o->s.n && to_ns > window_end(o)) {
		double end = window_end(o), share = span > 0 ? (end - at) / span : 0;

		if (share > 0) {
			add_piece(o, end, ns * share, usual_ns * share, sum);
			at = end;
		}
		settle_pieces(o, 1);
		next_window(o);
	}
	span = span > 0 ? (to_ns - at) / span : 1;
	add_piece(o, to_ns, ns * span, usual_ns * span, sum);
}

void run_own_end(struct run_own *o)
{
	settle_pieces(o, 1);
	trace_samples_free(&o->s);
	free(o->piece);
	*o = (struct run_own){.lost_ns = o->lost_ns};
}

/* ---- processors ---- */

struct seat {
	const char *host;
	uint64_t set;
	uint32_t processors, of_host;
};

static int by_host(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int host = strcmp(x->host, y->host);

	return host ? host : x->set < y->set ? -1 : x->set > y->set;
}

/* Fill in the processors of one host's ranks from their affinity masks. Overlapping masks count as disjoint, up
 * to the number of processors of the host. Returns false if a mask is not known. */
static bool place_host(const struct seat *seat, uint32_t n, struct run_place *out)
{
	uint64_t processors = 0;

	for (uint32_t i = 0, end; i < n; i = end) {
		if (!seat[i].processors)
			return false;
		for (end = i + 1; end < n && seat[end].set == seat[i].set; end++)
			;
		out->crowd = fmax(out->crowd, (double)(end - i) / seat[i].processors);
		processors += seat[i].processors;
	}
	if (seat[0].of_host && processors > seat[0].of_host)
		processors = seat[0].of_host;
	out->crowd = fmax(out->crowd, (double)n / (double)processors);
	out->processors += (uint32_t)(processors < UINT32_MAX - out->processors ? processors : UINT32_MAX - out->processors);
	return true;
}

int run_place_find(const struct trace *t, struct run_place *out)
{
	uint32_t n = trace_n_ranks(t);
	struct seat *seat = calloc(n + 1u, sizeof(*seat));
	bool known = n > 0;

	*out = (struct run_place){0};
	if (!seat)
		return -1;
	for (uint32_t r = 0; r < n; r++) {
		const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;

		seat[r] = (struct seat){p->host ? p->host : "", p->processor_set, p->processors, p->host_processors};
	}
	qsort(seat, n, sizeof(*seat), by_host);
	for (uint32_t i = 0, end; known && i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(seat[end].host, seat[i].host); end++)
			;
		known = place_host(&seat[i], end - i, out);
	}
	if (!known)
		*out = (struct run_place){0};
	free(seat);
	return 0;
}

double run_place_wall(double crowd, uint32_t ranks, double longest_s, double sum_s)
{
	return crowd > 1 ? fmax(longest_s, crowd * sum_s / ranks) : longest_s;
}

/* Own time of one rank between MPI_Init and MPI_Finalize, ns. */
static int own_of(const struct trace *t, uint32_t rank, double *ns, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	double *usual = calloc(k->defs.sigs.n + 1u, sizeof(*usual)), begin = 0, end = 0, left = 0, vain = 0;
	struct trace_iter *it = usual ? trace_iter_create(t, rank, err) : NULL;
	struct run_own o = {0};
	struct trace_event ev;
	int rc = -1;
	bool timed;

	if (!usual)
		err_set(err, "no memory");
	if (!it || run_own_begin(&o, t, rank, err) < 0)
		goto out;
	for (uint64_t i = 0; trace_iter_next(it, &ev, &timed); i++) {
		uint64_t enter, leave, from = trace_iter_gap_begin(it), polled = trace_iter_polled(it);

		trace_iter_when(it, &enter, &leave);
		if (!timed)
			continue;
		usual[ev.sym] = run_own_usual(usual[ev.sym], (double)ev.gap_ns);
		if (polled) /* unsuccessful tests have delay, too */
			run_own_add(&o, (double)from - (double)polled, (double)from, (double)polled, 0,
				    &vain);
		run_own_add(&o, (double)from, (double)enter, (double)ev.gap_ns, usual[ev.sym], &left);
		run_own_add(&o, (double)enter, (double)leave, (double)ev.dur_ns, 0, &left);
		begin = i ? begin : (double)(ev.gap_ns + ev.dur_ns);
		end = (double)ev.dur_ns;
	}
	rc = 0;
out:
	run_own_end(&o);
	/* The first and the last call are MPI_Init and MPI_Finalize, which do not count. */
	*ns = fmax(0, left - begin - end);
	trace_iter_destroy(it);
	free(usual);
	return rc;
}

int run_own_wall(const struct trace *t, double *wall_s, struct errbuf *err)
{
	double longest = 0, all = 0, ns;
	struct run_place place;

	if (run_place_find(t, &place) < 0)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		if (own_of(t, r, &ns, err) < 0)
			return -1;
		longest = fmax(longest, ns * 1e-9);
		all += ns * 1e-9;
	}
	*wall_s = run_place_wall(place.crowd, trace_n_ranks(t), longest, all);
	return 0;
}
