/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute before a call. The source has one figure where ranks and strata agree. Elsewhere skel.c.data has a record per
 * rank. Its values are scaled: the executions that a plan samples add up, by their weights, to the traced total. Where all
 * executions run, each may have its own value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/lower_tree.h"
#include "skelgen/runtime/data.h"

#define LEAST_NS   30.0   /* what the skeleton itself spends between two calls, about */
#define AGREE      0.005  /* ranks within half a per cent are written as one figure */
#define MAX_WEIGHTS 200000

static double mean_ns(const struct skel_leaf_time *t, bool with_call)
{
	return t->made > 0 ? (t->gap_ns + (with_call ? t->dur_ns : 0)) / (double)t->made : 0;
}

static uint32_t gap_mix(const struct emit *e, const struct skel_node *leaf)
{
	return e->profile->of_leaf != NULL ? e->profile->of_leaf[leaf->leaf_id] : 0;
}

bool gap_needs_position(const struct emit *e, const struct skel_node *leaf)
{
	uint32_t n = rank_set_count(&leaf->ranks);

	for (uint32_t i = 0; i < n; i++) {
		const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][i];
		bool differ = t->n_stratum > 1 || t->entry != NULL || gap_record_of(&e->times->records, e->times, leaf->leaf_id, i) != NULL;

		if (differ && mean_ns(t, false) >= LEAST_NS)
			return true;
	}
	return false;
}

/* Loops around the leaf, outermost first. */
struct around {
	struct skel_cut cut[SKEL_MAX_DEPTH];
	const struct skel_node *loop[SKEL_MAX_DEPTH];
	uint32_t index[SKEL_MAX_DEPTH]; /* of the rank in the loop's set */
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

		a->loop[i] = loop;
		a->index[i] = rank_set_index(&loop->ranks, rank);
		a->cut[i] = e->plan->cut[loop->id];
		if (a->cut[i].run == a->cut[i].total)
			a->cut[i].run = a->cut[i].total =
				skel_loop_count(e->tree, loop, rank, a->index[i]);
	}
}

/* Gaps of one kind of executions: executions that continue the loop, or executions that enter the loop. */
struct gap_part {
	uint32_t n_stratum, n_slot; /* 0: there are none */
	uint32_t visit;             /* of the walk through what the plan samples */
	double *ns;
};

/* The gap values of one leaf on one rank, as written to the skeleton. */
struct gap_values {
	struct gap_part part[2];
	double ns[2 * SKEL_STRATA * SKEL_QUANTILES];
};

/* Fill in the values of one kind of executions: the means of the strata, or their quantiles in the order of
 * timing/gap_rank_order.h. */
static uint32_t part_fill(const struct skel_leaf_time *t, const float (*at)[SKEL_QUANTILES], struct gap_part *p, double *ns)
{
	bool spread = t->n_quantile > 1 && at != NULL;
	uint32_t slot[SKEL_QUANTILES];

	*p = (struct gap_part){.n_stratum = t->n_stratum > 0 ? t->n_stratum : 1, .n_slot = spread ? SKEL_QUANTILES : 1, .ns = ns};
	for (uint32_t s = 0; s < p->n_stratum; s++) {
		if (!spread) {
			ns[s] = t->stratum_ns[s];
			continue;
		}
		gap_order_slots(at[s], slot);
		for (uint32_t j = 0; j < SKEL_QUANTILES; j++)
			ns[s * SKEL_QUANTILES + j] = t->quantile_ns[s][slot[j]];
	}
	return p->n_stratum * p->n_slot;
}

static uint32_t values_fill(const struct emit *e, const struct skel_node *leaf, uint32_t index, struct gap_values *v)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][index];
	uint32_t i = 2 * leaf->leaf_id, n;

	n = part_fill(t, e->times->orders.at != NULL ? e->times->orders.at[i][index] : NULL, &v->part[0], v->ns);
	v->part[1] = (struct gap_part){0};
	if (t->entry != NULL)
		n += part_fill(t->entry, e->times->orders.at != NULL ? e->times->orders.at[i + 1][index] : NULL, &v->part[1], v->ns + n);
	return n;
}

/* Walk through the executions that the plan samples, as the runtime does. */
struct sampling {
	const struct around *around;
	const struct skel_leaf_time *t;
	const struct skel_leaf_rank *lr;
	struct gap_values *v;
};

/* Weighted sum of the values over the executions that the plan samples, from loop `level` inwards. */
static double sampled_sum(struct sampling *w, int level, uint64_t position, double weight)
{
	const struct around *a = w->around;
	struct skel_cut c;
	double sum = 0;

	if (level == a->n) {
		struct gap_part *p = &w->v->part[skel_enters(w->t, position)];
		uint64_t s = data_stratum(position, w->t->n, p->n_stratum) * p->n_slot;

		if (w->lr->optional && position < w->lr->n_occ && skel_leaf_symbol(w->lr, position) == SKEL_NOTHING)
			return 0;
		return weight * p->ns[s + p->visit++ % p->n_slot];
	}
	c = skel_cut_at(&a->cut[level], a->loop[level], a->index[level], position);
	for (uint64_t j = 0; j < c.run; j++)
		sum += sampled_sum(w, level + 1, position * a->cut[level].total + skel_sampled_iteration(&c, j),
				   weight * skel_sampled_weight(&c, j));
	return sum;
}

