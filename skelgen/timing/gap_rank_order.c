/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples a few executions of every stratum: see gap_rank_order.h. */
#include "skelgen/timing/gap_rank_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/timing/times.h"

#define MOST_VALUES (8u << 20) /* of all ranks and calls: 64 MiB in the skeleton */

/* Where each leaf is on the rank that is being read. */
struct order_cursor {
	uint64_t want;      /* next execution to look at */
	uint32_t s, j;      /* stratum, and draw in it: slot j / n_set of set j % n_set */
	bool done;
};

struct order_reader {
	const struct skel_tree *tree;
	const struct skel_times *times;
	struct gap_orders *out;      /* with n_set rows for each stratum, until one is kept */
	uint32_t n_set;
	struct order_cursor *cursor; /* by 2 * leaf_id, as out->at */
};

uint64_t gap_order_execution(uint64_t n, uint32_t n_stratum, uint32_t s, uint32_t j, uint32_t n_draw)
{
	/* Executions of stratum s have occ * n_stratum / n == s. One execution is drawn at random from each of n_draw equal parts.
	 * A fixed stride could always hit the same phase of a program with a period. */
	unsigned __int128 begin = ((unsigned __int128)s * n + n_stratum - 1) / n_stratum;
	unsigned __int128 length = ((unsigned __int128)(s + 1) * n + n_stratum - 1) / n_stratum - begin;
	uint64_t from = (uint64_t)(begin + length * j / n_draw), to = (uint64_t)(begin + length * (j + 1) / n_draw);
	uint64_t x = (s * (uint64_t)n_draw + j + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ull;
	return to > from ? from + (x >> 33) % (to - from) : from;
}

void gap_order_slots(const float *gap, uint32_t slot[SKEL_QUANTILES])
{
	bool known = gap != NULL;

	for (uint32_t j = 0; known && j < SKEL_QUANTILES; j++)
		known = !isnan(gap[j]);
	for (uint32_t j = 0; j < SKEL_QUANTILES; j++) {
		slot[j] = (3 * j + 3) % SKEL_QUANTILES;
		if (!known)
			continue;
		slot[j] = 0;
		for (uint32_t i = 0; i < SKEL_QUANTILES; i++)
			slot[j] += gap[i] < gap[j] || (gap[i] == gap[j] && i < j);
	}
}

/* Distribution i of a leaf on a rank. Even i: executions that continue the loop; odd i: executions that enter it. */
static const struct skel_leaf_time *part_of(const struct skel_leaf_time *t, uint32_t i)
{
	const struct skel_leaf_time *part = i % 2 == 0 ? t : t->entry;

	return part != NULL && part->n_quantile > 1 ? part : NULL;
}

static uint64_t values_wanted(const struct skel_tree *tree, const struct skel_times *times)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * tree->n_leaf; i++) {
		uint32_t n = rank_set_count(&tree->leaf[i / 2]->ranks);

		for (uint32_t k = 0; k < n; k++) {
			const struct skel_leaf_time *t = part_of(&times->leaf[i / 2][k], i);

			sum += t != NULL ? t->n_stratum * SKEL_QUANTILES : 0;
		}
	}
	return sum;
}

static int tables_make(const struct skel_tree *tree, const struct skel_times *times, uint32_t n_set, struct gap_orders *o)
{
	o->at = calloc(2 * tree->n_leaf + 1u, sizeof *o->at);
	o->n_rank = calloc(2 * tree->n_leaf + 1u, sizeof *o->n_rank);
	if (o->at == NULL || o->n_rank == NULL)
		return -1;
	o->n_leaf = tree->n_leaf;
	for (uint32_t i = 0; i < 2 * tree->n_leaf; i++) {
		uint32_t n = rank_set_count(&tree->leaf[i / 2]->ranks);

		o->at[i] = calloc(n + 1u, sizeof *o->at[i]);
		if (o->at[i] == NULL)
			return -1;
		o->n_rank[i] = n;
		for (uint32_t k = 0; k < n; k++) {
			const struct skel_leaf_time *t = part_of(&times->leaf[i / 2][k], i);

			if (t == NULL)
				continue;
			o->at[i][k] = malloc(t->n_stratum * n_set * sizeof *o->at[i][k]);
			if (o->at[i][k] == NULL)
				return -1;
			for (uint32_t v = 0; v < t->n_stratum * n_set * SKEL_QUANTILES; v++)
				o->at[i][k][v / SKEL_QUANTILES][v % SKEL_QUANTILES] = NAN;
		}
	}
	return 0;
}

