/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops whose iterations differ. Some time steps of a program make extra calls, or an inner loop has a varying trip
 * count. Such a program does not repeat exactly and contracts into many short loops.
 *
 * The search picks a delimiter, one node of the contracted stream, and cuts the stream at every occurrence of the
 * delimiter. The distinct kinds of segments are merged in the same way as ranks (merge.h). The region becomes one
 * loop, in which some iterations may leave out calls.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_IRREGULAR_LOOPS_H
#define PRECEDENT_SKELGEN_MERGE_IRREGULAR_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/contract/loop_count_notes.h"

struct trace_rank;
struct shape_map;

/* Cost of a node in the description of a rank's tree. A run of variants costs 1. */
#define SEGMENT_NODE_COST 4

/*
 * Replace `tree`, the contracted stream of `rank`, by a tree with irregular loops if that tree costs less. *notes then
 * lists the calls that the loops leave out; otherwise *notes is NULL. n_ranks: for which such trees are made.
 * *preferred: key of the call that begins a segment; tried first if it is not 0, and set when segments were found.
 * Returns 0, or -1 without memory.
 */
int segments_fold(const struct trace_rank *rank, uint32_t n_ranks, const struct shape_map *map, struct contract_tree *tree,
		  struct segment_notes **notes, uint64_t *preferred, struct errbuf *err);

/* Fold the nodes outside the regions of `tree` by shapes (shape.h). notes may be NULL. Returns 0, or -1 with err
 * filled. After 0 the caller frees *out and *out_notes (NULL if no count varies). */
int segments_fold_shapes(const uint32_t *stream, const struct contract_tree *tree, const struct segment_notes *notes,
			 struct contract_tree *out, struct segment_notes **out_notes, struct errbuf *err);

#endif
