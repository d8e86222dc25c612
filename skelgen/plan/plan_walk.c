/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the tree for one rank with the iterations that the plan samples. */
#include "skelgen/plan/plan_walk.h"

static void push(struct scaled_iter *it, const struct skel_node *n)
{
	struct scaled_level *l;
	uint32_t index;

	if (it->depth >= SKEL_MAX_DEPTH)
		return;
	l = &it->level[it->depth++];
	l->node = n;
	l->iter = 0;
	l->base = it->position;
	l->next_child = 0;
	l->turns = 0;
	if (n->kind != SKEL_LOOP)
		return;
	index = rank_set_index(&n->ranks, it->rank);
	l->cut = it->plan->cut[n->id];
	if (l->cut.run == l->cut.total)
		l->cut.run = l->cut.total = skel_loop_count(it->tree, n, it->rank, index);
	l->total = l->cut.total;
	if (l->cut.run == l->cut.total) {
		l->turns = skel_loop_turns(n, index, l->total, l->base);
	} else {
		l->cut = skel_cut_at(&l->cut, n, index, l->base);
		l->turns = l->cut.run;
	}
	l->next_child = n->n_child; /* as at the end of an iteration */
}

void scaled_begin(struct scaled_iter *it, const struct skel_tree *tree, const struct skel_plan *plan, uint32_t rank)
{
	it->tree = tree;
	it->plan = plan;
	it->rank = rank;
	it->depth = 0;
	it->position = 0;
	push(it, tree->root);
}

/* Begin the next iteration of the loop at the top, or leave the node. */
static void step(struct scaled_iter *it)
{
	struct scaled_level *l = &it->level[it->depth - 1];

	if (l->node->kind == SKEL_LOOP && l->iter < l->turns) {
		it->position = l->base * l->total + skel_sampled_iteration(&l->cut, l->iter);
		l->iter++;
		l->next_child = 0;
		return;
	}
	it->position = l->base;
	it->depth--;
}

int scaled_next(struct scaled_iter *it, const struct skel_node **leaf, uint64_t *occ, uint32_t *index)
{
	while (it->depth > 0) {
		struct scaled_level *l = &it->level[it->depth - 1];
		const struct skel_node *child;

		if (l->next_child >= l->node->n_child) {
			step(it);
			continue;
		}
		child = l->node->child[l->next_child++];
		if (!rank_set_has(&child->ranks, it->rank))
			continue;
		if (child->kind != SKEL_LEAF) {
			push(it, child);
			continue;
		}
		*leaf = child;
		*occ = it->position;
		*index = rank_set_index(&child->ranks, it->rank);
		if (child->by_rank[*index].optional && skel_leaf_symbol(&child->by_rank[*index], *occ) == SKEL_NOTHING)
			continue;
		return 1;
	}
	return 0;
}
