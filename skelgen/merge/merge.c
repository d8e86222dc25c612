/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merging of contracted trees: see merge.h. Both inputs of a merge are used up by it. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "skelgen/merge/merge.h"
#include "skelgen/tree/param.h"

#define BAG_MAX 64
#define NO_HINT INT64_MIN
#define PARTNER_DISTANCE 256 /* how far a late partner is looked for */

/* ---- nodes ---- */

static struct merge_node *node_create(struct merge *m, uint8_t kind)
{
	struct merge_node *n = calloc(1, sizeof(*n) + m->n_words * sizeof(*n->groups));

	if (!n)
		return NULL;
	n->kind = kind;
	n->groups = (uint64_t *)(n + 1);
	n->next = m->all;
	if (m->all)
		m->all->prev = n;
	m->all = n;
	return n;
}

static void node_destroy(struct merge *m, struct merge_node *n)
{
	if (n->prev)
		n->prev->next = n->next;
	else
		m->all = n->next;
	if (n->next)
		n->next->prev = n->prev;
	free(n->counts);
	free(n->bag);
	free(n->child);
	free(n);
}

static void add_group(struct merge_node *n, uint32_t group)
{
	n->groups[group / 64] |= 1ull << (group % 64);
}

static void join_groups(const struct merge *m, struct merge_node *a, const struct merge_node *b)
{
	for (uint32_t i = 0; i < m->n_words; i++)
		a->groups[i] |= b->groups[i];
}

static int compare_bag_keys(const void *x, const void *y)
{
	const struct merge_bag_item *a = x, *b = y;

	return (a->key > b->key) - (a->key < b->key);
}

static int compare_bag_weights(const void *x, const void *y)
{
	const struct merge_bag_item *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return compare_bag_keys(x, y);
}

/* Collect the keys of the children, summed by key, the heaviest BAG_MAX of them. */
static int fill_bag(struct merge_node *n)
{
	struct merge_bag_item *bag, *shrunk;
	uint32_t cap = 0, k = 0;

	for (uint32_t i = 0; i < n->n_child; i++)
		cap += n->child[i]->kind == SKEL_LEAF ? 1 : n->child[i]->n_bag;
	bag = malloc((cap + 1u) * sizeof(*bag));
	if (!bag)
		return -1;
	for (uint32_t i = 0; i < n->n_child; i++) {
		const struct merge_node *c = n->child[i];

		if (c->kind == SKEL_LEAF)
			bag[k++] = (struct merge_bag_item){c->key, 1};
		for (uint32_t j = 0; c->kind == SKEL_LOOP && j < c->n_bag; j++)
			bag[k++] = (struct merge_bag_item){c->bag[j].key, c->bag[j].weight * (double)c->max_count};
	}
	qsort(bag, k, sizeof(*bag), compare_bag_keys);
	n->n_bag = 0;
	for (uint32_t i = 0; i < k; i++) {
		if (n->n_bag && bag[n->n_bag - 1].key == bag[i].key)
			bag[n->n_bag - 1].weight += bag[i].weight;
		else
			bag[n->n_bag++] = bag[i];
	}
	if (n->n_bag > BAG_MAX) {
		qsort(bag, n->n_bag, sizeof(*bag), compare_bag_weights);
		n->n_bag = BAG_MAX;
		qsort(bag, n->n_bag, sizeof(*bag), compare_bag_keys);
	}
	shrunk = realloc(bag, (n->n_bag + 1u) * sizeof(*bag));
	free(n->bag);
	n->bag = shrunk ? shrunk : bag;
	return 0;
}

/* Recompute what a loop or root says about its children. */
static int finish_node(struct merge_node *n)
{
	n->hash = n->count;
	n->shape = n->kind;
	n->bag_weight = 0;
	for (uint32_t i = 0; i < n->n_child; i++) {
		n->hash = XXH3_64bits_withSeed(&n->child[i]->hash, sizeof(n->hash), n->hash + n->kind);
		n->shape = XXH3_64bits_withSeed(&n->child[i]->shape, sizeof(n->shape), n->shape);
		n->bag_weight += n->child[i]->weight;
	}
	n->weight = n->bag_weight * (double)n->max_count;
	return fill_bag(n);
}

