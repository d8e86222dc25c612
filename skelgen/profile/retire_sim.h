/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop as a processor goes through it that executes what is ready and retires in order: how long an iteration takes, and where in
 * it a sample would find the program. That is where instructions wait to retire: after a wrong guess of a branch nothing is under way,
 * so that a way which is mostly entered by wrong guesses is met many times as often as its instructions would take, and what comes
 * behind it hardly at all.
 * Source: algorithms, C.8; the penalty of a wrong guess as in interval analysis.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_RETIRE_SIM_H
#define PRECEDENT_SKELGEN_PROFILE_RETIRE_SIM_H

#include "skelgen/profile/loop_disasm.h"

/* Arrays by instruction. Times are cycles. */
struct mix_retire {
	const struct mix_body *b;
	double *latency; /* until a result is there, from when all that is read is; */
	double *load;    /* where that is loaded, before it, from when the address is known; 0: it is not */
	double *each;    /* its unit is busy */
	double *taken;   /* of a branch: the share of its executions in which it is */
	bool *by_data;   /* of a branch: which way it goes depends on data: for long the one, then the other, or at random */
	double *wild;    /* of such a branch: how much of what could be guessed wrong is; 0: it goes for long one way */
};

/*
 * Cycles of an iteration, above 0. heat: out, of them those in which a sample would find each instruction. often: out, its executions an
 * iteration. foretold: as if all branches were.
 */
double mix_retire(const struct mix_retire *r, bool foretold, double *heat, double *often);

#endif
