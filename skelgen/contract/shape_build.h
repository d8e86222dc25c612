/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From folded items, or from an exact contraction, to a shape tree. Shared by shape_fold.c and shape_build.c.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_SHAPE_BUILD_H
#define PRECEDENT_SKELGEN_CONTRACT_SHAPE_BUILD_H

#include "skelgen/contract/grammar.h"
#include "skelgen/contract/shape.h"

/* One execution of a loop: its symbol, the event it starts at, its iterations (0: merged into another). */
struct shape_occ {
	uint32_t symbol, start, count;
};

/* The tree of item[0..n). The grammar defines the loops; exec[] lists their executions and is reordered. The
 * caller sets n_events and hash. Returns 0 with *out to be freed, or -1. */
int shape_build(const struct grammar *g, const uint32_t *item, uint32_t n, struct shape_occ *exec,
		uint32_t n_exec, struct shape_tree *out, struct errbuf *err);

/* The exact tree, every loop with one constant count. */
int shape_from_exact(const struct contract_tree *exact, struct shape_tree *out, struct errbuf *err);

#endif
