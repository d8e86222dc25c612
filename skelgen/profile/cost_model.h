/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of a piece of code by class of work, from its instructions and from the registers at its samples.
 *
 * The model is a processor in rough strokes. The time of an iteration is the longest of three:
 * - the throughput of the units,
 * - the latency of the longest chain of values from one iteration to the next,
 * - the time of the memory accesses.
 * If a chain or the memory takes longer than the units, the difference is waiting.
 *
 * Mispredicted branches come on top. A branch that depends on data is mispredicted as often as it goes the rarer of its two ways
 * (branch_frequency.h). Each misprediction costs PENALTY cycles.
 *
 * Kernels also do work of other classes, beside their own or while they wait. This work is taken off the other classes. So the
 * kernels together execute about as many instructions of each kind as the program does in the same time.
 *
 * The level of a load or store follows from the footprint of its addresses at the samples. If n samples lie in a range at random,
 * their span is (n - 1) / (n + 1) of the range. Repeated addresses also tell the number of addresses. The stride of the
 * address tells streams, strides and random accesses apart (address_stride.h). The footprint is also the memory that a kernel of
 * the skeleton works on, so that the kernel meets the same caches.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_COST_MODEL_H
#define PRECEDENT_SKELGEN_PROFILE_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/profile/compute_profile.h"
#include "skelgen/profile/loop_disasm.h"
#include "skelgen/runtime/classes.h"

/* Classes of the time, memory worked on, and width of the arithmetic. */
struct cost_model_result {
	double share[CLASS_N];
	double bytes[PROFILE_LEVELS]; /* worked on in each level; 0: none there */
	double row;               /* iterations after which scalar chains end; 0: not known */
	double vector;            /* bytes of packed floating point; 0: there is none */
};

/* How often the instructions of a body are executed. */
struct cost_model_branches {
	bool known;
	double *often;       /* by instruction: executions, relative to the most frequent instruction. The caller makes the room. */
	double mispredicted; /* cycles of mispredicted branches, for each execution of that instruction */
};

/* hit: n samples in the body. cache: bytes of three levels. blocked: code of a library that keeps its data in the first-level
 * cache. branches: used if known; else filled from these samples; may be NULL. use: out. Returns 0, or -1 without memory. */
int cost_model(const struct loop_body *b, const struct loop_sample *hit, uint32_t n, const uint64_t *cache, bool blocked,
	      struct cost_model_branches *branches, struct cost_model_result *use);

/* The level that holds so many bytes: 0 the first, TSAMPLE_LEVELS memory. */
uint8_t cost_model_level(const uint64_t *cache, double bytes);

#endif
