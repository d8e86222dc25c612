/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See segments.h. */
#include "skelgen/pieces/segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/clock/clock.h"
#include "trace/cpu_time/own_iter.h"
#include "trace/functions.h"

#define ROUNDS     30   /* of k-means, which stops when nothing moves */
#define WINDOWS_LEAST 40 /* pieces of an excerpt; with fewer windows the rests must be able to run */
#define LONG       8    /* pieces: a longer segment takes more than such a part of the budget */
#define MESSAGES   0.125 /* of a shortened piece: time without computation, by which it may be too long */
#define SHORT      0.25 /* of the time: shorter segments must hold that much to stand for longer ones */
#define SAME       0.02 /* share of the spread that a further kind must explain */

/* ---- measuring ---- */

/* The dimension of a call: by its place in the source, and apart from it the computation before it. */
static uint32_t dimension(const struct trace_defs *d, uint32_t sym, bool gap)
{
	const struct trace_sig *s = &d->sigs.sig[sym];
	uint64_t h = s->site < d->n_site ? d->site[s->site].hash : s->fn;

	h = (h ^ (gap ? 0x9e3779b97f4a7c15ull : 0)) * 0xff51afd7ed558ccdull;
	return (uint32_t)((h >> 32) % SEGMENT_DIMENSIONS);
}

/* Other calls start something, or are local. */
static bool may_wait(uint8_t cls)
{
	return cls != TC_ISEND && cls != TC_IRECV && cls != TC_START && cls != TC_ICOLL && cls != TC_LOCAL && cls != TC_RMA;
}

static int measure_rank(const struct trace *t, uint32_t rank, const struct cuts *cuts, const struct trace_clock *clock,
			struct segments *out, struct errbuf *err)
{
	const struct trace_defs *d = &trace_get_rank(t, rank)->defs;
	struct own_iter *it = own_iter_with_polls(t, rank, err);
	struct trace_event ev;
	uint64_t enter, leave, gap, begin = 0;
	double delayed = 0, waited, computed = 0; /* the latter in the segment at hand */
	uint32_t seg = 0;
	bool known;

	if (it == NULL)
		return -1;
	pace_begin(&out->pace, trace_get_rank(t, rank));
	for (uint64_t e = 0; own_iter_next(it, &ev, &known); e++) {
		struct segment *s;

		out->events++;
		own_iter_when(it, &enter, &leave, &gap);
		if (trace_fn[d->sigs.sig[ev.sym].fn].cls == TC_INIT)
			continue;
		begin = begin > 0 ? begin : own_iter_begin(it);
		for (; seg < cuts->n && cuts->at[(size_t)seg * cuts->n_ranks + rank] <= e; computed = 0)
			out->late_ns[(size_t)++seg * cuts->n_ranks + rank] = (double)trace_clock_ns(clock, rank, own_iter_begin(it));
		s = &out->at[seg];
		computed += (double)ev.gap_ns;
		s->gap_most_ns = fmax(s->gap_most_ns, computed);
		s->events++;
		s->waits[dimension(d, ev.sym, false)] += may_wait(trace_fn[d->sigs.sig[ev.sym].fn].cls);
		s->timed &= known;
		s->gap_ns += (double)ev.gap_ns / cuts->n_ranks;
		s->share[dimension(d, ev.sym, true)] += (double)ev.gap_ns;
		s->share[dimension(d, ev.sym, false)] += (double)ev.dur_ns + own_iter_vain(it);
		out->gap_ns += (double)ev.gap_ns / cuts->n_ranks;
		out->polled_ns += own_iter_polled(it) / cuts->n_ranks;
		delayed += own_iter_delayed(it);
		if (known)
			pace_add(&out->pace, ev.sym, (double)enter, (double)ev.gap_ns);
	}
	pace_end(&out->pace);
	out->elapsed_ns += own_iter_elapsed(it) / cuts->n_ranks;
	waited = fmax(0, own_iter_lost(it) - delayed);
	own_iter_destroy(it);
	if (begin > 0) {
		out->span_ns += (double)(leave - begin) / cuts->n_ranks;
		out->span_most_ns = fmax(out->span_most_ns, (double)(leave - begin));
	}
	out->delayed_ns += delayed / cuts->n_ranks;
	out->delayed_most_ns = fmax(out->delayed_most_ns, delayed);
	out->waited_ns += waited / cuts->n_ranks;
	out->waited_most_ns = fmax(out->waited_most_ns, waited);
	return 0;
}

