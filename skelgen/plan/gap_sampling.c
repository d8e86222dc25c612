/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the long gaps that remain after the cuts of a plan. Finds the share of each gap that runs by bisection: see
 * gap_sampling.h. */
#include "skelgen/plan/gap_sampling.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "trace/functions.h"

#define LEAST_SHARE 1e-6 /* of a gap of two days GAP_LONG_NS run */
#define BISECTIONS  30
#define MATTERS_NS  1e6 /* per execution: a meeting of all ranks takes microseconds */
#define LOSES       0.1 /* of the ranks' time, in waits for messages: as much may be lost */

struct long_gap {
	uint32_t rank;
	double ns, times; /* how often it runs */
};

struct rank_sum {
	double saved_ns; /* of its gaps */
	double waits_ns; /* calls that last as long as a long gap: nearly all of that is a wait for one of another rank */
};

struct gap_list {
	struct long_gap *gap;
	size_t n, cap;
	struct rank_sum *of_rank;
	uint32_t n_ranks;
	double least_ns;
	bool failed;
};

/* Time of a gap that does not run, ns. */
static double saved(double ns, double least_ns, double share)
{
	return ns - fmin(ns, fmax(least_ns, share * ns));
}

static void gap_add(struct gap_list *l, uint32_t rank, double ns, double times)
{
	if (!(ns > l->least_ns) || !(times > 0))
		return;
	if (ARRAY_ROOM(l->gap, l->cap, l->n + 1) != 0) {
		l->failed = true;
		return;
	}
	l->gap[l->n++] = (struct long_gap){rank, ns, times};
}

/* Add the gaps of one kind of executions, as emit/lower_gap.c writes them. */
static void part_add(struct gap_list *l, uint32_t rank, const struct skel_leaf_time *t, uint64_t made, double kept)
{
	uint32_t n_stratum = t->n_stratum > 0 ? t->n_stratum : 1, n_slot = t->n_quantile > 1 ? SKEL_QUANTILES : 1;
	double times = kept * (double)made / ((double)n_stratum * n_slot);

	for (uint32_t s = 0; s < n_stratum; s++)
		for (uint32_t j = 0; j < n_slot; j++)
			gap_add(l, rank, n_slot > 1 ? t->quantile_ns[s][j] : t->stratum_ns[s], times);
}

static void wait_add(struct gap_list *l, uint32_t rank, double ns, uint64_t n, double kept)
{
	if (l->of_rank != NULL && ns > l->least_ns * (double)n)
		l->of_rank[rank].waits_ns += kept * ns;
}

/* The cuts leave the share `kept` of the executions. Of executions at the entry of the leaf's loop the share is
 * `entered`. */
static void leaf_add(struct gap_list *l, const struct skel_times *times, const struct skel_node *leaf, double kept,
		     double entered)
{
	uint8_t cls = trace_fn[leaf->fn].cls;
	uint32_t i = 0;

	if (cls == TC_INIT)
		return;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++) {
		const struct skel_leaf_time *t = &times->leaf[leaf->leaf_id][i];
		uint64_t entering = t->entry != NULL ? t->entry->made : 0;

		part_add(l, r, t, t->made - entering, kept);
		if (t->entry != NULL)
			part_add(l, r, t->entry, entering, entered);
		if ((cls == TC_IO || cls == TC_FILE) && t->made > 0) { /* a delay */
			gap_add(l, r, t->dur_ns / (double)t->made, kept * (double)t->made);
			continue;
		}
		wait_add(l, r, t->entered_dur_ns, t->entered, entered);
		wait_add(l, r, t->dur_ns - t->entered_dur_ns, t->made - t->entered, kept);
	}
}

static void node_add(struct gap_list *l, const struct skel_times *times, const struct skel_plan *plan,
		     const struct skel_node *n, double kept, double entered)
{
	const struct skel_cut *c = &plan->cut[n->id];
	double inside = kept;

	if (n->kind == SKEL_LEAF) {
		leaf_add(l, times, n, kept, entered);
		return;
	}
	if (n->kind == SKEL_LOOP && c->run != c->total)
		inside *= skel_plan_kept(n, c);
	for (uint32_t i = 0; i < n->n_child; i++)
		node_add(l, times, plan, n->child[i], inside, kept);
}

