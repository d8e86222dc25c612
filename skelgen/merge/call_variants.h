/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact symbol of each execution of a leaf, as runs of equal symbols. The runs are collected in one walk over a
 * rank's events and its contracted tree.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_CALL_VARIANTS_H
#define PRECEDENT_SKELGEN_MERGE_CALL_VARIANTS_H

#include "common/arena.h"
#include "skelgen/contract/contract.h"
#include "skelgen/merge/normalise.h"
#include "skelgen/merge/irregular_loops.h"
#include "skelgen/tree/tree.h"

/* Leaf numbers in the order of the program, by node index (undefined for loops). NULL without memory; free(). */
uint32_t *leaf_numbers(const struct contract_tree *tree, uint32_t *n_leaf);

/*
 * Fill leaf[0..n_leaf) for a rank whose events have the shapes to which `tree` expands.
 *
 * notes: calls that loops leave out, or NULL. number: from leaf_numbers(). leaf: NULL to count runs only.
 * *n_run: runs of all leaves with several variants.
 *
 * Returns 0 on success. Returns 1 if *n_run exceeds max_run; `leaf` then holds the runs up to there.
 * Returns -1 if the events differ from the tree's expansion or there is no memory.
 */
int leaf_runs_collect(const struct trace_rank *rank, const struct shape_map *map, const struct contract_tree *tree,
		      const struct segment_notes *notes, const uint32_t *number, uint32_t n_leaf, uint64_t max_run, struct arena *a,
		      struct skel_leaf_rank *leaf, uint64_t *n_run, struct errbuf *err);

/* The same where every shape is one symbol: from the tree alone. */
int leaf_runs_exact(const struct contract_tree *tree, uint32_t n_leaf, struct arena *a, struct skel_leaf_rank *leaf);

#endif
