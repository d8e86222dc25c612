/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute before a call. The source has one figure where ranks and strata agree. Elsewhere skel.c.data has a record per
 * rank: the gap of each execution that runs (timing/gap_record.h), or a distribution. The values are scaled: the executions
 * that a plan samples add up, by their weights, to the traced total. Many ranks share records: see rank_share.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/rank_share.h"
#include "skelgen/emit/lower_tree.h"
#include "skelgen/runtime/data.h"

#define LEAST_NS   30.0   /* what the skeleton itself spends between two calls, about */
#define MAX_WEIGHTS 200000 /* executions of a gap that are looked at one by one: a fraction of a second */
#define MAX_RECORDED (1u << 19) /* gaps that are written one by one: 4 MiB */
#define FOLLOW_SHARE 0.5  /* of the time of a loop's gaps that is recorded: the rest does not hide it */

/* Times of a leaf. The first two share a place in e->share. */
enum gap_of { GAP_ALONE, CALL_ALONE, GAP_WITH_CALL };

static double mean_ns(const struct skel_leaf_time *t, enum gap_of of)
{
	double ns = (of != CALL_ALONE ? t->gap_ns : 0) + (of != GAP_ALONE ? t->dur_ns : 0);

	return t->made > 0 ? ns / (double)t->made : 0;
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

		if (differ && mean_ns(t, GAP_ALONE) >= LEAST_NS)
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

/* Walk through the executions that the plan samples, as the runtime does, in its order. */
struct sampling {
	const struct around *around;
	const struct skel_leaf_time *t;
	const struct skel_leaf_rank *lr;
	struct gap_values *v;
	const float *record; /* of all executions; NULL: the values are v's */
	double *ns;          /* the sampled ones of the record */
	uint64_t n;
};

static double sampled_ns(struct sampling *w, uint64_t position)
{
	struct gap_part *p;

	if (w->record != NULL)
		return w->ns[w->n++] = w->record[position];
	p = &w->v->part[skel_enters(w->t, position)];
	return p->ns[data_stratum(position, w->t->n, p->n_stratum) * p->n_slot + p->visit++ % p->n_slot];
}

/* Weighted sum of the values over the executions that the plan samples, from loop `level` inwards. */
static double sampled_sum(struct sampling *w, int level, uint64_t position, double weight)
{
	const struct around *a = w->around;
	struct skel_cut c;
	double sum = 0;

	if (level == a->n) {
		if (w->lr->optional && position < w->lr->n_occ && skel_leaf_symbol(w->lr, position) == SKEL_NOTHING)
			return 0;
		return weight * sampled_ns(w, position);
	}
	c = skel_cut_at(&a->cut[level], a->loop[level], a->index[level], position);
	for (uint64_t j = 0; j < c.run; j++)
		sum += sampled_sum(w, level + 1, position * a->cut[level].total + skel_sampled_iteration(&c, j),
				   weight * skel_sampled_weight(&c, j));
	return sum;
}

/* Most executions that the plan samples; 0 if all run. */
static double sampled_most(const struct around *a)
{
	double product = 1;
	bool cut = false;

	for (int i = 0; i < a->n; i++) {
		product *= (double)a->cut[i].run;
		cut |= a->cut[i].run != a->cut[i].total;
	}
	return cut ? product : 0;
}

/* What the values must be multiplied with for the sample to give the traced total. */
static double correction(const struct emit *e, const struct skel_node *leaf, uint32_t rank, struct sampling *w)
{
	struct around a;
	double most, sum;

	loops_around(e, leaf, rank, &a);
	most = sampled_most(&a);
	if (most == 0 || most > MAX_WEIGHTS)
		return 1;
	w->around = &a;
	sum = sampled_sum(w, 0, 0, 1);
	return gap_scale(w->t->gap_ns, sum);
}

/* Gaps that run, on all ranks, if each is to be written; 0: not all are known, or there are more than `most_gaps`. */
static uint64_t recorded_gaps(const struct emit *e, const struct skel_node *leaf, uint64_t most_gaps)
{
	double sum = 0;
	uint32_t i = 0;

	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++) {
		struct around a;
		double most;

		if (gap_record_of(&e->times->records, e->times, leaf->leaf_id, i) == NULL)
			return 0;
		loops_around(e, leaf, r, &a);
		most = sampled_most(&a);
		if (most > MAX_WEIGHTS)
			return 0;
		sum += most > 0 ? most : (double)e->times->leaf[leaf->leaf_id][i].made;
	}
	return sum <= (double)most_gaps ? (uint64_t)sum : 0;
}

