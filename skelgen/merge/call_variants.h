/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which exact symbol each execution of a leaf is: collected as runs along a walk over a rank's events and its
 * contracted tree.
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
 * Fill leaf[0..n_leaf) for a rank whose events have the shapes that `tree` (with what `notes` leaves out; may be NULL)
 * expands to; number: leaf_numbers.
 * *n_run counts all runs of leaves with several variants. 1: there would be more than max_run of them, and leaf
 * holds those up to there; leaf may be NULL, to count only; -1: the events are not what the tree expands to, or no memory.
 */
int leaf_runs_collect(const struct trace_rank *rank, const struct shape_map *map, const struct contract_tree *tree,
		      const struct segment_notes *notes, const uint32_t *number, uint32_t n_leaf, uint64_t max_run, struct arena *a,
		      struct skel_leaf_rank *leaf, uint64_t *n_run, struct errbuf *err);

/* The same where every shape is one symbol: from the tree alone. */
int leaf_runs_exact(const struct contract_tree *tree, uint32_t n_leaf, struct arena *a, struct skel_leaf_rank *leaf);

#endif
