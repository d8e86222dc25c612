/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What build.c (names, inputs, doubts) and build_graph.c (nodes and arcs) share. */
#ifndef PRECEDENT_PREDICTOR_INPUTS_BUILD_IMPL_H
#define PRECEDENT_PREDICTOR_INPUTS_BUILD_IMPL_H

#include "predictor/inputs/build.h"

#define BUILD_FEATURES	 1024 /* of a graph */
#define BUILD_POINT_NAME 480

struct build {
	const struct learnt *l;
	const struct run_times *times;
	struct model *m;
	uint32_t *input_of;	/* by feature, MODEL_NONE */
	uint32_t *point_of;	/* by leaf */
	uint32_t **var_of;	/* by leaf and value */
	uint32_t compute;	/* variable, where there are times */
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
	uint32_t *counter;
	struct model_node *node;
	const struct merge_node **item; /* of node i + 1 */
	uint32_t n_items;
};

/* Index of the feature of the graph. */
uint32_t build_feature(struct build *b, struct build_graph *g, uint8_t op, uint32_t a);
/* The same for an input that is this feature of runs. */
uint32_t build_input(struct build *b, struct build_graph *g, uint32_t feature);
/* The graph of what is in a loop or the root; MODEL_NONE with the reason, or without memory. */
uint32_t build_graph(struct build *b, const struct merge_node *of, const struct build_graph *around);

#endif
