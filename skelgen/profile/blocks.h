/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a trace by compute block: sums over ranks, by leaf of the merged tree. See compute_profile.h.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_BLOCKS_H
#define PRECEDENT_SKELGEN_PROFILE_BLOCKS_H

#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/runtime/classes.h"
#include "skelgen/tree/tree.h"
#include "trace/format/samples.h"

struct profile_block {
	double n;              /* samples of its computation, on all threads */
	double first;          /* of these, of the thread that initialised MPI */
	double busy_ns;        /* time on the processor that these stand for, all threads, */
	double first_ns;       /* and the first */
	double share[CLASS_N]; /* sums over the samples */
	double bytes[PROFILE_LEVELS], level[PROFILE_LEVELS]; /* sums over the samples' shares of each level, and these */
	double chain, rows;    /* samples' shares of scalar_chain, and of rows that these are an iteration of */
	double vector, vectors;                      /* the same of the bytes of vectors */
	double wall_ns;        /* of its gaps whose times are known */
	double asleep_ns;
	double counter[TCOUNTER_N];
};

struct profile_blocks {
	uint32_t n_leaf, n_ranks;  /* ranks that have samples */
	uint32_t counters;         /* a bit for each enum trace_counter that all of these have */
	struct profile_block *block;   /* by leaf_id, and one more for calls of MPI */
};

int profile_blocks_collect(const struct skel_tree *tree, struct profile_blocks *out, struct errbuf *err);
void profile_blocks_free(struct profile_blocks *b);

#endif
