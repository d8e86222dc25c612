/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building of contracted trees: see tree_grow.h. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/tree_grow.h"

int tree_grow_node(struct tree_grow *g, struct contract_node node, uint32_t *index)
{
	struct contract_tree *t = g->tree;

	if (t->n_node == TREE_GROW_NODES_MAX)
		return -1;
	if (t->n_node == g->cap_node) {
		uint32_t cap = g->cap_node ? g->cap_node * 2 : 64;
		struct contract_node *p = realloc(t->node, cap * sizeof(*p));

		if (!p)
			return -1;
		t->node = p;
		g->cap_node = cap;
	}
	*index = t->n_node;
	t->node[t->n_node++] = node;
	return 0;
}

int node_list_add(struct node_list *l, uint32_t index)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 16;
		uint32_t *p = realloc(l->at, cap * sizeof(*p));

		if (!p)
			return -1;
		l->at = p;
		l->cap = cap;
	}
	l->at[l->n++] = index;
	return 0;
}

int tree_grow_children(struct tree_grow *g, const struct node_list *l, uint32_t *first)
{
	struct contract_tree *t = g->tree;

	if (g->cap_child - t->n_child < l->n || !t->child) {
		uint32_t cap = (g->cap_child + l->n) * 2 + 16;
		uint32_t *p = realloc(t->child, cap * sizeof(*p));

		if (!p)
			return -1;
		t->child = p;
		g->cap_child = cap;
	}
	*first = t->n_child;
	if (l->n)
		memcpy(t->child + t->n_child, l->at, l->n * sizeof(*l->at));
	t->n_child += l->n;
	return 0;
}
