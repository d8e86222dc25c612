/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree as statements: loops, conditions on the rank, compute blocks and calls. */
#ifndef PRECEDENT_SKELGEN_EMIT_TREE_H
#define PRECEDENT_SKELGEN_EMIT_TREE_H

#include "skelgen/emit_expr.h"

/* Append the statements of the whole tree to e->body. -1 without memory. */
int emit_tree(struct emit *e);

/* emit_gap.c: append the statement that computes for the gap before the leaf, and `with` its calls' own time too
 * (for calls that are not reproduced). Nothing when there is next to none. */
void emit_gap(struct emit *e, const struct skel_node *leaf, bool with_call, int depth);
/* Must the runtime know which execution this is, for the leaf's gaps? */
bool gap_needs_position(const struct emit *e, const struct skel_node *leaf);

/* emit_report.c: share of the time that is reproduced, and the text of report.txt. */
double emit_confidence(struct emit *e);
void emit_report(struct emit *e, double confidence, struct text *out);

#endif