/* Time of the gaps inside, on all ranks: all, and recorded. Returns false if a loop inside is cut. */
static bool gaps_inside(const struct emit *e, const struct skel_node *n, double *all, double *recorded)
{
	if (n->kind == SKEL_LEAF) {
		for (uint32_t i = 0; i < rank_set_count(&n->ranks); i++) {
			double ns = e->times->leaf[n->leaf_id][i].gap_ns;

			*all += ns;
			*recorded += e->recorded[n->leaf_id] ? ns : 0;
		}
		return true;
	}
	for (uint32_t i = 0; i < n->n_child; i++) {
		const struct skel_node *child = n->child[i];

		if (child->kind == SKEL_LOOP && e->plan->cut[child->id].run != e->plan->cut[child->id].total)
			return false;
		if (!gaps_inside(e, child, all, recorded))
			return false;
	}
	return true;
}

/* Find the loops whose windows vary as the traced iterations did, because most of their gaps are recorded. */
static void follows_find(struct emit *e, const struct skel_node *n)
{
	const struct skel_loop_series *l = skel_series_of(e->plan->series, n->id);
	const struct skel_cut *cut = &e->plan->cut[n->id];
	double all = 0, recorded = 0;

	if (l != NULL && l->x != NULL && cut->windows != NULL && cut->windows->n >= SAMPLED_LEAST)
		e->follows[n->id] = gaps_inside(e, n, &all, &recorded) && recorded >= FOLLOW_SHARE * all && recorded > 0;
	for (uint32_t i = 0; n->kind != SKEL_LEAF && i < n->n_child; i++)
		follows_find(e, n->child[i]);
}

/* What all ranks say about a gap. */
struct gap_survey {
	double least, most, sum;      /* means of the ranks */
	double gap_ns, made;          /* sums over ranks; of gap_ns with the calls or alone */
	bool strata, spread, entered; /* of some ranks */
};

static struct gap_survey survey(const struct emit *e, const struct skel_node *leaf, enum gap_of of)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	struct gap_survey s = {.least = INFINITY};

	for (uint32_t i = 0; i < rank_set_count(&leaf->ranks); i++) {
		double m = mean_ns(&t[i], of);

		s.least = fmin(s.least, m);
		s.most = fmax(s.most, m);
		s.sum += m;
		s.gap_ns += m * (double)t[i].made;
		s.made += (double)t[i].made;
		s.strata |= t[i].n_stratum > 1;
		s.spread |= t[i].n_quantile > 1 && e->times->orders.at != NULL;
		s.entered |= t[i].entry != NULL;
	}
	if (of == CALL_ALONE)
		s.strata = s.spread = s.entered = false;
	return s;
}

static bool all_agree(const struct gap_survey *s)
{
	return !s->strata && !s->spread && !s->entered && s->most - s->least <= GAP_AGREE * s->most;
}

/* The members of a gap, rank by rank; NULL without memory. */
static struct rank_member *members_make(const struct emit *e, const struct skel_node *leaf, enum gap_of of)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	struct rank_member *m = calloc(rank_set_count(&leaf->ranks) + 1u, sizeof *m);
	uint32_t i = 0;

	if (m == NULL)
		return NULL;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++)
		m[i] = (struct rank_member){.rank = r, .index = i, .n = t[i].n, .made = t[i].made,
					    .period = t[i].entry != NULL ? t[i].period : 0, .ns = mean_ns(&t[i], of)};
	return m;
}

