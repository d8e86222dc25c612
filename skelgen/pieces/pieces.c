/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See pieces.h. */
#include "skelgen/pieces/pieces.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/temp_dir.h"
#include "skelgen/pieces/excerpt.h"
#include "skelgen/pieces/excerpt_check.h"
#include "trace/clock/clock.h"
#include "trace/cpu_time/run_own.h"

#define CALLS_MOST    (1u << 19) /* of an excerpt: a tree of them takes up to 4 s and 150 MB */
#define PIECES_WANTED 40   /* enough for an interval from the differences of 8 kinds' pieces */
#define FEW           4    /* times fewer cuts than moments: requests may be open all the time */
#define LONG          8    /* pieces: a longer stretch without a cut may be the only one of its kind */
#define UNCUT         0.1  /* of the run: more is too much for pieces of other parts to stand for */
#define QUIET         0.1  /* of the run's usual calls: a stretch with fewer is computation */
#define MOMENTS_MOST  (SEGMENTS_MOST - 1) /* at which the run is cut */
#define REST          2    /* pieces: longer segments are what is between windows */
#define WINDOWS       500  /* of pieces in a run that is too long to cut all of it into pieces */
#define EDGES         16   /* moments between the first and the last window and their neighbours */

/* ---- cutting ---- */

/* From when the last rank begins to when the last one ends, on the common time line. */
static int time_run(const struct trace *t, double *begin, double *end, struct errbuf *err)
{
	struct trace_clock *clock = trace_clock_create(t, err);

	if (clock == NULL)
		return -1;
	*begin = 0;
	*end = 0;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;
		double ends = (double)trace_clock_ns(clock, r, (uint64_t)((double)p->end_ticks * p->ns_per_tick));

		*begin = fmax(*begin, (double)trace_clock_ns(clock, r, 0));
		*end = fmax(*end, ends);
	}
	trace_clock_destroy(clock);
	return 0;
}

/* Moments between the window at an edge of the run and the next window. Requests and epochs that are open at all cuts may be opened
 * after the first window, and closed before the last one. */
static uint32_t edge_lay(double from, double to, bool dense_first, uint64_t *moment)
{
	for (int i = 1; i <= EDGES; i++) {
		double part = (double)i / (EDGES + 1), left = 1 - part;

		moment[i - 1] = (uint64_t)(from + (to - from) * (dense_first ? part * part : 1 - left * left));
	}
	return EDGES;
}

/* Windows of a run that cannot be cut at more than `most` moments: at least as many as pieces. */
static uint32_t windows_of(uint32_t most)
{
	if (most >= 2 * (WINDOWS + EDGES))
		return WINDOWS;
	return most >= 2 * (PIECES_WANTED + EDGES) ? most / 2 - EDGES : PIECES_WANTED;
}

/* Moments for pieces: all of the run in pieces, or evenly spread windows of a piece each. The run begins and ends with a window,
 * where the requests and epochs that are open at all cuts are opened and closed. */
static uint32_t moments_lay(double begin, double end, struct survey *s, uint64_t *moment)
{
	double piece = s->piece_ns, n = floor((end - begin) / piece);
	uint32_t most = cuts_most(s->n_ranks) < MOMENTS_MOST ? cuts_most(s->n_ranks) : MOMENTS_MOST, k = 0;
	const uint32_t windows = windows_of(most);

	s->rest_ns = n <= most ? INFINITY : REST * piece;
	if (n <= most) {
		for (; k + 1 < n; k++)
			moment[k] = (uint64_t)(begin + (k + 1) * (end - begin) / n);
		return k;
	}
	for (uint32_t w = 0; w < windows; w++) {
		double step = (end - begin - piece) / (windows - 1), from = begin + w * step;

		if (w == windows - 1)
			k += edge_lay(from + piece - step, from, false, moment + k);
		moment[k++] = (uint64_t)from;
		moment[k++] = (uint64_t)(from + piece);
		if (w == 0)
			k += edge_lay(from + piece, from + step, true, moment + k);
	}
	return k;
}

static int roles_build(struct survey *s, struct errbuf *err)
{
	bool exclusive = call_roles_exclude(s->trace);

	s->roles = calloc(s->n_ranks, sizeof *s->roles);
	if (s->roles == NULL)
		return err_set(err, "no memory for %u ranks", s->n_ranks);
	for (uint32_t r = 0; r < s->n_ranks; r++)
		if (call_roles_build(&trace_get_rank(s->trace, r)->defs, r, exclusive, &s->roles[r], err) != 0)
			return -1;
	return 0;
}

