/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a trace to the merged tree of all ranks: an alphabet is chosen, each rank is contracted, ranks are grouped, the
 * groups merged, parameters fitted, and the tree is proved to be the trace.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_BUILD_H
#define PRECEDENT_SKELGEN_MERGE_BUILD_H

#include "skelgen/tree/tree.h"

/* Contract every rank, merge, fit. -1 when the trace is unusable (partial, damaged structure) or memory ends. */
int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err);
/* The same; with_optional false: without SKEL_NOTHING and loops that vary, whatever length that costs. */
int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err);

#endif