/* Bytes of a rank's record. */
static uint64_t record_bytes(const struct emit *e, const struct skel_node *leaf, uint32_t rank, uint32_t index,
			     enum gap_of of)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][index];
	double n = 1;

	if (of != CALL_ALONE && e->recorded[leaf->leaf_id]) {
		struct around a;

		loops_around(e, leaf, rank, &a);
		n = sampled_most(&a);
		n = n > 0 ? n : (double)t->made;
	} else if (of != CALL_ALONE) {
		struct gap_values v;

		n = values_fill(e, leaf, index, &v);
	}
	return (DATA_GAP + (uint64_t)n) * sizeof(uint64_t);
}

/* The item of a gap that is in skel.c.data unless it has one figure. Returns false if it is in the source. */
static bool item_fill(const struct emit *e, const struct skel_node *leaf, enum gap_of of, struct rank_share *item)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	struct gap_survey s = survey(e, leaf, of);
	uint32_t i = 0;

	if (s.made == 0 || s.most < LEAST_NS || all_agree(&s))
		return false;
	item->table = data_table(e->tree->n_ranks) * sizeof(uint64_t);
	item->time_ns = s.gap_ns;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), i++) {
		uint64_t bytes = record_bytes(e, leaf, r, i, of);

		item->full += bytes;
		item->record = bytes > item->record ? bytes : item->record;
		item->spread_ns += fabs(mean_ns(&t[i], of) - s.gap_ns / s.made) * (double)t[i].made;
	}
	return true;
}

/* Which of the leaf's times may be in skel.c.data. */
static bool is_item(const struct emit *e, const struct skel_node *leaf, enum gap_of of)
{
	bool io = lower_is_io(e, leaf);

	return of == CALL_ALONE ? io && !lower_io_meets(leaf) : io || trace_fn[leaf->fn].cls != TC_INIT;
}

/* Choose what ranks share. Returns 0, or -1 without memory. */
static int share_choose(struct emit *e)
{
	uint32_t n = 2 * e->tree->n_leaf;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rank_share *item = &e->share[i];

		if (is_item(e, e->tree->leaf[i / 2], i % 2) && item_fill(e, e->tree->leaf[i / 2], i % 2, item))
			sum += item->table + item->full;
	}
	if (sum <= e->gap_bytes)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct rank_member *m;

		if (e->share[i].full == 0) {
			e->share[i].level = GAP_PLAIN; /* in the data if its calls are computed away with it */
			continue;
		}
		m = members_make(e, e->tree->leaf[i / 2], i % 2);
		if (m == NULL)
			return -1;
		rank_share_count(&e->share[i], m, rank_set_count(&e->tree->leaf[i / 2]->ranks));
		free(m);
	}
	rank_share_choose(e->share, n, e->gap_bytes);
	return 0;
}

int lower_gap_prepare(struct emit *e)
{
	uint64_t left = MAX_RECORDED;

	e->recorded = calloc(e->tree->n_leaf + 1u, sizeof *e->recorded);
	e->follows = calloc(e->tree->n_node + 1u, sizeof *e->follows);
	e->share = calloc(2 * e->tree->n_leaf + 1u, sizeof *e->share);
	if (e->recorded == NULL || e->follows == NULL || e->share == NULL)
		return -1;
	for (uint32_t i = 0; i < e->tree->n_leaf; i++) {
		uint64_t n = recorded_gaps(e, e->tree->leaf[i], left);

		e->recorded[i] = n > 0;
		left -= n;
	}
	if (share_choose(e) != 0)
		return -1;
	for (uint32_t i = 0; i < e->tree->n_leaf; i++)
		e->recorded[i] = e->recorded[i] && e->share[2 * i].level < GAP_PLAIN;
	follows_find(e, e->tree->root);
	return 0;
}

