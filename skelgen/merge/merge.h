/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of contracted trees: the trees of all groups become one tree, in ceil(log2 groups) rounds. Children are
 * aligned by weight (expanded events). Leaves match by key, loops by their bodies. A node without a partner keeps its
 * own set of groups as a guard. The merge keeps the order of every group's events: dropping the nodes without a group
 * yields that group's tree.
 *
 * Source: Zhang W., Zhang H., Zhang Y., "Parallel job performance prediction based on the case reconstruction",
 * Journal of Software 21(Suppl. 1), 2010, section 2.2, algorithm 2. There, flat logs are merged; here, trees.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_MERGE_H
#define PRECEDENT_SKELGEN_MERGE_MERGE_H

#include "skelgen/merge/rank_groups.h"

/* Distinguishes calls of one site: peers relative to the caller, tag, count. */
struct merge_hint {
	int64_t peer[2], tag, count;
};

struct merge_bag_item {
	uint64_t key;
	double weight;
};

struct merge_node {
	uint8_t kind;         /* enum skel_kind: SKEL_SEQ only at the root */
	uint64_t hash, shape; /* of the structure, with and without the counts of loops */
	double weight;        /* events of one execution */
	uint64_t *groups;     /* bit set */
	/* leaf */
	uint64_t key;
	uint32_t symbol;      /* in the tree that it was grown from */
	uint32_t origin;      /* node there */
	struct merge_hint hint;
	/* loop */
	uint64_t count;       /* iterations in every group, or 0: */
	uint64_t *counts;     /* by group */
	uint64_t max_count;
	struct merge_bag_item *bag; /* heaviest keys of the body, by key, per iteration */
	uint32_t n_bag;
	double bag_weight;    /* of all keys */
	/* loop, root */
	struct merge_node **child;
	uint32_t n_child;
	struct merge_node *prev, *next; /* all nodes of a merge, to free them */
};

struct merge {
	const struct trace *trace;
	const struct rank_groups *groups;
	uint32_t n_words; /* of a set of groups */
	bool uneven;	  /* trip counts may differ between groups, as between runs: each loop weighs as two iterations */
	struct merge_node *all;
	struct merge_node *root;
};

/* Merge all groups; m->root is the result. m is to be freed after 0 and after -1. */
int merge_groups(struct merge *m, const struct trace *t, const struct rank_groups *g, struct errbuf *err);
void merge_free(struct merge *m);

/* ---- merging other sequences than ranks: a "group" is then a kind of sequence ---- */

/* A context for n_group kinds of sequences; freed as any other. */
void merge_init(struct merge *m, const struct rank_groups *g);
/* The tree as nodes of one group; keys of its symbols in key[]. NULL without memory. */
struct merge_node *merge_grow(struct merge *m, const struct contract_tree *tree, const uint64_t *key, uint32_t group);
/* Merge b into a. Both are consumed; the caller uses only the result. NULL without memory. */
struct merge_node *merge_pair(struct merge *m, struct merge_node *a, struct merge_node *b);

static inline bool merge_has_group(const struct merge_node *n, uint32_t group)
{
	return n->groups[group / 64] >> (group % 64) & 1;
}

/* ---- alignment (align.c) ---- */

enum merge_op {
	MERGE_A,      /* a[i] alone */
	MERGE_B,      /* b[j] alone */
	MERGE_BOTH,   /* a[i] with b[j] */
	MERGE_WRAP_A, /* loop a[i] with b[j .. j + n), one iteration of it */
	MERGE_WRAP_B  /* a[i .. i + n), one iteration of loop b[j] */
};

struct merge_step {
	uint8_t op;
	uint32_t i, j, n;
};

struct merge_steps {
	struct merge_step *step;
	uint32_t n, cap;
};

/* Steps that go through a and b in order. -1 without memory. */
int merge_align(struct merge_node *const *a, uint32_t n, struct merge_node *const *b, uint32_t m,
		struct merge_steps *out);
/* The same call, or loops of equal count with bodies that have half in common? */
bool merge_alike(const struct merge_node *a, const struct merge_node *b);
/* Returns k if loop `many` iterates k times as often as loop `few`, and `few` contains a loop of k iterations with the
 * body of `many`. Otherwise returns 0. */
uint64_t merge_factor(const struct merge_node *many, const struct merge_node *few);

#endif
