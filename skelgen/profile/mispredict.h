/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often branches go which way that may not be foretold, and what wrong guesses cost. The samples of both ways do not say it by
 * themselves (mix_retire.h): branches go as those of a processor in rough strokes would that is met where the samples lie.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_MISPREDICT_H
#define PRECEDENT_SKELGEN_PROFILE_MISPREDICT_H

#include "skelgen/profile/retire_sim.h"

/*
 * r: a loop; of branches by data taken and wild are found. heat: samples by instruction. chance: how wild each of them can be, at most
 * (mix_runs.h). often: out, how often each is executed, of the most frequent one. Returns the share of the loop's time that wrong
 * guesses cost, below 1; -1 without memory.
 */
double mix_guess(const struct mix_retire *r, const uint32_t *heat, const double *chance, double *often);

#endif
