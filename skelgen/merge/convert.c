/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merged groups as the tree of all ranks: see convert.h. */
#include "skelgen/merge/convert.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/merge/call_params.h"
#include "skelgen/tree/loop_trip_counts.h"
#include "skelgen/tree/param.h"

struct convert {
	struct skel_tree *tree;
	const struct merge *m;
	uint32_t *cursor;      /* next leaf of each group */
	uint32_t *ranks;       /* scratch: of the node at hand */
	int64_t *value;
	uint32_t *n_places;
	uint32_t n_leaf_seen;
};

static uint32_t group_of(const struct rank_groups *g, uint32_t rank)
{
	return g->cls[g->class_of[rank]].group;
}

static int convert_ranks(struct convert *c, const struct merge_node *from, struct skel_node *to)
{
	const struct rank_groups *g = c->m->groups;
	struct rank_set s;
	uint32_t n = 0;

	for (uint32_t r = 0; r < g->n_ranks; r++)
		if (merge_has_group(from, group_of(g, r)))
			c->ranks[n++] = r;
	if (rank_set_from_ranks(&s, c->ranks, n) < 0)
		return -1;
	to->ranks.iv = arena_alloc(c->tree->arena, s.n, sizeof(*s.iv));
	if (to->ranks.iv) {
		memcpy(to->ranks.iv, s.iv, s.n * sizeof(*s.iv));
		to->ranks.n = s.n;
	}
	rank_set_free(&s);
	return to->ranks.iv ? (int)n : -1;
}

static int convert_leaf(struct convert *c, const struct merge_node *from, struct skel_node *to, uint32_t n)
{
	const struct rank_groups *g = c->m->groups;
	const struct trace_rank *first = trace_get_rank(c->tree->trace, c->ranks[0]);

	to->leaf_id = c->tree->n_leaf++;
	to->by_rank = arena_alloc(c->tree->arena, n, sizeof(*to->by_rank));
	if (!to->by_rank)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		const struct rank_class *cls = &g->cls[g->class_of[c->ranks[i]]];

		to->by_rank[i] = cls->leaf[c->cursor[cls->group]];
		c->tree->optional |= to->by_rank[i].optional;
	}
	for (uint32_t i = 0; i < g->n_group; i++)
		c->cursor[i] += merge_has_group(from, i);
	to->fn = first->defs.sigs.sig[to->by_rank[0].variant[0]].fn;
	return leaf_params_fit(c->tree->trace, c->tree->arena, to);
}

static int convert_count(struct convert *c, const struct merge_node *from, struct skel_node *to, uint32_t n)
{
	struct rank_points p = {n, c->ranks, c->n_places, c->value};

	to->count = (struct rank_fn){.form = RF_CONST, .a = (int64_t)from->count};
	if (from->count)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		c->value[i] = (int64_t)from->counts[group_of(c->m->groups, c->ranks[i])];
	return rank_fn_fit(&p, c->tree->arena, &to->count);
}

static struct skel_node *convert_node(struct convert *c, const struct merge_node *from, struct skel_node *parent)
{
	struct skel_node *to = arena_alloc(c->tree->arena, 1, sizeof(*to));
	int n;

	if (!to)
		return NULL;
	to->kind = from->kind;
	to->parent = parent;
	to->id = c->tree->n_node++;
	n = convert_ranks(c, from, to);
	if (n < 0)
		return NULL;
	if (to->kind == SKEL_LEAF)
		return convert_leaf(c, from, to, (uint32_t)n) < 0 ? NULL : to;
	if (to->kind == SKEL_LOOP && convert_count(c, from, to, (uint32_t)n) < 0)
		return NULL;
	to->child = arena_alloc(c->tree->arena, from->n_child, sizeof(struct skel_node *));
	if (!to->child)
		return NULL;
	for (; to->n_child < from->n_child; to->n_child++) {
		to->child[to->n_child] = convert_node(c, from->child[to->n_child], to);
		if (!to->child[to->n_child])
			return NULL;
	}
	return to;
}

static void list_leaves(struct skel_tree *tree, struct skel_node *node)
{
	if (node->kind == SKEL_LEAF)
		tree->leaf[node->leaf_id] = node;
	for (uint32_t i = 0; i < node->n_child; i++)
		list_leaves(tree, node->child[i]);
}

int merge_to_tree(struct skel_tree *tree, const struct merge *m, struct errbuf *err)
{
	const struct rank_groups *g = m->groups;
	struct convert c = {.tree = tree, .m = m};
	int rv = -1;

	c.cursor = calloc(g->n_group, sizeof(*c.cursor));
	c.ranks = calloc(g->n_ranks, sizeof(*c.ranks));
	c.value = calloc(g->n_ranks, sizeof(*c.value));
	c.n_places = calloc(g->n_ranks, sizeof(*c.n_places));
	if (!c.cursor || !c.ranks || !c.value || !c.n_places)
		goto out;
	for (uint32_t i = 0; i < g->n_ranks; i++)
		c.n_places[i] = g->n_ranks;
	tree->root = convert_node(&c, m->root, NULL);
	if (!tree->root)
		goto out;
	tree->leaf = arena_alloc(tree->arena, tree->n_leaf, sizeof(struct skel_node *));
	if (!tree->leaf)
		goto out;
	list_leaves(tree, tree->root);
	if (tree->optional && tree_turns_find(tree) < 0)
		goto out;
	rv = 0;
out:
	if (rv < 0)
		err_set(err, "no memory for the tree of %u ranks", g->n_ranks);
	free(c.cursor);
	free(c.ranks);
	free(c.value);
	free(c.n_places);
	return rv;
}
