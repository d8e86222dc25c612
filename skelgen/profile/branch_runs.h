/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a branch go one way for long and then the other? Where data lie in regions (sorted keys, masks, kinds of cells), a processor
 * foretells a branch that goes by them, whatever share goes which way. Samples behind the branch say which way it went, those that both
 * ways come by do not; they are put in order of where the loop was, or of when. If what they say is shorter to write down as stretches
 * in which the branch goes one way than as drawn by chance, it goes so.
 * Source: algorithms, C.8; the choice by minimum description length.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_BRANCH_RUNS_H
#define PRECEDENT_SKELGEN_PROFILE_BRANCH_RUNS_H

#include "skelgen/profile/branch_frequency.h"
#include "skelgen/profile/cost_model.h"

/* A sample: which way the branch went (enum mix_way; ANY: it does not say), and where and when that was. */
struct mix_turn {
	int64_t where;
	uint32_t when;
	uint8_t way;
	bool changed[2]; /* room: if it is in a stretch of that way, was the one before in another? */
};

/* Of samples, which are put in order: how much of which way the branch goes can be chance; 1 if they do not say it. */
double mix_runs_chance(struct mix_turn *turn, uint32_t n);

/*
 * b: a loop. hit: its samples in order of time. by_data: of its instructions, the branches that are asked for. chance: out, of each
 * of these as mix_runs_chance. 0, or -1: no memory.
 */
int mix_runs(const struct mix_body *b, const struct mix_hit *hit, uint32_t n, const bool *by_data, double *chance);

#endif
