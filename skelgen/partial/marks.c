/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of the windows of a partial execution: see partial.h. The windows are placed by the completion times of the main
 * loop's iterations in the trace. Windows with equal numbers of iterations would be far too short or too long, because of
 * slow first iterations, rare long iterations and drift.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/partial/impl.h"

#define RANKS_LOOKED_AT 8    /* evenly spread; the marks follow the mean of these ranks */
#define FIRST_LOOK	12.0 /* windows of iterations to read first; LOOK_MORE times as many if they are too few */
#define LOOK_MORE	4.0
#define LOOK_LEAST	24   /* iterations */
#define WARM_LOOK	255  /* iterations whose median is the usual time */
#define WARM_LONGER	1.5  /* times the usual time: a longer iteration belongs to the warm-up */
#define WARM_MOST	4    /* the warm-up takes at most 1 / WARM_MOST of the iterations */

/* ---- placing ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median time of the first iterations, ns. */
static double usual_ns(const struct partial_series *s)
{
	double ns[WARM_LOOK];
	size_t n = 0;

	for (; n < WARM_LOOK && n + 1 < s->n; n++)
		ns[n] = (s->ns[n + 1] - s->ns[n]) / (double)(s->done[n + 1] - s->done[n]);
	qsort(ns, n, sizeof(*ns), ascending);
	return ns[n / 2];
}

/* Index at which the first window begins. Before it lie at least one iteration, the leading iterations that are longer
 * than usual, and some milliseconds. */
static size_t warm_end(const struct partial_series *s)
{
	size_t most = s->n / WARM_MOST, i = 1;
	double usual = usual_ns(s), least = fmin(PARTIAL_WINDOW_NS, (s->ns[s->n - 1] - s->ns[0]) / 10);

	while (i < most && s->ns[i + 1] - s->ns[i] > WARM_LONGER * usual * (double)(s->done[i + 1] - s->done[i]))
		i++;
	while (i + 1 < s->n && s->ns[i] - s->ns[0] < least)
		i++;
	return i;
}

/* Place windows of the wanted length. Returns false if the series ends before the last window. */
static bool place_windows(const struct partial_series *s, size_t i, double window_ns, uint64_t at[PARTIAL_MARKS])
{
	size_t from = i;

	at[0] = s->done[i];
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++, from = i) {
		double took = 0;

		/* Fewer than PARTIAL_WINDOW_LEAST iterations are enough if they take twice the window's time. */
		while (took < window_ns || (s->done[i] - s->done[from] < PARTIAL_WINDOW_LEAST && took < 2 * window_ns)) {
			if (++i >= s->n)
				return false;
			took = s->ns[i] - s->ns[from];
		}
		at[m] = s->done[i];
	}
	return true;
}

/* Divide the whole series into windows of about the same time. */
static void divide(const struct partial_series *s, size_t i, uint64_t at[PARTIAL_MARKS])
{
	double begin, window;

	if (i + PARTIAL_MARKS > s->n)
		i = s->n - PARTIAL_MARKS;
	begin = s->ns[i];
	window = (s->ns[s->n - 1] - begin) / PARTIAL_BATCHES;
	at[0] = s->done[i];
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++) {
		size_t last = s->n - PARTIAL_MARKS + m;

		for (i++; i < last && s->ns[i] < begin + window * m; i++)
			;
		at[m] = s->done[i];
	}
}

static double window_of(double seconds)
{
	return fmax(seconds * 1e9 / PARTIAL_BATCHES, PARTIAL_WINDOW_NS);
}

int partial_marks_place(const struct partial_series *s, double seconds, uint64_t at[PARTIAL_MARKS])
{
	if (s->n <= PARTIAL_MARKS)
		return s->whole ? -1 : 1;
	if (place_windows(s, warm_end(s), window_of(seconds), at))
		return 0;
	if (!s->whole)
		return 1;
	divide(s, warm_end(s), at);
	return 0;
}

/* ---- when iterations were done ---- */

bool partial_iteration_now(const struct skel_iter *it, const struct skel_node *loop, uint64_t *now)
{
	uint64_t k = 0;

	for (int d = 0; d <= it->depth; d++) {
		const struct skel_node *n = it->level[d].node;

		if (n->kind != SKEL_LOOP)
			continue;
		k = k * (uint64_t)n->count.a + it->level[d].iter;
		if (n == loop) {
			*now = k;
			return true;
		}
	}
	return false;
}

