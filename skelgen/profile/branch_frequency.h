/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the pieces of a loop are executed in an iteration. Samples show time, not executions: a piece that waits may have
 * forty times as many samples as it has executions. So samples give only the shares of the two ways of each branch. The
 * executions of a piece follow from these, because executions are conserved: as many enter a piece as leave it.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_BRANCH_FREQUENCY_H
#define PRECEDENT_SKELGEN_PROFILE_BRANCH_FREQUENCY_H

#include "skelgen/profile/loop_disasm.h"

/* A branch, a jump or a return. */
bool branch_frequency_leaves(const struct loop_op *op);
/* The share of the executions of a branch or jump in which it is taken. often: of branch_frequency(). */
double branch_frequency_taken(const struct loop_body *b, const double *often, uint32_t i);

/*
 * b: a body. cost: cycles of each instruction, above 0. heat: samples of each. often: out, executions of each instruction,
 * relative to the most frequent one. A straight piece of code, or a loop around other loops, has no such flow: there executions
 * are samples over cycles. Returns 0, or -1 without memory.
 */
int branch_frequency(const struct loop_body *b, const double *cost, const uint32_t *heat, double *often);

#endif
