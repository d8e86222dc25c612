/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call of the tree as an expression. */
#ifndef PRECEDENT_SKELGEN_EMIT_CALL_H
#define PRECEDENT_SKELGEN_EMIT_CALL_H

#include "skelgen/emit/expr.h"

/* Append the call. Returns 1; 0 when there is nothing to execute (a local call); -1 when it
 * cannot be reproduced, with the reason in *why. */
int emit_call(struct leaf_ctx *c, struct code *out, const char **why);

/* The parts that other files of the emitter need. */
void emit_comm(struct leaf_ctx *c, const char *name, struct code *out);
void emit_datatype(struct leaf_ctx *c, const char *name, struct code *out);
bool emit_has_param(const struct leaf_ctx *c, const char *name);

/* template.c: what is called for a function of the trace, and its parameters by letters. call is NULL when there is none. */
struct call_template {
	const char *call;
	char parts[24];
};
struct call_template emit_template(const char *name);

/* win.c: parts of templates that are of windows; calls that make and free them, as emit_call. */
void emit_win_part(struct leaf_ctx *c, char part, struct code *out);
int emit_win_call(struct leaf_ctx *c, struct code *out, const char **why);
/* False where the recorder did not know the call's window. */
bool emit_win_known(const struct leaf_ctx *c);
/* Remember the longest access. */
void emit_win_note(struct leaf_ctx *c);

/* comm.c: calls that make and free communicators, as emit_call. */
int emit_comm_call(struct leaf_ctx *c, struct code *out, const char **why);

/* type.c: what names the datatype; NULL when it is type[id]. */
const char *type_c_name(const struct trace_type *t);
const char *op_c_name(const struct trace_op *o);
/* Statements that make the datatypes that are used. */
void emit_types(struct emit *e, struct code *out);

#endif