/* Sums over ranks of the times at which iterations begin. ranks: number of ranks that know the time. */
struct beginnings {
	struct {
		double sum;
		uint32_t ranks;
	} *of;
	uint64_t n, cap;
	bool whole;
};

static int beginning_add(struct beginnings *b, uint64_t iteration, double ns, bool first)
{
	if (ARRAY_ROOM_ZEROED(b->of, b->cap, iteration + 1) != 0)
		return -1;
	if (first)
		b->n = iteration + 1;
	b->of[iteration].sum += ns;
	b->of[iteration].ranks++;
	return 0;
}

/* The first rank looks as far as limit_ns, the others as far as the first. 1 when the loop ended before. */
static int beginnings_of(const struct skel_node *loop, struct skel_iter *it, struct trace_iter *times, double limit_ns,
			 bool first, struct beginnings *b)
{
	uint64_t now = 0, last = UINT64_MAX, occ, enter, leave = 0;
	const struct skel_node *leaf;
	double begin = -1;
	struct trace_event ev;
	bool known = true;
	uint32_t index;

	while (skel_iter_next(it, &leaf, &occ, &index)) {
		if (partial_iteration_now(it, loop, &now) && now != last) {
			last = now;
			if (!first && now >= b->n)
				return 0;
			if (begin < 0)
				begin = (double)leave;
			if (first && now >= LOOK_LEAST && (double)leave - begin > limit_ns)
				return 0;
			if (known && beginning_add(b, now, (double)leave, first) < 0)
				return -1;
		}
		if (trace_iter_next(times, &ev, &known) != 1)
			return -1;
		if (known)
			trace_iter_when(times, &enter, &leave);
	}
	return 1;
}

static int beginnings_collect(const struct skel_tree *tree, const struct skel_node *loop, double limit_ns, struct beginnings *b,
			      uint32_t n, struct errbuf *err)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = (uint32_t)((uint64_t)i * tree->n_ranks / n);
		struct trace_iter *times = trace_iter_create(tree->trace, rank, err);
		struct skel_iter it = {.index = NULL};
		int rc = times && skel_iter_begin(&it, tree, rank) == 0 ? beginnings_of(loop, &it, times, limit_ns, !i, b) : -1;

		skel_iter_end(&it);
		trace_iter_destroy(times);
		if (rc < 0)
			return err_set(err, "no memory to look for the iterations of rank %u", rank);
		if (!i)
			b->whole = rc == 1;
	}
	return 0;
}

static int series_make(const struct beginnings *b, uint32_t n_ranks, struct partial_series *s, struct errbuf *err)
{
	*s = (struct partial_series){.done = malloc((b->n + 1) * sizeof(*s->done)), .ns = malloc((b->n + 1) * sizeof(*s->ns)),
				     .whole = b->whole};
	if (!s->done || !s->ns)
		return err_set(err, "no memory for the times of %llu iterations", (unsigned long long)b->n);
	for (uint64_t k = 0; k < b->n; k++)
		if (b->of[k].ranks == n_ranks) {
			s->done[s->n] = k;
			s->ns[s->n++] = b->of[k].sum / n_ranks;
		}
	return 0;
}

int partial_marks_choose(const struct skel_tree *tree, const struct skel_node *loop, double seconds, uint64_t at[PARTIAL_MARKS],
			 struct errbuf *err)
{
	uint32_t n = tree->n_ranks < RANKS_LOOKED_AT ? tree->n_ranks : RANKS_LOOKED_AT;
	double limit_ns = FIRST_LOOK * window_of(seconds);
	int rc;

	do {
		struct beginnings b = {0};
		struct partial_series s = {0};

		rc = beginnings_collect(tree, loop, limit_ns, &b, n, err) < 0 || series_make(&b, n, &s, err) < 0 ? -2 : 0;
		if (!rc)
			rc = partial_marks_place(&s, seconds, at);
		free(b.of);
		free(s.done);
		free(s.ns);
		limit_ns *= LOOK_MORE;
	} while (rc == 1);
	if (rc == -1)
		return err_set(err, "the trace has not kept the times of enough iterations of the main loop");
	return rc < 0 ? -1 : 0;
}