static double events_of(const struct trace *t)
{
	double events = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		events += (double)trace_get_rank(t, r)->events.length;
	return events;
}

uint64_t pieces_calls_most(const struct trace *t)
{
	double items = 1;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		items += (double)trace_get_rank(t, r)->events.n_item;
	return (uint64_t)fmin((double)PIECES_ITEMS_MOST * trace_n_ranks(t) * (1 + events_of(t) / items), CALLS_MOST);
}

/* The length of a piece, ns. Calls make it short only if an excerpt cannot have all of them. */
static double piece_length(const struct survey *s, double seconds, double run_ns)
{
	double part = (double)pieces_calls_most(s->trace) / fmax(1, events_of(s->trace));

	return fmin(seconds * 1e9, part < 1 ? part * run_ns : INFINITY) / PIECES_WANTED;
}

/* What a cut may leave open, in the order in which it is tried. Pieces with more left open fold worse. */
static const struct {
	bool open_requests, any_slots, under_way;
} leave_open[] = {{false, false, false}, {true, false, false}, {true, true, false}, {true, true, true}};

static void leave(struct survey *s, int what)
{
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		s->roles[r].open_requests = leave_open[what].open_requests;
		s->roles[r].any_slots = leave_open[what].any_slots;
		s->roles[r].under_way = leave_open[what].under_way;
	}
}

/* A longer stretch without a cut is filled up, ns. Windows have rests between them: none is. */
static double long_stretch(const struct survey *s)
{
	return s->rest_ns < INFINITY ? INFINITY : LONG * s->piece_ns;
}

/* Calls of all ranks between cut k - 1 and cut k. */
static double calls_between(const struct survey *s, uint32_t k)
{
	const uint64_t *from = k > 0 ? s->cuts.at + (size_t)(k - 1) * s->n_ranks : NULL;
	const uint64_t *to = k < s->cuts.n ? s->cuts.at + (size_t)k * s->n_ranks : NULL;
	double sum = 0;

	for (uint32_t r = 0; r < s->n_ranks; r++) {
		uint64_t end = to != NULL ? to[r] : trace_get_rank(s->trace, r)->events.length;

		sum += (double)(end - (from != NULL ? from[r] : 0));
	}
	return sum;
}

/* The part of the run in long stretches without a cut. No cut is missing where ranks compute. */
static double uncut(const struct survey *s, double end_ns)
{
	double sum = 0, calls = events_of(s->trace);

	for (uint32_t k = 0; k <= s->cuts.n; k++) {
		double from = k > 0 ? (double)s->cuts.moment_ns[k - 1] : 0;
		double to = k < s->cuts.n ? (double)s->cuts.moment_ns[k] : end_ns, part = (to - from) / end_ns;

		if (to - from > long_stretch(s) && calls_between(s, k) > QUIET * part * calls)
			sum += part;
	}
	return sum;
}

/* Where to cut the run. */
struct cut_plan {
	const uint64_t *moment;
	uint32_t n;
	double end_ns; /* of the run */
};

/* Keeps the larger set of cuts, filled up from the other one. Returns 1 if a cut of `found` is kept, 0 if none is, or
 * -1 without memory. */
static int keep_cuts(struct survey *s, struct cuts *found, double end_ns, struct errbuf *err)
{
	const bool larger = found->n > s->cuts.n;
	struct cuts kept = larger ? *found : s->cuts, other = larger ? s->cuts : *found;
	const uint32_t n = kept.n;
	int rv = 0;

	if (!found->under_way && long_stretch(s) < INFINITY)
		rv = cuts_fill(&kept, &other, long_stretch(s), end_ns, err);
	cuts_free(&other);
	s->cuts = kept;
	return rv == 0 ? larger || kept.n > n : -1;
}

/* Find cuts with leave_open[what]. best: index of the kept cuts in leave_open, as the roles tell. */
static int cut_leaving(struct survey *s, const struct cut_plan *p, int what, int *best, struct errbuf *err)
{
	struct cuts found;
	int kept;

	leave(s, what);
	if (cuts_find(s->trace, s->roles, p->moment, p->n, &found, err) != 0)
		return -1;
	kept = keep_cuts(s, &found, p->end_ns, err);
	if (kept > 0)
		*best = what;
	else
		leave(s, *best);
	return kept < 0 ? -1 : 0;
}

