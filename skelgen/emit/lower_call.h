/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call of the tree as an expression. */
#ifndef PRECEDENT_SKELGEN_EMIT_LOWER_CALL_H
#define PRECEDENT_SKELGEN_EMIT_LOWER_CALL_H

#include "skelgen/emit/lower_expr.h"

/* Append the call. Returns 1; 0 if there is nothing to execute (a local call); -1 if it cannot be reproduced (*why says
 * why). */
int lower_call(struct leaf_ctx *c, struct code *out, const char **why);

/* Global number of the datatype in the parameter `name`; nothing is asked of a null one. */
bool value_type(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		int64_t *out);
/* type[id] is named. */
void lower_use_type(struct emit *e, int64_t id);
/* Number of the call's request in the parameter. */
void lower_slot(struct leaf_ctx *c, const char *name, struct code *out);
void lower_comm(struct leaf_ctx *c, const char *name, struct code *out);
void lower_datatype(struct leaf_ctx *c, const char *name, struct code *out);
bool lower_has_param(const struct leaf_ctx *c, const char *name);

/* call_template.c: the function that is called for one of the trace, and a letter for each parameter. call is NULL if the
 * function has no template. */
struct call_template {
	const char *call;
	char parts[24];
};
struct call_template lower_template(const char *name);

/* lower_buffer.c, lower_win.c: append the parameter of this letter. Returns false if the letter is of another file. */
bool lower_buffer_part(struct leaf_ctx *c, char part, struct code *out);
bool lower_win_part(struct leaf_ctx *c, char part, struct code *out);
/* Calls that make and free windows, as lower_call. */
int lower_win_call(struct leaf_ctx *c, struct code *out, const char **why);
/* False where the recorder did not know the call's window. */
bool lower_win_known(const struct leaf_ctx *c);
/* Remember the longest access to a window. */
void lower_win_note(struct leaf_ctx *c);

/* lower_comm.c: calls that make and free communicators, as lower_call. */
int lower_comm_call(struct leaf_ctx *c, struct code *out, const char **why);

/* lower_type.c: the constant of a predefined datatype or operation; NULL for others. */
const char *type_c_name(const struct trace_type *t);
const char *op_c_name(const struct trace_op *o);
/* Statements that make the datatypes that are used. */
void lower_types(struct emit *e, struct code *out);

#endif
