/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series of iteration times from a trace: see series_collect.h. */
#include "skelgen/timing/series_collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/timing/times.h"

#define AROUND       3     /* loops around a call that have series, at most */
#define LEAST_TURNS  8     /* a loop of fewer iterations has no series */
#define LEAST_KNOWN  0.5   /* of the elements */
#define LEAST_MISSED 0.3   /* of the spikes' excess, and */
#define LEAST_EFFECT 0.005 /* of the loop's time: else spikes need no term of their own */

/* Iteration times of one loop, while they are collected. */
struct gathered {
	double *x;     /* by element: time of its iterations, mean over the ranks */
	float *gap[SKEL_SERIES_RANKS];    /* by rank: of it, gaps */
	float *always[SKEL_SERIES_RANKS]; /* by rank: of these, in calls that every iteration makes */
	uint8_t *bad;  /* by element: some time is not known */
	uint64_t n, group, iterations;
};

/* Loops around a leaf for the rank at hand: element = execution / inner / group. */
struct around {
	uint32_t n;
	struct {
		uint32_t series;
		uint64_t inner;
	} loop[AROUND];
	bool regular; /* it runs in every iteration */
};

struct series_reader {
	const struct skel_tree *tree;
	struct skel_series *out;
	struct gathered g[SKEL_SERIES_LOOPS];
	struct around *around; /* by leaf */
	uint32_t n_ranks;      /* that are read, */
	uint32_t next;         /* of them, the next one */
};

/* ---- which loops ---- */

static bool common_and_constant(const struct skel_tree *tree, const struct skel_node *n)
{
	return n->kind != SKEL_LOOP || (n->count.form == RF_CONST && n->count.a > 0 &&
					rank_set_count(&n->ranks) == tree->n_ranks);
}

static bool qualifies(const struct skel_tree *tree, const struct skel_times *times, const struct skel_node *loop,
		      uint64_t *visits)
{
	*visits = 1;
	if (loop->kind != SKEL_LOOP || !common_and_constant(tree, loop) || loop->turns || loop->count.a < LEAST_TURNS ||
	    times->node_ns[loop->id] < SKEL_SERIES_SHARE * times->node_ns[tree->root->id])
		return false;
	for (const struct skel_node *p = loop->parent; p != NULL; p = p->parent) {
		if (!common_and_constant(tree, p))
			return false;
		if (p->kind == SKEL_LOOP && *visits > UINT64_MAX / 2 / (uint64_t)p->count.a)
			return false;
		*visits *= p->kind == SKEL_LOOP ? (uint64_t)p->count.a : 1;
	}
	return *visits <= UINT64_MAX / 2 / (uint64_t)loop->count.a;
}

/* The longest SKEL_SERIES_LOOPS; outer ones come before inner ones and win when alike. */
static void choose(struct series_reader *c, const struct skel_times *times, const struct skel_node *n)
{
	struct skel_series *s = c->out;
	uint64_t visits;

	if (qualifies(c->tree, times, n, &visits)) {
		uint32_t k = s->n;

		if (s->n == SKEL_SERIES_LOOPS) {
			k = 0;
			for (uint32_t i = 1; i < s->n; i++)
				k = times->node_ns[s->loop[i].node] < times->node_ns[s->loop[k].node] ? i : k;
		}
		if (s->n < SKEL_SERIES_LOOPS || times->node_ns[n->id] > times->node_ns[s->loop[k].node])
			s->loop[k] = (struct skel_loop_series){.node = n->id, .total = (uint64_t)n->count.a,
							       .visits = visits, .placed = true};
		s->n += s->n < SKEL_SERIES_LOOPS;
	}
	for (uint32_t i = 0; n->kind != SKEL_LEAF && i < n->n_child; i++)
		choose(c, times, n->child[i]);
}

static int gathered_open(struct series_reader *c)
{
	c->around = calloc(c->tree->n_leaf + 1u, sizeof *c->around);
	if (c->around == NULL)
		return -1;
	for (uint32_t i = 0; i < c->out->n; i++) {
		struct gathered *g = &c->g[i];

		g->iterations = c->out->loop[i].total * c->out->loop[i].visits;
		g->group = (g->iterations + SKEL_SERIES_MOST - 1) / SKEL_SERIES_MOST;
		g->n = (g->iterations + g->group - 1) / g->group;
		g->x = calloc(g->n, sizeof *g->x);
		g->bad = calloc(g->n, 1);
		if (g->x == NULL || g->bad == NULL)
			return -1;
		for (uint32_t r = 0; r < c->n_ranks && c->out->loop[i].visits == 1; r++)
			if ((g->gap[r] = calloc(g->n, sizeof **g->gap)) == NULL ||
			    (g->always[r] = calloc(g->n, sizeof **g->always)) == NULL)
				return -1;
	}
	return 0;
}

