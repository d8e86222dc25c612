/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features: numbers that a rank can compute, before it communicates, from the variables of a run, its rank and the
 * number of ranks. Some features are places and neighbours on grids of one to three dimensions, as MPI_Dims_create
 * makes them. Others are parts of a size divided among the ranks of a dimension, remainders, levels of halving, and
 * portions. A feature is known by its name. The name is an input in the model's file. Examples:
 *
 *   "next(2,0)"               the neighbour above in dimension 0 of a grid of two dimensions
 *   "block(N,1,0)"            this rank's part of N
 *   "levels(N,2,0)"           how often N / n can be halved
 *   "chunks(block(N,1,0),8)"  the number of portions of eight in a part
 */
#ifndef PRECEDENT_MODEL_INPUTS_FEATURE_H
#define PRECEDENT_MODEL_INPUTS_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

#define FEATURE_VARS_MAX  8
#define FEATURE_NONE	  INT64_MIN /* has no value here */
#define FEATURE_NAME	  96
#define FEATURE_VALUE_MAX (INT64_C(1) << 40)

enum feature_op {
	FEATURE_VAR,	/* variable v */
	FEATURE_RANK,
	FEATURE_RANKS,
	FEATURE_LOG2,	/* least k with 2^k >= ranks */
	FEATURE_FLIP,	/* rank with bit w flipped, TRACE_PROC_NULL where there is no such rank */
	FEATURE_UPPER,	/* the same where it is a higher rank, else TRACE_PROC_NULL */
	FEATURE_LOWER,	/* the same where it is a lower rank, else TRACE_PROC_NULL */
	/* For times only, not for calls and their values: */
	FEATURE_CROWDED, /* 1 where there are more ranks than processors, else 0 */
	FEATURE_ABOVE,	 /* 1 where v or its block in dimension i of d is above w, else 0 */
	FEATURE_DIMS,	/* extent of dimension i of d */
	FEATURE_COORD,	/* place in it */
	FEATURE_PREV,	/* neighbour below, TRACE_PROC_NULL outside */
	FEATURE_NEXT,
	FEATURE_BEFORE, /* the same, around */
	FEATURE_AFTER,
	FEATURE_LPREV,	/* the same as PREV and NEXT, as a place in the line of ranks through this one */
	FEATURE_LNEXT,
	FEATURE_LINE,	/* first rank of that line */
	FEATURE_STRIDE, /* and the distance from one to the next */
	FEATURE_BLOCK,	/* v (c + 1) / n - v c / n, each rounded down */
	FEATURE_SHARE,	/* v / n, one more on the first v mod n */
	FEATURE_PART,	/* v / n, rounded down */
	FEATURE_MOD,	/* v mod w */
	FEATURE_DIV,	/* v / w, rounded down */
	FEATURE_LEVELS, /* greatest k with 2^k <= v, or v / n where d is not 0 */
	FEATURE_COARSE, /* v, halved as often as v / n of dimension 0 is at least 4; of i < d: v / n of dimension i, so often;
			 * w: that many times less often */
	/* Of v or its block in dimension i of d, in portions of w: */
	FEATURE_CHUNKS, /* how many, the last of them maybe smaller */
	FEATURE_TAIL,	/* the size of the last one */
	FEATURE_WHOLE,	/* how many are whole */
	FEATURE_OPS
};
struct feature {
	char name[FEATURE_NAME];
	uint8_t op, d, i; /* dimensions, and which of them */
	uint8_t v, w;	  /* variables; w may be a portion, or a bound */
};

/* A run: its variables, and a rank of it; ranks for a processor, 0: times are not asked for. */
struct feature_place {
	const double *var;
	uint32_t rank, ranks;
	double crowd;
};

/* All features of these variables: the simplest first, portions last. malloced; NULL without memory. */
struct feature *feature_list(const char *const *var, uint32_t n_vars, uint32_t *n);
/* FEATURE_NONE where it has no value: a variable that is no whole number, an overflow. */
int64_t feature_value(const struct feature *f, const struct feature_place *p);
/* Is the feature a variable, rank or ranks itself? */
static inline bool feature_is_plain(const struct feature *f)
{
	return f->op <= FEATURE_RANKS;
}
static inline bool feature_is_partner(const struct feature *f)
{
	return f->op >= FEATURE_FLIP && f->op <= FEATURE_LOWER;
}
static inline bool feature_is_portion(const struct feature *f)
{
	return f->op >= FEATURE_CHUNKS;
}
/* Extents of a grid of d <= 3 dimensions of n ranks, falling, as even as can be. */
void feature_dims(uint32_t n, uint32_t d, uint32_t dims[3]);

#endif
