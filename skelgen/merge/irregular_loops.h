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
#include "skelgen/contract/contract.h"
#include "skelgen/contract/shape.h"

#define SEGMENT_KINDS_MAX   256
#define SEGMENT_REGIONS_MAX 4

/* About a node of the tree: in which kinds of iterations of its region it is executed, and how often. */
struct segment_note {
	uint64_t *kinds;  /* bit set; NULL: always */
	uint64_t *counts; /* loop: iterations by kind, up to its count; NULL: always the count */
	uint32_t region;  /* of the loop that is region - 1 itself, else 0 */
	uint32_t vec;     /* of a loop whose executions make vec[vec - 1] iterations, one after the other, else 0 */
};

struct segment_region {
	uint16_t *kind; /* of each iteration */
	uint64_t n, n_event;
};

struct segment_notes {
	struct segment_note *note; /* by node */
	uint32_t n_note;
	struct segment_region region[SEGMENT_REGIONS_MAX];
	uint32_t n_region;
	struct count_vec *vec; /* of loops outside of regions whose shapes were folded */
	uint32_t n_vec;
};

static inline bool segment_note_has(const struct segment_note *n, uint32_t kind)
{
	return !n->kinds || (n->kinds[kind / 64] >> (kind % 64) & 1);
}

void segment_notes_free(struct segment_notes *n);

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
