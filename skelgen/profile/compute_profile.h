/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The character of a program's computation. A compute block is the gap before a leaf of the merged tree. Each block has the
 * share of its time in each class of work, the time off the processor, and the number of threads that worked. The source are
 * hardware counters where the traced node had them, else samples of program counter and registers, decoded here. Blocks that
 * behave alike share one mix.
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

#define PROFILE_MIXES_MAX 64

/* Where data lie that the first-level cache does not hold. */
enum { PROFILE_L2, PROFILE_L3, PROFILE_MEM, PROFILE_LEVELS };

struct profile_mix {
	double share[CLASS_N];  /* of its time on the processor; the sum is 1 */
	double off_cpu;         /* share of the gap's wall time spent asleep or waiting for files: 0 .. 1 */
	double threads;         /* that worked at the same time, on average; 1: no threads */
	double doubt;           /* 0 well known .. 1 nothing is known: the shares are the program's mean, or the default */
	uint64_t n_sample;      /* samples that it rests on */
};

struct compute_profile {
	uint32_t n_mix;         /* at least 1: mix[0] is the whole program's mean (the default where there are no samples) */
	struct profile_mix mix[PROFILE_MIXES_MAX];
	uint32_t n_leaf;
	uint32_t *of_leaf;      /* by leaf_id: index in mix[] */
	double bytes[PROFILE_LEVELS]; /* that a rank works on in each level, mean over the time spent there; 0: not known */
	double row;             /* iterations after which chains of scalar arithmetic end, mean over their time; 0: not known */
	double vector_bits;     /* of packed floating point, mean over its time; 0: not known */
	const char *source;     /* a constant: "counters", "samples", "default" */
};

/* Shares of time of which nothing is known. */
extern const double compute_profile_default[CLASS_N];

/* 0; also for a trace without samples (n_mix 1, doubt 1). -1 without memory. */
int compute_profile_collect(const struct skel_tree *tree, const struct skel_times *times, struct compute_profile *out, struct errbuf *err);
void compute_profile_free(struct compute_profile *m);

#endif
