/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks contracted and grouped in the alphabet that describes the run most briefly: all of a signature, without sizes,
 * or without peers (enum skel_alphabet).
 */
#ifndef PRECEDENT_SKELGEN_MERGE_ALPHABET_H
#define PRECEDENT_SKELGEN_MERGE_ALPHABET_H

#include "common/arena.h"
#include "skelgen/merge/rank_groups.h"

struct grouping {
	struct rank_groups groups;
	struct arena *arena; /* owns the groups' arrays; NULL: no alphabet was tried */
};

/* Zeroed `best` becomes the shortest description. optional: loops may leave out calls in some iterations. Returns 0, or -1
 * with the reason; `best` is freed by the caller in both cases. */
int grouping_choose(const struct trace *t, bool optional, struct grouping *best, struct errbuf *err);
void grouping_free(struct grouping *g);

#endif