/* A group of ranks: the record of one of them, with the mean of all. */
struct gap_group {
	const struct rank_member *member;
	uint32_t n, rank, index;  /* members; the one whose record it is */
	double factor, call_ns;   /* of its gaps; mean duration of the calls */
	double mean_ns;           /* of both */
};

static struct gap_group group_make(const struct emit *e, const struct skel_node *leaf, enum gap_of of,
				   const struct rank_member *m, uint32_t n)
{
	const struct skel_leaf_time *t = e->times->leaf[leaf->leaf_id];
	struct gap_group g = {.member = m, .n = n, .rank = m[n / 2].rank, .index = m[n / 2].index};
	double gap_ns = 0, call_ns = 0, made = 0, own = mean_ns(&t[g.index], GAP_ALONE);

	for (uint32_t i = 0; i < n; i++) {
		gap_ns += t[m[i].index].gap_ns;
		call_ns += t[m[i].index].dur_ns;
		made += (double)t[m[i].index].made;
	}
	gap_ns = of != CALL_ALONE && made > 0 ? gap_ns / made : 0;
	g.call_ns = of != GAP_ALONE && made > 0 ? call_ns / made : 0;
	g.mean_ns = gap_ns + g.call_ns;
	g.factor = n > 1 && own > 0 ? gap_ns / own : 1;
	return g;
}

static void put_group(struct emit *e, uint32_t gap, const struct gap_group *g, const struct emit_gap_values *v)
{
	for (uint32_t i = 0; i < g->n; i++)
		emit_data_gap(e->data, gap, g->member[i].rank, v);
}

/* The gap of each execution that runs. */
static void put_recorded(struct emit *e, uint32_t gap, const struct skel_node *leaf, const struct gap_group *g)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][g->index];
	struct sampling w = {.t = t, .lr = &leaf->by_rank[g->index], .ns = calloc(t->n, sizeof *w.ns),
			     .record = gap_record_of(&e->times->records, e->times, leaf->leaf_id, g->index)};
	struct emit_gap_values v = {.n_occ = t->n, .mix = gap_mix(e, leaf), .n_stratum = 1, .n_slot = 1, .ns = w.ns};
	double factor, sum = 0;

	if (w.ns == NULL) {
		e->no_memory = true;
		return;
	}
	factor = correction(e, leaf, g->rank, &w) * g->factor;
	if (w.n > 0) {
		for (uint64_t i = 0; i < w.n; i++)
			w.ns[i] = w.ns[i] * factor + g->call_ns;
	} else { /* all calls that are made run */
		for (uint64_t i = 0; i < t->n; i++)
			sum += isnan(w.record[i]) ? 0 : w.record[i];
		factor = sum > 0 ? t->gap_ns / sum * g->factor : 0;
		for (uint64_t i = 0; i < t->n; i++)
			if (!isnan(w.record[i]))
				w.ns[w.n++] = w.record[i] * factor + g->call_ns;
	}
	v.n_slot = (uint32_t)w.n;
	put_group(e, gap, g, &v);
	free(w.ns);
}

static void put_values(struct emit *e, uint32_t gap, const struct skel_node *leaf, const struct gap_group *g)
{
	const struct skel_leaf_time *t = &e->times->leaf[leaf->leaf_id][g->index];
	struct gap_values v;
	struct sampling w = {.t = t, .lr = &leaf->by_rank[g->index], .v = &v};
	struct emit_gap_values out = {.n_occ = t->n, .mix = gap_mix(e, leaf), .ns = v.ns};
	double factor = g->factor;
	uint32_t n = values_fill(e, leaf, g->index, &v);

	if (t->entry != NULL || v.part[0].n_stratum > 1 || v.part[0].n_slot > 1)
		factor *= correction(e, leaf, g->rank, &w);
	for (uint32_t i = 0; i < n; i++)
		v.ns[i] = v.ns[i] * factor + g->call_ns;
	out.period = t->entry != NULL ? t->period : 0;
	out.n_stratum = v.part[0].n_stratum;
	out.n_slot = v.part[0].n_slot;
	out.entry_stratum = v.part[1].n_stratum;
	out.entry_slot = v.part[1].n_slot;
	put_group(e, gap, g, &out);
}

