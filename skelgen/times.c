/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes the times of every event to its leaf, in one pass per rank. */
#include "skelgen/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/arena.h"
#include "skelgen/times_quantile.h"
#include "trace/hist.h"

#define AGREE       0.02 /* strata within 2 % of their mean are one */
#define LEAST_DRAWN 64   /* executions of which the distribution is kept */
#define LEAST_SHARE 1e-5 /* of a rank's time, in gaps of which it is kept */

/* Counts of timed events by stratum, beside the sums in stratum_ns; and their distribution. */
struct stratum_counts {
	uint32_t n[SKEL_STRATA];
	struct gap_draw draw;
};

static int tables_alloc(const struct skel_tree *tree, struct skel_times *t)
{
	t->n_leaf = tree->n_leaf;
	t->n_node = tree->n_node;
	t->n_ranks = tree->n_ranks;
	t->leaf = calloc(tree->n_leaf + 1u, sizeof *t->leaf);
	t->node_ns = calloc(tree->n_node + 1u, sizeof *t->node_ns);
	t->rank_wall_ns = calloc(tree->n_ranks + 1u, sizeof *t->rank_wall_ns);
	t->arena = arena_create();
	if (t->leaf == NULL || t->node_ns == NULL || t->rank_wall_ns == NULL || t->arena == NULL)
		return -1;
	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		uint32_t n = rank_set_count(&tree->leaf[i]->ranks);

		t->leaf[i] = calloc(n > 0 ? n : 1, sizeof **t->leaf);
		if (t->leaf[i] == NULL)
			return -1;
		for (uint32_t k = 0; k < n; k++) {
			t->leaf[i][k].n = tree->leaf[i]->by_rank[k].n_occ;
			t->leaf[i][k].made = skel_leaf_made(&tree->leaf[i]->by_rank[k]);
			t->leaf[i][k].n_quantile = 1;
		}
	}
	return 0;
}

static uint32_t stratum_of(uint64_t occ, uint64_t n)
{
	if (n <= SKEL_STRATA || occ >= n)
		return occ < SKEL_STRATA ? (uint32_t)occ : SKEL_STRATA - 1;
	return (uint32_t)((unsigned __int128)occ * SKEL_STRATA / n);
}

static void event_add(struct skel_leaf_time *lt, struct stratum_counts *c, uint64_t occ, double gap_ns, double dur_ns)
{
	uint32_t s = stratum_of(occ, lt->n);

	lt->timed++;
	lt->gap_ns += gap_ns;
	lt->dur_ns += dur_ns;
	lt->stratum_ns[s] += gap_ns;
	c->n[s]++;
}

/* Sums to means; strata without a timed event take the leaf's mean. */
static void strata_close(struct skel_leaf_time *lt, const struct stratum_counts *c)
{
	double mean, least, most;

	lt->n_stratum = 1;
	if (lt->timed == 0) {
		lt->stratum_ns[0] = 0;
		return;
	}
	mean = lt->gap_ns / (double)lt->timed;
	least = most = mean;
	lt->n_stratum = lt->n < SKEL_STRATA ? (uint32_t)lt->n : SKEL_STRATA;
	for (uint32_t s = 0; s < lt->n_stratum; s++) {
		lt->stratum_ns[s] = c->n[s] > 0 ? lt->stratum_ns[s] / c->n[s] : mean;
		least = fmin(least, lt->stratum_ns[s]);
		most = fmax(most, lt->stratum_ns[s]);
	}
	lt->gap_ns = mean * (double)lt->made;
	lt->dur_ns = lt->dur_ns / (double)lt->timed * (double)lt->made;
	if (most - least <= AGREE * mean) {
		lt->n_stratum = 1;
		lt->stratum_ns[0] = mean;
	}
}

static int draw_add(struct skel_leaf_time *lt, struct stratum_counts *c, uint64_t occ, double gap_ns)
{
	return lt->n < LEAST_DRAWN ? 0 : gap_draw_add(&c->draw, stratum_of(occ, lt->n), gap_ns);
}

/* Strata to means, and their distributions where the gaps take a share of the rank's time: since shares add up to 1,
 * only so many of its calls can have them. */
static int leaf_close(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t rank, struct arena *arena,
		      struct skel_leaf_time *lt, struct stratum_counts *c, const struct hist_table *given_up)
{
	double bytes = SKEL_STRATA * sizeof *lt->quantile_ns * (double)tree->n_ranks;
	double least = fmax(LEAST_SHARE, bytes / SKEL_QUANTILES_BYTES);

	strata_close(lt, c);
	if (lt->n < LEAST_DRAWN || !(lt->gap_ns > least * trace_get_rank(tree->trace, rank)->wall_ns)) {
		gap_draw_free(&c->draw);
		return 0;
	}
	return gap_draw_close(&c->draw, given_up, leaf->fn, arena, lt);
}

