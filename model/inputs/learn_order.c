/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which order of calls the runs show: see learn_runs.h. */
#include <stdio.h>
#include <stdlib.h>

#include "model/inputs/learn_runs_impl.h"

#define ORDER_MOST 1024 /* calls in a row that may be left out */

static bool together(const struct learning *g, const struct merge_node *a, const struct merge_node *b)
{
	for (uint32_t i = 0; i < g->r->n_points; i++)
		if (!runs_left_out(g->r, g->r->point[i].run, g->without) && merge_has_group(a, g->r->point[i].group) &&
		    merge_has_group(b, g->r->point[i].group))
			return true;
	return false;
}

static const struct learnt_node *rules_of(const struct learning *g, const struct merge_node *n)
{
	return n->kind == SKEL_LEAF ? &g->l->leaf[n->origin] : &g->l->loop[n->origin];
}

/* The order of two nodes that no rank passes both of. */
static int doubt_order(struct learning *g, const struct merge_node *a, const struct merge_node *b)
{
	const struct merge_node *n[2] = {a, b};
	struct learnt_doubt d = {.kind = DOUBT_ORDER, .where = g->where};

	for (int k = 0; k < 2; k++) {
		const struct learnt_node *l = rules_of(g, n[k]);

		if (l->when == WHEN_UNKNOWN)
			return 0;
		d.counted[k] = l->when == WHEN_COUNTED;
		d.guard[k] = l->when == WHEN_GUARD ? l->guard : (struct rule_guard){.f = RULE_NONE};
		if (d.counted[k])
			d.rule[k] = l->count;
	}
	snprintf(d.what, sizeof(d.what), "%.70s and %.70s: order", learning_name(g, a), learning_name(g, b));
	return learnt_doubt_add(g->l, &d);
}

/*
 * Checks the order of the nodes of a sequence. Two nodes are in a known order if some rank passes both, or if the
 * orders of several ranks imply it. The merged tree orders all other nodes arbitrarily, and they become doubts.
 * before[j * n + i]: i is known to come before j.
 */
static int order_row(struct learning *g, struct merge_node *const *node, uint32_t n)
{
	bool *before = n <= ORDER_MOST ? calloc((size_t)n * n + 1, 1) : NULL;
	int rc = 0;

	if (!before)
		return err_set(g->err, "no memory, or more than %d calls in a row of which each may be left out", ORDER_MOST);
	for (uint32_t j = 1; j < n; j++)
		for (uint32_t i = j; i-- > 0;) {
			if (before[(size_t)j * n + i] || !together(g, node[i], node[j]))
				continue;
			before[(size_t)j * n + i] = true;
			for (uint32_t k = 0; k < i; k++)
				before[(size_t)j * n + k] |= before[(size_t)i * n + k];
		}
	for (uint32_t j = 1; rc == 0 && j < n; j++)
		for (uint32_t i = 0; rc == 0 && i < j; i++)
			if (!before[(size_t)j * n + i])
				rc = doubt_order(g, node[i], node[j]);
	free(before);
	return rc < 0 ? err_set(g->err, "the order of too many calls is not known, as no rank makes them all: trace other "
					"numbers of ranks") : 0;
}

/* Between nodes that are always passed, as those come before or behind all others. */
int learn_order(struct learning *g, const struct merge_node *parent)
{
	uint32_t first = 0, k = learning_points(g, parent), n = parent->n_child;

	for (uint32_t j = 0; j <= n; j++) {
		bool always = true;

		for (uint32_t i = 0; always && j < n && i < k; i++)
			always = merge_has_group(parent->child[j], g->r->point[g->point[i]].group);
		if (!always)
			continue;
		if (j > first + 1 && order_row(g, parent->child + first, j - first) < 0)
			return -1;
		first = j + 1;
	}
	return 0;
}