/* A piece of it begins without waits. */
static void late_forget(struct segments *s, uint32_t i, uint32_t n_ranks)
{
	s->at[i].late_ns = 0;
	for (uint32_t r = 0; r < n_ranks; r++)
		s->late_ns[(size_t)i * n_ranks + r] = 0;
}

/* Times of entry become times behind the first rank. A rank that has no call behind the cut has no time: it is not late.
 * Waits that take longer than the piece are not worth their time. The last segment may have to run, however late its ranks are. */
static void lates_close(struct segments *s, uint32_t n_ranks)
{
	for (uint32_t i = 0; i < s->n; i++) {
		double *late = &s->late_ns[(size_t)i * n_ranks], first = INFINITY;

		for (uint32_t r = 0; r < n_ranks; r++)
			first = late[r] > 0 ? fmin(first, late[r]) : first;
		for (uint32_t r = 0; r < n_ranks; r++) {
			late[r] = late[r] > 0 ? late[r] - first : 0;
			s->at[i].late_ns += late[r] / n_ranks;
		}
		if (s->at[i].late_ns > s->at[i].ns || i + 1 == s->n)
			late_forget(s, i, n_ranks);
	}
}

static void shares_close(struct segments *s, uint32_t n_ranks)
{
	for (uint32_t i = 0; i < s->n; i++) {
		double sum = 0;

		for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
			sum += s->at[i].share[d];
		for (int d = 0; sum > 0 && d < SEGMENT_DIMENSIONS; d++)
			s->at[i].share[d] /= sum;
		s->at[i].ns = sum / n_ranks;
		s->ns += s->at[i].ns;
	}
}

/* May the segment be chosen as a sample of its kind? */
static bool is_sampled(const struct segment *g)
{
	return !g->rest && !g->alone && !g->left;
}

/* ---- kinds ---- */

struct kinds {
	double center[PIECE_KINDS_MAX][SEGMENT_DIMENSIONS];
	uint32_t n;
};

static double distance2(const double *a, const double *b)
{
	double sum = 0;

	for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
		sum += (a[d] - b[d]) * (a[d] - b[d]);
	return sum;
}

/* Give each segment the nearest kind. Returns the spread of sampled segments inside the kinds, weighted by time. */
static double assign(struct segments *s, const struct kinds *k, bool *changed)
{
	double spread = 0;

	*changed = false;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t best = 0;
		double near = INFINITY;

		for (uint32_t c = 0; c < k->n; c++) {
			double d = distance2(s->at[i].share, k->center[c]);

			if (d < near) {
				near = d;
				best = c;
			}
		}
		*changed |= s->at[i].kind != best;
		s->at[i].kind = best;
		spread += is_sampled(&s->at[i]) ? near * s->at[i].ns : 0;
	}
	return spread;
}

static void centers_move(const struct segments *s, struct kinds *k)
{
	double weight[PIECE_KINDS_MAX] = {0};
	struct kinds sum = {.n = k->n};

	for (uint32_t i = 0; i < s->n; i++) {
		const struct segment *g = &s->at[i];

		if (!is_sampled(g))
			continue;
		weight[g->kind] += g->ns;
		for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
			sum.center[g->kind][d] += g->ns * g->share[d];
	}
	for (uint32_t c = 0; c < k->n; c++)
		for (int d = 0; weight[c] > 0 && d < SEGMENT_DIMENSIONS; d++)
			k->center[c][d] = sum.center[c][d] / weight[c];
}

/* The segment that adds most to the spread becomes a kind of its own. */
static void center_add(const struct segments *s, struct kinds *k)
{
	double most = -1;
	uint32_t at = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		double d = k->n > 0 ? distance2(s->at[i].share, k->center[s->at[i].kind]) * s->at[i].ns : s->at[i].ns;

		if (is_sampled(&s->at[i]) && d > most) {
			most = d;
			at = i;
		}
	}
	memcpy(k->center[k->n++], s->at[at].share, sizeof s->at[at].share);
}

