/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between partial.c, partial_marks.c and partial_drift.c. */
#ifndef PRECEDENT_SKELGEN_PARTIAL_IMPL_H
#define PRECEDENT_SKELGEN_PARTIAL_IMPL_H

#include "skelgen/partial/partial.h"

/* What the recorder took for an event of the traced run, ns. */
static inline double partial_recorder_ns(const struct trace_rank *k)
{
	return k->defs.proc.overhead_ticks * k->defs.proc.ns_per_tick;
}

/* Iterations of the main loop that had begun before this leaf was given, over all executions of the loop. False: the leaf
 * is not in it. */
bool partial_iteration_now(const struct skel_iter *it, const struct skel_node *loop, uint64_t *now);

/* The marks, as numbers of iterations that are complete. -1 with the reason. */
int partial_marks_choose(const struct skel_tree *tree, const struct skel_node *loop, double seconds, uint64_t at[PARTIAL_MARKS],
			 struct errbuf *err);

/* Fills loop_ns, made, window_work_ns, work and calls, where the marks are chosen. */
int partial_drift_collect(const struct skel_tree *tree, const struct skel_node *loop, struct partial_plan *p, struct errbuf *err);

/* v: of n blocks of iterations, those of the windows first; weight: their iterations, 0 where v is not known. least: chance
 * explains that much in any case. No change where one side is not known. */
struct partial_change partial_change_of(const double *v, const uint64_t *weight, uint32_t n, double least);

/* Share of a change to be believed, 0 .. 1: what is beyond chance. */
double partial_change_beyond(const struct partial_change *c);

/* The same of computation, by what the windows say of chance: as far as those which compute longer in the trace do so here, iterations
 * differ in the program itself, and a difference from one block to the next is none of chance. */
double partial_work_trust(const struct partial_plan *p, const struct stop_marks *m);

#endif
