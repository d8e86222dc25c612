/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building of contracted trees: see tree_grow.h. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/tree_grow.h"
#include "common/array.h"

int tree_grow_node(struct tree_grow *g, struct contract_node node, uint32_t *index)
{
	struct contract_tree *t = g->tree;

	if (t->n_node == TREE_GROW_NODES_MAX)
		return -1;
	if (ARRAY_ROOM(t->node, g->cap_node, t->n_node + 1) != 0)
		return -1;
	*index = t->n_node;
	t->node[t->n_node++] = node;
	return 0;
}

int node_list_add(struct node_list *l, uint32_t index)
{
	if (ARRAY_ROOM(l->at, l->cap, l->n + 1) != 0)
		return -1;
	l->at[l->n++] = index;
	return 0;
}

int tree_grow_children(struct tree_grow *g, const struct node_list *l, uint32_t *first)
{
	struct contract_tree *t = g->tree;

	if (ARRAY_ROOM(t->child, g->cap_child, t->n_child + l->n + 1) != 0)
		return -1;
	*first = t->n_child;
	if (l->n)
		memcpy(t->child + t->n_child, l->at, l->n * sizeof(*l->at));
	t->n_child += l->n;
	return 0;
}
