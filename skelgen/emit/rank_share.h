/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the gaps in skel.c.data within a bound. A gap that differs by rank has a record per rank. Ranks share
 * records if the records of all gaps are too long together. A group of ranks has the record of one of its ranks,
 * scaled to the mean of the group: the sum over ranks stays. The means in a group agree within GAP_AGREE, so the
 * time of each rank stays within GAP_AGREE. If shared records are still too long, they shrink to one value. At last
 * all ranks have one figure. Only that last step loses what ranks differ by.
 *
 * Steps that save many bytes and change little of the time come first: see rank_share_choose().
 */
#ifndef PRECEDENT_SKELGEN_EMIT_RANK_SHARE_H
#define PRECEDENT_SKELGEN_EMIT_RANK_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define GAP_AGREE 0.005 /* ranks within half a per cent are alike */

/* 0: each rank has its record. k < GAP_PLAIN: up to 2^k ranks share one; TRACE_MAX_RANKS is 2^20. */
enum { GAP_PLAIN = 21, /* ranks that agree share one value */
       GAP_ONE };      /* all ranks have one figure in the source */

/* A rank that has the gap. */
struct rank_member {
	uint32_t rank, index;     /* index: place in the set of the leaf */
	uint64_t n, made, period; /* executions, as in struct skel_leaf_time */
	double ns;                /* mean of an execution */
};

/* A gap of the skeleton. */
struct rank_share {
	uint64_t table, full, record; /* bytes: of the offsets, of all records, of the longest record */
	double time_ns, spread_ns;    /* sums over ranks: of the gap, and of its differences from the mean */
	uint32_t groups[GAP_ONE];     /* by level */
	int level;
};

/* Fill the number of groups of each level. Reorders the members. */
void rank_share_count(struct rank_share *item, struct rank_member *m, uint32_t n);
/* Raise levels until the gaps have at most so many bytes. */
void rank_share_choose(struct rank_share *item, uint32_t n, uint64_t most_bytes);
/* Order the members by group, for rank_group_end(). */
void rank_members_sort(struct rank_member *m, uint32_t n, int level);
/* Returns the end of the group that begins at `first`. */
uint32_t rank_group_end(const struct rank_member *m, uint32_t n, uint32_t first, int level);

#endif