/* k-means (Lloyd, 1982), with as many kinds as each explains a share of the spread, but at most `most`. */
static void kinds_find(struct segments *s, uint32_t most)
{
	struct kinds k = {.n = 0};
	double first = 0, before = 0, spread = 0;
	bool changed = true;

	while (k.n < most && k.n < s->n) {
		center_add(s, &k);
		for (int i = 0; i < ROUNDS; i++) {
			spread = assign(s, &k, &changed);
			if (!changed && i > 0)
				break;
			centers_move(s, &k);
		}
		first = k.n == 1 ? spread : first;
		if (k.n > 1 && before - spread <= SAME * first)
			break;
		before = spread;
	}
	s->n_kind = k.n;
}

/* Is the segment longer, by its own time or by the moments of its cuts? Ranks that lacked their processors have little
 * time of their own. */
static bool is_rest(const struct segments *s, const struct cuts *c, uint32_t i, double longest)
{
	bool inner = i > 0 && i < c->n;

	return s->at[i].ns > longest || (inner && (double)(c->moment_ns[i] - c->moment_ns[i - 1]) > longest);
}

static void rests_mark(struct segments *s, const struct cuts *c, double longest)
{
	uint32_t windows = 0;

	for (uint32_t i = 0; i < s->n; i++)
		windows += !is_rest(s, c, i, longest);
	for (uint32_t i = 0; windows >= WINDOWS_LEAST && i < s->n; i++)
		s->at[i].rest = is_rest(s, c, i, longest);
}

int segments_measure(const struct trace *t, const struct cuts *cuts, double rest_ns, struct segments *out, struct errbuf *err)
{
	struct trace_clock *clock = trace_clock_create(t, err);
	int rv = 0;

	if (clock == NULL)
		return -1;
	*out = (struct segments){.n = cuts->n + 1, .at = calloc(cuts->n + 1u, sizeof *out->at),
				 .late_ns = calloc((cuts->n + 1u) * (size_t)cuts->n_ranks, sizeof *out->late_ns)};
	if (out->at == NULL || out->late_ns == NULL)
		rv = err_set(err, "no memory for %u segments", out->n);
	for (uint32_t i = 0; rv == 0 && i < out->n; i++)
		out->at[i].timed = true;
	for (uint32_t r = 0; rv == 0 && r < cuts->n_ranks; r++)
		rv = measure_rank(t, r, cuts, clock, out, err);
	trace_clock_destroy(clock);
	if (rv != 0) {
		segments_free(out);
		return -1;
	}
	out->differs = pace_half_width(&out->pace);
	shares_close(out, cuts->n_ranks);
	lates_close(out, cuts->n_ranks);
	rests_mark(out, cuts, rest_ns);
	kinds_find(out, PIECE_KINDS_MAX);
	return 0;
}

void segments_forget_lates(struct segments *s)
{
	free(s->late_ns);
	s->late_ns = NULL;
	for (uint32_t i = 0; i < s->n; i++)
		s->at[i].late_ns = 0;
}

void segments_free(struct segments *s)
{
	free(s->at);
	free(s->late_ns);
	*s = (struct segments){0};
}

/* ---- choosing ---- */

static bool of_kind(const struct segment *g, uint32_t kind)
{
	return g->kind == kind && is_sampled(g);
}

/* Mark about `share` of the time of a kind: of each stretch of time the segment in its middle. */
static void kind_choose(const struct segments *s, uint32_t kind, double share, bool *chosen)
{
	double all = 0, usual, step, next, at = 0;
	uint32_t n = 0, last = 0;
	bool any = false;

	for (uint32_t i = 0; i < s->n; i++)
		if (of_kind(&s->at[i], kind)) {
			all += s->at[i].ns;
			n++;
		}
	if (n == 0 || all <= 0)
		return;
	usual = all / n;
	step = fmax(usual, fmin(usual / share, all));
	next = step / 2;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!of_kind(&s->at[i], kind))
			continue;
		at += s->at[i].ns;
		if (s->at[i].timed)
			last = i;
		if (at < next || !s->at[i].timed)
			continue;
		chosen[i] = any = true;
		while (next <= at)
			next += step;
	}
	if (!any && of_kind(&s->at[last], kind))
		chosen[last] = true;
}

static uint32_t choose(const struct segments *s, double share, bool *chosen, double *ns, uint64_t *events)
{
	uint32_t n = 0;

	*ns = 0;
	*events = 0;
	for (uint32_t i = 0; i < s->n; i++)
		chosen[i] = s->at[i].alone;
	for (uint32_t c = 0; c < s->n_kind; c++)
		kind_choose(s, c, share, chosen);
	for (uint32_t i = 0; i < s->n; i++)
		if (chosen[i]) {
			*ns += s->at[i].run_ns + (i > 0 && chosen[i - 1] ? 0 : s->at[i].part * s->at[i].late_ns);
			*events += s->at[i].events;
			n++;
		}
	return n;
}

