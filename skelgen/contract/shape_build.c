/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From folded items to a tree. Items are expanded to nodes. Then the tree is walked once to assign each
 * execution of a loop its trip count. Loops that always run once are removed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/shape_build.h"
#include "common/array.h"

#define MAX_LEAVES 0x40000000u

/* A node before loops of one iteration are taken out. Children are neighbours: [first, first + n_children).
 */
struct draft_node {
	uint32_t symbol; /* of the grammar */
	uint32_t first, n_children;
	uint32_t *count; /* loop: of each execution */
	uint32_t n_count, cap_count;
	bool once;
};

struct draft {
	const struct grammar *g;
	struct draft_node *node;
	uint32_t n, cap;
	uint32_t n_top;		/* nodes [0, n_top) */
	struct shape_occ *exec; /* by symbol, then by start */
	uint32_t n_exec;
	uint32_t *cursor; /* [n_loop] next execution of each loop symbol */
};

static bool is_loop(const struct draft *d, uint32_t symbol)
{
	return symbol >= d->g->n_leaf;
}

static int draft_reserve(struct draft *d, uint32_t n, struct errbuf *err)
{
	uint64_t want = (uint64_t)d->n + n;

	if (want > MAX_LEAVES)
		return err_set(err, "shape: a tree of more than %u nodes", MAX_LEAVES);
	if (ARRAY_ROOM(d->node, d->cap, want) != 0)
		return err_set(err, "shape: out of memory for a tree of %" PRIu64 " nodes", want);
	return 0;
}

/* Breadth first: the children of every loop are appended behind all nodes so far. */
static int draft_expand(struct draft *d, const uint32_t *item, uint32_t n, struct errbuf *err)
{
	if (draft_reserve(d, n, err))
		return -1;
	for (uint32_t i = 0; i < n; i++)
		d->node[d->n++] = (struct draft_node){.symbol = item[i]};
	d->n_top = n;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t symbol = d->node[i].symbol, length;
		const uint32_t *body;

		if (!is_loop(d, symbol))
			continue;
		body = grammar_raw(d->g, d->g->loop[symbol - d->g->n_leaf].body, &length);
		if (draft_reserve(d, length, err))
			return -1;
		d->node[i].first = d->n;
		d->node[i].n_children = length;
		for (uint32_t k = 0; k < length; k++)
			d->node[d->n++] = (struct draft_node){.symbol = body[k]};
	}
	return 0;
}

static int by_symbol_and_start(const void *a, const void *b)
{
	const struct shape_occ *x = a, *y = b;

	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Order the executions and point each loop at its first one. */
static int draft_order(struct draft *d, struct errbuf *err)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->n_exec; i++)
		if (d->exec[i].count)
			d->exec[kept++] = d->exec[i];
	d->n_exec = kept;
	if (kept)
		qsort(d->exec, kept, sizeof(*d->exec), by_symbol_and_start);
	d->cursor = malloc(((size_t)d->g->n_loop + 1) * sizeof(*d->cursor));
	if (!d->cursor)
		return err_set(err, "shape: out of memory for %u loops", d->g->n_loop);
	for (uint32_t i = kept; i-- > 0;)
		d->cursor[d->exec[i].symbol - d->g->n_leaf] = i;
	return 0;
}

static int node_add_count(struct draft_node *node, uint32_t count, struct errbuf *err)
{
	if (ARRAY_ROOM(node->count, node->cap_count, node->n_count + 1) != 0)
		return err_set(err, "shape: out of memory for %u loop counts", node->n_count);
	node->count[node->n_count++] = count;
	return 0;
}

/* Run a sequence of nodes once; loops take their counts in the order of the stream. */
static int draft_run(struct draft *d, uint32_t first, uint32_t n, struct errbuf *err)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct draft_node *node = &d->node[i];
		uint32_t at, count;

		if (!is_loop(d, node->symbol))
			continue;
		at = d->cursor[node->symbol - d->g->n_leaf]++;
		if (at >= d->n_exec || d->exec[at].symbol != node->symbol)
			return err_set(err, "shape: a loop runs more often than it was seen");
		count = d->exec[at].count;
		if (node_add_count(node, count, err))
			return -1;
		for (uint32_t k = 0; k < count; k++)
			if (draft_run(d, node->first, node->n_children, err))
				return -1;
	}
	return 0;
}

static void draft_find_once(struct draft *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		struct draft_node *node = &d->node[i];

		node->once = is_loop(d, node->symbol);
		for (uint32_t k = 0; k < node->n_count && node->once; k++)
			node->once = node->count[k] == 1;
	}
}

/* Members of a sequence when loops that run once are replaced by their bodies. */
static uint32_t draft_members(const struct draft *d, uint32_t first, uint32_t n)
{
	uint32_t members = 0;

	for (uint32_t i = first; i < first + n; i++) {
		const struct draft_node *node = &d->node[i];

		members += node->once ? draft_members(d, node->first, node->n_children) : 1;
	}
	return members;
}

static int draft_write(const struct draft *d, uint32_t first, uint32_t n, uint32_t *slot,
		       struct shape_tree *t, struct errbuf *err);

