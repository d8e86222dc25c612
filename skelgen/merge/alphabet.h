/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contracts and groups the ranks in the alphabet that gives the shortest description of the run. An alphabet compares
 * whole signatures, signatures without sizes, or signatures without sizes and peers (enum skel_alphabet).
 */
#ifndef PRECEDENT_SKELGEN_MERGE_ALPHABET_H
#define PRECEDENT_SKELGEN_MERGE_ALPHABET_H

#include "common/arena.h"
#include "skelgen/merge/rank_groups.h"

struct grouping {
	struct rank_groups groups;
	struct arena *arena; /* owns the groups' arrays; NULL: no alphabet was tried */
};

/* Fill `best`, zeroed by the caller, with the shortest description. optional: loops may leave out calls in some
 * iterations. Returns 0, or -1 with the reason in err. The caller frees `best` in both cases. */
int grouping_choose(const struct trace *t, bool optional, struct grouping *best, struct errbuf *err);
void grouping_free(struct grouping *g);

#endif