/* What the strata must be multiplied with for the sample to give the traced total. */
static double correction(const struct emit *e, const struct skel_node *leaf, uint32_t rank,
			 const struct skel_leaf_time *t, struct gap_values *v)
{
	struct around a;
	struct sampling w = {&a, t, &leaf->by_rank[rank_set_index(&leaf->ranks, rank)], v};
	double product = 1, sum;
	bool cut = false;

	if (t->entry == NULL && v->part[0].n_stratum < 2 && v->part[0].n_slot < 2)
		return 1;
	loops_around(e, leaf, rank, &a);
	for (int i = 0; i < a.n; i++) {
		product *= (double)a.cut[i].run;
		cut |= a.cut[i].run != a.cut[i].total;
	}
	if (!cut || product > MAX_WEIGHTS)
		return 1;
	sum = sampled_sum(&w, 0, 0, 1);
	return sum > 0 ? fmin(fmax(t->gap_ns / sum, 0.5), 2) : 1;
}

static bool is_cut(const struct emit *e, const struct skel_node *leaf, uint32_t rank)
{
	struct around a;

	loops_around(e, leaf, rank, &a);
	for (int i = 0; i < a.n; i++)
		if (a.cut[i].run != a.cut[i].total)
			return true;
	return false;
}

/* Write the gap of each execution, if all of them run and are known. Returns whether they were written. */
static bool put_all(struct emit *e, uint32_t gap, const struct skel_node *leaf, uint32_t rank, uint32_t index, double call_ns)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][index];
	const float *record = gap_record_of(&e->times->records, e->times, leaf->leaf_id, index);
	double sum = 0, *ns;

	if (record == NULL || is_cut(e, leaf, rank))
		return false;
	ns = calloc(t->n, sizeof *ns);
	if (ns == NULL)
		return false;
	for (uint64_t i = 0; i < t->n; i++)
		sum += isnan(record[i]) ? 0 : record[i];
	for (uint64_t i = 0; i < t->n; i++)
		ns[i] = isnan(record[i]) || !(sum > 0) ? 0 : record[i] * (t->gap_ns / sum) + call_ns;
	emit_data_gap(e->data, gap, rank,
		      &(struct emit_gap_values){.n_occ = t->n, .mix = gap_mix(e, leaf), .n_stratum = (uint32_t)t->n, .n_slot = 1, .ns = ns});
	free(ns);
	return true;
}

/* Add the mean duration of the call to every value. */
static void put_record(struct emit *e, uint32_t gap, const struct skel_node *leaf, uint32_t rank, uint32_t index,
		       bool with_call)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][index];
	double call = with_call && t->made > 0 ? t->dur_ns / (double)t->made : 0, factor;
	struct gap_values v;
	uint32_t n;

	if (put_all(e, gap, leaf, rank, index, call))
		return;
	n = values_fill(e, leaf, index, &v);
	factor = correction(e, leaf, rank, t, &v);
	for (uint32_t i = 0; i < n; i++)
		v.ns[i] = v.ns[i] * factor + call;
	emit_data_gap(e->data, gap, rank,
		      &(struct emit_gap_values){.n_occ = t->n, .mix = gap_mix(e, leaf), .period = t->entry != NULL ? t->period : 0,
						.n_stratum = v.part[0].n_stratum, .n_slot = v.part[0].n_slot,
						.entry_stratum = v.part[1].n_stratum, .entry_slot = v.part[1].n_slot, .ns = v.ns});
}

void lower_gap(struct emit *e, const struct skel_node *leaf, bool with_call)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	uint32_t n = rank_set_count(&leaf->ranks), i = 0, gap;
	double least = INFINITY, most = 0, sum = 0;
	bool strata = false, spread = false, entered = false;

	for (i = 0; i < n; i++) {
		double m = mean_ns(&t[i], with_call);

		least = fmin(least, m);
		most = fmax(most, m);
		sum += m;
		strata |= t[i].n_stratum > 1;
		spread |= t[i].n_quantile > 1 && e->times->orders.at != NULL;
		entered |= t[i].entry != NULL;
	}
	if (n == 0 || most < LEAST_NS)
		return;
	if (!strata && !spread && !entered && most - least <= AGREE * most) {
		code_int(&e->body, gap_mix(e, leaf));
		code_real(&e->body, sum / n, 1);
		code_do(&e->body, "skel_compute");
		return;
	}
	gap = emit_data_new_gap(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++)
		put_record(e, gap, leaf, r, i, with_call);
	code_int(&e->body, gap);
	code_do(&e->body, "skel_gap");
	code_comment_beside(&e->body, "%.3g to %.3g us, by rank%s%s%s", least * 1e-3, most * 1e-3, strata ? " and time" : "",
			    spread ? ", from its distribution" : "", entered ? ", others in the first turn" : "");
}

void lower_delay(struct emit *e, const struct skel_node *leaf, bool least)
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
		code_real(&e->body, least ? low : sum / n, 1);
		code_do(&e->body, "skel_delay");
		return;
	}
	gap = emit_data_new_gap(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++) {
		double mean = t[i].made > 0 ? t[i].dur_ns / (double)t[i].made : 0;

		emit_data_gap(e->data, gap, r, &(struct emit_gap_values){.n_occ = t[i].n, .n_stratum = 1, .n_slot = 1, .ns = &mean});
	}
	code_int(&e->body, gap);
	code_do(&e->body, "skel_delay_by_rank");
	code_comment_beside(&e->body, "%.3g to %.3g us", low * 1e-3, high * 1e-3);
}
