/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree as statements: loops, conditions on the rank, compute blocks and calls. */
#ifndef PRECEDENT_SKELGEN_EMIT_LOWER_TREE_H
#define PRECEDENT_SKELGEN_EMIT_LOWER_TREE_H

#include "skelgen/emit/lower_expr.h"

/* Place of the call, fit for a comment: "exchange (heat.c:42)", "heat+0x1234", with the call's name before it or not. */
void emit_describe(const struct leaf_ctx *c, struct text *where, bool with_name);

/* Append the statements of the whole tree to e->body. -1 without memory. */
int lower_tree(struct emit *e);

/* lower_gap.c: before the first leaf: fill e->recorded and e->follows. Returns 0, or -1 without memory. */
int lower_gap_prepare(struct emit *e);
/* Append the statement that computes for the gap before the leaf, and `with` its calls' own time too
 * (for calls that are not reproduced). Nothing when there is next to none. */
void lower_gap(struct emit *e, const struct skel_node *leaf, bool with_call);
/* Must the runtime know which execution this is, for the leaf's gaps? */
bool gap_needs_position(const struct emit *e, const struct skel_node *leaf);

/* Append the statement that waits as long as the leaf's calls took: the least of all ranks, or each its own. */
void lower_delay(struct emit *e, const struct skel_node *leaf, bool least);

/* lower_io.c: before the first leaf: which waits are for files. -1 without memory. */
int lower_io_prepare(struct emit *e);
/* Is it a call on a file, or a wait for such a call? */
bool lower_is_io(const struct emit *e, const struct skel_node *leaf);
/* Append the call that is made for it, if any. */
enum io_call {
	IO_NOTHING, /* its time passes */
	IO_MEETS,   /* after the call its time passes */
	IO_MAKES    /* its time passes where the call gives 0 */
};
enum io_call lower_io_call(struct leaf_ctx *c, struct code *out);
/* Is a collective call, in which all wait for the last? */
bool lower_io_meets(const struct skel_node *leaf);
/* What becomes of calls on files, for the report. */
void emit_io_report(const struct emit *e, struct text *out);

/* report.c: share of the time that is reproduced, and the text of report.txt. */
double emit_confidence(struct emit *e);
void emit_report(struct emit *e, double confidence, struct text *out);

#endif