/* A loop that stays: its members get the next slots of child[], then its body is written. */
static int draft_write_loop(const struct draft *d, const struct draft_node *from, struct shape_tree *t,
			    struct errbuf *err)
{
	struct shape_node *node = &t->node[t->n_node++];
	uint32_t slot = t->n_child;

	*node = (struct shape_node){.kind = CONTRACT_LOOP,
				    .first = slot,
				    .vec = t->n_vec,
				    .n_children = draft_members(d, from->first, from->n_children)};
	t->n_child += node->n_children;
	if (count_vec_build(from->count, from->n_count, &t->vec[t->n_vec], err))
		return -1;
	t->n_vec++;
	return draft_write(d, from->first, from->n_children, &slot, t, err);
}

static int draft_write(const struct draft *d, uint32_t first, uint32_t n, uint32_t *slot,
		       struct shape_tree *t, struct errbuf *err)
{
	const struct grammar *g = d->g;

	for (uint32_t i = first; i < first + n; i++) {
		const struct draft_node *from = &d->node[i];
		int rc = 0;

		if (from->once) {
			rc = draft_write(d, from->first, from->n_children, slot, t, err);
		} else if (is_loop(d, from->symbol)) {
			t->child[(*slot)++] = t->n_node;
			rc = draft_write_loop(d, from, t, err);
		} else {
			t->child[(*slot)++] = t->n_node;
			t->node[t->n_node++] = (struct shape_node){
			    .kind = CONTRACT_LEAF,
			    .symbol = g->leaf_value ? g->leaf_value[from->symbol] : from->symbol,
			};
		}
		if (rc)
			return -1;
	}
	return 0;
}

static int tree_reserve(struct shape_tree *t, uint32_t n, struct errbuf *err)
{
	t->node = malloc(((size_t)n + 1) * sizeof(*t->node));
	t->child = malloc(((size_t)n + 1) * sizeof(*t->child));
	t->vec = calloc((size_t)n + 1, sizeof(*t->vec));
	return t->node && t->child && t->vec ? 0
					     : err_set(err, "shape: out of memory for a tree of %u nodes", n);
}

int shape_build(const struct grammar *g, const uint32_t *item, uint32_t n, struct shape_occ *exec,
		uint32_t n_exec, struct shape_tree *out, struct errbuf *err)
{
	struct draft d = {.g = g, .exec = exec, .n_exec = n_exec};
	uint32_t slot = 0;
	int rc = -1;

	*out = (struct shape_tree){0};
	if (draft_expand(&d, item, n, err) || draft_order(&d, err) || draft_run(&d, 0, d.n_top, err))
		goto out;
	draft_find_once(&d);
	if (tree_reserve(out, d.n, err))
		goto out;
	out->n_top = draft_members(&d, 0, d.n_top);
	out->n_child = out->n_top;
	rc = draft_write(&d, 0, d.n_top, &slot, out, err);
out:
	for (uint32_t i = 0; i < d.n; i++)
		free(d.node[i].count);
	free(d.node);
	free(d.cursor);
	if (rc)
		shape_tree_free(out);
	return rc;
}

/* Executions of the members of a sequence that runs `times` times. */
static int exact_vectors(const struct contract_tree *exact, uint32_t first, uint32_t n, uint64_t times,
			 struct shape_tree *t, struct errbuf *err)
{
	for (uint32_t k = first; k < first + n; k++) {
		uint32_t index = exact->child[k];
		const struct contract_node *from = &exact->node[index];
		struct count_vec *vec;

		if (from->kind == CONTRACT_LEAF)
			continue;
		vec = &t->vec[t->n_vec];
		*vec = (struct count_vec){.n = times, .period = 1, .n_segment = 1};
		vec->segment = calloc(1, sizeof(*vec->segment));
		if (!vec->segment)
			return err_set(err, "shape: out of memory");
		vec->segment[0].value = from->count;
		t->node[index].vec = t->n_vec++;
		if (exact_vectors(exact, from->first, from->n_children, times * from->count, t, err))
			return -1;
	}
	return 0;
}

int shape_from_exact(const struct contract_tree *exact, struct shape_tree *out, struct errbuf *err)
{
	*out = (struct shape_tree){.n_node = exact->n_node,
				   .n_child = exact->n_child,
				   .top_first = exact->top_first,
				   .n_top = exact->n_top,
				   .n_events = exact->n_events,
				   .hash = exact->hash};
	if (tree_reserve(out, exact->n_node, err))
		goto fail;
	for (uint32_t i = 0; i < exact->n_node; i++) {
		const struct contract_node *from = &exact->node[i];

		out->node[i] = (struct shape_node){.kind = from->kind,
						   .symbol = from->symbol,
						   .first = from->first,
						   .n_children = from->n_children};
	}
	if (exact->n_child)
		memcpy(out->child, exact->child, (size_t)exact->n_child * sizeof(*out->child));
	if (exact_vectors(exact, exact->top_first, exact->n_top, 1, out, err))
		goto fail;
	return 0;
fail:
	shape_tree_free(out);
	return -1;
}
