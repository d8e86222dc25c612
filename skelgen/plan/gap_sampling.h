/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long computations between two calls, of which a share runs where cut loops alone do not keep a skeleton within its
 * budget: an hour between two calls is one computation from its beginning to its end, and a part of it tells how fast it is.
 */
#ifndef PRECEDENT_SKELGEN_PLAN_GAP_SAMPLING_H
#define PRECEDENT_SKELGEN_PLAN_GAP_SAMPLING_H

#include <stdbool.h>

#include "skelgen/plan/plan.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define GAP_LONG_NS 200e6 /* shorter gaps run whole, of longer ones at least as much: two periods of a processor quota */
/* The same where most of the time is unsuccessful tests that are work (trace/cpu_time/poll_work.h): thousands of gaps of some
 * milliseconds, alike, in loops that cannot be cut because ranks need not go through them equally often. Much shorter pieces would leave the
 * processor idle between them, in waits of a tenth of a millisecond, and a quota would not stop them as it stops the program. */
#define GAP_POLLED_NS 500e3
#define GAP_POLLED    0.5 /* of the time that is left */

/* Choose plan->gap_share, of gaps longer than plan->gap_least_ns, so that about `excess_ns` less is left of what the plan's cuts leave; the time that is saved. */
double gap_share_choose(const struct skel_tree *tree, const struct skel_times *times, double excess_ns,
			struct skel_plan *plan);
/* The time that plan->gap_share saves of what the plan's cuts leave, on the rank that it saves most. */
double gap_share_saved(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan);
/* Is so much saved of a leaf, per execution, that its ranks' virtual clocks should meet again? */
bool gap_share_matters(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan,
		       const struct skel_node *leaf);

#endif
