/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes the times of every event to its leaf, in one pass per rank. */
#include "skelgen/timing/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "skelgen/timing/timed_walk.h"
#include "skelgen/timing/times_quantile.h"
#include "trace/functions.h"
#include "trace/read/hist_read.h"

#define AGREE       0.02 /* strata within 2 % of their mean are one */
#define LEAST_DRAWN 64   /* executions of which the distribution is kept */
#define LEAST_SHARE 1e-5 /* of a rank's time, in gaps of which it is kept */
#define LEAST_ENTRY 1e-4 /* of a rank's time, by which entering a loop differs from going on in it, */
#define SURE        3    /* and standard errors */

/* Timed events by stratum, their gaps, and the distribution of these. */
struct stratum_counts {
	uint64_t timed;
	double gap_ns, square_ns2;
	uint32_t n[SKEL_STRATA];
	double sum_ns[SKEL_STRATA];
	struct gap_draw draw;
};

/* Iterations of the loop whose first call the leaf is on this rank; 0: it is not. */
static uint64_t period_of(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t rank)
{
	const struct skel_node *loop = leaf->parent;
	uint64_t count;

	if (loop == NULL || loop->kind != SKEL_LOOP)
		return 0;
	for (uint32_t i = 0; loop->child[i] != leaf; i++)
		if (rank_set_index(&loop->child[i]->ranks, rank) != UINT32_MAX)
			return 0;
	count = skel_loop_count(tree, loop, rank, rank_set_index(&loop->ranks, rank));
	return count > 1 ? count : 0;
}

