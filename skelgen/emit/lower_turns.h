/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops whose iterations vary, and calls that are left out in some iterations, as expressions. */
#ifndef PRECEDENT_SKELGEN_EMIT_LOWER_TURNS_H
#define PRECEDENT_SKELGEN_EMIT_LOWER_TURNS_H

#include "skelgen/emit/lower_expr.h"
#include "skelgen/tree/loop_trip_counts.h"

/* When a node happens on each rank of its set. */
struct lower_when {
	bool conditional;        /* not whenever its parent's body is executed */
	uint32_t n;              /* ranks */
	struct tree_spans *rank; /* NULL unless conditional */
};

/* -1 without memory. */
int lower_when_open(const struct emit *e, const struct skel_node *n, struct lower_when *out);
void lower_when_close(struct lower_when *w);
bool lower_when_same(const struct lower_when *a, const struct lower_when *b);
/* Append the condition, of the node that w was made of. */
void lower_when_put(struct emit *e, const struct skel_node *n, const struct lower_when *w, struct code *out);

/* Does the number of iterations differ between executions of the loop? Executions without iterations do not count. */
bool lower_turns_vary(const struct emit *e, const struct skel_node *loop);
/* Append the iterations of this execution. */
void lower_turns_put(struct emit *e, const struct skel_node *loop, struct code *out);

#endif
