/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What build.c (names, inputs, doubts) and build_graph.c (nodes and arcs) share. */
#ifndef PRECEDENT_MODEL_INPUTS_BUILD_IMPL_H
#define PRECEDENT_MODEL_INPUTS_BUILD_IMPL_H

#include "model/inputs/build.h"

#define BUILD_FEATURES	 1024 /* of a graph */
#define BUILD_POINT_NAME 1200 /* of a call with all its values */

/* A variable of the model's own: the current value of a number that steps with the counter of a loop. The variable is
 * set where the loop's node is entered, so that calls in inner loops see it too. */
struct build_step {
	const struct learnt_value *v;
	uint32_t var;
};

struct build {
	const struct learnt *l;
	const struct run_times *times;
	struct model *m;
	uint32_t *input_of;	/* by feature, MODEL_NONE */
	uint32_t *point_of;	/* by leaf */
	uint32_t **var_of;	/* by leaf and value */
	uint32_t compute;	/* variable, where there are times */
	uint32_t *told;		/* by leaf, if there are times: variable with the computation before the call; MODEL_NONE */
	struct build_step *step;
	uint32_t n_steps;
	bool failed;
	struct errbuf *err;
};

/* A graph being made. */
struct build_graph {
	uint32_t index;
	const struct merge_node *of;	  /* loop or root */
	const struct build_graph *around; /* NULL for the root */
	uint32_t n_features, n_counters;
	struct model_feature feature[BUILD_FEATURES];
	uint32_t *counter, *counter_of; /* by item */
	struct model_node *node;
	const struct merge_node **item; /* of node i + 1 */
	uint32_t n_items;
};

/* Index of the feature of the graph; b of a pair, or 0. */
uint32_t build_feature(struct build *b, struct build_graph *g, uint8_t op, uint32_t a);
uint32_t build_pair(struct build *b, struct build_graph *g, uint8_t op, uint32_t x, uint32_t y);
/* The same for an input that is this feature of runs. */
uint32_t build_input(struct build *b, struct build_graph *g, uint32_t feature);
/* Gives every value that steps with a counter its variable; equal values share one. */
int build_steps_name(struct build *b);
uint32_t build_step_var(const struct build *b, const struct learnt_value *v);
/* The value in the iteration of item `item` that is entered. `var`: its variable, for values that are multiplied.
 * again: the iteration is entered from the item itself. */
void build_step_fn(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t item, uint32_t var, bool again,
		   struct model_fn *fn);
/* ---- build_graph.c ---- */

/* The rule as a stage's terms. */
void build_rule_terms(struct build *b, struct build_graph *g, const struct rule *r, struct model_stage *stage);

/* Finds the leaves that follow a call of another sequence, or of another round of the sequence. Returns -1 without
 * memory. */
int build_find_told(const struct build *b, bool *told);

/* The graph of the contents of a loop or the root. Returns MODEL_NONE with the reason, or without memory. */
uint32_t build_graph(struct build *b, const struct merge_node *of, const struct build_graph *around);

#endif
