/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by partial.c, marks.c and drift.c. */
#ifndef PRECEDENT_SKELGEN_PARTIAL_IMPL_H
#define PRECEDENT_SKELGEN_PARTIAL_IMPL_H

#include "skelgen/partial/partial.h"

/* Cost of the recorder for one event of the traced run, ns. */
static inline double partial_recorder_ns(const struct trace_rank *k)
{
	return k->defs.proc.overhead_ticks * k->defs.proc.ns_per_tick;
}

/* *now: number of the main loop's present iteration, counted from 0 over all executions of the loop. Returns false if the
 * present leaf is outside the loop. */
bool partial_iteration_now(const struct skel_iter *it, const struct skel_node *loop, uint64_t *now);

/* Choose the marks. at[]: complete iterations at each mark. Returns 0, or -1 with the reason in err. */
int partial_marks_choose(const struct skel_tree *tree, const struct skel_node *loop, double seconds, uint64_t at[PARTIAL_MARKS],
			 struct errbuf *err);

/* Fill p->loop_ns, made, window_work_ns, work and calls. The marks must be chosen. */
int partial_drift_collect(const struct skel_tree *tree, const struct skel_node *loop, struct partial_plan *p, struct errbuf *err);

/* The change from the windows to the iterations behind the windows. Returns no change if one side is not known.
 *     v       values of n blocks of iterations, the windows first
 *     weight  iterations of each block, 0 if v is not known
 *     least   least deviation by chance */
struct partial_change partial_change_of(const double *v, const uint64_t *weight, uint32_t n, double least);

/* Share of a change that is beyond chance, 0 .. 1. */
double partial_change_beyond(const struct partial_change *c);

/* The same for the change of computation, with the windows of this run as evidence. If the same windows compute longer
 * here and in the trace, the iterations differ in the program itself. Differences between blocks are then not chance. */
double partial_work_trust(const struct partial_plan *p, const struct stop_marks *m);

#endif
