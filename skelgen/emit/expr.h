/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a leaf's parameters as expressions: a constant, a function of rank and size, or, where neither holds on
 * every rank and execution, a column of the leaf's values in skel.c.data.
 */
#ifndef PRECEDENT_SKELGEN_EMIT_EXPR_H
#define PRECEDENT_SKELGEN_EMIT_EXPR_H

#include "skelgen/tree/callinfo.h"
#include "skelgen/emit/skeleton.h"
#include "skelgen/emit/code.h"
#include "skelgen/emit/data.h"
#include "skelgen/timing/gap_rank_order.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/plan/plan.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/wildcard.h"

enum { WAIT_FILE = 1, WAIT_OTHER = 2 };

/* Everything that emission knows and gathers. */
struct emit {
	const struct skel_tree *tree;
	const struct skel_times *times;
	const struct skel_plan *plan;
	const struct skel_mixes *profile;     /* what the gaps consist of */
	const struct skel_buffered *buffered; /* sends that rely on buffers; may be NULL */
	const struct skel_emit_options *opt;
	struct emit_data *data;
	struct code_arrays array; /* file-scope arrays and sets */
	struct code body;    /* statements of run() */
	struct text notes;   /* what the report says about single calls */
	struct named_array {
		uint64_t hash;
		uint32_t n, id;
	} *named;            /* arrays of integers: equal ones share a name */
	uint32_t n_named;
	uint32_t n_loop;     /* loops that the runtime follows */
	bool *type_used;     /* by global number */
	bool types_indexed;  /* type[] must hold the predefined ones too */
	int64_t max_slot;    /* of requests */
	int64_t bsend_bytes; /* longest buffered send */
	int64_t rma_bytes;   /* longest access to a window */
	const char *mpi4;    /* a function that MPI has from version 4 on, or NULL */
	uint8_t *wait_kind;  /* by leaf_id: what its waits complete, WAIT_*; NULL: no request is of a file */
	double io_ns;        /* of calls on files, mean over ranks */
	uint64_t io_leaves;
	uint64_t io_calls[2][TRACE_FN_N]; /* of functions on files: [0] always delays, [1] made where there are scratch files */
	uint32_t io_unknown; /* calls in the source whose file, datatype or request the trace does not tell */
	double lost_ns;      /* of what cannot be reproduced, mean over ranks */
	bool clocks_apart;   /* of ranks: a share of long gaps ran since they last met */
	bool no_memory;
	/* Arrays made for the leaf that is being emitted. */
	int64_t **made;
	uint32_t n_made;
};

/* What one rank does at a leaf in a certain execution. */
struct leaf_case {
	uint32_t sym;
	int64_t source, tag; /* as skel_call_match gives them */
};

struct leaf_rank {
	uint32_t rank;
	const struct trace_defs *d;
	uint32_t n_case, n_run;
	struct leaf_case *kase;
	uint32_t *run_case;
	uint64_t *run_end;
};

#define LEAF_ARRAYS 6

/* Where the array of a parameter is. */
struct array_value {
	enum { ARRAY_NULL, ARRAY_OF_FILE, ARRAY_BY_COLUMN } where;
	uint32_t n;      /* its length, unless it is in a column */
	uint32_t number; /* of the array in the file, or of the column */
};

/* A leaf while it is emitted. */
struct leaf_ctx {
	struct emit *e;
	const struct skel_node *leaf;
	uint32_t n_rank, n_case;   /* cases of all ranks */
	struct leaf_rank *rank;
	uint32_t n_col;
	int64_t **col;             /* columns: one value per case, rank by rank */
	/* Array parameters that were looked for, by name. */
	struct leaf_array {
		const char *name;
		struct array_value value;
	} array[LEAF_ARRAYS];
};

int leaf_ctx_open(struct leaf_ctx *c, struct emit *e, const struct skel_node *leaf);
void leaf_ctx_close(struct leaf_ctx *c);
/* n values that live until the leaf is closed; NULL without memory. */
int64_t *leaf_ctx_values(const struct leaf_ctx *c, uint32_t n);
/* Put the columns into skel.c.data; the number of the varying call. */
uint32_t leaf_ctx_store(struct leaf_ctx *c);

/* A value in one case. Returns false where MPI does not look at it. */
typedef bool (*value_fn)(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out);
/* The same for an array: values are borrowed. */
typedef bool (*array_fn)(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, const int64_t **v, uint32_t *n);

/* The parameter of this name. */
bool value_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 int64_t *out);

enum value_style {
	VALUE_INT,
	VALUE_PEER, /* TRACE_PROC_NULL and TRACE_ANY_SOURCE have names */
	VALUE_TAG,  /* TRACE_ANY_TAG has a name */
	VALUE_LONG, /* may need 64 bits */
	VALUE_ROOT  /* TRACE_ROOT and TRACE_PROC_NULL have names */
};

/* Append the expression. */
void emit_value(struct leaf_ctx *c, value_fn fn, const void *arg, enum value_style style, struct code *out);
static inline void emit_named(struct leaf_ctx *c, const char *name, enum value_style style, struct code *out)
{
	emit_value(c, value_named, name, style, out);
}
/* Is it the same value wherever MPI looks at it? `missing` where it never does. */
bool value_is_constant(const struct leaf_ctx *c, value_fn fn, const void *arg, int64_t missing, int64_t *value);
struct array_value emit_array(struct leaf_ctx *c, array_fn fn, const void *arg);
/* Append an expression of type const int *, and one of its length. */
void array_put(const struct array_value *a, struct code *out);
void array_put_length(const struct array_value *a, struct code *out);
bool array_is_constant(const struct leaf_ctx *c, array_fn fn, const void *arg, const int64_t **v, uint32_t *n);

/* Append a condition that holds on the ranks of the leaf where the value, 0 or 1, is 1; -1 when it varies on a rank. */
int emit_where(struct leaf_ctx *c, value_fn fn, const void *arg, struct code *out);

/* A value per rank of a set that is not a leaf's, such as a loop's count: constant, function or file-scope table. */
void emit_rank_value(struct emit *e, const struct rank_set *set, const int64_t *value, struct code *out);
/* Condition that holds on the ranks of the set. */
void emit_rank_set(struct emit *e, const struct rank_set *set, struct code *out);

#endif
