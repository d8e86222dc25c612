/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first two stages of the pipeline: each rank is contracted to loops, then ranks are merged to one tree. */
#ifndef PRECEDENT_SKELGEN_MERGE_BUILD_H
#define PRECEDENT_SKELGEN_MERGE_BUILD_H

#include "skelgen/merge/alphabet.h"
#include "skelgen/tree/tree.h"

/*
 * Contracts each rank, and groups ranks that do the same. with_optional: loops may leave out calls in some iterations
 * (SKEL_NOTHING); without, loops that vary stay long. Returns 0, or -1 with the reason: the trace is partial or damaged,
 * or there is no memory. Free `out` with grouping_free(), after -1 too.
 */
int skel_contract(const struct trace *t, bool with_optional, struct grouping *out, struct errbuf *err);

/* Merges the groups and fits parameters as functions of the rank. Uses up `from`. Returns 0, or -1 with the reason. The
 * caller frees the tree after 0. */
int skel_merge(const struct trace *t, struct grouping *from, struct skel_tree *out, struct errbuf *err);

#endif
