/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of induction: learn.c (the model), learn_graph.c (rows of a graph), learn_rules.c (time and data). */
#ifndef PRECEDENT_MODEL_INDUCE_LEARN_IMPL_H
#define PRECEDENT_MODEL_INDUCE_LEARN_IMPL_H

#include "model/induce/flow.h"
#include "model/induce/learn.h"
#include "model/induce/rules.h"
#include "model/induce/topology.h"

/* Passages of a node, with the journal's rows before and after its arc. */
struct learn_node {
	struct rules_table t;
	uint32_t *row_out, *row_next; /* MODEL_NONE: there is none */
	size_t cap;
};
struct learn_graph {
	struct flow flow;
	struct topology topo;
	struct rules_features f;
	struct learn_node *node;
	uint32_t **resets, *n_resets; /* counters that each arc initialises, by arc */
	uint64_t *count;
};
struct learner {
	const struct journal *j;
	uint32_t without; /* a run that is left out, or UINT32_MAX */
	struct model *m;
	uint32_t n_graphs;
	struct learn_graph *g;
	bool *whole_input, *whole_var; /* only whole numbers */
	bool *log_input;	       /* whole, and never below 1 */
	bool repeat;		       /* no input varies */
	bool whole, open; /* whole: only a model that leaves nothing open is wanted, and learning ends as soon as this one does */
	struct errbuf *err;
};

/* Columns of every node, and a row for every passage. */
int learn_tables(struct learner *l, uint32_t graph);
void learn_graph_free(struct learn_graph *g);
/* Time and data rules on the arcs of the model's graphs; variables that are not determined are marked. */
int learn_functions(struct learner *l);

#endif