static void gathered_close(struct series_reader *c)
{
	for (uint32_t i = 0; i < SKEL_SERIES_LOOPS; i++) {
		free(c->g[i].x);
		free(c->g[i].bad);
		for (uint32_t r = 0; r < SKEL_SERIES_RANKS; r++) {
			free(c->g[i].gap[r]);
			free(c->g[i].always[r]);
		}
	}
	free(c->around);
}

/* ---- the pass ---- */

static void around_find(struct series_reader *c, uint32_t rank)
{
	for (uint32_t i = 0; i < c->tree->n_leaf; i++) {
		const struct skel_node *leaf = c->tree->leaf[i];
		uint32_t index = rank_set_index(&leaf->ranks, rank);
		struct around *a = &c->around[i];
		uint64_t inner = 1;

		a->n = 0;
		if (index == UINT32_MAX)
			continue;
		a->regular = !leaf->by_rank[index].optional;
		for (const struct skel_node *p = leaf->parent; p != NULL; p = p->parent) {
			if (p->kind != SKEL_LOOP)
				continue;
			for (uint32_t k = 0; k < c->out->n; k++)
				if (c->out->loop[k].node == p->id && a->n < AROUND) {
					a->loop[a->n].series = k;
					a->loop[a->n++].inner = inner;
				}
			inner *= skel_loop_count(c->tree, p, rank, rank_set_index(&p->ranks, rank));
			inner = inner > 0 ? inner : 1;
		}
	}
}

static void event_add(struct series_reader *c, const struct skel_node *leaf, uint64_t occ, uint32_t r,
		      const struct trace_event *ev, bool known)
{
	const struct around *a = &c->around[leaf->leaf_id];

	for (uint32_t k = 0; k < a->n; k++) {
		struct gathered *g = &c->g[a->loop[k].series];
		uint64_t at = occ / a->loop[k].inner / g->group;

		if (at >= g->n)
			continue;
		if (!known) {
			g->bad[at] = 1;
			continue;
		}
		g->x[at] += (double)(ev->gap_ns + ev->dur_ns);
		if (g->gap[r] != NULL)
			g->gap[r][at] += (float)ev->gap_ns;
		if (g->always[r] != NULL && a->regular)
			g->always[r][at] += (float)ev->gap_ns;
	}
}

int series_reader_begin(void *arg, uint32_t rank, struct errbuf *err)
{
	struct series_reader *c = arg;

	(void)err;
	/* Of n ranks in equal distances, is this one? */
	if (c->out->n == 0 || c->next == c->n_ranks || rank != (uint32_t)((uint64_t)c->next * c->tree->n_ranks / c->n_ranks))
		return 0;
	c->next++;
	around_find(c, rank);
	return 1;
}

void series_reader_call(void *arg, const struct timed_walk *w)
{
	struct series_reader *c = arg;

	event_add(c, w->leaf, w->occ, c->next - 1, &w->ev, w->known);
}

/* ---- what it tells ---- */

/* Sums to means per iteration, elements with unknown times left out. The first iteration stands for itself in any
 * skeleton, so it is no spike. */
