/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building of contracted trees node by node: a node first, its finished sequence of children later. */
#ifndef PRECEDENT_SKELGEN_CONTRACT_TREE_GROW_H
#define PRECEDENT_SKELGEN_CONTRACT_TREE_GROW_H

#include "skelgen/contract/contract.h"

#define TREE_GROW_NODES_MAX (1u << 22)

struct tree_grow {
	struct contract_tree *tree; /* zeroed at the start; free with contract_tree_free() */
	uint32_t cap_node, cap_child;
};

/* Zero-initialise, free(at). */
struct node_list {
	uint32_t *at;
	uint32_t n, cap;
};

/* All: -1 without memory, or above TREE_GROW_NODES_MAX nodes. */
int tree_grow_node(struct tree_grow *g, struct contract_node node, uint32_t *index);
int node_list_add(struct node_list *l, uint32_t index);
int tree_grow_children(struct tree_grow *g, const struct node_list *l, uint32_t *first);

#endif
