/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call of the tree as a statement of C. */
#ifndef PRECEDENT_SKELGEN_EMIT_CALL_H
#define PRECEDENT_SKELGEN_EMIT_CALL_H

#include "skelgen/emit_expr.h"

/* Append the statement without its semicolon. Returns 1; 0 when there is nothing to execute (a local call); -1 when it
 * cannot be reproduced, with the reason in *why. */
int emit_call(struct leaf_ctx *c, struct text *out, const char **why);

/* The parts that other files of the emitter need. */
bool value_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 int64_t *out);
void emit_comm(struct leaf_ctx *c, const char *name, struct text *out);

/* emit_comm.c: calls that make and free communicators, as emit_call. */
int emit_comm_call(struct leaf_ctx *c, struct text *out, const char **why);

/* emit_type.c: what names the datatype; NULL when it is type[id]. */
const char *type_c_name(const struct trace_type *t);
const char *op_c_name(const struct trace_op *o);
/* Statements that make the datatypes that are used. */
void emit_types(struct emit *e, struct text *out);

#endif
