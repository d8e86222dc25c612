/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long computations between two calls, of which a share runs where cut loops alone do not keep a skeleton within its
 * budget: an hour between two calls is one computation from its beginning to its end, and a part of it tells how fast it is.
 */
#ifndef PRECEDENT_SKELGEN_GAP_SHARE_H
#define PRECEDENT_SKELGEN_GAP_SHARE_H

#include <stdbool.h>

#include "skelgen/plan.h"
#include "skelgen/times.h"
#include "skelgen/tree.h"

#define GAP_LONG_NS 200e6 /* shorter gaps run whole, of longer ones at least as much: two periods of a processor quota */

/* Choose plan->gap_share so that about `excess_ns` less is left of what the plan's cuts leave; the time that is saved. */
double gap_share_choose(const struct skel_tree *tree, const struct skel_times *times, double excess_ns,
			struct skel_plan *plan);
/* The time that plan->gap_share saves of what the plan's cuts leave, on the rank that it saves most. */
double gap_share_saved(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan);
/* Is so much saved of a leaf, per execution, that its ranks' virtual clocks should meet again? */
bool gap_share_matters(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan,
		       const struct skel_node *leaf);

#endif
