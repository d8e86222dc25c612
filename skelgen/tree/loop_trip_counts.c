/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the executions at which the calls in a loop do something to the iterations of the loop: see
 * loop_trip_counts.h. */
#include "skelgen/tree/loop_trip_counts.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/array.h"

/* ---- spans ---- */

static int spans_add(struct tree_spans *s, uint64_t begin, uint64_t end)
{
	if (s->n && s->at[s->n - 1].end == begin) {
		s->at[s->n - 1].end = end;
		return 0;
	}
	if (ARRAY_ROOM(s->at, s->cap, s->n + 1) != 0)
		return -1;
	s->at[s->n++] = (struct tree_span){begin, end};
	return 0;
}

static int spans_of_leaf(const struct skel_leaf_rank *lr, struct tree_spans *out)
{
	uint64_t begin = 0;

	*out = (struct tree_spans){.always = !lr->optional};
	for (uint32_t i = 0; lr->optional && i < lr->n_run; i++) {
		if (lr->variant[lr->run_variant[i]] != SKEL_NOTHING && spans_add(out, begin, lr->run_end[i]) < 0)
			return -1;
		begin = lr->run_end[i];
	}
	return 0;
}

static int spans_of_loop(const struct skel_turns *t, struct tree_spans *out)
{
	uint64_t begin = 0;

	*out = (struct tree_spans){.always = true};
	for (uint32_t i = 0; i < t->n_run; i++)
		out->always &= t->run_turns[i] > 0;
	for (uint32_t i = 0; !out->always && i < t->n_run; i++) {
		if (t->run_turns[i] && spans_add(out, begin, t->run_end[i]) < 0)
			return -1;
		begin = t->run_end[i];
	}
	return 0;
}

int tree_spans_of(const struct skel_node *n, uint32_t index, struct tree_spans *out)
{
	if (n->kind == SKEL_LEAF)
		return spans_of_leaf(&n->by_rank[index], out);
	*out = (struct tree_spans){.always = true};
	return n->turns ? spans_of_loop(&n->turns[index], out) : 0;
}

/* Add the spans of b to a. */
static int spans_join(struct tree_spans *a, const struct tree_spans *b)
{
	struct tree_spans sum = {.always = a->always || b->always};
	uint32_t i = 0, k = 0;
	int rv = 0;

	while (rv == 0 && !sum.always && (i < a->n || k < b->n)) {
		struct tree_span s = k == b->n || (i < a->n && a->at[i].begin <= b->at[k].begin) ? a->at[i++] : b->at[k++];

		if (sum.n && s.begin <= sum.at[sum.n - 1].end) {
			if (s.end > sum.at[sum.n - 1].end)
				sum.at[sum.n - 1].end = s.end;
		} else {
			rv = spans_add(&sum, s.begin, s.end);
		}
	}
	free(a->at);
	*a = sum;
	return rv;
}

/* ---- turns ---- */

struct turn_list {
	struct turn {
		uint64_t end, turns;
	} *at;
	uint32_t n, cap;
};

/* Set the trip count `turns` of the executions from the last known one up to `end`. */
static int turns_add(struct turn_list *l, uint64_t end, uint64_t turns)
{
	if (!end || (l->n && l->at[l->n - 1].end >= end))
		return 0;
	if (l->n && l->at[l->n - 1].turns == turns) {
		l->at[l->n - 1].end = end;
		return 0;
	}
	if (ARRAY_ROOM(l->at, l->cap, l->n + 1) != 0)
		return -1;
	l->at[l->n++] = (struct turn){end, turns};
	return 0;
}

/* Trip counts of `all` executions of a loop of `count` iterations. s: executions of the loop's body. */
static int turns_of_spans(const struct tree_spans *s, uint64_t count, uint64_t all, struct turn_list *l)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t first = s->at[i].begin / count, last = (s->at[i].end - 1) / count;

		/* A later span in the same execution sets the trip count. */
		if (turns_add(l, first, 0) < 0 || turns_add(l, last, count) < 0)
			return -1;
		if (i + 1 < s->n && s->at[i + 1].begin / count == last)
			continue;
		if (turns_add(l, last + 1, (s->at[i].end - 1) % count + 1) < 0)
			return -1;
	}
	return turns_add(l, all, 0);
}

static int turns_store(struct skel_tree *tree, struct skel_node *loop, uint32_t index, const struct turn_list *l)
{
	struct skel_turns *t;

	if (!loop->turns)
		loop->turns = arena_alloc(tree->arena, rank_set_count(&loop->ranks), sizeof(*loop->turns));
	if (!loop->turns)
		return -1;
	t = &loop->turns[index];
	t->run_end = arena_alloc(tree->arena, l->n, sizeof(*t->run_end));
	t->run_turns = arena_alloc(tree->arena, l->n, sizeof(*t->run_turns));
	if (!t->run_end || !t->run_turns)
		return -1;
	for (uint32_t i = 0; i < l->n; i++) {
		t->run_end[i] = l->at[i].end;
		t->run_turns[i] = l->at[i].turns;
	}
	t->n_run = l->n;
	return 0;
}

struct finder {
	struct skel_tree *tree;
	uint32_t rank;
};

static int find(struct finder *f, struct skel_node *n, uint64_t executions, struct tree_spans *out);

/* Everything that is done in the body, at `executions` executions of it. */
static int find_children(struct finder *f, struct skel_node *n, uint64_t executions, struct tree_spans *out)
{
	int rv = 0;

	*out = (struct tree_spans){0};
	for (uint32_t i = 0; rv == 0 && i < n->n_child; i++) {
		struct tree_spans one = {0};

		if (!rank_set_has(&n->child[i]->ranks, f->rank))
			continue;
		rv = find(f, n->child[i], executions, &one);
		if (rv == 0)
			rv = spans_join(out, &one);
		free(one.at);
	}
	return rv;
}

static int find_loop(struct finder *f, struct skel_node *n, uint64_t executions, struct tree_spans *out)
{
	uint32_t index = rank_set_index(&n->ranks, f->rank);
	uint64_t count = skel_loop_count(f->tree, n, f->rank, index);
	struct turn_list l = {0};
	struct tree_spans body;
	int rv;

	if (find_children(f, n, executions * count, &body) < 0) {
		free(body.at);
		return -1;
	}
	*out = (struct tree_spans){.always = true};
	rv = body.always ? 0 : turns_of_spans(&body, count, executions, &l);
	if (rv == 0 && (l.n > 1 || (l.n == 1 && l.at[0].turns != count))) {
		rv = turns_store(f->tree, n, index, &l);
		if (rv == 0)
			rv = tree_spans_of(n, index, out);
	}
	free(l.at);
	free(body.at);
	return rv;
}

static int find(struct finder *f, struct skel_node *n, uint64_t executions, struct tree_spans *out)
{
	if (n->kind == SKEL_LEAF)
		return tree_spans_of(n, rank_set_index(&n->ranks, f->rank), out);
	return n->kind == SKEL_LOOP ? find_loop(f, n, executions, out) : find_children(f, n, executions, out);
}

int tree_turns_find(struct skel_tree *tree)
{
	for (uint32_t r = 0; r < tree->n_ranks; r++) {
		struct finder f = {tree, r};
		struct tree_spans all;
		int rv = find(&f, tree->root, 1, &all);

		free(all.at);
		if (rv < 0)
			return -1;
	}
	return 0;
}