/* By bisection: segments are not equally long. */
static uint32_t choose_within(const struct segments *s, double seconds, uint64_t events, bool *chosen, bool *fits)
{
	double lo = 0, hi = 1, ns;
	uint64_t n_event;
	uint32_t n;

	for (int i = 0; i < 30; i++) {
		double share = (lo + hi) / 2;

		choose(s, share, chosen, &ns, &n_event);
		if (ns > seconds * 1e9 || n_event > events)
			hi = share;
		else
			lo = share;
	}
	n = choose(s, lo > 0 ? lo : hi, chosen, &ns, &n_event);
	*fits = ns <= seconds * 1e9 && n_event <= events;
	return n;
}

/* ---- long segments ---- */

/* A rank may compute for longer than the mean of all ranks' times. */
static double length_of(const struct segment *g)
{
	return fmax(g->ns, g->gap_most_ns);
}

/* Leave out all segments beyond this size. Returns whether enough others are left to stand for them. */
static bool long_leave(struct segments *s, double ns, double events)
{
	double time = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct segment *g = &s->at[i];

		g->alone = false;
		g->part = 1;
		g->run_ns = g->ns;
		g->left = !g->rest && (length_of(g) > ns || (double)g->events > events);
		if (is_sampled(g) && g->timed) {
			time += g->ns;
			n++;
		}
	}
	return n >= LONG && time >= SHORT * s->ns;
}

/* A piece of a left-out segment takes so long, ns, if it is shortened to `each`. That is done only where a rank computes
 * almost all of the time: waits become shorter with its computations, but messages do not. */
static double shortest(const struct segment *g, double each)
{
	return g->ns - g->gap_most_ns <= MESSAGES * each ? fmin(length_of(g), each) : length_of(g);
}

/* The longest segments that are left out run after all, within this room. If it is not enough for all, none takes longer
 * than `each` where computations can become shorter. */
static void long_run(struct segments *s, double each, double ns, double events)
{
	double all = 0;

	for (uint32_t i = 0; i < s->n; i++)
		all += s->at[i].left ? length_of(&s->at[i]) : 0;
	each = all <= ns ? INFINITY : each;
	for (;;) {
		struct segment *most = NULL;

		for (uint32_t i = 0; i < s->n; i++) {
			struct segment *g = &s->at[i];

			if (g->left && g->timed && shortest(g, each) <= ns && (double)g->events <= events &&
			    (most == NULL || g->ns > most->ns))
				most = g;
		}
		if (most == NULL)
			return;
		most->left = false;
		most->alone = true;
		ns -= shortest(most, each);
		events -= (double)most->events;
		if (length_of(most) > 0)
			most->part = shortest(most, each) / length_of(most);
		most->run_ns = most->part * most->ns;
	}
}

/* Returns whether other segments are sampled than before. */
static bool long_sort(struct segments *s, double seconds, double events)
{
	double part = 1.0 / LONG;
	uint32_t before = 0, now = 0;

	for (uint32_t i = 0; i < s->n; i++)
		before += !is_sampled(&s->at[i]);
	while (part <= 1 && !long_leave(s, part * seconds * 1e9, part * events))
		part *= 2;
	if (part > 1)
		long_leave(s, INFINITY, INFINITY);
	long_run(s, seconds * 1e9 / LONG, seconds * 1e9 / 2, events / 2);
	for (uint32_t i = 0; i < s->n; i++)
		now += !is_sampled(&s->at[i]);
	return now != before;
}

uint32_t segments_choose(struct segments *s, double seconds, uint64_t events, bool *chosen)
{
	bool fits;
	uint32_t n;

	if (long_sort(s, seconds, (double)events) || s->joined)
		kinds_find(s, PIECE_KINDS_MAX);
	s->joined = false;
	n = choose_within(s, seconds, events, chosen, &fits);
	while (!fits && s->n_kind > 1) { /* each kind has a segment: fewer kinds need less */
		kinds_find(s, s->n_kind - 1);
		s->joined = true;
		n = choose_within(s, seconds, events, chosen, &fits);
	}
	return n;
}
