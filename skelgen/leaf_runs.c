/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variant runs of leaves: see leaf_runs.h. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/leaf_runs.h"

struct run {
	uint32_t sym;
	uint64_t end;
};

struct run_list {
	struct run *run;
	uint32_t n, cap;
	uint64_t n_occ;
};

static void number_sequence(const struct contract_tree *t, uint32_t first, uint32_t n, uint32_t *number, uint32_t *next)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct contract_node *node = &t->node[t->child[i]];

		if (node->kind == CONTRACT_LEAF)
			number[t->child[i]] = (*next)++;
		else
			number_sequence(t, node->first, node->n_children, number, next);
	}
}

uint32_t *leaf_numbers(const struct contract_tree *tree, uint32_t *n_leaf)
{
	uint32_t *number = calloc(tree->n_node ? tree->n_node : 1, sizeof(*number));

	*n_leaf = 0;
	if (number)
		number_sequence(tree, tree->top_first, tree->n_top, number, n_leaf);
	return number;
}

static int run_list_add(struct run_list *l, uint32_t sym)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 2;
		struct run *run = cap > l->cap ? realloc(l->run, cap * sizeof(*run)) : NULL;

		if (!run)
			return -1;
		l->run = run;
		l->cap = cap;
	}
	l->run[l->n++] = (struct run){sym, l->n_occ};
	return 0;
}

/* Lists to arrays; variants are numbered by their first run. place[] is scratch, by symbol, all zero on entry and
 * on return. */
static int settle_leaf(const struct run_list *l, uint32_t *place, struct arena *a, struct skel_leaf_rank *out)
{
	*out = (struct skel_leaf_rank){.n_occ = l->n_occ, .n_run = l->n};
	out->run_variant = arena_alloc(a, l->n, sizeof(*out->run_variant));
	out->run_end = arena_alloc(a, l->n, sizeof(*out->run_end));
	if (!out->run_variant || !out->run_end)
		return -1;
	for (uint32_t i = 0; i < l->n; i++) {
		if (!place[l->run[i].sym])
			place[l->run[i].sym] = ++out->n_variant;
		out->run_variant[i] = place[l->run[i].sym] - 1;
		out->run_end[i] = l->run[i].end;
	}
	out->variant = arena_alloc(a, out->n_variant, sizeof(*out->variant));
	for (uint32_t i = 0; i < l->n; i++) {
		if (out->variant)
			out->variant[out->run_variant[i]] = l->run[i].sym;
		place[l->run[i].sym] = 0;
	}
	return out->variant ? 0 : -1;
}

static int walk(const struct trace_rank *rank, const struct shape_map *map, const struct contract_tree *tree,
		const uint32_t *number, uint64_t max_run, struct run_list *list, uint64_t *n_run, struct errbuf *err)
{
	struct folded_iter events;
	struct contract_iter place;
	uint32_t sym, shape, node;

	*n_run = 0;
	folded_begin(&events, &rank->events);
	if (contract_expand_begin(&place, tree) < 0)
		return err_set(err, "the contracted tree cannot be walked");
	while (folded_next(&events, &sym)) {
		struct run_list *l;

		if (contract_expand_next(&place, &shape, &node) != 1 || map->of_sym[sym] != shape)
			return err_set(err, "the contracted tree does not expand to the events");
		l = &list[number[node]];
		if (!l->n || l->run[l->n - 1].sym != sym) {
			if (run_list_add(l, sym) < 0)
				return err_set(err, "no memory for the variants of calls");
			*n_run += l->n == 2 ? 2 : l->n > 2;
			if (*n_run > max_run)
				return 1;
		}
		l->run[l->n - 1].end = ++l->n_occ;
	}
	if (contract_expand_next(&place, &shape, &node) != 0)
		return err_set(err, "the contracted tree expands to more than the events");
	return 0;
}

int leaf_runs_collect(const struct trace_rank *rank, const struct shape_map *map, const struct contract_tree *tree,
		      const uint32_t *number, uint32_t n_leaf, uint64_t max_run, struct arena *a,
		      struct skel_leaf_rank *leaf, uint64_t *n_run, struct errbuf *err)
{
	struct run_list *list = calloc(n_leaf ? n_leaf : 1, sizeof(*list));
	uint32_t *place = calloc(map->n_sym ? map->n_sym : 1, sizeof(*place));
	int rv;

	if (!list || !place) {
		rv = err_set(err, "no memory for the variants of %u calls", n_leaf);
		goto out;
	}
	rv = walk(rank, map, tree, number, max_run, list, n_run, err);
	for (uint32_t i = 0; rv >= 0 && i < n_leaf; i++)
		if (settle_leaf(&list[i], place, a, &leaf[i]) < 0)
			rv = err_set(err, "no memory for the variants of %u calls", n_leaf);
out:
	for (uint32_t i = 0; list && i < n_leaf; i++)
		free(list[i].run);
	free(list);
	free(place);
	return rv;
}

static int exact_sequence(const struct contract_tree *t, uint32_t first, uint32_t n, uint64_t times, struct arena *a,
			  struct skel_leaf_rank *leaf, uint32_t *next)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct contract_node *node = &t->node[t->child[i]];
		struct skel_leaf_rank *l;

		if (node->kind == CONTRACT_LOOP) {
			if (exact_sequence(t, node->first, node->n_children, times * node->count, a, leaf, next) < 0)
				return -1;
			continue;
		}
		l = &leaf[(*next)++];
		*l = (struct skel_leaf_rank){.n_variant = 1, .n_occ = times, .n_run = 1};
		l->variant = arena_alloc(a, 1, sizeof(*l->variant));
		l->run_variant = arena_alloc(a, 1, sizeof(*l->run_variant));
		l->run_end = arena_alloc(a, 1, sizeof(*l->run_end));
		if (!l->variant || !l->run_variant || !l->run_end)
			return -1;
		l->variant[0] = node->symbol;
		l->run_end[0] = times;
	}
	return 0;
}

int leaf_runs_exact(const struct contract_tree *tree, uint32_t n_leaf, struct arena *a, struct skel_leaf_rank *leaf)
{
	uint32_t next = 0;

	(void)n_leaf;
	return exact_sequence(tree, tree->top_first, tree->n_top, 1, a, leaf, &next);
}
