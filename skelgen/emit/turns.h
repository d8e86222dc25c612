/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops whose iterations vary, and calls that are left out in some iterations, as expressions. */
#ifndef PRECEDENT_SKELGEN_EMIT_TURNS_H
#define PRECEDENT_SKELGEN_EMIT_TURNS_H

#include "skelgen/emit/expr.h"
#include "skelgen/tree/loop_trip_counts.h"

/* When a node happens on each rank of its set. */
struct emit_when {
	bool conditional;        /* not whenever its parent's body is executed */
	uint32_t n;              /* ranks */
	struct tree_spans *rank; /* NULL unless conditional */
};

/* -1 without memory. */
int emit_when_open(const struct emit *e, const struct skel_node *n, struct emit_when *out);
void emit_when_close(struct emit_when *w);
bool emit_when_same(const struct emit_when *a, const struct emit_when *b);
/* Append the condition, of the node that w was made of. */
void emit_when_put(struct emit *e, const struct skel_node *n, const struct emit_when *w, struct code *out);

/* Do executions of the loop make different numbers of iterations, those that make none apart? */
bool emit_turns_vary(const struct emit *e, const struct skel_node *loop);
/* Append the iterations of this execution. */
void emit_turns_put(struct emit *e, const struct skel_node *loop, struct code *out);

#endif
