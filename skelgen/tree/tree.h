/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The merged program tree: one tree for all ranks. A node is a call (leaf), a loop or a sequence, each with the
 * set of ranks that execute it. Dropping the nodes without rank r and evaluating the rest at r yields rank r's
 * sequence of events exactly; skel_verify proves it.
 * Source: Zhang W., Zhang H., Zhang Y., "Parallel job performance prediction based on the case reconstruction",
 * Journal of Software 21(Suppl. 1), 2010, sections 2.2 (merging) and 3 (contraction).
 */
#ifndef PRECEDENT_SKELGEN_TREE_TREE_H
#define PRECEDENT_SKELGEN_TREE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <stdio.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct arena;

/* Ranks first, first + stride, ..., last of each interval; intervals sorted, disjoint. */
struct rank_interval {
	uint32_t first, last, stride;
};
struct rank_set {
	uint32_t n; /* intervals */
	struct rank_interval *iv;
};
bool rank_set_has(const struct rank_set *s, uint32_t rank);
uint32_t rank_set_count(const struct rank_set *s);
/* Build from sorted distinct ranks. */
int rank_set_from_ranks(struct rank_set *s, const uint32_t *rank, uint32_t n);
uint32_t rank_set_first(const struct rank_set *s);
/* Next rank > rank, or UINT32_MAX. */
uint32_t rank_set_next(const struct rank_set *s, uint32_t rank);
/* Place of the rank in the set, in rank order, or UINT32_MAX. */
uint32_t rank_set_index(const struct rank_set *s, uint32_t rank);
void rank_set_free(struct rank_set *s);

/*
 * A value as a function of the place r among P places. RB_WORLD: r is the world rank. RB_COMM: r is the caller's rank
 * in the communicator of the call; in an intercommunicator, its rank in the local group. The form is the first that
 * holds on every rank of the set, in the order CONST, OFFSET, MODULO, XOR, AFFINE, GRID, TORUS, DIGITS, TABLE.
 */
enum rank_form {
	RF_CONST,  /* a */
	RF_OFFSET, /* r + a */
	RF_MODULO, /* (r + a) mod P */
	RF_XOR,    /* r xor a */
	RF_AFFINE, /* a * r + b */
	RF_GRID,   /* neighbour on a grid of `a` columns: column offset b, row offset c, TRACE_PROC_NULL outside */
	RF_TABLE,  /* table[index of r in the node's rank set, in rank order] */
	RF_TORUS,  /* as RF_GRID, but both wrap around: ((r / a + c) mod (P / a)) * a + (r mod a + b) mod a */
	RF_DIGITS  /* b * (r / a) + c * (r mod a) + d: row, column, transpose, leader of the row */
};
enum rank_basis { RB_WORLD, RB_COMM };
struct rank_fn {
	uint8_t form, basis;
	int64_t a, b, c, d;
	int64_t *table; /* RF_TABLE */
};
/* place and n_places are those of the function's basis (see skel_place); index counts in the node's rank set.
 * INT64_MIN when the function cannot be evaluated there. */
int64_t rank_fn_eval(const struct rank_fn *f, uint32_t place, uint32_t n_places, uint32_t index_in_set);
/* "r+1", "(r-1) mod P", "{3,1,2}"; with r_comm and P_comm for RB_COMM. Returns buf. */
const char *rank_fn_format(const struct rank_fn *f, uint32_t n_table, char *buf, size_t size);

/* Symbol of a left-out execution: the rank makes no call there, because a call is not made in every iteration or the
 * trip count of a loop varies. Left-out executions are counted, so that a loop has one trip count per rank. */
#define SKEL_NOTHING UINT32_MAX

/* What one rank does at a leaf: the exact symbols of its trace, in order of execution. */
struct skel_leaf_rank {
	uint32_t n_variant;    /* distinct symbols, >= 1, SKEL_NOTHING included */
	uint32_t *variant;     /* symbols in the defs of that rank; SKEL_NOTHING only as the last of several */
	bool optional;         /* SKEL_NOTHING is among them */
	uint64_t n_occ;        /* executions */
	/* Variant of each execution as runs: run i covers run_end[i - 1] .. run_end[i] - 1. n_run == 1 when
	 * n_variant == 1. */
	uint32_t n_run;
	uint32_t *run_variant; /* indexes into variant */
	uint64_t *run_end;
};
/* Symbol of execution occ (0-based), or SKEL_NOTHING. */
uint32_t skel_leaf_symbol(const struct skel_leaf_rank *lr, uint64_t occ);
/* Executions that are not SKEL_NOTHING. */
uint64_t skel_leaf_made(const struct skel_leaf_rank *lr);

/* Iterations that one rank makes at each execution of a loop which do not always make its count: runs of equal ones.
 * Those left out are the last ones of an execution; the calls in them do nothing. */
struct skel_turns {
	uint32_t n_run;      /* 0: every execution makes the loop's count */
	uint64_t *run_end;   /* over the executions, those left out included */
	uint64_t *run_turns; /* 0 .. count */
};

enum skel_kind { SKEL_LEAF, SKEL_LOOP, SKEL_SEQ };

