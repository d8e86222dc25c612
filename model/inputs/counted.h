/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops in which some calls are made in certain iterations only: a reduction in every tenth step, a status in every
 * seventh. Exact contraction writes such a loop as many loops, whose counts hang together. Here the calls of all
 * iterations become one body. A call that an iteration leaves out is passed in iterations first, first + period, ... up
 * to the end of the loop. Source of conditions on counters in progression: Pekunov (cited in model/induce/model.h),
 * induction of transition rules.
 */
#ifndef PRECEDENT_MODEL_INPUTS_COUNTED_H
#define PRECEDENT_MODEL_INPUTS_COUNTED_H

#include "skelgen/contract/contract.h"

/* Where a call belongs that is made neither before the first iteration nor after the last one: no single run shows
 * it. COUNTED_NOT: no loop is folded. */
enum counted_way { COUNTED_BEHIND, COUNTED_BEFORE, COUNTED_NOT };

/* The order of calls in an iteration. place[symbol]: address of the call in the program. after[a * n + b]: an iteration of
 * any tree made b before a. Folding adds to `after`, which may be NULL. */
struct counted_order {
	const uint64_t *place;
	uint32_t n;
	uint8_t *after;
};

/*
 * Folds the loops of a tree. inner: loops inside loops are folded first; a period that divides the iterations of an inner
 * loop also holds across the outer loop. Returns 1 with a tree of more calls than the events, which the caller frees. 0 if
 * no loop was folded, -1 without memory.
 */
int counted_fold(const struct contract_tree *tree, struct counted_order *order, enum counted_way way, bool inner,
		 struct contract_tree *out, struct errbuf *err);

#endif
