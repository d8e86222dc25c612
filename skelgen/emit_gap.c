/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute before a call. One figure in the source where ranks and strata agree, else a record per rank in skel.c.data,
 * scaled so that the executions which a plan samples add up, by their weights, to the traced total.
 */
#include <math.h>
#include <string.h>

#include "skelgen/emit_tree.h"

#define LEAST_NS   30.0   /* what the skeleton itself spends between two calls, about */
#define AGREE      0.005  /* ranks within half a per cent are written as one figure */
#define MAX_WEIGHTS 200000

static double mean_ns(const struct skel_leaf_time *t, bool with_call)
{
	return t->made > 0 ? (t->gap_ns + (with_call ? t->dur_ns : 0)) / (double)t->made : 0;
}

static uint32_t gap_mix(const struct emit *e, const struct skel_node *leaf)
{
	return e->mixes.of_leaf != NULL ? e->mixes.of_leaf[leaf->leaf_id] : 0;
}

bool gap_needs_position(const struct emit *e, const struct skel_node *leaf)
{
	uint32_t n = rank_set_count(&leaf->ranks);

	for (uint32_t i = 0; i < n; i++)
		if (e->times->leaf[leaf->leaf_id][i].n_stratum > 1 &&
		    mean_ns(&e->times->leaf[leaf->leaf_id][i], false) >= LEAST_NS)
			return true;
	return false;
}

/* Loops around the leaf, outermost first. */
struct around {
	struct skel_cut cut[SKEL_MAX_DEPTH];
	int n;
};

static void loops_around(const struct emit *e, const struct skel_node *leaf, uint32_t rank, struct around *a)
{
	const struct skel_node *up[SKEL_MAX_DEPTH];
	int n = 0;

	for (const struct skel_node *p = leaf->parent; p != NULL && n < SKEL_MAX_DEPTH; p = p->parent)
		if (p->kind == SKEL_LOOP)
			up[n++] = p;
	a->n = n;
	for (int i = 0; i < n; i++) {
		const struct skel_node *loop = up[n - 1 - i];

		a->cut[i] = e->plan->cut[loop->id];
		if (a->cut[i].run == a->cut[i].total)
			a->cut[i].run = a->cut[i].total =
				skel_loop_count(e->tree, loop, rank, rank_set_index(&loop->ranks, rank));
	}
}

/* Weighted sum of the strata's means over the executions that the plan samples, from loop `level` inwards. */
static double sampled_sum(const struct around *a, int level, uint64_t position, double weight,
			  const struct skel_leaf_time *t, const struct skel_leaf_rank *lr)
{
	const struct skel_cut *c;
	double sum = 0;

	if (level == a->n) {
		uint64_t s = position < t->n ? (uint64_t)((unsigned __int128)position * t->n_stratum / t->n) : 0;

		if (lr->optional && position < lr->n_occ && skel_leaf_symbol(lr, position) == SKEL_NOTHING)
			return 0;
		return weight * t->stratum_ns[s];
	}
	c = &a->cut[level];
	for (uint64_t j = 0; j < c->run; j++) {
		double w = skel_sampled_weight(c, j);

		sum += sampled_sum(a, level + 1, position * c->total + skel_sampled_iteration(c, j), weight * w, t,
				   lr);
	}
	return sum;
}

/* What the strata must be multiplied with for the sample to give the traced total. */
static double correction(const struct emit *e, const struct skel_node *leaf, uint32_t rank,
			 const struct skel_leaf_time *t)
{
	struct around a;
	double product = 1, sum;
	bool cut = false;

	if (t->n_stratum < 2)
		return 1;
	loops_around(e, leaf, rank, &a);
	for (int i = 0; i < a.n; i++) {
		product *= (double)a.cut[i].run;
		cut |= a.cut[i].run != a.cut[i].total;
	}
	if (!cut || product > MAX_WEIGHTS)
		return 1;
	sum = sampled_sum(&a, 0, 0, 1, t, &leaf->by_rank[rank_set_index(&leaf->ranks, rank)]);
	return sum > 0 ? fmin(fmax(t->gap_ns / sum, 0.5), 2) : 1;
}

/* Add the mean duration of the call to every stratum. */
static void put_record(struct emit *e, uint32_t gap, const struct skel_node *leaf, uint32_t rank,
		       const struct skel_leaf_time *t, bool with_call)
{
	double ns[SKEL_STRATA], factor = correction(e, leaf, rank, t);
	uint32_t n = t->n_stratum > 0 ? t->n_stratum : 1;

	for (uint32_t s = 0; s < n; s++)
		ns[s] = t->stratum_ns[s] * factor + (with_call ? t->dur_ns / (double)t->made : 0);
	emit_data_gap(e->data, gap, rank,
		      &(struct emit_gap_values){t->n, gap_mix(e, leaf), n, 1, ns});
}

void emit_gap(struct emit *e, const struct skel_node *leaf, bool with_call, int depth)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	uint32_t n = rank_set_count(&leaf->ranks), i = 0, gap;
	double least = INFINITY, most = 0, sum = 0;
	bool strata = false;

	for (i = 0; i < n; i++) {
		double m = mean_ns(&t[i], with_call);

		least = fmin(least, m);
		most = fmax(most, m);
		sum += m;
		strata |= t[i].n_stratum > 1;
	}
	if (n == 0 || most < LEAST_NS)
		return;
	if (!strata && most - least <= AGREE * most) {
		text_line(&e->body, depth, "skel_compute(%u, %.1f);", gap_mix(e, leaf), sum / n);
		return;
	}
	gap = emit_data_new_gap(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++)
		put_record(e, gap, leaf, r, &t[i], with_call);
	text_line(&e->body, depth, "skel_gap(%u); /* %.3g to %.3g us, by rank%s */", gap, least * 1e-3, most * 1e-3,
		  strata ? " and time" : "");
}

void emit_delay(struct emit *e, const struct skel_node *leaf, bool least, int depth)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	uint32_t n = rank_set_count(&leaf->ranks), i, gap;
	double low = INFINITY, high = 0, sum = 0;

	for (i = 0; i < n; i++) {
		double m = t[i].made > 0 ? t[i].dur_ns / (double)t[i].made : 0;

		low = fmin(low, m);
		high = fmax(high, m);
		sum += m;
	}
	if (n == 0 || (least ? low : high) < LEAST_NS)
		return;
	if (least || high - low <= AGREE * high) {
		text_line(&e->body, depth, "skel_delay(%.1f);", least ? low : sum / n);
		return;
	}
	gap = emit_data_new_gap(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++) {
		double mean = t[i].made > 0 ? t[i].dur_ns / (double)t[i].made : 0;

		emit_data_gap(e->data, gap, r, &(struct emit_gap_values){t[i].n, 0, 1, 1, &mean});
	}
	text_line(&e->body, depth, "skel_delay_by_rank(%u); /* %.3g to %.3g us */", gap, low * 1e-3, high * 1e-3);
}
