/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a rank in order, each with its leaf of the merged tree and its recorded times. Several readers can share
 * one walk, because the decoding of times is the main cost of a walk.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_TIMED_WALK_H
#define PRECEDENT_SKELGEN_TIMING_TIMED_WALK_H

#include "common/errbuf.h"
#include "skelgen/tree/tree.h"
#include "trace/cpu_time/own_iter.h"

struct timed_walk {
	struct skel_iter tree;
	struct own_iter *times;
	/* The call that timed_walk_next found. */
	const struct skel_node *leaf;
	uint64_t occ;          /* execution of the leaf */
	uint32_t index;        /* of the rank in the leaf's set */
	struct trace_event ev; /* gap_ns and dur_ns: the rank's own */
	bool known;            /* the times were kept */
};

/* with_polls: as own_iter_with_polls. Returns 0, or -1 with the reason; timed_walk_end() only after 0. */
int timed_walk_begin(struct timed_walk *w, const struct skel_tree *tree, uint32_t rank, bool with_polls, struct errbuf *err);
/* Returns 1, 0 at the end of both, or -1 when the tree and the trace end at different calls. */
int timed_walk_next(struct timed_walk *w, struct errbuf *err);
void timed_walk_end(struct timed_walk *w);

struct timed_reader {
	void *arg;
	/* Returns 1 if the reader wants the rank's calls, 0 if not, -1 with the reason. */
	int (*begin)(void *arg, uint32_t rank, struct errbuf *err);
	void (*call)(void *arg, const struct timed_walk *w);
};

/* Each rank in order: begin() of all readers, then each call to all that want it. Returns 0, or -1 with the reason. */
int timed_walk_all(const struct skel_tree *tree, const struct timed_reader *reader, uint32_t n_reader, struct errbuf *err);

#endif
