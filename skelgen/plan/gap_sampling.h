/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling of long computations between two calls. If cutting loops alone exceeds the budget, only a share of each
 * long gap runs. A part of a computation shows its speed, even if the computation takes an hour.
 */
#ifndef PRECEDENT_SKELGEN_PLAN_GAP_SAMPLING_H
#define PRECEDENT_SKELGEN_PLAN_GAP_SAMPLING_H

#include <stdbool.h>

#include "skelgen/plan/plan.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define GAP_LONG_NS 200e6 /* least part of a gap that runs; shorter gaps run whole. Two periods of a processor quota */
/* Where many gaps are long, parts of GAP_LONG_NS may exceed the budget. Then the least part is halved, down to this one. Whether
 * a quota stops it is chance. */
#define GAP_SHORT_NS 25e6
/* The least part where a loop stays whole because few of its iterations take most of its time, or if nothing else keeps
 * the budget. Many such parts run, and a quota stops its share of them. */
#define GAP_MANY_NS 500e3
/* The least part if most of the time is unsuccessful tests that are work (trace/cpu_time/poll_work.h). Such programs have
 * thousands of similar gaps of some milliseconds. Their loops cannot be cut, because the ranks may iterate a different
 * number of times. Much shorter pieces would leave the processor idle between them, in waits of a tenth of a millisecond.
 * Then a quota would not stop the skeleton as it stops the program. */
#define GAP_POLLED_NS 500e3
#define GAP_POLLED    0.5 /* of the time that is left */

/* Choose plan->gap_share for gaps longer than plan->gap_least_ns, so that it saves about `excess_ns` of the time that
 * remains after the plan's cuts. Returns the time saved, ns. */
double gap_share_choose(const struct skel_tree *tree, const struct skel_times *times, double excess_ns,
			struct skel_plan *plan);
/* Time that plan->gap_share saves after the plan's cuts, ns, on the rank that saves most. */
double gap_share_saved(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan);
/* Does the leaf save enough time per execution that the virtual clocks of its ranks should be synchronised? */
bool gap_share_matters(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan,
		       const struct skel_node *leaf);

/* Virtual clocks meet in collective calls alone. So what a rank saves is lost for the ranks that wait for its messages.
 * Returns their waits, as a share of the ranks' time. */
double gap_share_most_lost(const struct skel_tree *tree, const struct skel_times *times);
/* Does the plan share gaps, and may much of that be lost? */
bool gap_share_loses(const struct skel_tree *tree, const struct skel_times *times, const struct skel_plan *plan);

#endif
