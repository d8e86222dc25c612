/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a leaf's parameters as expressions. A value is a constant or a function of rank and size. Where neither holds
 * on every rank and execution, the values are a column in skel.c.data.
 */
#ifndef PRECEDENT_SKELGEN_EMIT_LOWER_EXPR_H
#define PRECEDENT_SKELGEN_EMIT_LOWER_EXPR_H

#include "skelgen/emit/leaf.h"

/* A value in one case. Returns false where MPI does not look at it. */
typedef bool (*value_fn)(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out);
/* The same for an array: values are borrowed. */
typedef bool (*array_fn)(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, const int64_t **v, uint32_t *n);

/* The parameter of this name. */
bool value_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 int64_t *out);
/* The array in the parameter of this name, of length 0 if there is none. */
bool array_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 const int64_t **v, uint32_t *n);
/* The requests that the call waits for or starts. */
bool array_done(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		const int64_t **v, uint32_t *n);

enum value_style {
	VALUE_INT,
	VALUE_PEER, /* TRACE_PROC_NULL and TRACE_ANY_SOURCE have names */
	VALUE_TAG,  /* TRACE_ANY_TAG has a name */
	VALUE_LONG, /* may need 64 bits */
	VALUE_ROOT  /* TRACE_ROOT and TRACE_PROC_NULL have names */
};

/* Append the expression. */
void lower_value(struct leaf_ctx *c, value_fn fn, const void *arg, enum value_style style, struct code *out);
static inline void lower_named(struct leaf_ctx *c, const char *name, enum value_style style, struct code *out)
{
	lower_value(c, value_named, name, style, out);
}
/* Is it the same value wherever MPI looks at it? `missing` where it never does. */
bool value_is_constant(const struct leaf_ctx *c, value_fn fn, const void *arg, int64_t missing, int64_t *value);
struct array_value lower_array(struct leaf_ctx *c, array_fn fn, const void *arg);
/* Append an expression of type const int *, and one of its length. */
void array_put(const struct array_value *a, struct code *out);
void array_put_length(const struct array_value *a, struct code *out);
bool array_is_constant(const struct leaf_ctx *c, array_fn fn, const void *arg, const int64_t **v, uint32_t *n);

/* Append a condition that holds on the ranks of the leaf where the value, 0 or 1, is 1; -1 when it varies on a rank. */
int lower_where(struct leaf_ctx *c, value_fn fn, const void *arg, struct code *out);

/* A value per rank of a set that is not a leaf's, such as a loop's count: constant, function or file-scope table. */
void lower_rank_value(struct emit *e, const struct rank_set *set, const int64_t *value, struct code *out);
/* Condition that holds on the ranks of the set. */
void lower_rank_set(struct emit *e, const struct rank_set *set, struct code *out);

#endif