/* An execution was met: note its gap in all slots that look at it or would have looked at one before. */
static void cursor_meet(struct order_cursor *c, const struct skel_leaf_time *t, uint32_t n_set, float (*row)[SKEL_QUANTILES],
			uint64_t occ, float gap_ns)
{
	uint32_t n_draw = n_set * SKEL_QUANTILES;

	while (!c->done && c->want <= occ) {
		row[c->s * n_set + c->j % n_set][c->j / n_set] = gap_ns;
		if (++c->j == n_draw) {
			c->j = 0;
			c->s++;
		}
		c->done = c->s >= t->n_stratum;
		if (!c->done)
			c->want = gap_order_execution(t->n, t->n_stratum, c->s, c->j, n_draw);
	}
}

int order_reader_begin(void *arg, uint32_t rank, struct errbuf *err)
{
	struct order_reader *x = arg;
	int wanted = 0;

	(void)err;
	for (uint32_t i = 0; x->out->at != NULL && i < 2 * x->tree->n_leaf; i++) {
		uint32_t index = rank_set_index(&x->tree->leaf[i / 2]->ranks, rank);
		const struct skel_leaf_time *t;

		x->cursor[i] = (struct order_cursor){.done = index == UINT32_MAX || x->out->at[i][index] == NULL};
		if (x->cursor[i].done)
			continue;
		wanted = 1;
		t = part_of(&x->times->leaf[i / 2][index], i);
		x->cursor[i].want = gap_order_execution(t->n, t->n_stratum, 0, 0, x->n_set * SKEL_QUANTILES);
	}
	return wanted;
}

void order_reader_call(void *arg, const struct timed_walk *w)
{
	struct order_reader *x = arg;
	const struct skel_leaf_time *t = &x->times->leaf[w->leaf->leaf_id][w->index];
	uint32_t i = 2 * w->leaf->leaf_id + skel_enters(t, w->occ);

	if (!x->cursor[i].done)
		cursor_meet(&x->cursor[i], part_of(t, i), x->n_set, x->out->at[i][w->index], w->occ,
			    w->known ? (float)w->ev.gap_ns : NAN);
}

struct order_reader *order_reader_create(const struct skel_tree *tree, const struct skel_times *times, struct gap_orders *out,
					 struct errbuf *err)
{
	struct order_reader *x = calloc(1, sizeof *x);
	uint64_t wanted = values_wanted(tree, times);

	*out = (struct gap_orders){.n_leaf = 0};
	if (x == NULL)
		goto no_memory;
	*x = (struct order_reader){.tree = tree, .times = times, .out = out};
	if (wanted == 0 || wanted > MOST_VALUES)
		return x;
	x->n_set = MOST_VALUES / wanted < GAP_ORDER_SETS ? (uint32_t)(MOST_VALUES / wanted) : GAP_ORDER_SETS;
	x->cursor = calloc(2 * tree->n_leaf + 1u, sizeof *x->cursor);
	if (x->cursor != NULL && tables_make(tree, times, x->n_set, out) == 0)
		return x;
no_memory:
	order_reader_destroy(x);
	err_set(err, "no memory for the order of the gaps of %u calls", tree->n_leaf);
	return NULL;
}

/* ---- which set ---- */

/* How much longer than the mean rank the slowest rank takes, summed over the slots of a set. gap: of slot j on rank r at
 * [r * SKEL_QUANTILES + j]. Returns INFINITY if a gap is not known. */
