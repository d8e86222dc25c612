/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The merged tree: built from a trace (alphabet chosen, ranks grouped and contracted, groups merged, parameters
 * fitted, the whole verified), evaluated and walked.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/merge/merge.h"
#include "skelgen/merge/call_params.h"
#include "skelgen/tree/param.h"
#include "skelgen/tree/loop_trip_counts.h"
#include "trace/functions.h"

/* A description this close to one mention of each call per kind of rank is not worth a search for a better one. */
#define GOOD_ENOUGH_PERCENT 150
#define REFINE_MAX 3

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

/* ---- from merged nodes to the tree ---- */

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

static int convert_tree(struct skel_tree *tree, const struct merge *m, struct errbuf *err)
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

/* ---- the choice of the alphabet ---- */

struct candidate {
	struct rank_groups groups;
	struct arena *arena; /* NULL: none yet */
};

static void candidate_free(struct candidate *c)
{
	if (c->arena)
		rank_groups_free(&c->groups);
	arena_destroy(c->arena);
	c->arena = NULL;
}

/* Try an alphabet; it replaces `best` when it describes the run more briefly. */
static int try_alphabet(const struct trace *t, enum skel_alphabet alphabet, const struct key_set *kept,
			bool optional, struct key_set *alternating, struct candidate *best, struct errbuf *err)
{
	uint64_t max_cost = best->arena ? best->groups.cost - 1 : UINT64_MAX / 2;
	struct candidate c = {.arena = arena_create()};
	int rv;

	/* Peers that are functions of the rank say more than peers that vary. */
	if (alphabet == SKEL_SHAPE && best->groups.alphabet != SKEL_SHAPE)
		max_cost = max_cost / 3 * 2;
	if (!c.arena)
		return err_set(err, "no memory");
	rv = rank_groups_build(t, alphabet, kept, optional, max_cost, c.arena, alternating, &c.groups, err);
	if (rv == 0) {
		candidate_free(best);
		*best = c;
		return 0;
	}
	arena_destroy(c.arena);
	return rv < 0 ? -1 : 0;
}

/* Calls that alternate are kept exact in another try, as long as there are new ones. */
static int try_refined(const struct trace *t, enum skel_alphabet alphabet, bool optional, struct candidate *best,
		       struct errbuf *err)
{
	struct key_set kept = {0}, seen = {0};
	int rv = 0;

	for (int i = 0; i < REFINE_MAX && rv == 0; i++) {
		uint32_t before = kept.n;

		rv = try_alphabet(t, alphabet, &kept, optional, &seen, best, err);
		for (uint32_t k = 0; rv == 0 && k < seen.n; k++)
			if (key_set_add(&kept, seen.key[k]) < 0)
				rv = err_set(err, "no memory");
		if (kept.n == before)
			break;
	}
	key_set_free(&kept);
	key_set_free(&seen);
	return rv;
}

/* A node for each call that each group makes: what a description costs at least. */
static int least_cost(const struct rank_groups *g, uint64_t *cost)
{
	*cost = 0;
	for (uint32_t i = 0; i < g->n_group; i++) {
		struct key_set keys = {0};

		for (uint32_t k = 0; k < g->group[i].n_shape; k++)
			if (key_set_add(&keys, g->group[i].key[k]) < 0) {
				key_set_free(&keys);
				return -1;
			}
		*cost += (uint64_t)RANK_GROUPS_NODE_COST * keys.n;
		key_set_free(&keys);
	}
	return 0;
}

/* Loops that vary are looked for with sizes erased at least: what repeats exactly repeats there too. */
static int choose_alphabet(const struct trace *t, bool optional, struct candidate *best, struct errbuf *err)
{
	struct key_set ignored = {0};
	uint64_t least;
	int rv = try_alphabet(t, SKEL_EXACT, NULL, false, &ignored, best, err);

	key_set_free(&ignored);
	if (rv < 0)
		return -1;
	if (least_cost(&best->groups, &least) < 0)
		return err_set(err, "no memory");
	if (best->groups.cost * 100 <= least * GOOD_ENOUGH_PERCENT)
		return 0;
	if (try_refined(t, SKEL_SIZES, optional, best, err) < 0)
		return -1;
	return try_refined(t, SKEL_SHAPE, optional, best, err);
}

/* ---- building ---- */

static int check_usable(const struct trace *t, struct errbuf *err)
{
	if (trace_is_partial(t))
		return err_set(err, "the trace is partial (the run did not reach MPI_Finalize): a skeleton needs a whole one");
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		if (!k->present || !k->events.length)
			return err_set(err, "the trace has no events of rank %u: a skeleton needs all ranks", r);
	}
	return 0;
}

int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err)
{
	struct candidate best = {0};
	struct merge m = {0};
	int rv = -1;

	*out = (struct skel_tree){.trace = t, .n_ranks = trace_n_ranks(t)};
	if (check_usable(t, err) < 0 || choose_alphabet(t, with_optional, &best, err) < 0)
		goto out;
	out->alphabet = (uint8_t)best.groups.alphabet;
	if (merge_groups(&m, t, &best.groups, err) < 0)
		goto out;
	/* The tree keeps the arena: the variant runs are in it. */
	out->arena = best.arena;
	if (convert_tree(out, &m, err) < 0)
		goto out;
	if (skel_verify(out, NULL, err) < 0) {
		err_prefix(err, "the merged tree is not the trace");
		goto out;
	}
	rv = 0;
out:
	merge_free(&m);
	if (best.arena)
		rank_groups_free(&best.groups);
	if (rv < 0) {
		arena_destroy(best.arena);
		*out = (struct skel_tree){0};
	}
	return rv;
}

int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err)
{
	return skel_tree_build_with(t, true, out, err);
}

void skel_tree_free(struct skel_tree *tree)
{
	arena_destroy(tree->arena);
	*tree = (struct skel_tree){0};
}
