/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shape trees (shape.h) in the form in which ranks are merged. Each loop has the trip count of its longest execution;
 * notes hold the trip count of every execution. */
#ifndef PRECEDENT_SKELGEN_CONTRACT_LOOP_COUNT_NOTES_H
#define PRECEDENT_SKELGEN_CONTRACT_LOOP_COUNT_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/contract/contract.h"
#include "skelgen/contract/shape.h"

#define SEGMENT_KINDS_MAX   256
#define SEGMENT_REGIONS_MAX 4

/* About a node of the tree: in which kinds of iterations of its region it is executed, and how often. */
struct segment_note {
	uint64_t *kinds;  /* bit set; NULL: always */
	uint64_t *counts; /* loop: iterations by kind, up to its count; NULL: always the count */
	uint32_t region;  /* if the node is the loop of a region: 1 + number of that region, else 0 */
	uint32_t vec;     /* if the trip counts of a loop vary: 1 + number of its vector in notes->vec, else 0 */
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

/* Convert `from`, which is freed. Returns 0 with *tree and *notes (NULL if no count varies), which the caller frees.
 * Returns 1 if left-out executions would make the loops too long, -1 without memory. */
int shape_to_notes(struct shape_tree *from, struct contract_tree *tree, struct segment_notes **notes, struct errbuf *err);

#endif