/* The times of all ranks, group by group. */
static void put_gaps(struct emit *e, uint32_t gap, const struct skel_node *leaf, enum gap_of of, int level)
{
	uint32_t n = rank_set_count(&leaf->ranks), mix = of == CALL_ALONE ? 0 : gap_mix(e, leaf);
	struct rank_member *m = members_make(e, leaf, of);

	if (m == NULL) {
		e->no_memory = true;
		return;
	}
	rank_members_sort(m, n, level);
	for (uint32_t i = 0, end; i < n; i = end) {
		struct gap_group g;

		end = rank_group_end(m, n, i, level);
		g = group_make(e, leaf, of, m + i, end - i);
		if (of == CALL_ALONE || level == GAP_PLAIN)
			put_group(e, gap, &g, &(struct emit_gap_values){.n_occ = m[i].n, .mix = mix, .n_stratum = 1,
									.n_slot = 1, .ns = &g.mean_ns});
		else if (e->recorded[leaf->leaf_id])
			put_recorded(e, gap, leaf, &g);
		else
			put_values(e, gap, leaf, &g);
	}
	free(m);
}

void lower_gap(struct emit *e, const struct skel_node *leaf, bool with_call)
{
	enum gap_of of = with_call ? GAP_WITH_CALL : GAP_ALONE;
	int level = e->share[2 * leaf->leaf_id].level;
	struct gap_survey s = survey(e, leaf, of);
	bool plain = level >= GAP_PLAIN, agree = all_agree(&s);
	uint32_t gap;

	if (s.made == 0 || s.most < LEAST_NS)
		return;
	if (agree || level == GAP_ONE) {
		code_int(&e->body, gap_mix(e, leaf));
		code_real(&e->body, agree ? s.sum / rank_set_count(&leaf->ranks) : s.gap_ns / s.made, 1);
		code_do(&e->body, "skel_compute");
		return;
	}
	gap = emit_data_new_gap(e->data);
	put_gaps(e, gap, leaf, of, level);
	code_int(&e->body, gap);
	code_do(&e->body, "skel_gap");
	code_comment_beside(&e->body, "%.3g to %.3g us, by rank%s%s%s", s.least * 1e-3, s.most * 1e-3,
			    s.strata && !plain ? " and time" : "", s.spread && !plain ? ", from its distribution" : "",
			    s.entered && !plain ? ", others in the first turn" : "");
}

void lower_delay(struct emit *e, const struct skel_node *leaf, bool least)
{
	int level = e->share[2 * leaf->leaf_id + CALL_ALONE].level;
	struct gap_survey s = survey(e, leaf, CALL_ALONE);
	bool agree = all_agree(&s);
	double mean = agree ? s.sum / rank_set_count(&leaf->ranks) : s.gap_ns / s.made;
	uint32_t gap;

	if (s.made == 0 || (least ? s.least : s.most) < LEAST_NS)
		return;
	if (least || agree || level == GAP_ONE) {
		code_real(&e->body, least ? s.least : mean, 1);
		code_do(&e->body, "skel_delay");
		return;
	}
	gap = emit_data_new_gap(e->data);
	put_gaps(e, gap, leaf, CALL_ALONE, level);
	code_int(&e->body, gap);
	code_do(&e->body, "skel_delay_by_rank");
	code_comment_beside(&e->body, "%.3g to %.3g us", s.least * 1e-3, s.most * 1e-3);
}
