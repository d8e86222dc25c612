/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a planned skeleton on one rank, in order. Each call comes with the execution of the traced program that
 * it represents. The runtime of the emitted program makes the same steps.
 */
#ifndef PRECEDENT_SKELGEN_PLAN_PLAN_WALK_H
#define PRECEDENT_SKELGEN_PLAN_PLAN_WALK_H

#include "skelgen/plan/plan.h"
#include "skelgen/tree/tree.h"

struct scaled_level {
	const struct skel_node *node;
	uint32_t next_child;
	uint64_t iter;      /* begun, of loops */
	uint64_t turns;     /* that this execution makes */
	uint64_t total;     /* iterations of the longest execution */
	struct skel_cut cut; /* of this one */
	uint64_t base;      /* position of the enclosing loop body */
};

struct scaled_iter {
	const struct skel_tree *tree;
	const struct skel_plan *plan;
	uint32_t rank;
	int depth;
	uint64_t position;
	struct scaled_level level[SKEL_MAX_DEPTH];
};

void scaled_begin(struct scaled_iter *it, const struct skel_tree *tree, const struct skel_plan *plan, uint32_t rank);
/* 1 with the leaf, the execution it stands for, and the rank's index in the leaf's set; 0 at the end. */
int scaled_next(struct scaled_iter *it, const struct skel_node **leaf, uint64_t *occ, uint32_t *index);

#endif
