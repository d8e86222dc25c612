/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alignment of two sequences of nodes. Equal ends are matched first. A short middle is aligned by dynamic programming
 * over weights. A long middle is cut at nodes that occur once on both sides. Any alignment is a correct merge; the
 * weights make the result short.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/merge/merge.h"

#define DP_CELLS_MAX (1u << 20)
#define MAX_LEVEL    64

/* Weights of a matched event: enough above the hints, which only decide between equals. */
#define EVENT_WEIGHT 16.0
#define PEER_BONUS   1.0
#define TAG_BONUS    0.5
#define COUNT_BONUS  0.25

/* Loops of different counts belong together when they share this much of the lesser and of the greater body. */
#define SIMILAR_LESSER  0.5
#define SIMILAR_GREATER 0.25
#define EQUAL_COUNT_FACTOR 1.25

struct aligner {
	struct merge_node *const *a, *const *b;
	struct merge_steps *out;
	bool failed;
};

/* ---- scores ---- */

static double leaf_score(const struct merge_node *a, const struct merge_node *b)
{
	double s = EVENT_WEIGHT;

	if (a->key != b->key)
		return 0;
	s += a->hint.peer[0] == b->hint.peer[0] ? PEER_BONUS : 0;
	s += a->hint.peer[1] == b->hint.peer[1] ? PEER_BONUS : 0;
	s += a->hint.tag == b->hint.tag ? TAG_BONUS : 0;
	s += a->hint.count == b->hint.count ? COUNT_BONUS : 0;
	return s;
}

static double bag_common(const struct merge_node *a, const struct merge_node *b)
{
	double sum = 0;

	for (uint32_t i = 0, j = 0; i < a->n_bag && j < b->n_bag;) {
		if (a->bag[i].key == b->bag[j].key) {
			double x = a->bag[i++].weight, y = b->bag[j++].weight;

			sum += x < y ? x : y;
		} else if (a->bag[i].key < b->bag[j].key) {
			i++;
		} else {
			j++;
		}
	}
	return sum;
}

static bool same_sequence(struct merge_node *const *a, struct merge_node *const *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i]->hash != b[i]->hash)
			return false;
	return true;
}

uint64_t merge_factor(const struct merge_node *many, const struct merge_node *few)
{
	uint64_t k;

	if (!many->count || !few->count || many->count <= few->count || many->count % few->count)
		return 0;
	k = many->count / few->count;
	for (uint32_t i = 0; i < few->n_child; i++) {
		const struct merge_node *c = few->child[i];

		if (c->kind == SKEL_LOOP && c->count == k && c->n_child == many->n_child &&
		    same_sequence(c->child, many->child, c->n_child))
			return k;
	}
	return 0;
}

static double loop_score(const struct merge_node *a, const struct merge_node *b)
{
	double least = (double)(a->max_count < b->max_count ? a->max_count : b->max_count);
	double common, lesser, greater;

	if (a->hash == b->hash)
		return EVENT_WEIGHT * EQUAL_COUNT_FACTOR * a->weight + 1;
	common = bag_common(a, b);
	if (a->count && a->count == b->count)
		return EVENT_WEIGHT * EQUAL_COUNT_FACTOR * least * common + 1 + 1e-9 * least;
	if (merge_factor(a, b) || merge_factor(b, a))
		return EVENT_WEIGHT * (a->weight < b->weight ? a->weight : b->weight);
	lesser = a->bag_weight < b->bag_weight ? a->bag_weight : b->bag_weight;
	greater = a->bag_weight < b->bag_weight ? b->bag_weight : a->bag_weight;
	if (common < SIMILAR_LESSER * lesser || common < SIMILAR_GREATER * greater)
		return 0;
	return EVENT_WEIGHT * least * common;
}

static double pair_score(const struct merge_node *a, const struct merge_node *b)
{
	if (a->kind != b->kind)
		return 0;
	return a->kind == SKEL_LEAF ? leaf_score(a, b) : loop_score(a, b);
}

bool merge_alike(const struct merge_node *a, const struct merge_node *b)
{
	double lesser;

	if (a->kind != b->kind)
		return false;
	if (a->kind == SKEL_LEAF)
		return a->key == b->key;
	lesser = a->bag_weight < b->bag_weight ? a->bag_weight : b->bag_weight;
	return a->hash == b->hash ||
	       (a->count && a->count == b->count && bag_common(a, b) >= SIMILAR_LESSER * lesser);
}

/* Nodes that may be matched without looking further. */
static bool surely_same(const struct merge_node *a, const struct merge_node *b)
{
	if (a->hash != b->hash)
		return false;
	return a->kind != SKEL_LEAF || !memcmp(&a->hint, &b->hint, sizeof(a->hint));
}