static int tables_alloc(const struct skel_tree *tree, struct skel_times *t)
{
	t->n_leaf = tree->n_leaf;
	t->n_node = tree->n_node;
	t->n_ranks = tree->n_ranks;
	t->leaf = calloc(tree->n_leaf + 1u, sizeof *t->leaf);
	t->node_ns = calloc(tree->n_node + 1u, sizeof *t->node_ns);
	t->entry_ns = calloc(tree->n_node + 1u, sizeof *t->entry_ns);
	t->rank_wall_ns = calloc(tree->n_ranks + 1u, sizeof *t->rank_wall_ns);
	t->arena = arena_create();
	if (t->leaf == NULL || t->node_ns == NULL || t->entry_ns == NULL || t->rank_wall_ns == NULL || t->arena == NULL)
		return -1;
	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		uint32_t n = rank_set_count(&tree->leaf[i]->ranks);

		t->leaf[i] = calloc(n > 0 ? n : 1, sizeof **t->leaf);
		if (t->leaf[i] == NULL)
			return -1;
		for (uint32_t k = 0, r = rank_set_first(&tree->leaf[i]->ranks); k < n;
		     k++, r = rank_set_next(&tree->leaf[i]->ranks, r)) {
			struct skel_leaf_time *lt = &t->leaf[i][k];

			lt->n = tree->leaf[i]->by_rank[k].n_occ;
			lt->made = skel_leaf_made(&tree->leaf[i]->by_rank[k]);
			lt->n_quantile = 1;
			lt->period = period_of(tree, tree->leaf[i], r);
			if (lt->period == 0)
				continue;
			lt->entry = arena_alloc(t->arena, 1, sizeof *lt->entry);
			if (lt->entry == NULL)
				return -1;
			*lt->entry = (struct skel_leaf_time){.n = lt->n, .n_quantile = 1};
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
	lt->dur_ns += dur_ns;
	c->timed++;
	c->gap_ns += gap_ns;
	c->square_ns2 += gap_ns * gap_ns;
	c->sum_ns[s] += gap_ns;
	c->n[s]++;
}

/* Do the gaps at the entry of a loop differ enough from the other gaps to be kept apart? */
static bool entries_differ(const struct stratum_counts *c, const struct stratum_counts *entry, double wall_ns)
{
	double others, differ, error;

	if (c->timed == 0 || entry->timed == 0)
		return false;
	others = c->gap_ns / (double)c->timed;
	differ = fabs(entry->gap_ns - others * (double)entry->timed);
	error = sqrt(fmax(0, c->square_ns2 / (double)c->timed - others * others) * (double)entry->timed);
	return differ > LEAST_ENTRY * wall_ns && differ > SURE * error;
}

/* One rank computes before the loop, and the others wait for it in the loop's first call. Calls on files are delays, as long as
 * their mean. */
static void entries_wait(const struct skel_node *leaf, struct skel_leaf_time *lt, double wall_ns)
{
	uint8_t cls = trace_fn[leaf->fn].cls;
	const struct skel_leaf_time *entry = lt->entry;
	double dur_ns, usual_ns;

	if (cls == TC_IO || cls == TC_FILE || entry == NULL || entry->timed == 0 || lt->timed == 0)
		return;
	dur_ns = entry->dur_ns / (double)entry->timed * (double)entry->made;
	usual_ns = lt->dur_ns / (double)lt->timed * (double)entry->made;
	if (!(dur_ns - usual_ns > LEAST_ENTRY * wall_ns))
		return;
	lt->entered = entry->made;
	lt->entered_dur_ns = dur_ns;
}

/* Join both kinds of executions. The distribution is taken from the kind with more executions. */
static void entries_join(struct stratum_counts *c, struct stratum_counts *entry)
{
	if (entry->timed > c->timed) {
		struct gap_draw d = c->draw;

		c->draw = entry->draw;
		entry->draw = d;
	}
	c->timed += entry->timed;
	c->gap_ns += entry->gap_ns;
	for (int s = 0; s < SKEL_STRATA; s++) {
		c->n[s] += entry->n[s];
		c->sum_ns[s] += entry->sum_ns[s];
	}
}

/* Sums to means; strata without a timed event take the mean of all. */
static void strata_close(struct skel_leaf_time *lt, const struct stratum_counts *c)
{
	double mean, least, most;

	lt->n_stratum = 1;
	if (c->timed == 0) {
		lt->stratum_ns[0] = 0;
		return;
	}
	mean = c->gap_ns / (double)c->timed;
	least = most = mean;
	lt->n_stratum = lt->n < SKEL_STRATA ? (uint32_t)lt->n : SKEL_STRATA;
	for (uint32_t s = 0; s < lt->n_stratum; s++) {
		lt->stratum_ns[s] = c->n[s] > 0 ? c->sum_ns[s] / c->n[s] : mean;
		least = fmin(least, lt->stratum_ns[s]);
		most = fmax(most, lt->stratum_ns[s]);
	}
	if (most - least <= AGREE * mean) {
		lt->n_stratum = 1;
		lt->stratum_ns[0] = mean;
	}
}

/* Scale the sums from the timed executions to all executions that make the call. */
static void sums_close(struct skel_leaf_time *lt, const struct stratum_counts *c)
{
	lt->gap_ns = c->timed > 0 ? c->gap_ns / (double)c->timed * (double)lt->made : 0;
	lt->dur_ns = lt->timed > 0 ? lt->dur_ns / (double)lt->timed * (double)lt->made : 0;
}

static int draw_add(struct skel_leaf_time *lt, struct stratum_counts *c, uint64_t occ, double gap_ns)
{
	return lt->n < LEAST_DRAWN ? 0 : gap_draw_add(&c->draw, stratum_of(occ, lt->n), gap_ns);
}

/* Keep a distribution only for a call whose gaps take a least share of the rank's time. The shares add up to at most 1,
 * so this bounds the number of distributions. */
static int draw_close(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t rank, struct arena *arena,
		      struct skel_leaf_time *lt, struct stratum_counts *c, const struct hist_table *given_up)
{
	double bytes = SKEL_STRATA * sizeof *lt->quantile_ns * (double)tree->n_ranks;
	double least = fmax(LEAST_SHARE, bytes / SKEL_QUANTILES_BYTES);

	if (lt->made < LEAST_DRAWN || !(lt->gap_ns > least * trace_get_rank(tree->trace, rank)->wall_ns)) {
		gap_draw_free(&c->draw);
		return 0;
	}
	return gap_draw_close(&c->draw, given_up, leaf->fn, arena, lt);
}

/* c[0]: executions that continue their loop. c[1]: executions that enter it. */
static int leaf_close(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t rank, struct arena *arena,
		      struct skel_leaf_time *lt, struct stratum_counts c[2], const struct hist_table *given_up)
{
	struct skel_leaf_time *entry = lt->entry;

	entries_wait(leaf, lt, trace_get_rank(tree->trace, rank)->wall_ns);
	if (entry == NULL || !entries_differ(&c[0], &c[1], trace_get_rank(tree->trace, rank)->wall_ns)) {
		if (entry != NULL) {
			lt->timed += entry->timed;
			lt->dur_ns += entry->dur_ns;
			entries_join(&c[0], &c[1]);
			gap_draw_free(&c[1].draw);
			lt->entry = NULL;
			lt->period = 0;
		}
		strata_close(lt, &c[0]);
		sums_close(lt, &c[0]);
		lt->entered_dur_ns = fmin(lt->entered_dur_ns, lt->dur_ns);
		return draw_close(tree, leaf, rank, arena, lt, &c[0], given_up);
	}
	lt->made -= entry->made;
	for (int i = 0; i < 2; i++) {
		struct skel_leaf_time *t = i == 0 ? lt : entry;

		strata_close(t, &c[i]);
		sums_close(t, &c[i]);
		if (draw_close(tree, leaf, rank, arena, t, &c[i], given_up) != 0)
			return -1;
	}
	lt->made += entry->made;
	lt->timed += entry->timed;
	lt->gap_ns += entry->gap_ns;
	lt->dur_ns += entry->dur_ns;
	return 0;
}

/* What is added up over the calls of a rank. */
struct rank_sums {
	struct stratum_counts *counts; /* [2 * leaf_id]; [2 * leaf_id + 1]: executions that enter the leaf's loop */
	struct hist_table given_up;    /* times that are known only as a histogram */
	uint64_t events, untimed;
	double delayed, waited, polled, vain, elapsed;
};

static int call_add(const struct skel_tree *tree, struct skel_times *t, const struct timed_walk *w, struct rank_sums *s)
{
	struct skel_leaf_time *lt = &t->leaf[w->leaf->leaf_id][w->index];
	struct stratum_counts *c = &s->counts[2 * w->leaf->leaf_id];
	double gap, dur;

	s->events++;
	if (skel_enters(lt, w->occ)) {
		lt = lt->entry;
		lt->made++;
		c++;
	}
	if (w->known) {
		if (trace_fn[w->leaf->fn].cls != TC_INIT) {
			uint64_t enter, leave, by_clock;

			own_iter_when(w->times, &enter, &leave, &by_clock);
			pace_add(&t->pace, w->ev.sym, (double)enter, (double)w->ev.gap_ns);
			s->delayed += own_iter_delayed(w->times);
			s->polled += own_iter_polled(w->times);
			s->vain += own_iter_vain(w->times);
		}
		event_add(lt, c, w->occ, (double)w->ev.gap_ns, (double)w->ev.dur_ns);
		return draw_add(lt, c, w->occ, (double)w->ev.gap_ns);
	}
	if (trace_hist_means(tree->trace, w->tree.rank, &s->given_up, w->ev.sym, &gap, &dur)) {
		event_add(lt, c, w->occ, gap, dur);
		c->draw.given_up++;
		c->draw.symbol = w->ev.sym;
	} else {
		s->untimed++;
	}
	return 0;
}

static int rank_read(const struct skel_tree *tree, uint32_t rank, struct skel_times *t, struct rank_sums *s, struct errbuf *err)
{
	struct timed_walk w;
	int rv;

	if (timed_walk_begin(&w, tree, rank, true, err) != 0)
		return -1;
	pace_begin(&t->pace, trace_get_rank(tree->trace, rank));
	while ((rv = timed_walk_next(&w, err)) == 1)
		if (call_add(tree, t, &w, s) != 0) {
			rv = err_set(err, "no memory for the times of rank %u", rank);
			break;
		}
	pace_end(&t->pace);
	s->elapsed = own_iter_elapsed(w.times);
	s->waited = fmax(0, own_iter_lost(w.times) - s->delayed);
	timed_walk_end(&w);
	/* Some of the times stand for the rest; without any, the rank would compute nothing. */
	if (rv == 0 && s->events > 0 && s->untimed == s->events)
		rv = err_set(err, "rank %u: none of its times can be read: the trace is damaged", rank);
	return rv;
}

static int rank_collect(const struct skel_tree *tree, uint32_t rank, struct skel_times *t, struct stratum_counts *counts,
			struct errbuf *err)
{
	struct rank_sums s = {.counts = counts};
	struct errbuf why;
	uint32_t index;
	int rv;

	/* Times that were given up one by one count with their mean. Damaged, they are like times that are missing. */
	if (trace_hist_read(tree->trace, rank, &s.given_up, &why) < 0)
		hist_table_init(&s.given_up, 0);
	rv = rank_read(tree, rank, t, &s, err);
	for (uint32_t i = 0; rv == 0 && i < tree->n_leaf; i++)
		if ((index = rank_set_index(&tree->leaf[i]->ranks, rank)) != UINT32_MAX &&
		    leaf_close(tree, tree->leaf[i], rank, t->arena, &t->leaf[i][index], &counts[2 * i], &s.given_up) != 0)
			rv = err_set(err, "no memory for the times of rank %u", rank);
	hist_table_free(&s.given_up);
	t->events += s.events;
	t->untimed += s.untimed;
	t->delayed_ns += s.delayed / tree->n_ranks;
	t->polled_ns += s.polled / tree->n_ranks;
	t->vain_ns += s.vain / tree->n_ranks;
	t->elapsed_ns += s.elapsed / tree->n_ranks;
	t->delayed_most_ns = fmax(t->delayed_most_ns, s.delayed);
	t->waited_ns += s.waited / tree->n_ranks;
	t->waited_most_ns = fmax(t->waited_most_ns, s.waited);
	return rv;
}

static double node_sum(const struct skel_node *n, struct skel_times *t)
{
	double sum = 0, entry = 0;

	if (n->kind == SKEL_LEAF) {
		uint32_t count = rank_set_count(&n->ranks);

		for (uint32_t k = 0; k < count; k++) {
			const struct skel_leaf_time *lt = &t->leaf[n->leaf_id][k];

			sum += lt->gap_ns + lt->dur_ns;
			entry += (lt->entry != NULL ? lt->entry->gap_ns : 0) + lt->entered_dur_ns;
			if (trace_fn[n->fn].cls != TC_INIT)
				t->gap_ns += lt->gap_ns / t->n_ranks;
		}
		sum /= t->n_ranks;
		t->entry_ns[n->id] = entry / t->n_ranks;
	} else {
		for (uint32_t i = 0; i < n->n_child; i++) {
			sum += node_sum(n->child[i], t);
			if (n->child[i]->kind == SKEL_LEAF)
				t->entry_ns[n->id] += t->entry_ns[n->child[i]->id];
		}
	}
	t->node_ns[n->id] = sum;
	return sum;
}

/* What can only be gathered when the sums are known, in one more walk. */
static int details_read(const struct skel_tree *tree, struct skel_times *t, struct errbuf *err)
{
	struct series_reader *series = series_reader_create(tree, t, &t->series, err);
	struct order_reader *order = series != NULL ? order_reader_create(tree, t, &t->orders, err) : NULL;
	int rv = -1;

	if (order != NULL && gap_records_make(tree, t, &t->records, err) == 0) {
		const struct timed_reader readers[] = {
			{series, series_reader_begin, series_reader_call},
			{order, order_reader_begin, order_reader_call},
			{&t->records, gap_records_begin, gap_records_call},
		};

		rv = timed_walk_all(tree, readers, 3, err);
		rv = rv == 0 ? series_reader_close(series, err) : rv;
		rv = rv == 0 ? order_reader_close(order, err) : rv;
	}
	order_reader_destroy(order);
	series_reader_destroy(series);
	return rv;
}

int skel_times_collect(const struct skel_tree *tree, struct skel_times *out, struct errbuf *err)
{
	struct stratum_counts *counts = calloc(2 * (tree->n_leaf + 1u), sizeof *counts);
	int rv = -1;

	memset(out, 0, sizeof *out);
	if (counts == NULL || tables_alloc(tree, out) != 0) {
		err_set(err, "no memory for the times of %u calls on %u ranks", tree->n_leaf, tree->n_ranks);
		goto done;
	}
	for (uint32_t r = 0; r < tree->n_ranks; r++) {
		for (uint32_t i = 0; i < 2 * tree->n_leaf; i++)
			counts[i] = (struct stratum_counts){.draw = counts[i].draw};
		if (rank_collect(tree, r, out, counts, err) != 0)
			goto done;
		out->rank_wall_ns[r] = trace_get_rank(tree->trace, r)->wall_ns;
		out->wall_ns = fmax(out->wall_ns, out->rank_wall_ns[r]);
	}
	out->differs = pace_half_width(&out->pace);
	node_sum(tree->root, out);
	rv = details_read(tree, out, err);
done:
	for (uint32_t i = 0; counts != NULL && i < 2 * tree->n_leaf; i++)
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
	skel_series_free(&t->series);
	gap_orders_free(&t->orders);
	gap_records_free(&t->records);
	arena_destroy(t->arena);
	free(t->leaf);
	free(t->node_ns);
	free(t->entry_ns);
	free(t->rank_wall_ns);
	memset(t, 0, sizeof *t);
}
