/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From merged groups of ranks (merge.h) to the tree of all ranks (tree.h), with fitted parameters. */
#ifndef PRECEDENT_SKELGEN_MERGE_CONVERT_H
#define PRECEDENT_SKELGEN_MERGE_CONVERT_H

#include "skelgen/merge/merge.h"
#include "skelgen/tree/tree.h"

/* Fill root, leaves and counters of `tree`, whose arena, trace and number of ranks are set. Returns 0, or -1 without memory. */
int merge_to_tree(struct skel_tree *tree, const struct merge *m, struct errbuf *err);

#endif
