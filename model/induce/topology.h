/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The transition graph of a flow: its arcs, its loops one within the other, the arcs that close a cycle, and the
 * counters with the arcs that initialise them. A counter of a node counts its passages since a loop around it was
 * entered: the innermost one, the next one outwards, or none (since the beginning).
 */
#ifndef PRECEDENT_MODEL_INDUCE_TOPOLOGY_H
#define PRECEDENT_MODEL_INDUCE_TOPOLOGY_H

#include <stdbool.h>

#include "model/induce/flow.h"

struct topology_arc {
	uint32_t from, to; /* to: MODEL_END at the end */
	bool info;
	uint64_t seen;
};
struct topology_loop {
	uint32_t header, n;  /* nodes in it */
	uint8_t *has;	     /* by node */
};
struct topology_counter {
	uint32_t node, loop; /* loop: MODEL_NONE when it counts from the beginning */
	uint32_t level;	     /* 0: innermost loop; the counter that counts from the beginning has the highest level */
};
struct topology {
	uint32_t n_nodes, n_arcs, n_loops, loops_cap, n_counters;
	struct topology_arc *arc; /* by node they leave, in order of first passage */
	uint32_t *first;	  /* n_nodes + 1: arcs first[u] .. first[u + 1] - 1 leave u */
	struct topology_loop *loop; /* inner ones after outer ones */
	struct topology_counter *counter; /* by node */
	uint32_t *first_counter;	  /* n_nodes + 1 */
};

int topology_build(struct topology *t, const struct flow *f, struct errbuf *err);
void topology_free(struct topology *t);
/* Arc from u to v, or MODEL_NONE. */
uint32_t topology_arc_find(const struct topology *t, uint32_t u, uint32_t v);
/* Whether the arc initialises the counter. */
bool topology_resets(const struct topology *t, const struct topology_arc *a, const struct topology_counter *c);

#endif