/* Weight of a loop against the sequence that ends before s[end]: one iteration of it. */
static double wrap_score(const struct merge_node *loop, struct merge_node *const *s, uint32_t end)
{
	double w = 0;

	if (loop->kind != SKEL_LOOP || loop->n_child > end)
		return 0;
	for (uint32_t i = 0; i < loop->n_child; i++) {
		const struct merge_node *a = loop->child[i], *b = s[end - loop->n_child + i];

		if (a->shape != b->shape)
			return 0;
		w += a->weight < b->weight ? a->weight : b->weight;
	}
	return EVENT_WEIGHT * w;
}

/* ---- steps ---- */

static void emit(struct aligner *al, uint8_t op, uint32_t i, uint32_t j, uint32_t n)
{
	struct merge_steps *o = al->out;

	if (ARRAY_ROOM(o->step, o->cap, o->n + 1) != 0) {
		al->failed = true;
		return;
	}
	o->step[o->n++] = (struct merge_step){op, i, j, n};
}

static void emit_gap(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	for (uint32_t i = a0; i < a1; i++)
		emit(al, MERGE_A, i, b0, 1);
	for (uint32_t j = b0; j < b1; j++)
		emit(al, MERGE_B, a1, j, 1);
}

/* ---- dynamic programming ---- */

struct table {
	uint32_t n, m;
	double *score; /* (n + 1) x (m + 1) */
	uint8_t *op;
};

static void fill_cell(struct aligner *al, struct table *t, uint32_t a0, uint32_t b0, uint32_t i, uint32_t j)
{
	const struct merge_node *a = al->a[a0 + i - 1], *b = al->b[b0 + j - 1];
	size_t w = (size_t)t->m + 1, at = i * w + j;
	double best = t->score[at - 1], s;
	uint8_t op = MERGE_B;

	if (t->score[at - w] > best) {
		best = t->score[at - w];
		op = MERGE_A;
	}
	s = wrap_score(a, al->b + b0, j);
	if (s > 0 && s + t->score[at - w - a->n_child] >= best) {
		best = s + t->score[at - w - a->n_child];
		op = MERGE_WRAP_A;
	}
	s = wrap_score(b, al->a + a0, i);
	if (s > 0 && s + t->score[at - 1 - b->n_child * w] >= best) {
		best = s + t->score[at - 1 - b->n_child * w];
		op = MERGE_WRAP_B;
	}
	s = pair_score(a, b);
	if (s > 0 && s + t->score[at - w - 1] >= best) {
		best = s + t->score[at - w - 1];
		op = MERGE_BOTH;
	}
	t->score[at] = best;
	t->op[at] = op;
}

/* Follow the choices back from the end, then turn the steps round. */
static void trace_back(struct aligner *al, const struct table *t, uint32_t a0, uint32_t b0)
{
	uint32_t i = t->n, j = t->m, from = al->out->n, k;

	while ((i || j) && !al->failed) {
		uint8_t op = !i ? MERGE_B : !j ? MERGE_A : t->op[i * ((size_t)t->m + 1) + j];

		k = 1;
		if (op == MERGE_WRAP_A)
			k = al->a[a0 + i - 1]->n_child;
		else if (op == MERGE_WRAP_B)
			k = al->b[b0 + j - 1]->n_child;
		i -= op == MERGE_B ? 0 : op == MERGE_WRAP_B ? k : 1;
		j -= op == MERGE_A ? 0 : op == MERGE_WRAP_A ? k : 1;
		emit(al, op, a0 + i, b0 + j, k);
	}
	for (uint32_t x = from, y = al->out->n; x + 1 < y; x++) {
		struct merge_step s = al->out->step[x];

		al->out->step[x] = al->out->step[--y];
		al->out->step[y] = s;
	}
}

static void align_table(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1)
{
	struct table t = {.n = a1 - a0, .m = b1 - b0};
	size_t cells = ((size_t)t.n + 1) * ((size_t)t.m + 1);

	t.score = calloc(cells, sizeof(*t.score));
	t.op = calloc(cells, 1);
	if (!t.score || !t.op) {
		al->failed = true;
	} else {
		for (uint32_t i = 1; i <= t.n; i++)
			for (uint32_t j = 1; j <= t.m; j++)
				fill_cell(al, &t, a0, b0, i, j);
		trace_back(al, &t, a0, b0);
	}
	free(t.score);
	free(t.op);
}

/* ---- anchors ---- */

struct place {
	uint64_t hash;
	uint32_t at;
};

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* Nodes whose hash occurs once in s[from..to), by hash. */
static struct place *unique_places(struct merge_node *const *s, uint32_t from, uint32_t to, uint32_t *n)
{
	uint32_t len = to - from;
	struct place *p = malloc((len + 1u) * sizeof(*p));

	*n = 0;
	if (!p)
		return NULL;
	for (uint32_t i = 0; i < len; i++)
		p[i] = (struct place){s[from + i]->hash, from + i};
	qsort(p, len, sizeof(*p), compare_places);
	for (uint32_t i = 0; i < len; i++) {
		bool alone = (i == 0 || p[i - 1].hash != p[i].hash) && (i + 1 == len || p[i + 1].hash != p[i].hash);

		if (alone)
			p[(*n)++] = p[i];
	}
	return p;
}

