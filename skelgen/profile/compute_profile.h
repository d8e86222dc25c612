/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The character of a program's computation: for each compute block (the gap before a leaf of the merged tree) the share
 * of its time in each class of work, the time that it spent off the processor, and how many threads worked in it.
 * Learnt from hardware counters where the traced node had them, from samples of program counter and registers elsewhere,
 * decoded here. Blocks that behave alike share one mix.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_COMPUTE_PROFILE_H
#define PRECEDENT_SKELGEN_PROFILE_COMPUTE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/runtime/classes.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define SKEL_MIXES_MAX 64

/* Where data lie that the first-level cache does not hold. */
enum { MIX_LEVEL_L2, MIX_LEVEL_L3, MIX_LEVEL_MEM, MIX_LEVELS };

struct skel_mix {
	double share[CLASS_N];  /* of its time on the processor; the sum is 1 */
	double off_cpu;         /* share of the gap's wall time spent asleep or waiting for files: 0 .. 1 */
	double threads;         /* that worked at the same time, on average; 1: no threads */
	double doubt;           /* 0 well known .. 1 nothing is known: the shares are the program's mean, or the default */
	uint64_t n_sample;      /* samples that it rests on */
};

struct skel_mixes {
	uint32_t n_mix;         /* at least 1: mix[0] is the whole program's mean (the default where there are no samples) */
	struct skel_mix mix[SKEL_MIXES_MAX];
	uint32_t n_leaf;
	uint32_t *of_leaf;      /* by leaf_id: index in mix[] */
	double bytes[MIX_LEVELS]; /* that a rank works on in each level, mean over the time spent there; 0: not known */
	double row;             /* iterations after which chains of scalar arithmetic end, mean over their time; 0: not known */
	double vector_bits;     /* of packed floating point, mean over its time; 0: not known */
	const char *source;     /* a constant: "counters", "samples", "default" */
};

/* Shares of time of which nothing is known. */
extern const double skel_mix_default[CLASS_N];

/* 0; also for a trace without samples (n_mix 1, doubt 1). -1 without memory. */
int skel_mix_collect(const struct skel_tree *tree, const struct skel_times *times, struct skel_mixes *out, struct errbuf *err);
void skel_mix_free(struct skel_mixes *m);

#endif
