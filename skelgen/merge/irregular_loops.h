/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops whose iterations differ: a program that does something more in some time steps, or iterates an inner loop more
 * or less often, does not repeat exactly and contracts into many short loops. Here its stream is cut at every
 * occurrence of one of its parts; the distinct kinds of segments are merged as ranks are (merge.h), and the region
 * becomes one loop, of which calls may be left out in some iterations.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_IRREGULAR_LOOPS_H
#define PRECEDENT_SKELGEN_MERGE_IRREGULAR_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/contract/loop_count_notes.h"

struct trace_rank;
struct shape_map;

/* What a rank's tree costs to describe: 4 for a node, 1 for a run of variants. */
#define SEGMENT_NODE_COST 4

/*
 * Replace `tree`, the contracted stream of `rank`, by one with such loops where that takes less to describe; *notes
 * is then what they leave out, else NULL. *preferred is the key of the call at which segments begin: tried first when
 * it is not 0, set when segments were found. -1 without memory.
 */
int segments_fold(const struct trace_rank *rank, const struct shape_map *map, struct contract_tree *tree,
		  struct segment_notes **notes, uint64_t *preferred, struct errbuf *err);

/* The same tree with what is outside of its regions folded by shapes (shape.h); notes may be NULL. *out and *out_notes
 * (NULL when nothing varies) are to be freed after 0. */
int segments_fold_shapes(const uint32_t *stream, const struct contract_tree *tree, const struct segment_notes *notes,
			 struct contract_tree *out, struct segment_notes **out_notes, struct errbuf *err);

#endif