struct anchor {
	uint32_t i, j, length, before; /* before: index + 1 of the previous anchor of the longest chain */
};

static int compare_anchors(const void *x, const void *y)
{
	const struct anchor *a = x, *b = y;

	return (a->i > b->i) - (a->i < b->i);
}

/* Longest chain of anchors (sorted by i) that also rises in j; the chain is moved to the front. */
static uint32_t rising_chain(struct anchor *an, uint32_t n, uint32_t *tail)
{
	uint32_t len = 0, at;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t lo = 0, hi = len;

		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;

			if (an[tail[mid]].j < an[k].j)
				lo = mid + 1;
			else
				hi = mid;
		}
		an[k].before = lo ? tail[lo - 1] + 1 : 0;
		tail[lo] = k;
		if (lo == len)
			len++;
	}
	at = len ? tail[len - 1] + 1 : 0;
	for (uint32_t k = len; k-- > 0; at = an[at - 1].before)
		tail[k] = at - 1;
	for (uint32_t k = 0; k < len; k++) {
		uint32_t from = tail[k];

		an[k].i = an[from].i;
		an[k].j = an[from].j;
	}
	return len;
}

/* Anchors of the two ranges in rising order; NULL without memory. */
static struct anchor *find_anchors(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t *n)
{
	uint32_t na, nb, *tail = NULL;
	struct place *pa = unique_places(al->a, a0, a1, &na), *pb = unique_places(al->b, b0, b1, &nb);
	struct anchor *an = NULL;

	*n = 0;
	if (!pa || !pb)
		goto out;
	an = malloc((na + 1u) * sizeof(*an));
	tail = malloc((na + 1u) * sizeof(*tail));
	if (!an || !tail) {
		free(an);
		an = NULL;
		goto out;
	}
	for (uint32_t i = 0, j = 0; i < na && j < nb;) {
		if (pa[i].hash == pb[j].hash)
			an[(*n)++] = (struct anchor){.i = pa[i++].at, .j = pb[j++].at};
		else if (pa[i].hash < pb[j].hash)
			i++;
		else
			j++;
	}
	qsort(an, *n, sizeof(*an), compare_anchors);
	*n = rising_chain(an, *n, tail);
out:
	free(pa);
	free(pb);
	free(tail);
	return an;
}

static void align_range(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int level);

static void align_long(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int level)
{
	uint32_t n, i = a0, j = b0;
	struct anchor *an = find_anchors(al, a0, a1, b0, b1, &n);

	if (!an) {
		al->failed = true;
		return;
	}
	if (!n || level >= MAX_LEVEL / 2) {
		free(an);
		align_range(al, a0, a0 + (a1 - a0) / 2, b0, b0 + (b1 - b0) / 2, level + 1);
		align_range(al, a0 + (a1 - a0) / 2, a1, b0 + (b1 - b0) / 2, b1, level + 1);
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		align_range(al, i, an[k].i, j, an[k].j, level + 1);
		emit(al, MERGE_BOTH, an[k].i, an[k].j, 1);
		i = an[k].i + 1;
		j = an[k].j + 1;
	}
	align_range(al, i, a1, j, b1, level + 1);
	free(an);
}

static void align_range(struct aligner *al, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, int level)
{
	uint32_t tail = 0;

	while (a0 < a1 && b0 < b1 && surely_same(al->a[a0], al->b[b0]))
		emit(al, MERGE_BOTH, a0++, b0++, 1);
	while (a0 < a1 && b0 < b1 && surely_same(al->a[a1 - 1], al->b[b1 - 1])) {
		a1--;
		b1--;
		tail++;
	}
	if (a0 == a1 || b0 == b1) {
		emit_gap(al, a0, a1, b0, b1);
	} else if (a1 - a0 == b1 - b0 && same_sequence(al->a + a0, al->b + b0, a1 - a0)) {
		for (uint32_t k = 0; k < a1 - a0; k++)
			emit(al, MERGE_BOTH, a0 + k, b0 + k, 1);
	} else if ((uint64_t)(a1 - a0) * (b1 - b0) <= DP_CELLS_MAX) {
		align_table(al, a0, a1, b0, b1);
	} else if (level >= MAX_LEVEL) {
		emit_gap(al, a0, a1, b0, b1);
	} else {
		align_long(al, a0, a1, b0, b1, level);
	}
	for (uint32_t k = 0; k < tail; k++)
		emit(al, MERGE_BOTH, a1 + k, b1 + k, 1);
}

int merge_align(struct merge_node *const *a, uint32_t n, struct merge_node *const *b, uint32_t m,
		struct merge_steps *out)
{
	struct aligner al = {.a = a, .b = b, .out = out};

	out->n = 0;
	align_range(&al, 0, n, 0, m, 0);
	return al.failed ? -1 : 0;
}
