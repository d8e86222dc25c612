/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the search for segments (irregular_loops.c) and the construction of their tree (irregular_build.c). */
#ifndef PRECEDENT_SKELGEN_MERGE_IRREGULAR_WORK_H
#define PRECEDENT_SKELGEN_MERGE_IRREGULAR_WORK_H

#include "skelgen/merge/merge.h"
#include "skelgen/merge/irregular_loops.h"

struct candidate {
	uint64_t hash;
	uint64_t times;   /* occurrences */
	uint64_t begin;   /* key of its first call */
	double weight;
	uint64_t estimate;
};

struct finder {
	const struct trace_rank *rank;
	const struct shape_map *map;
	struct contract_tree *tree;   /* the tree so far */
	struct segment_notes *notes;  /* of it, or NULL */
	uint64_t cost;
	struct contract_tree best;    /* the cheapest that was built, when best_cost < cost */
	struct segment_notes *best_notes;
	uint64_t best_cost, best_begin;
	double best_score;
	uint64_t *preferred;
	struct rank_groups one;       /* a context of one group, to grow the tree's nodes in */
	struct merge grown;
	struct merge_node *root;
	uint32_t *size;               /* nodes below and with, by node */
	uint64_t *events;             /* of one execution, by node */
	uint32_t *stream;             /* shapes of the rank's events */
	uint64_t *key;                /* of each shape, for merging */
	bool *holds;                  /* scratch: does the node hold the delimiter, by node */
	struct candidate *cand;
	uint32_t n_cand;
	uint64_t slots_free;          /* executions, those left out included, that a tree may have in any case */
	uint64_t built;               /* events that were contracted for the candidates of a region */
	struct errbuf *err;
};

/* The stream cut at a candidate. */
struct cut {
	struct merge_node **token;
	uint32_t n, cap;
	uint64_t *at;                 /* event at which each token begins, n + 1 of them */
	uint32_t *start;              /* token at which each segment begins, n_segment + 1 of them */
	uint64_t end;                 /* event after the last segment */
	uint16_t *kind;               /* of each segment */
	uint32_t n_segment, n_kind;
	uint32_t first[SEGMENT_KINDS_MAX]; /* first segment of each kind */
	uint64_t kind_hash[SEGMENT_KINDS_MAX];
	bool failed;                  /* no memory */
};

static inline bool is_region(const struct finder *f, const struct merge_node *n)
{
	return f->notes && n->kind == SKEL_LOOP && f->notes->note[n->origin].region;
}

static inline uint64_t segment_length(const struct cut *c, uint32_t segment)
{
	return c->at[c->start[segment + 1]] - c->at[c->start[segment]];
}

static inline const uint32_t *segment_events(const struct finder *f, const struct cut *c, uint32_t segment)
{
	return f->stream + c->at[c->start[segment]];
}

/* The tree that a cut gives. -1 without memory, with nothing to free. */
int segments_build(struct finder *f, const struct cut *c, struct contract_tree *tree, struct segment_notes **notes);

#endif
