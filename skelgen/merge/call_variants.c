/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variant runs of leaves: see call_variants.h. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/merge/call_variants.h"
#include "common/array.h"

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
	if (ARRAY_ROOM(l->run, l->cap, l->n + 1) != 0)
		return -1;
	l->run[l->n++] = (struct run){sym, l->n_occ};
	return 0;
}

/* Lists to arrays; variants are numbered by their first run, SKEL_NOTHING last. place[] is scratch, by symbol, all
 * zero on entry and on return. */
static int settle_leaf(const struct run_list *l, uint32_t *place, struct arena *a, struct skel_leaf_rank *out)
{
	uint32_t n = 0;

	*out = (struct skel_leaf_rank){.n_occ = l->n_occ, .n_run = l->n};
	out->run_variant = arena_alloc(a, l->n, sizeof(*out->run_variant));
	out->run_end = arena_alloc(a, l->n, sizeof(*out->run_end));
	if (!out->run_variant || !out->run_end)
		return -1;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t sym = l->run[i].sym;

		if (sym == SKEL_NOTHING)
			out->optional = true;
		else if (!place[sym])
			place[sym] = ++n;
	}
	out->n_variant = n + out->optional;
	out->variant = arena_alloc(a, out->n_variant, sizeof(*out->variant));
	for (uint32_t i = 0; out->variant && i < l->n; i++) {
		uint32_t sym = l->run[i].sym;

		out->run_variant[i] = sym == SKEL_NOTHING ? n : place[sym] - 1;
		out->run_end[i] = l->run[i].end;
		out->variant[out->run_variant[i]] = sym;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (l->run[i].sym != SKEL_NOTHING)
			place[l->run[i].sym] = 0;
	return out->variant ? 0 : -1;
}

/* ---- the walk ---- */

struct walk {
	struct folded_iter events;
	const struct shape_map *map;
	const struct contract_tree *tree;
	const struct segment_notes *notes;
	const uint32_t *number;
	uint64_t *executed; /* of loops whose counts are in the notes' vectors, so far */
	struct run_list *list;
	uint64_t n_run, max_run;
	struct errbuf *err;
};

static bool repeats(const struct run *r)
{
	return r[0].sym == r[-2].sym && r[0].end - r[-1].end == r[-2].end - r[-3].end;
}

/* Do the two runs before the last one repeat the two runs before them, and is one run of each pair a left-out call?
 * A call that is left out at regular intervals needs no table. */
static bool is_regular(const struct run_list *l)
{
	const struct run *r = &l->run[l->n - 2];

	return l->n > 6 && repeats(r) && repeats(r - 1) && (r[0].sym == SKEL_NOTHING || r[-1].sym == SKEL_NOTHING);
}

/* The next `times` executions of the leaf have symbol `sym`. Returns 1 if there are too many runs. */
static int add_executions(struct walk *w, uint32_t node, uint32_t sym, uint64_t times)
{
	struct run_list *l = &w->list[w->number[node]];

	if (!l->n || l->run[l->n - 1].sym != sym) {
		if (run_list_add(l, sym) < 0)
			return err_set(w->err, "no memory for the variants of calls");
		w->n_run += l->n == 2 ? 2 : l->n > 2 && !is_regular(l);
	}
	l->n_occ += times;
	l->run[l->n - 1].end = l->n_occ;
	return w->n_run > w->max_run;
}

/* Nothing happens `times` times at the node. */
static int walk_absent(struct walk *w, uint32_t node, uint64_t times)
{
	const struct contract_node *n = &w->tree->node[node];
	int rv = 0;

	if (!times)
		return 0;
	if (n->kind == CONTRACT_LEAF)
		return add_executions(w, node, SKEL_NOTHING, times);
	for (uint32_t i = 0; rv == 0 && i < n->n_children; i++)
		rv = walk_absent(w, w->tree->child[n->first + i], times * n->count);
	return rv;
}

static int walk_leaf(struct walk *w, uint32_t node)
{
	uint32_t sym;

	if (!folded_next(&w->events, &sym))
		return err_set(w->err, "the contracted tree expands to more than the events");
	if (w->map->of_sym[sym] != w->tree->node[node].symbol)
		return err_set(w->err, "the contracted tree does not expand to the events");
	return add_executions(w, node, sym, 1);
}

/* One execution of a node in an iteration of the given kind. */
static int walk_node(struct walk *w, uint32_t node, uint32_t kind)
{
	const struct contract_node *n = &w->tree->node[node];
	const struct segment_note *note = w->notes ? &w->notes->note[node] : NULL;
	uint64_t made = note && note->counts ? note->counts[kind] : n->count;
	int rv = 0;

	if (note && !segment_note_has(note, kind))
		return walk_absent(w, node, 1);
	if (note && note->vec) {
		const struct count_vec *v = &w->notes->vec[note->vec - 1];

		if (w->executed[note->vec - 1] == v->n)
			return err_set(w->err, "a loop is executed more often than it has counts");
		made = count_vec_at(v, w->executed[note->vec - 1]++);
	}
	if (n->kind == CONTRACT_LEAF)
		return walk_leaf(w, node);
	for (uint64_t k = 0; rv == 0 && k < made; k++) {
		uint32_t inner = note && note->region ? w->notes->region[note->region - 1].kind[k] : kind;

		for (uint32_t i = 0; rv == 0 && i < n->n_children; i++)
			rv = walk_node(w, w->tree->child[n->first + i], inner);
	}
	for (uint32_t i = 0; rv == 0 && i < n->n_children; i++)
		rv = walk_absent(w, w->tree->child[n->first + i], n->count - made);
	return rv;
}

static int walk_top(struct walk *w, const struct trace_rank *rank)
{
	uint32_t sym;
	int rv = 0;

	folded_begin(&w->events, &rank->events);
	for (uint32_t i = 0; rv == 0 && i < w->tree->n_top; i++)
		rv = walk_node(w, w->tree->child[w->tree->top_first + i], 0);
	if (rv == 0 && folded_next(&w->events, &sym))
		rv = err_set(w->err, "the contracted tree expands to less than the events");
	return rv;
}

int leaf_runs_collect(const struct trace_rank *rank, const struct shape_map *map, const struct contract_tree *tree,
		      const struct segment_notes *notes, const uint32_t *number, uint32_t n_leaf, uint64_t max_run,
		      struct arena *a, struct skel_leaf_rank *leaf, uint64_t *n_run, struct errbuf *err)
{
	struct walk w = {.map = map, .tree = tree, .notes = notes, .number = number, .max_run = max_run, .err = err};
	uint32_t *place = calloc(map->n_sym ? map->n_sym : 1, sizeof(*place));
	int rv;

	w.list = calloc(n_leaf ? n_leaf : 1, sizeof(*w.list));
	w.executed = calloc(notes ? notes->n_vec + 1u : 1u, sizeof(*w.executed));
	if (!w.list || !w.executed || !place) {
		rv = err_set(err, "no memory for the variants of %u calls", n_leaf);
		goto out;
	}
	rv = walk_top(&w, rank);
	*n_run = w.n_run;
	for (uint32_t i = 0; rv >= 0 && leaf && i < n_leaf; i++)
		if (settle_leaf(&w.list[i], place, a, &leaf[i]) < 0)
			rv = err_set(err, "no memory for the variants of %u calls", n_leaf);
out:
	for (uint32_t i = 0; w.list && i < n_leaf; i++)
		free(w.list[i].run);
	free(w.list);
	free(w.executed);
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