static int rank_collect(const struct skel_tree *tree, uint32_t rank, struct skel_times *t,
			struct stratum_counts *counts, struct errbuf *err)
{
	struct trace_iter *events = trace_iter_create(tree->trace, rank, err);
	struct hist_table given_up;
	struct errbuf why;
	double gap, dur;
	const struct skel_node *leaf;
	struct skel_leaf_time *lt;
	struct stratum_counts *c;
	struct trace_event ev;
	struct skel_iter it;
	bool known;
	uint64_t occ, before = t->events, untimed = t->untimed;
	uint32_t index;
	int rv = -1;

	if (events == NULL)
		return -1;
	/* Times that were given up one by one count with their mean. Damaged, they are like times that are missing. */
	if (trace_hist_read(tree->trace, rank, &given_up, &why) < 0)
		hist_table_init(&given_up, 0);
	if (skel_iter_begin(&it, tree, rank) != 0) {
		hist_table_free(&given_up);
		trace_iter_destroy(events);
		return err_set(err, "no memory to expand rank %u", rank);
	}
	while (skel_iter_next(&it, &leaf, &occ, &index)) {
		if (trace_iter_next(events, &ev, &known) != 1) {
			err_set(err, "rank %u: the trace ends before its skeleton", rank);
			goto done;
		}
		t->events++;
		lt = &t->leaf[leaf->leaf_id][index];
		c = &counts[leaf->leaf_id];
		if (known) {
			event_add(lt, c, occ, (double)ev.gap_ns, (double)ev.dur_ns);
			if (draw_add(lt, c, occ, (double)ev.gap_ns) != 0) {
				err_set(err, "no memory for the times of rank %u", rank);
				goto done;
			}
		} else if (trace_hist_means(tree->trace, rank, &given_up, ev.sym, &gap, &dur)) {
			event_add(lt, c, occ, gap, dur);
			c->draw.given_up++;
			c->draw.symbol = ev.sym;
		} else {
			t->untimed++;
		}
	}
	if (trace_iter_next(events, &ev, &known) != 0) {
		err_set(err, "rank %u: the trace goes on where its skeleton ends", rank);
		goto done;
	}
	/* Some of the times stand for the rest; without any, the rank would compute nothing. */
	if (t->events > before && t->untimed - untimed == t->events - before) {
		err_set(err, "rank %u: none of its times can be read: the trace is damaged", rank);
		goto done;
	}
	for (uint32_t i = 0; i < tree->n_leaf; i++)
		if ((index = rank_set_index(&tree->leaf[i]->ranks, rank)) != UINT32_MAX &&
		    leaf_close(tree, tree->leaf[i], rank, t->arena, &t->leaf[i][index], &counts[i], &given_up) != 0) {
			err_set(err, "no memory for the times of rank %u", rank);
			goto done;
		}
	rv = 0;
done:
	skel_iter_end(&it);
	trace_iter_destroy(events);
	hist_table_free(&given_up);
	return rv;
}

static double node_sum(const struct skel_node *n, struct skel_times *t)
{
	double sum = 0;

	if (n->kind == SKEL_LEAF) {
		uint32_t count = rank_set_count(&n->ranks);

		for (uint32_t k = 0; k < count; k++)
			sum += t->leaf[n->leaf_id][k].gap_ns + t->leaf[n->leaf_id][k].dur_ns;
		sum /= t->n_ranks;
	} else {
		for (uint32_t i = 0; i < n->n_child; i++)
			sum += node_sum(n->child[i], t);
	}
	t->node_ns[n->id] = sum;
	return sum;
}

int skel_times_collect(const struct skel_tree *tree, struct skel_times *out, struct errbuf *err)
{
	struct stratum_counts *counts = calloc(tree->n_leaf + 1u, sizeof *counts);
	int rv = -1;

	memset(out, 0, sizeof *out);
	if (counts == NULL || tables_alloc(tree, out) != 0) {
		err_set(err, "no memory for the times of %u calls on %u ranks", tree->n_leaf, tree->n_ranks);
		goto done;
	}
	for (uint32_t r = 0; r < tree->n_ranks; r++) {
		for (uint32_t i = 0; i < tree->n_leaf; i++)
			memset(counts[i].n, 0, sizeof counts[i].n);
		if (rank_collect(tree, r, out, counts, err) != 0)
			goto done;
		out->rank_wall_ns[r] = trace_get_rank(tree->trace, r)->wall_ns;
		out->wall_ns = fmax(out->wall_ns, out->rank_wall_ns[r]);
	}
	node_sum(tree->root, out);
	rv = 0;
done:
	for (uint32_t i = 0; counts != NULL && i < tree->n_leaf; i++)
		gap_draw_free(&counts[i].draw);
	free(counts);
	if (rv != 0)
		skel_times_free(out);
	return rv;
}

void skel_times_free(struct skel_times *t)
{
	for (uint32_t i = 0; t->leaf != NULL && i < t->n_leaf; i++)
		free(t->leaf[i]);
	arena_destroy(t->arena);
	free(t->leaf);
	free(t->node_ns);
	free(t->rank_wall_ns);
	memset(t, 0, sizeof *t);
}