static void settle(struct series_reader *c, uint32_t i)
{
	struct gathered *g = &c->g[i];
	uint64_t n = 0;

	for (uint64_t k = 0; k < g->n; k++) {
		uint64_t held = k + 1 < g->n ? g->group : g->iterations - k * g->group;

		if (g->bad[k])
			continue;
		g->x[n] = g->x[k] / (double)held / c->n_ranks;
		for (uint32_t r = 0; r < c->n_ranks && g->gap[r] != NULL; r++) {
			g->gap[r][n] = g->gap[r][k] / (float)held;
			g->always[r][n] = g->always[r][k] / (float)held;
		}
		n++;
	}
	c->out->loop[i].placed = n == g->n;
	g->n = (double)n < LEAST_KNOWN * (double)g->n ? 0 : n;
	if (g->n > 1 && g->group == 1)
		g->x[0] = g->x[1];
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Median, or -1 without memory. */
static double usual_gap(const float *gap, uint64_t n)
{
	float *sorted = malloc(n * sizeof *sorted);
	double usual;

	if (sorted == NULL)
		return -1;
	memcpy(sorted, gap, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_value);
	usual = sorted[n / 2];
	free(sorted);
	return usual;
}

/* The excess of the spikes, ns. */
struct excess {
	double all;
	double of_rank; /* in the regular gaps of one rank, the greatest */
	double longest; /* in the gaps of the rank that computes longest in a spike */
};

static int excess_find(const struct gathered *g, const struct series_stats *s, uint32_t n_ranks, struct excess *out)
{
	double usual[SKEL_SERIES_RANKS], always[SKEL_SERIES_RANKS], sum[SKEL_SERIES_RANKS] = {0};

	*out = (struct excess){0, 0, 0};
	for (uint32_t r = 0; r < n_ranks; r++)
		if ((usual[r] = usual_gap(g->gap[r], s->n)) < 0 || (always[r] = usual_gap(g->always[r], s->n)) < 0)
			return -1;
	for (uint64_t k = 0; k < s->n; k++) {
		double longest = 0;

		for (uint32_t r = 0; r < n_ranks && s->spike_over[k] > 0; r++) {
			sum[r] += fmax(0, g->always[r][k] - always[r]);
			longest = fmax(longest, g->gap[r][k] - usual[r]);
		}
		out->all += s->spike_over[k];
		out->longest += longest;
	}
	for (uint32_t r = 0; r < n_ranks; r++)
		out->of_rank = fmax(out->of_rank, sum[r]);
	return 0;
}

/* Share of the spikes' excess that is missing if `held` is not; 0 if that hardly matters. */
static double share_missed(const struct series_stats *s, double all, double held)
{
	double missed = all > held ? (all - held) / all : 0;

	return missed < LEAST_MISSED || missed * all < LEAST_EFFECT * s->mean * (double)s->n ? 0 : missed;
}

static struct sampled_spikes spikes_of(const struct series_stats *s, double share)
{
	if (!(share > 0))
		return (struct sampled_spikes){.known = 0};
	return (struct sampled_spikes){s->n, (double)s->n_spike / (double)s->n, share * s->spike_excess,
				       share * share * s->spike_square};
}

/* Spikes that the skeleton misses. A block that is replayed by its mean includes the spikes of its own rank. The waits
 * of the other ranks are missing if spikes hit another rank each time. Where each execution has its own gap, only spikes
 * in calls are missing. The skeleton's windows are then cleared of all spikes, so that all are accounted for. */
static int missed_spikes(struct series_reader *c, uint32_t i, struct errbuf *err)
{
	struct skel_loop_series *l = &c->out->loop[i];
	const struct series_stats *s = &l->stats;
	struct excess e;

	if (s->n_spike == 0 || c->g[i].group > 1 || l->visits > 1)
		return 0;
	if (excess_find(&c->g[i], s, c->n_ranks, &e) != 0)
		return err_set(err, "no memory for the spikes of a loop");
	l->spikes = spikes_of(s, share_missed(s, e.all, e.of_rank));
	l->spikes_in_calls = spikes_of(s, share_missed(s, e.all, e.longest) > 0 ? 1 : 0);
	return 0;
}

struct series_reader *series_reader_create(const struct skel_tree *tree, const struct skel_times *times, struct skel_series *out,
					   struct errbuf *err)
{
	struct series_reader *c = calloc(1, sizeof *c);

	memset(out, 0, sizeof *out);
	if (c == NULL)
		goto no_memory;
	c->tree = tree;
	c->out = out;
	c->n_ranks = tree->n_ranks < SKEL_SERIES_RANKS ? tree->n_ranks : SKEL_SERIES_RANKS;
	choose(c, times, tree->root);
	if (gathered_open(c) == 0)
		return c;
no_memory:
	series_reader_destroy(c);
	err_set(err, "no memory for series of iteration times");
	return NULL;
}

int series_reader_close(struct series_reader *c, struct errbuf *err)
{
	struct skel_series *out = c->out;

	for (uint32_t i = 0; i < out->n; i++) {
		settle(c, i);
		if (series_analyse(c->g[i].x, c->g[i].n, c->g[i].group, &out->loop[i].stats) != 0)
			return err_set(err, "no memory to analyse a loop of %llu iterations", (unsigned long long)out->loop[i].total);
		if (missed_spikes(c, i, err) != 0)
			return -1;
		if (out->loop[i].placed && out->loop[i].visits == 1) {
			out->loop[i].x = c->g[i].x;
			memcpy(out->loop[i].gap, c->g[i].gap, sizeof c->g[i].gap);
			out->loop[i].n_gap = c->n_ranks;
			c->g[i].x = NULL;
			memset(c->g[i].gap, 0, sizeof c->g[i].gap);
		}
	}
	return 0;
}

void series_reader_destroy(struct series_reader *c)
{
	if (c != NULL)
		gathered_close(c);
	free(c);
}

void skel_series_free(struct skel_series *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		series_stats_free(&s->loop[i].stats);
		free(s->loop[i].x);
		for (uint32_t r = 0; r < s->loop[i].n_gap; r++)
			free(s->loop[i].gap[r]);
	}
	memset(s, 0, sizeof *s);
}

const struct skel_loop_series *skel_series_of(const struct skel_series *s, uint32_t node)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->loop[i].node == node)
			return &s->loop[i];
	return NULL;
}