struct skel_node {
	uint8_t kind;
	uint32_t id;              /* preorder number, unique in the tree */
	struct rank_set ranks;
	struct skel_node *parent; /* NULL at the root */
	/* SKEL_LEAF */
	uint16_t fn;              /* enum trace_fn */
	uint32_t leaf_id;         /* 0 .. n_leaf - 1 in preorder */
	struct skel_leaf_rank *by_rank; /* one per rank of the set, in rank order */
	bool varies;              /* some rank has more than one variant */
	uint32_t n_param;         /* parameters as in trace_fn[fn] */
	struct skel_param *param; /* fitted, when !varies; for varying leaves only those that do not vary */
	/* SKEL_LOOP */
	struct rank_fn count;     /* iterations, a function of the rank; of the longest execution, if they vary */
	struct skel_turns *turns; /* by index of the rank; NULL: none varies */
	/* SKEL_LOOP, SKEL_SEQ */
	uint32_t n_child;
	struct skel_node **child;
};

/* A fitted parameter: scalar as a function of the rank, or an array of which every element is one. */
struct skel_param {
	bool fitted;          /* false: varies over executions, look at by_rank */
	uint32_t n;           /* elements (1 for scalars) when the length is the same on all ranks */
	struct rank_fn *fn;   /* n functions; NULL when lengths differ, or for a long array that is different on
	                       * every rank (then look at by_rank) */
};

/* Alphabet: the parts of a signature that count when a rank's events are compared to find loops. */
enum skel_alphabet {
	SKEL_EXACT, /* everything */
	SKEL_SIZES, /* without counts, tags, request slots, and the results of wildcards and completions */
	SKEL_SHAPE, /* as SKEL_SIZES, and of the peers only whether there is one */
	SKEL_ALPHABETS
};

struct skel_tree {
	const struct trace *trace; /* borrowed: must outlive the tree */
	uint32_t n_ranks;
	struct skel_node *root;    /* SKEL_SEQ with all ranks */
	uint32_t n_node, n_leaf;
	struct skel_node **leaf;   /* by leaf_id */
	uint8_t alphabet;          /* enum skel_alphabet: the one that described the run best */
	bool optional;             /* some leaf has SKEL_NOTHING */
	struct arena *arena;       /* owns every node and array */
	/* What the calls mean over all ranks; NULL before skel_tree_resolve. */
	struct skel_globals *globals;     /* callinfo.h */
	struct skel_wildcards *wildcards; /* wildcard.h */
};

/* Number communicators, datatypes, windows and files over all ranks, and find the messages that wildcard receives got.
 * Returns 0, or -1 with the reason in err. */
int skel_tree_resolve(struct skel_tree *tree, struct errbuf *err);
void skel_tree_free(struct skel_tree *tree);

/* Place and number of places of a rank in the basis of a function. RB_WORLD: the world rank. RB_COMM: the rank in its
 * communicator `comm`. Returns 0, or -1 if the rank is not a member. */
int skel_place(const struct skel_tree *tree, uint8_t basis, int64_t comm, uint32_t rank, uint32_t *place,
	       uint32_t *n_places);
/* Element k of fitted parameter i of a leaf (fn != NULL), for the rank at `index` of its set. */
int64_t skel_param_value(const struct skel_tree *tree, const struct skel_node *leaf, uint32_t i, uint32_t k,
			 uint32_t rank, uint32_t index);
/* Greatest trip count of a loop. In iteration i of execution e of the loop, the nodes of its body have execution number
 * e * count + i. */
uint64_t skel_loop_count(const struct skel_tree *tree, const struct skel_node *loop, uint32_t rank, uint32_t index);
/* Trip count of execution e of a loop. count: from skel_loop_count(). */
uint64_t skel_loop_turns(const struct skel_node *loop, uint32_t index, uint64_t count, uint64_t e);

/* Readable dump: loops, leaves with their parameters as functions of the rank, call sites, rank sets. -1 when the
 * stream fails. */
int skel_tree_print(const struct skel_tree *tree, FILE *out);

/* Length of the tree: number of leaves, without brackets and counts. */
uint64_t skel_tree_length(const struct skel_tree *tree);

/* Expansion for one rank, in order: leaf, its execution number, and the iteration number of every enclosing
 * loop. O(depth) memory. */
#define SKEL_MAX_DEPTH 128
struct skel_iter {
	const struct skel_tree *tree;
	uint32_t rank;
	int depth;
	struct {
		const struct skel_node *node;
		uint32_t next_child, index_in_set;
		uint64_t iter, turns; /* of loops */
		uint64_t base;        /* execution number of the body's nodes in the first iteration */
		uint64_t given;       /* leaves given when this iteration began */
	} level[SKEL_MAX_DEPTH];
	uint32_t *index; /* of the rank in each node's set, by node id; UINT32_MAX where it is not in it */
	uint64_t given;
};
int skel_iter_begin(struct skel_iter *it, const struct skel_tree *tree, uint32_t rank);
/* 1 with the leaf, its execution number and the rank's index in the leaf's set; 0 at the end. Executions that are
 * SKEL_NOTHING are passed over. */
int skel_iter_next(struct skel_iter *it, const struct skel_node **leaf, uint64_t *occ, uint32_t *index);
void skel_iter_end(struct skel_iter *it);

#endif
