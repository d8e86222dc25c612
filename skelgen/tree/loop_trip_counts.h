/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trip counts of loops that leave out all calls at the end of some executions. */
#ifndef PRECEDENT_SKELGEN_TREE_LOOP_TRIP_COUNTS_H
#define PRECEDENT_SKELGEN_TREE_LOOP_TRIP_COUNTS_H

#include "skelgen/tree/tree.h"

/* Executions [begin, end) of a node that are not left out on a rank: sorted, disjoint, not adjacent. */
struct tree_span {
	uint64_t begin, end;
};
struct tree_spans {
	bool always; /* at every execution: no spans are listed */
	uint32_t n, cap;
	struct tree_span *at; /* free() */
};

/* Fill in the trip counts of all loops. Returns 0, or -1 without memory. */
int tree_turns_find(struct skel_tree *tree);

/* Executions of a node that are not left out: from the variants of a leaf, or the trip counts of a loop. Returns 0, or
 * -1 without memory. */
int tree_spans_of(const struct skel_node *n, uint32_t index, struct tree_spans *out);

#endif
