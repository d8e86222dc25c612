/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a loop goes through memory in order: which of its accesses go through the same area, how far behind each other, and how much
 * there is of it. A loop that is a kernel of its own (mix_own.h) goes through areas like these, so that it meets the caches as the
 * program does, ahead of it what the processor foresees and beside it what it has to compute.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_STREAM_AREAS_H
#define PRECEDENT_SKELGEN_PROFILE_STREAM_AREAS_H

#include <stdint.h>

#include "skelgen/profile/loop_disasm.h"
#include "skelgen/runtime/own.h"

#define MIX_SPOTS 16 /* addresses of an access that are kept */

/* An access that goes on by `step` bytes an iteration, through so many bytes in all, and where it was at some of the samples (whose
 * numbers ascend). n 0: it does not, or not beyond the first level. */
struct mix_spots {
	double bytes;
	int64_t step;
	uint32_t n, sample[MIX_SPOTS];
	uint64_t address[MIX_SPOTS];
};

/* Of an access: its area, and where it is in an iteration, from the beginning of the area on, in the direction of the walk. */
struct mix_walk {
	uint8_t area; /* OWN_NO_WALK */
	uint32_t at;
};

struct mix_area {
	uint32_t step; /* bytes an iteration */
	uint32_t span; /* from the last access to the first one and its end */
	double bytes;
};

/* walk: room for as many as the body has instructions. Returns the number of areas. */
uint32_t mix_walk_find(const struct mix_body *b, const struct mix_spots *spots, struct mix_walk *walk, struct mix_area area[OWN_WALKS]);

#endif