static double waits(const float *gap, uint32_t n_rank)
{
	double sum = 0;

	for (uint32_t j = 0; j < SKEL_QUANTILES; j++) {
		double most = 0, mean = 0;

		for (uint32_t r = 0; r < n_rank; r++) {
			double ns = gap[r * SKEL_QUANTILES + j];

			if (isnan(ns))
				return INFINITY;
			most = fmax(most, ns);
			mean += ns / n_rank;
		}
		sum += most - mean;
	}
	return sum;
}

/* The set of stratum s whose replay waits as long as the sets did in the mean. v: room for a value of each slot and rank. */
static uint32_t set_choose(const struct order_reader *x, uint32_t i, uint32_t s, float *v)
{
	double in_run = 0, nearest = INFINITY, replayed[GAP_ORDER_SETS];
	uint32_t n_rank = x->out->n_rank[i], best = 0, known = 0;

	for (uint32_t k = 0; k < x->n_set; k++) {
		double traced;

		for (uint32_t r = 0; r < n_rank; r++)
			memcpy(v + r * SKEL_QUANTILES, x->out->at[i][r][s * x->n_set + k], SKEL_QUANTILES * sizeof *v);
		traced = waits(v, n_rank);
		replayed[k] = INFINITY;
		if (isinf(traced))
			continue;
		in_run += traced;
		known++;
		for (uint32_t r = 0; r < n_rank; r++) {
			uint32_t slot[SKEL_QUANTILES];

			gap_order_slots(x->out->at[i][r][s * x->n_set + k], slot);
			for (uint32_t j = 0; j < SKEL_QUANTILES; j++)
				v[r * SKEL_QUANTILES + j] = part_of(&x->times->leaf[i / 2][r], i)->quantile_ns[s][slot[j]];
		}
		replayed[k] = waits(v, n_rank);
	}
	for (uint32_t k = 0; k < x->n_set; k++)
		if (fabs(replayed[k] - in_run / known) < nearest) {
			nearest = fabs(replayed[k] - in_run / known);
			best = k;
		}
	return best;
}

/* Strata of the distributions i, if all ranks have them and the same executions; else 0. */
static uint32_t strata_in_common(const struct order_reader *x, uint32_t i)
{
	const struct skel_leaf_time *first = part_of(&x->times->leaf[i / 2][0], i);

	for (uint32_t r = 0; r < x->out->n_rank[i]; r++) {
		const struct skel_leaf_time *t = part_of(&x->times->leaf[i / 2][r], i);

		if (t == NULL || t->n != first->n || t->n_stratum != first->n_stratum)
			return 0;
	}
	return first != NULL ? first->n_stratum : 0;
}

int order_reader_close(struct order_reader *x, struct errbuf *err)
{
	float *v = calloc((size_t)x->tree->n_ranks * SKEL_QUANTILES, sizeof *v);

	if (v == NULL)
		return err_set(err, "no memory for the order of the gaps of %u ranks", x->tree->n_ranks);
	for (uint32_t i = 0; x->out->at != NULL && i < 2 * x->out->n_leaf; i++) {
		uint32_t common = strata_in_common(x, i);

		for (uint32_t s = 0; s < SKEL_STRATA; s++) {
			uint32_t k = s < common ? set_choose(x, i, s, v) : 0;

			for (uint32_t r = 0; r < x->out->n_rank[i]; r++)
				if (x->out->at[i][r] != NULL && s < part_of(&x->times->leaf[i / 2][r], i)->n_stratum)
					memmove(x->out->at[i][r][s], x->out->at[i][r][s * x->n_set + k], sizeof *x->out->at[i][r]);
		}
	}
	free(v);
	return 0;
}

void order_reader_destroy(struct order_reader *x)
{
	if (x != NULL)
		free(x->cursor);
	free(x);
}

void gap_orders_free(struct gap_orders *o)
{
	for (uint32_t i = 0; o->at != NULL && i < 2 * o->n_leaf; i++) {
		for (uint32_t k = 0; o->n_rank != NULL && k < o->n_rank[i]; k++)
			free(o->at[i][k]);
		free(o->at[i]);
	}
	free(o->at);
	free(o->n_rank);
	*o = (struct gap_orders){.n_leaf = 0};
}
