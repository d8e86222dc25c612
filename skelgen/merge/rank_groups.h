/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks by what they do, each kind contracted once. Symbols are numbered by first use in every rank, so that ranks
 * with the same structure have the same stream of numbers:
 *   class  ranks whose folded streams, shapes and keys are equal: one expansion, one set of variant runs;
 *   group  classes whose streams of shapes and keys are equal: one contracted tree.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_RANK_GROUPS_H
#define PRECEDENT_SKELGEN_MERGE_RANK_GROUPS_H

#include "common/arena.h"
#include "skelgen/contract/contract.h"
#include "skelgen/merge/normalise.h"
#include "skelgen/merge/irregular_loops.h"
#include "skelgen/tree/tree.h"

/* Beyond this many events a rank's own folded form is its tree: contraction needs some 30 bytes an event. */
#define RANK_GROUPS_EXPAND_MAX (1u << 25)

/* A node of the tree counts as much as this many runs of a leaf's variants: a line that is read against a number in a
 * table, and a loop that can be cut against one that cannot. LAMMPS, whose message sizes change at every
 * re-neighbouring, becomes 121 calls with it and 883 with 4. */
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
	struct segment_notes *notes; /* what its loops leave out in some iterations, or NULL */
	uint32_t n_leaf;
};

struct rank_groups {
	uint32_t n_ranks;
	enum skel_alphabet alphabet;
	uint32_t *class_of; /* [n_ranks] */
	struct rank_class *cls;
	struct rank_group *group;
	uint32_t n_class, n_group;
	/* Size of the description: 4 for every node of the groups' trees, 1 for every variant run of the classes. */
	uint64_t cost;
};

/*
 * Group and contract all ranks. Runs and variants are allocated from `a`, which must outlive their use.
 * With `optional`, loops may leave out calls in some iterations (segments.h). Adds the keys of calls that alternate between few variants, and are better kept exact, to `alternating`.
 * Gives up with 1 when the description exceeds max_cost; 0 done; -1 with err filled. out is to be freed after 0 only.
 */
int rank_groups_build(const struct trace *t, enum skel_alphabet alphabet, const struct key_set *kept,
		      bool optional, uint64_t max_cost, struct arena *a, struct key_set *alternating,
		      struct rank_groups *out, struct errbuf *err);
void rank_groups_free(struct rank_groups *g);

/* The recorder's own folds as a tree, for streams too long to contract. -1: it has too many nodes, or no memory. */
int rank_tree_of_folded(const struct folded *f, struct contract_tree *t, struct errbuf *err);

#endif