/* Time saved on the rank that saves most. Its waits become shorter, at most by the savings of all other ranks. */
static double list_saved(const struct gap_list *l, double share)
{
	double all = 0, most = 0;

	for (uint32_t r = 0; r < l->n_ranks; r++)
		l->of_rank[r].saved_ns = 0;
	for (size_t i = 0; i < l->n; i++) {
		double ns = saved(l->gap[i].ns, l->least_ns, share) * l->gap[i].times;

		l->of_rank[l->gap[i].rank].saved_ns += ns;
		all += ns;
	}
	for (uint32_t r = 0; r < l->n_ranks; r++) {
		const struct rank_sum *of = &l->of_rank[r];

		most = fmax(most, of->saved_ns + fmin(of->waits_ns, all - of->saved_ns));
	}
	return most;
}

/* Without memory there are no long gaps: the skeleton runs longer. */
static void list_open(struct gap_list *l, const struct skel_tree *tree, const struct skel_times *times,
		      const struct skel_plan *plan)
{
	*l = (struct gap_list){.n_ranks = tree->n_ranks, .least_ns = plan->gap_least_ns, .of_rank = calloc(tree->n_ranks + 1u, sizeof *l->of_rank)};
	if (l->of_rank != NULL)
		node_add(l, times, plan, tree->root, 1, 1);
	if (l->failed || l->of_rank == NULL)
		l->n = l->n_ranks = 0;
}

static void list_close(struct gap_list *l)
{
	free(l->gap);
	free(l->of_rank);
}

double gap_share_choose(const struct skel_tree *tree, const struct skel_times *times, double excess_ns,
			struct skel_plan *plan)
{
	double low = LEAST_SHARE, high = 1, won;
	struct gap_list l;

	list_open(&l, tree, times, plan);
	for (int i = 0; i < BISECTIONS; i++) {
		double share = sqrt(low * high);

		if (list_saved(&l, share) >= excess_ns)
			low = share;
		else
			high = share;
	}
	plan->gap_share = l.n > 0 ? low : 1;
	won = list_saved(&l, plan->gap_share);
	list_close(&l);
	return won;
}

double gap_share_saved(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan)
{
	struct gap_list l;
	double won;

	if (!skel_plan_shares_gaps(plan))
		return 0;
	list_open(&l, tree, times, plan);
	won = list_saved(&l, plan->gap_share);
	list_close(&l);
	return won;
}

bool gap_share_matters(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan,
		       const struct skel_node *leaf)
{
	struct gap_list l = {.n_ranks = tree->n_ranks, .least_ns = plan->gap_least_ns};
	uint64_t made = 0;
	double won = 0;

	if (!skel_plan_shares_gaps(plan))
		return false;
	leaf_add(&l, times, leaf, 1, 1);
	for (size_t i = 0; i < l.n; i++)
		won += saved(l.gap[i].ns, l.least_ns, plan->gap_share) * l.gap[i].times;
	for (uint32_t i = 0; i < rank_set_count(&leaf->ranks); i++)
		made += times->leaf[leaf->leaf_id][i].made;
	free(l.gap);
	return won > fmin(MATTERS_NS, plan->gap_least_ns / 2) * (double)made;
}

double gap_share_most_lost(const struct skel_tree *tree, const struct skel_times *times)
{
	double waits_ns = times->vain_ns, all_ns = times->vain_ns + times->node_ns[tree->root->id];

	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		uint8_t cls = trace_fn[tree->leaf[i]->fn].cls;

		for (uint32_t k = 0; k < rank_set_count(&tree->leaf[i]->ranks); k++)
			if (cls == TC_SEND || cls == TC_RECV || cls == TC_SENDRECV || cls == TC_WAIT || cls == TC_PROBE)
				waits_ns += times->leaf[i][k].dur_ns / tree->n_ranks;
	}
	return all_ns > 0 ? waits_ns / all_ns : 0;
}

bool gap_share_loses(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan)
{
	return skel_plan_shares_gaps(plan) && gap_share_most_lost(tree, times) > LOSES;
}
