/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal as walks over nodes. The program has one walk per run. A procedure that was taken out has a flow of its
 * own, with one walk per call. In the caller, a calling node replaces the procedure; each way of calling has a calling
 * node of its own. Source: Pekunov (cited in model.h), analysis for procedures: a subgraph whose entering and leaving
 * arcs carry pairwise equal values of the variables that it does not modify.
 */
#ifndef PRECEDENT_MODEL_INDUCE_FLOW_H
#define PRECEDENT_MODEL_INDUCE_FLOW_H

#include <stdbool.h>

#include "model/induce/journal.h"

/* Rows of the run at which the node was entered and left: they differ for calling nodes. */
struct flow_step {
	uint32_t node, row, row_out;
};
struct flow_walk {
	uint32_t run;
	uint32_t caller; /* node of the calling flow */
	size_t first, n; /* steps */
};
struct flow_node {
	uint32_t point, callee; /* one of them is MODEL_NONE, both are for node 0: the beginning */
};
struct flow {
	uint32_t n_nodes, n_walks, walks_cap;
	size_t n_steps, steps_cap;
	struct flow_node *node;
	struct flow_step *step;
	struct flow_walk *walk;
};

/* All runs but `without` (UINT32_MAX: all). Node 1, 2... in the order in which their points are first passed. */
int flow_from_journal(struct flow *f, const struct journal *j, uint32_t without, struct errbuf *err);
/* Kinds of regions that flow_extract() may take as a procedure. Each kind also allows the kinds before it.
 * FLOW_STRAIGHT: each caller has one place of return. FLOW_BRANCHING: a caller may have several places of return.
 * FLOW_EARLY_RETURNS: the part may be left from several nodes. */
enum flow_callers { FLOW_NO_PROCEDURES, FLOW_STRAIGHT, FLOW_BRANCHING, FLOW_EARLY_RETURNS };
/* Takes the smallest procedure out of the flow. `id`: the graph that its calling nodes call.
 * Returns 1 with the procedure in callee, 0 if there is none, -1 without memory. */
int flow_extract(struct flow *f, const struct journal *j, uint32_t id, enum flow_callers callers, struct flow *callee,
		 struct errbuf *err);
void flow_free(struct flow *f);

#endif