static int cut(struct survey *s, double seconds, struct errbuf *err)
{
	uint64_t *moment = calloc(MOMENTS_MOST + 1, sizeof *moment);
	struct cut_plan p = {.moment = moment};
	double begin;
	bool few;
	int rv = -1, best = 0;

	if (moment == NULL)
		err_set(err, "no memory to cut the run");
	else if (roles_build(s, err) == 0 && time_run(s->trace, &begin, &p.end_ns, err) == 0) {
		s->piece_ns = piece_length(s, seconds, p.end_ns - begin);
		p.n = p.end_ns > begin ? moments_lay(begin, p.end_ns, s, moment) : 0;
		rv = cut_leaving(s, &p, 0, &best, err);
		few = s->cuts.n < PIECES_WANTED;
		for (int i = 1; i < (int)(sizeof leave_open / sizeof *leave_open) && rv == 0; i++)
			if ((few && s->cuts.n < p.n / FEW) || uncut(s, p.end_ns) > UNCUT)
				rv = cut_leaving(s, &p, i, &best, err);
	}
	free(moment);
	return rv;
}

/* Then a rank is late as the scheduler had it, and waits take the time of pieces. */
static bool shares_processors(const struct trace *t)
{
	struct run_place place;

	return run_place_find(t, &place) == 0 && place.crowd > 1;
}

int survey_make(const struct trace *t, double seconds, struct survey *out, struct errbuf *err)
{
	int rv;

	*out = (struct survey){.trace = t, .n_ranks = trace_n_ranks(t)};
	rv = cut(out, seconds, err);
	if (rv == 0 && out->cuts.n < 2)
		rv = 1;
	if (rv == 0)
		rv = segments_measure(t, &out->cuts, out->rest_ns, &out->segments, err);
	if (rv == 0 && (out->roles[0].under_way || shares_processors(t)))
		segments_forget_lates(&out->segments);
	if (rv != 0)
		survey_free(out);
	return rv;
}

void survey_free(struct survey *s)
{
	for (uint32_t r = 0; s->roles != NULL && r < s->n_ranks; r++)
		call_roles_free(&s->roles[r]);
	free(s->roles);
	cuts_free(&s->cuts);
	segments_free(&s->segments);
	*s = (struct survey){0};
}

/* ---- an excerpt ---- */

/* Run time that each kind stands for. The kinds that run also stand for kinds of which no segment can run. Windows stand for the
 * rests between them. */
static void kinds_weigh(const struct survey *s, const bool *chosen, double *stands_ns, double *run_ns)
{
	double covered = 0, all = 0;

	for (uint32_t i = 0; i < s->segments.n; i++) {
		const struct segment *g = &s->segments.at[i];

		if (g->alone)
			continue;
		stands_ns[g->kind] += g->rest && !chosen[i] ? 0 : g->ns;
		run_ns[g->kind] += chosen[i] ? g->ns : 0;
		all += g->ns;
	}
	for (uint32_t c = 0; c < PIECE_KINDS_MAX; c++)
		covered += run_ns[c] > 0 ? stands_ns[c] : 0;
	for (uint32_t c = 0; covered > 0 && c < PIECE_KINDS_MAX; c++)
		stands_ns[c] *= all / covered;
}

static int lates_copy(const struct survey *s, struct pieces *p)
{
	const size_t ranks = s->n_ranks;

	p->late_ns = calloc((p->n + 1u) * ranks, sizeof *p->late_ns);
	if (p->late_ns == NULL)
		return -1;
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->segment[k];
		double part = s->segments.at[i].part;

		for (size_t r = 0; r < ranks; r++)
			p->late_ns[k * ranks + r] = part * s->segments.late_ns[i * ranks + r];
		p->wait_ns += k > 0 && p->segment[k - 1] + 1 == i ? 0 : part * s->segments.at[i].late_ns;
	}
	return 0;
}

