/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups the ranks by their event streams and contracts each group once. Every rank numbers its symbols by first use,
 * so that ranks with the same structure have the same stream of numbers.
 *     class  ranks with equal folded streams, shapes and keys: one expansion, one set of variant runs
 *     group  classes with equal streams of shapes and equal keys: one contracted tree
 */
#ifndef PRECEDENT_SKELGEN_MERGE_RANK_GROUPS_H
#define PRECEDENT_SKELGEN_MERGE_RANK_GROUPS_H

#include "common/arena.h"
#include "skelgen/contract/contract.h"
#include "skelgen/merge/normalise.h"
#include "skelgen/merge/irregular_loops.h"
#include "skelgen/tree/tree.h"

/* Above this many events, the recorder's folded form is the rank's tree: contraction takes up to 24 bytes an event,
 * 400 MB. */
#define RANK_GROUPS_EXPAND_MAX (1u << 24)

/* Cost of a node of the tree, in runs of a leaf's variants. A node is a line to read, a run only a number in a table.
 * Fewer nodes also mean loops that can be cut. With 16, LAMMPS becomes 121 calls, with 4 it becomes 883, because its
 * message sizes change at every re-neighbouring. */
#define RANK_GROUPS_NODE_COST 16

struct rank_class {
	uint64_t digest[2];
	uint32_t group;
	uint32_t first_rank, n_rank;
	struct skel_leaf_rank *leaf; /* of the group's leaves in preorder */
};

struct rank_group {
	uint64_t digest[2];
	uint32_t first_rank;
	uint32_t n_shape;
	uint64_t *key;              /* of each shape, which are the symbols of the tree */
	struct contract_tree tree;
	struct segment_notes *notes; /* calls that the tree's loops leave out in some iterations, or NULL */
	uint32_t n_leaf;
};

struct rank_groups {
	uint32_t n_ranks;
	enum skel_alphabet alphabet;
	uint32_t *class_of; /* [n_ranks] */
	struct rank_class *cls;
	struct rank_group *group;
	uint32_t n_class, n_group, cap_group;
	/* Size of the description: 4 for every node of the groups' trees, 1 for every variant run of the classes. */
	uint64_t cost;
};

/*
 * Group and contract all ranks. Runs and variants are allocated from `a`, which must outlive their use.
 *
 * optional: loops may leave out calls in some iterations (irregular_loops.h).
 * alternating: receives the keys of calls that alternate between few variants. Such calls are better kept exact.
 *
 * Returns 0 when done, 1 if the description exceeds max_cost, -1 with err filled. Free `out` after 0 only.
 */
int rank_groups_build(const struct trace *t, enum skel_alphabet alphabet, const struct key_set *kept,
		      bool optional, uint64_t max_cost, struct arena *a, struct key_set *alternating,
		      struct rank_groups *out, struct errbuf *err);
void rank_groups_free(struct rank_groups *g);

/* The recorder's own folds as a tree, for streams too long to contract. -1: it has too many nodes, or no memory. */
int rank_tree_of_folded(const struct folded *f, struct contract_tree *t, struct errbuf *err);

#endif
