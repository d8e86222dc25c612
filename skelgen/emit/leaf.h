/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call of the tree, and the different calls that each rank makes there. */
#ifndef PRECEDENT_SKELGEN_EMIT_LEAF_H
#define PRECEDENT_SKELGEN_EMIT_LEAF_H

#include "skelgen/emit/lower.h"

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

/* Where the array of a parameter is. */
struct array_value {
	enum { ARRAY_NULL, ARRAY_OF_FILE, ARRAY_BY_COLUMN } where;
	uint32_t n;      /* its length, unless it is in a column */
	uint32_t number; /* of the array in the file, or of the column */
};

#define LEAF_ARRAYS 6

/* A leaf while it is lowered. */
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
/* The number of a column with these values, one per case, which are owned from now on. */
uint32_t leaf_ctx_column(struct leaf_ctx *c, int64_t *value);

#endif
