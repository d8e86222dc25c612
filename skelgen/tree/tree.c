/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merged tree as data: evaluated and walked. */
#include "skelgen/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "skelgen/tree/callinfo.h"
#include "skelgen/tree/param.h"
#include "skelgen/tree/wildcard.h"

/* ---- evaluation ---- */

uint32_t skel_leaf_symbol(const struct skel_leaf_rank *lr, uint64_t occ)
{
	uint32_t lo = 0, hi = lr->n_run - 1;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (lr->run_end[mid] > occ)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lr->variant[lr->run_variant[lo]];
}

uint64_t skel_leaf_made(const struct skel_leaf_rank *lr)
{
	uint64_t made = lr->n_occ, begin = 0;

	for (uint32_t i = 0; lr->optional && i < lr->n_run; i++) {
		if (lr->variant[lr->run_variant[i]] == SKEL_NOTHING)
			made -= lr->run_end[i] - begin;
		begin = lr->run_end[i];
	}
	return made;
}

int skel_place(const struct skel_tree *tree, uint8_t basis, int64_t comm, uint32_t rank, uint32_t *place,
	       uint32_t *n_places)
{
	*place = rank;
	*n_places = tree->n_ranks;
	if (basis == RB_WORLD)
		return 0;
	return comm_place(&trace_get_rank(tree->trace, rank)->defs, comm, rank, place, n_places);
}

int64_t skel_param_value(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t i, uint32_t k,
			 uint32_t rank, uint32_t index)
{
	const struct rank_fn *f = &leaf->param[i].fn[k];
	uint32_t place, n_places;
	int64_t comm = TRACE_NULL;

	if (f->basis == RB_COMM)
		comm = sig_scalar(&trace_get_rank(tree->trace, rank)->defs, leaf->by_rank[index].variant[0], TK_COMM,
				  TRACE_NULL);
	if (skel_place(tree, f->basis, comm, rank, &place, &n_places) < 0)
		return INT64_MIN;
	return rank_fn_eval(f, place, n_places, index);
}

uint64_t skel_loop_count(const struct skel_tree *tree, const struct skel_node *loop, uint32_t rank, uint32_t index)
{
	return (uint64_t)rank_fn_eval(&loop->count, rank, tree->n_ranks, index);
}

uint64_t skel_loop_turns(const struct skel_node *loop, uint32_t index, uint64_t count, uint64_t e)
{
	const struct skel_turns *t = loop->turns ? &loop->turns[index] : NULL;
	uint32_t lo = 0, hi;

	if (!t || !t->n_run)
		return count;
	for (hi = t->n_run - 1; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->run_end[mid] > e)
			hi = mid;
		else
			lo = mid + 1;
	}
	return t->run_turns[lo];
}

uint64_t skel_tree_length(const struct skel_tree *tree)
{
	return tree->n_leaf;
}

/* ---- walking ---- */

/* Execution number `e` of a node. */
static void iter_enter(struct skel_iter *it, const struct skel_node *node, uint64_t e)
{
	uint32_t index = it->index[node->id];
	uint64_t count = node->kind == SKEL_LOOP ? skel_loop_count(it->tree, node, it->rank, index) : 1;

	it->level[it->depth].node = node;
	it->level[it->depth].index_in_set = index;
	it->level[it->depth].next_child = 0;
	it->level[it->depth].iter = 0;
	it->level[it->depth].turns = node->kind == SKEL_LOOP ? skel_loop_turns(node, index, count, e) : 1;
	it->level[it->depth].base = e * count;
	it->level[it->depth].given = it->given;
	/* an execution that makes none is at its end */
	if (!it->level[it->depth].turns)
		it->level[it->depth].next_child = node->n_child;
}

static void index_nodes(struct skel_iter *it, const struct skel_node *node)
{
	uint32_t index = rank_set_index(&node->ranks, it->rank);

	it->index[node->id] = index;
	for (uint32_t i = 0; index != UINT32_MAX && i < node->n_child; i++)
		index_nodes(it, node->child[i]);
}

int skel_iter_begin(struct skel_iter *it, const struct skel_tree *tree, uint32_t rank)
{
	*it = (struct skel_iter){.tree = tree, .rank = rank, .depth = -1};
	it->index = malloc((tree->n_node + 1u) * sizeof(*it->index));
	if (!it->index)
		return -1;
	memset(it->index, 0xff, (tree->n_node + 1u) * sizeof(*it->index));
	index_nodes(it, tree->root);
	if (it->index[tree->root->id] != UINT32_MAX) {
		it->depth = 0;
		iter_enter(it, tree->root, 0);
	}
	return 0;
}

int skel_iter_next(struct skel_iter *it, const struct skel_node **leaf, uint64_t *occ, uint32_t *index)
{
	while (it->depth >= 0) {
		const struct skel_node *node = it->level[it->depth].node, *child;
		uint64_t e = it->level[it->depth].base + it->level[it->depth].iter;

		if (it->level[it->depth].next_child == node->n_child) {
			/* an iteration without any call of this rank is the last one */
			if (it->given != it->level[it->depth].given &&
			    ++it->level[it->depth].iter < it->level[it->depth].turns) {
				it->level[it->depth].next_child = 0;
				it->level[it->depth].given = it->given;
			} else {
				it->depth--;
			}
			continue;
		}
		child = node->child[it->level[it->depth].next_child++];
		if (it->index[child->id] == UINT32_MAX)
			continue;
		if (child->kind == SKEL_LEAF) {
			const struct skel_leaf_rank *lr = &child->by_rank[it->index[child->id]];

			*leaf = child;
			*occ = e;
			*index = it->index[child->id];
			it->given++;
			if (lr->optional && *occ < lr->n_occ && skel_leaf_symbol(lr, *occ) == SKEL_NOTHING)
				continue;
			return 1;
		}
		if (it->depth + 1 == SKEL_MAX_DEPTH)
			return 0;
		it->depth++;
		iter_enter(it, child, e);
	}
	return 0;
}

void skel_iter_end(struct skel_iter *it)
{
	free(it->index);
	it->index = NULL;
	it->depth = -1;
}

int skel_tree_resolve(struct skel_tree *tree, struct errbuf *err)
{
	tree->globals = calloc(1, sizeof(*tree->globals));
	tree->wildcards = calloc(1, sizeof(*tree->wildcards));
	if (!tree->globals || !tree->wildcards)
		return err_set(err, "no memory for the communicators of %u ranks", tree->n_ranks);
	if (skel_globals_build(tree, tree->globals, err) < 0)
		return -1;
	return skel_wildcards_resolve(tree, tree->wildcards, err);
}

void skel_tree_free(struct skel_tree *tree)
{
	if (tree->globals)
		skel_globals_free(tree->globals);
	if (tree->wildcards)
		skel_wildcards_free(tree->wildcards);
	free(tree->globals);
	free(tree->wildcards);
	arena_destroy(tree->arena);
	*tree = (struct skel_tree){0};
}
