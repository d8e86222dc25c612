/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shape folding: loops whose trip counts vary. Where exact contraction sees A B, A A B, A A A B, ... a shape
 * tree holds ((A)^i B)^k. Every loop lists the trip count of each of its executions, as a formula if one
 * fits. The expansion of a shape tree is the stream exactly; every tree is proved before it is returned.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_SHAPE_H
#define PRECEDENT_SKELGEN_CONTRACT_SHAPE_H

#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/contract/contract.h"

enum count_form {
	COUNT_CONSTANT,
	COUNT_AFFINE,	/* value + step * k */
	COUNT_RUNS,	/* several affine runs, among them run-length */
	COUNT_PERIODIC, /* one of the above, again and again */
	COUNT_RAW,
};

/* Values from `start` on: value + step * (k - start), up to the start of the next segment. */
struct count_segment {
	uint64_t start, value;
	int64_t step;
};

/* The counts of the n executions of a loop, all >= 1: the first `period` of them are described, then they
 * repeat. */
struct count_vec {
	uint64_t n, period;
	struct count_segment *segment;
	uint32_t n_segment; /* 0: raw */
	uint32_t *raw;	    /* [period] */
};

/* Describe value[0..n), each >= 1. Returns 0 with *out to be freed by count_vec_free(), or -1. */
int count_vec_build(const uint32_t *value, uint64_t n, struct count_vec *out, struct errbuf *err);
uint64_t count_vec_at(const struct count_vec *v, uint64_t k); /* k < n */
enum count_form count_vec_form(const struct count_vec *v);
/* Numbers that the description takes beyond a single count: 0 for a constant. */
uint64_t count_vec_cost(const struct count_vec *v);
void count_vec_free(struct count_vec *v);

/* As in contract.h: a true tree, in preorder. */
struct shape_node {
	uint32_t kind;		    /* enum contract_kind */
	uint32_t symbol;	    /* leaf */
	uint32_t first, n_children; /* loop: body in child[] */
	uint32_t vec;		    /* loop: its counts in vec[]; no two loops share one */
};

struct shape_tree {
	struct shape_node *node;
	uint32_t n_node;
	uint32_t *child;
	uint32_t n_child;
	uint32_t top_first, n_top;
	struct count_vec *vec;
	uint32_t n_vec;
	uint64_t n_events, hash; /* as in contract.h */
};

/* Fold sym[0..n). exact: the contraction of sym, or NULL to have it made here. The result is the tree of
 * `exact` with constant counts, unless folding takes fewer numbers (shape_tree_cost). Returns 0 with *out to
 * be freed, or -1 with *out empty. */
int shape_fold(const uint32_t *sym, uint64_t n, const struct contract_tree *exact, struct shape_tree *out,
	       struct errbuf *err);

void shape_tree_free(struct shape_tree *tree);
uint64_t shape_tree_length(const struct shape_tree *tree); /* leaves */
uint64_t shape_tree_cost(const struct shape_tree *tree);   /* leaves and the cost of all count vectors */

struct shape_frame {
	uint32_t first, n, at;
	uint64_t left;
};

struct shape_iter {
	const struct shape_tree *tree;
	struct shape_frame frame[CONTRACT_MAX_DEPTH + 1];
	uint32_t depth;
	uint64_t *executed; /* [n_vec] executions so far */
};

/* Walk the expansion. The tree must outlive the walk. begin returns 0, or -1 without memory. next returns 1,
 * 0 at the end, -1 if the tree is not well formed. Call end in every case: it frees the iterator. */
int shape_expand_begin(struct shape_iter *it, const struct shape_tree *tree, struct errbuf *err);
int shape_expand_next(struct shape_iter *it, uint32_t *symbol, uint32_t *leaf_node);
void shape_expand_end(struct shape_iter *it);

/* Prove that the tree is well formed, expands to sym[0..n) and uses up every count vector. */
int shape_tree_check(const struct shape_tree *tree, const uint32_t *sym, uint64_t n, struct errbuf *err);

#endif
