/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loop contraction: a string of event symbols becomes a tree of loops whose expansion is that string exactly.
 * Maximal repetitions are contracted longest first, then leftmost, until none is left. Loop bodies are
 * contracted in the same way. Source: Zhang W., Zhang H., Zhang Y., "Parallel job performance prediction based on
 * the case reconstruction", Journal of Software 21(Suppl. 1), 2010, section 3.
 *
 * A tree is a true tree: every node has one parent, so that a leaf's index stands for one place in the
 * program. Nodes are in preorder (a child's index is larger than its parent's); loops nest at most
 * CONTRACT_MAX_DEPTH deep, because each at least doubles the text.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_CONTRACT_H
#define PRECEDENT_SKELGEN_CONTRACT_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/contract/repeats.h"

#define CONTRACT_MAX_DEPTH  64
#define CONTRACT_MAX_EVENTS 0x70000000u

enum contract_kind { CONTRACT_LEAF, CONTRACT_LOOP };

struct contract_node {
	uint32_t kind;
	uint32_t symbol;	    /* leaf: its symbol */
	uint32_t first, n_children; /* loop: the body is child[first .. first+n_children), node indexes */
	uint64_t count;		    /* loop: iterations, >= 2; leaf: 1 */
};

struct contract_tree {
	struct contract_node *node;
	uint32_t n_node;
	uint32_t *child;
	uint32_t n_child;
	uint32_t top_first, n_top; /* the outermost sequence, in child[] */
	uint64_t n_events;	   /* length of the expansion */
	uint64_t hash;		   /* XXH3 (64 bits) of the expansion as uint32_t in memory */
};

/* Zero is the default of every option. */
struct contract_options {
	enum repeats_engine engine;
	bool without_shortcut; /* do not look for one loop that covers most of the text first */
	bool without_search;   /* do not search the shortest contraction of short sequences */
};

/* Contract sym[0..n). Returns 0 with *out to be freed by contract_tree_free(), checked to expand to sym; or
 * -1 with err filled and *out empty. Any values are symbols; n = 0 gives an empty tree. */
int contract_symbols(const uint32_t *sym, uint64_t n, const struct contract_options *opt,
		     struct contract_tree *out, struct errbuf *err);

/* Legal on a zeroed tree and on NULL; leaves the tree zeroed. */
void contract_tree_free(struct contract_tree *tree);

/* Length as Zhang, Zhang and Zhang count it: the symbols as written, without brackets and counts. */
uint64_t contract_tree_length(const struct contract_tree *tree);

struct contract_frame {
	uint32_t first, n, at; /* sequence in child[], and the next item */
	uint64_t left;	       /* iterations to go after this one */
};

struct contract_iter {
	const struct contract_tree *tree;
	struct contract_frame frame[CONTRACT_MAX_DEPTH + 1];
	uint32_t depth;
};

/* Walk the expansion in O(depth) memory. The tree must outlive the walk. begin: Returns 0.
 * next: Returns 1 with *symbol and *leaf_node (the leaf's node index); either pointer may be NULL. Returns 0
 * at the end, -1 if loops nest too deep or a body is empty. */
int contract_expand_begin(struct contract_iter *it, const struct contract_tree *tree);
int contract_expand_next(struct contract_iter *it, uint32_t *symbol, uint32_t *leaf_node);

/* Prove that the tree is well formed, expands to sym[0..n), and has the right n_events and hash. If sym is
 * NULL, the expansion is checked against n_events and hash alone. Returns 0, or -1 with the place of the
 * first difference in err. */
int contract_tree_check(const struct contract_tree *tree, const uint32_t *sym, uint64_t n,
			struct errbuf *err);

#endif