static int describe(const struct survey *s, const bool *chosen, uint32_t n, struct pieces *out)
{
	double stands_ns[PIECE_KINDS_MAX] = {0}, run_ns[PIECE_KINDS_MAX] = {0}; /* by kind */
	const uint32_t alone = s->segments.n_kind;
	uint32_t k = 0;

	*out = (struct pieces){.n = n, .n_kind = s->segments.n_kind};
	out->most = fmax(1, s->segments.span_most_ns / fmax(1, s->segments.span_ns));
	out->segment = calloc(n + 1u, sizeof *out->segment);
	out->kind = calloc(n + 1u, sizeof *out->kind);
	out->ns = calloc(n + 1u, sizeof *out->ns);
	out->weight = calloc(n + 1u, sizeof *out->weight);
	if (out->segment == NULL || out->kind == NULL || out->ns == NULL || out->weight == NULL)
		return -1;
	kinds_weigh(s, chosen, stands_ns, run_ns);
	for (uint32_t i = 0; i < s->segments.n; i++) {
		const struct segment *g = &s->segments.at[i];

		if (g->left && !chosen[i]) {
			out->left_share += g->ns / s->segments.ns;
			out->left_ns = hypot(out->left_ns, g->ns);
		}
		if (!chosen[i])
			continue;
		out->segment[k] = i;
		out->kind[k] = g->alone ? alone : g->kind;
		out->weight[k] = !g->alone && run_ns[g->kind] > 0 ? fmax(1, stands_ns[g->kind] / run_ns[g->kind]) : 1;
		out->part_share += g->part < 1 ? g->ns / s->segments.ns : 0;
		out->n_kind = g->alone ? alone + 1 : out->n_kind;
		out->ns[k++] = g->run_ns;
		out->events += g->events;
	}
	if (s->segments.late_ns != NULL && lates_copy(s, out) != 0)
		return -1;
	weights_calibrate(&s->segments, out->segment, n, out->weight);
	out->balance = weights_balance_of(&s->segments, out->segment, n, out->weight);
	for (k = 0; k < n; k++) /* a part stands for all of its segment */
		out->weight[k] /= s->segments.at[out->segment[k]].part;
	return 0;
}

/* The file has no name any more when it is open. Returns NULL with the reason. */
static struct trace *excerpt_open(const struct survey *s, const bool *chosen, struct errbuf *err)
{
	const char *tmp = getenv("TMPDIR");
	double *part = calloc(s->segments.n + 1u, sizeof *part);
	const struct excerpt_choice choice = {chosen, part};
	struct trace *t = NULL;
	char dir[4096], path[4200];

	if (part == NULL) {
		err_set(err, "no memory for %u segments", s->segments.n);
		return NULL;
	}
	for (uint32_t i = 0; i < s->segments.n; i++)
		part[i] = s->segments.at[i].part;
	snprintf(dir, sizeof dir, "%s/precedent-pieces-XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (temp_dir_make(dir) != 0) {
		err_set(err, "cannot make a directory like %s: %s", dir, strerror(errno));
		free(part);
		return NULL;
	}
	snprintf(path, sizeof path, "%s/excerpt.ptrace", dir);
	if (excerpt_write(s->trace, s->roles, &s->cuts, &choice, path, err) == 0)
		t = trace_open(path, err);
	temp_dir_remove(dir);
	free(part);
	return t;
}

int pieces_choose(struct survey *s, double seconds, uint64_t events, struct pieces *out, struct errbuf *err)
{
	bool *chosen = calloc(s->segments.n + 1u, sizeof *chosen);
	struct run_place place;
	uint32_t n;
	int rv = 0;

	*out = (struct pieces){0};
	if (chosen == NULL || run_place_find(s->trace, &place) < 0) {
		free(chosen);
		return err_set(err, "no memory to choose pieces");
	}
	/* Ranks that share a processor take longer than each for itself. */
	n = segments_choose(&s->segments, seconds / fmax(1, place.crowd), events, chosen);
	for (uint32_t i = 0; i < s->segments.n; i++)
		if (cuts_must_run(&s->cuts, i)) {
			n += !chosen[i];
			chosen[i] = true;
		}
	if (n == 0)
		rv = err_set(err, "no piece of the run has all its times");
	else if (describe(s, chosen, n, out) != 0)
		rv = err_set(err, "no memory for %u pieces", n);
	free(chosen);
	if (rv != 0)
		pieces_free(out);
	return rv;
}

int pieces_excerpt(const struct survey *s, const struct pieces *p, struct trace **out, struct errbuf *err)
{
	bool *chosen = calloc(s->segments.n + 1u, sizeof *chosen);
	int rv = 0;

	*out = NULL;
	if (chosen == NULL)
		return err_set(err, "no memory for %u pieces", p->n);
	for (uint32_t i = 0; i < p->n; i++)
		chosen[p->segment[i]] = true;
	*out = excerpt_open(s, chosen, err);
	if (*out == NULL)
		rv = -1;
	else if (excerpt_check(s->trace, &s->cuts, chosen, *out, err) != 0) {
		trace_close(*out);
		*out = NULL;
		rv = 1;
	}
	free(chosen);
	return rv;
}

void pieces_free(struct pieces *p)
{
	free(p->segment);
	free(p->kind);
	free(p->ns);
	free(p->weight);
	free(p->late_ns);
	*p = (struct pieces){0};
}
