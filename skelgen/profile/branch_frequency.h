/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the pieces of a loop are executed, an iteration. Samples say where time went, and a piece that waits is met more
 * often than it is executed: a sum at a branch's end may be met forty times as often as the branch. What they say is therefore
 * only asked for the ways of the branches; how often a piece is executed follows from these, as whatever flows into a
 * piece flows out of it.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_BRANCH_FREQUENCY_H
#define PRECEDENT_SKELGEN_PROFILE_BRANCH_FREQUENCY_H

#include "skelgen/profile/loop_disasm.h"

/* A branch, a jump or a return. */
bool mix_flow_leaves(const struct mix_op *op);
/* In which share of its executions a branch or jump is taken, by how often instructions are executed. */
double mix_flow_taken(const struct mix_body *b, const double *often, uint32_t i);

/*
 * b: a body. cost: cycles of each instruction, above 0. heat: samples of each. often: out, of each instruction, of the most
 * frequent one. A body that is no loop, or one with loops inside that do not all pass one place, is taken as often as it was met: samples over cycles.
 * 0, or -1: no memory.
 */
int mix_flow(const struct mix_body *b, const double *cost, const uint32_t *heat, double *often);

#endif