/* ---- the tree of one group ---- */

struct grow {
	struct merge *m;
	const struct contract_tree *tree;
	const uint64_t *key;
	uint32_t group, next_leaf;
	uint32_t rank;                      /* stands for the group */
	const struct skel_leaf_rank *leaf;  /* of its class; NULL: no hints */
};

static void fill_hint(const struct grow *g, uint32_t sym, struct merge_hint *h)
{
	const struct trace_defs *d = &trace_get_rank(g->m->trace, g->rank)->defs;
	uint32_t place = g->rank, n_places = g->m->groups->n_ranks, n = 0;
	struct sig_walk w;

	*h = (struct merge_hint){{NO_HINT, NO_HINT}, NO_HINT, NO_HINT};
	comm_place(d, sig_scalar(d, sym, TK_COMM, 0), g->rank, &place, &n_places);
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		if ((w.kind == TK_DST || w.kind == TK_SRC) && n < 2) {
			int64_t v = w.val[0];

			/* the same neighbour on a ring and on an open chain */
			h->peer[n++] = v >= 0 && v < n_places ? (v + n_places - place) % n_places : v;
		} else if (w.kind == TK_TAG && h->tag == NO_HINT) {
			h->tag = w.val[0];
		} else if (w.kind == TK_COUNT && h->count == NO_HINT) {
			h->count = w.val[0];
		}
	}
}

static struct merge_node *grow_node(struct grow *g, const struct contract_node *c);

static int grow_children(struct grow *g, struct merge_node *n, uint32_t first, uint32_t count)
{
	const struct contract_tree *t = g->tree;

	n->child = malloc((count + 1u) * sizeof(struct merge_node *));
	if (!n->child)
		return -1;
	for (n->n_child = 0; n->n_child < count; n->n_child++) {
		n->child[n->n_child] = grow_node(g, &t->node[t->child[first + n->n_child]]);
		if (!n->child[n->n_child])
			return -1;
	}
	return finish_node(n);
}

/* Set the trip count by group, for m->uneven: the trip count is no property by which loops are matched. */
static int uneven_count(const struct merge *m, struct merge_node *n, uint64_t count)
{
	n->counts = calloc(m->groups->n_group, sizeof(*n->counts));
	for (uint32_t i = 0; n->counts && i < m->groups->n_group; i++)
		n->counts[i] = merge_has_group(n, i) ? count : 0;
	n->count = 0;
	n->max_count = 2;
	return n->counts ? 0 : -1;
}

static struct merge_node *grow_node(struct grow *g, const struct contract_node *c)
{
	struct merge_node *n = node_create(g->m, c->kind == CONTRACT_LEAF ? SKEL_LEAF : SKEL_LOOP);

	if (!n)
		return NULL;
	add_group(n, g->group);
	n->origin = (uint32_t)(c - g->tree->node);
	if (c->kind == CONTRACT_LEAF) {
		n->hash = n->shape = n->key = g->key[c->symbol];
		n->symbol = c->symbol;
		n->weight = 1;
		if (g->leaf)
			fill_hint(g, g->leaf[g->next_leaf++].variant[0], &n->hint);
		return n;
	}
	n->count = n->max_count = c->count;
	if (g->m->uneven && uneven_count(g->m, n, c->count) < 0)
		return NULL;
	return grow_children(g, n, c->first, c->n_children) < 0 ? NULL : n;
}

static struct merge_node *grow_root(struct grow *g)
{
	struct merge_node *root = node_create(g->m, SKEL_SEQ);

	if (!root)
		return NULL;
	add_group(root, g->group);
	root->count = root->max_count = 1;
	return grow_children(g, root, g->tree->top_first, g->tree->n_top) < 0 ? NULL : root;
}

static struct merge_node *grow_tree(struct merge *m, uint32_t group)
{
	const struct rank_group *rg = &m->groups->group[group];
	struct grow g = {.m = m, .tree = &rg->tree, .key = rg->key, .group = group, .rank = rg->first_rank,
			 .leaf = m->groups->cls[m->groups->class_of[rg->first_rank]].leaf};

	return grow_root(&g);
}

