/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often loops iterate whose calls are left out towards the end of some executions. */
#ifndef PRECEDENT_SKELGEN_TREE_LOOP_TRIP_COUNTS_H
#define PRECEDENT_SKELGEN_TREE_LOOP_TRIP_COUNTS_H

#include "skelgen/tree/tree.h"

/* Executions [begin, end) at which a rank does something at a node: sorted, disjoint, not touching. */
struct tree_span {
	uint64_t begin, end;
};
struct tree_spans {
	bool always; /* at every execution: no spans are listed */
	uint32_t n, cap;
	struct tree_span *at; /* free() */
};

/* Fill the turns of all loops. -1 without memory. */
int tree_turns_find(struct skel_tree *tree);

/* Executions of a node that are not left out, from its leaf's variants or its loop's turns. -1 without memory. */
int tree_spans_of(const struct skel_node *n, uint32_t index, struct tree_spans *out);

#endif