struct merge_node *merge_grow(struct merge *m, const struct contract_tree *tree, const uint64_t *key, uint32_t group)
{
	struct grow g = {.m = m, .tree = tree, .key = key, .group = group};

	return grow_root(&g);
}

/* ---- merging ---- */

/* Counts of both, in a; one number as long as all groups agree. */
static int join_counts(const struct merge *m, struct merge_node *a, const struct merge_node *b)
{
	uint32_t n = m->groups->n_group;
	bool fresh = !a->counts;

	a->max_count = a->max_count > b->max_count ? a->max_count : b->max_count;
	if (a->count && a->count == b->count)
		return 0;
	if (fresh)
		a->counts = calloc(n, sizeof(*a->counts));
	if (!a->counts)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		if (fresh && merge_has_group(a, i))
			a->counts[i] = a->count;
		if (merge_has_group(b, i))
			a->counts[i] = b->counts ? b->counts[i] : b->count;
	}
	a->count = 0;
	return 0;
}

/* A loop around nodes, one iteration in every group that has any of them. */
static struct merge_node *wrap(struct merge *m, struct merge_node *const *s, uint32_t n, uint64_t count)
{
	struct merge_node *loop = node_create(m, SKEL_LOOP);

	if (!loop)
		return NULL;
	loop->child = malloc(n * sizeof(struct merge_node *));
	if (!loop->child)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		loop->child[i] = s[i];
		join_groups(m, loop, s[i]);
	}
	loop->n_child = n;
	loop->count = loop->max_count = count;
	if (m->uneven && uneven_count(m, loop, count) < 0)
		return NULL;
	return finish_node(loop) < 0 ? NULL : loop;
}

static struct merge_node *merge_step(struct merge *m, struct merge_node *const *a, struct merge_node *const *b,
				     const struct merge_step *s)
{
	struct merge_node *w;

	switch (s->op) {
	case MERGE_A:
		return a[s->i];
	case MERGE_B:
		return b[s->j];
	case MERGE_WRAP_A:
		w = wrap(m, b + s->j, s->n, 1);
		return w ? merge_pair(m, a[s->i], w) : NULL;
	case MERGE_WRAP_B:
		w = wrap(m, a + s->i, s->n, 1);
		return w ? merge_pair(m, w, b[s->j]) : NULL;
	default:
		return merge_pair(m, a[s->i], b[s->j]);
	}
}

/* ---- late partners ---- */

static bool same_groups(const struct merge *m, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t i = 0; i < m->n_words; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool disjoint(const struct merge *m, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t i = 0; i < m->n_words; i++)
		if (a[i] & b[i])
			return false;
	return true;
}

/*
 * Find a later sibling j that can be merged with child i. Siblings without a common group may change places. So j
 * qualifies if no chain of nodes, each with a group of the node before, leads from i to j.
 *
 * after[]: marks the nodes between i and j that must stay behind i. reach: scratch space for the chain's groups.
 */
static uint32_t find_partner(const struct merge *m, const struct merge_node *p, uint32_t i, uint64_t *reach,
			     bool *after)
{
	uint32_t end = p->n_child - i > PARTNER_DISTANCE ? i + PARTNER_DISTANCE : p->n_child;

	memcpy(reach, p->child[i]->groups, m->n_words * sizeof(*reach));
	for (uint32_t j = i + 1; j < end; j++) {
		after[j - i] = !disjoint(m, reach, p->child[j]->groups);
		if (!after[j - i]) {
			if (merge_alike(p->child[i], p->child[j]))
				return j;
			continue;
		}
		for (uint32_t k = 0; k < m->n_words; k++)
			reach[k] |= p->child[j]->groups[k];
		if (same_groups(m, reach, p->groups))
			break;
	}
	return 0;
}

/* Merge children i and j. Nodes between i and j go behind the pair if after[] marks them, else in front. */
static int merge_partners(struct merge *m, struct merge_node *p, uint32_t i, uint32_t j, const bool *after)
{
	struct merge_node *behind[PARTNER_DISTANCE], *both = merge_pair(m, p->child[i], p->child[j]);
	uint32_t at = i, n = 0;

	if (!both)
		return -1;
	for (uint32_t k = i + 1; k < j; k++) {
		if (after[k - i])
			behind[n++] = p->child[k];
		else
			p->child[at++] = p->child[k];
	}
	p->child[at++] = both;
	for (uint32_t k = 0; k < n; k++)
		p->child[at++] = behind[k];
	memmove(p->child + at, p->child + j + 1, (p->n_child - j - 1) * sizeof(struct merge_node *));
	p->n_child--;
	return 0;
}

/* An alignment keeps the order of both sides and may leave alike nodes of different groups apart. */
static int join_partners(struct merge *m, struct merge_node *p)
{
	uint64_t *reach = malloc(m->n_words * sizeof(*reach));
	bool after[PARTNER_DISTANCE];
	int rv = reach ? 0 : -1;

	for (uint32_t i = 0; rv == 0 && i < p->n_child; i++) {
		uint32_t j;

		while (rv == 0 && (j = find_partner(m, p, i, reach, after)))
			rv = merge_partners(m, p, i, j, after);
	}
	free(reach);
	return rv;
}

/* Children of b into a. */
static int merge_children(struct merge *m, struct merge_node *a, struct merge_node *b)
{
	struct merge_steps steps = {0};
	struct merge_node **child = NULL;
	int rv = -1;

	if (merge_align(a->child, a->n_child, b->child, b->n_child, &steps) < 0)
		goto out;
	child = malloc((steps.n + 1u) * sizeof(struct merge_node *));
	if (!child)
		goto out;
	for (uint32_t i = 0; i < steps.n; i++) {
		child[i] = merge_step(m, a->child, b->child, &steps.step[i]);
		if (!child[i])
			goto out;
	}
	free(a->child);
	a->child = child;
	a->n_child = steps.n;
	child = NULL;
	if (join_partners(m, a) < 0)
		goto out;
	rv = finish_node(a);
out:
	free(child);
	free(steps.step);
	return rv;
}

/* Where one loop counts k times as often because the other has a loop of k inside: split it in two. */
static struct merge_node *split_to_fit(struct merge *m, struct merge_node *a, const struct merge_node *other)
{
	uint64_t k = merge_factor(a, other), outer;

	if (!k)
		return a;
	outer = a->count / k;
	a->count = a->max_count = k;
	return finish_node(a) < 0 ? NULL : wrap(m, &a, 1, outer);
}

struct merge_node *merge_pair(struct merge *m, struct merge_node *a, struct merge_node *b)
{
	if (a->kind == SKEL_LOOP && a->hash != b->hash) {
		a = split_to_fit(m, a, b);
		b = a ? split_to_fit(m, b, a) : NULL;
		if (!b)
			return NULL;
	}
	if (a->kind == SKEL_LOOP && join_counts(m, a, b) < 0)
		return NULL;
	join_groups(m, a, b);
	if (a->kind != SKEL_LEAF && merge_children(m, a, b) < 0)
		return NULL;
	node_destroy(m, b);
	return a;
}

/* Halves first: at most one tree for every level is alive beside the result. */
static struct merge_node *merge_range(struct merge *m, uint32_t first, uint32_t n)
{
	struct merge_node *a, *b;

	if (n == 1)
		return grow_tree(m, first);
	a = merge_range(m, first, n / 2);
	b = a ? merge_range(m, first + n / 2, n - n / 2) : NULL;
	return b ? merge_pair(m, a, b) : NULL;
}

void merge_init(struct merge *m, const struct rank_groups *g)
{
	*m = (struct merge){.groups = g, .n_words = (g->n_group + 63) / 64};
}

int merge_groups(struct merge *m, const struct trace *t, const struct rank_groups *g, struct errbuf *err)
{
	merge_init(m, g);
	m->trace = t;
	m->root = merge_range(m, 0, g->n_group);
	return m->root ? 0 : err_set(err, "no memory to merge %u kinds of ranks", g->n_group);
}

void merge_free(struct merge *m)
{
	for (struct merge_node *n = m->all, *next; n; n = next) {
		next = n->next;
		free(n->counts);
		free(n->bag);
		free(n->child);
		free(n);
	}
	*m = (struct merge){0};
}
