/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks of a requested length. A block of g ns at the source is a fixed amount of work, found by inverting
 * the source's calibration; on another machine the same work takes that machine's time. No MPI here.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_COMPUTE_H
#define PRECEDENT_SKELGEN_RUNTIME_COMPUTE_H

#include <stdint.h>

#include "skelgen/runtime/kernel.h"

/* ns of 1, 2, 4, ... 2^(CURVE_POINTS - 1) units of one kernel; beyond, the last slope. */
#define CURVE_POINTS 15

struct curve {
	double ns[CURVE_POINTS];
};

/* Time that whole blocks take, for work of BLOCK_LEAST_NS, twice as much, ... by the curves: choosing and changing
 * kernels, mispredicted branches and caches that one kernel takes from another cost something too. */
#define BLOCK_POINTS   15
#define BLOCK_LEAST_NS 64.0

struct calibration {
	struct curve kernel[KERNEL_N];
	double block_ns[BLOCK_POINTS];
	double call_ns; /* of a block that is too short and waits for the next */
};

double curve_ns(const struct curve *c, double units);
/* Units that take ns, not rounded. */
double curve_units(const struct curve *c, double ns);
double curve_ns_per_unit(const struct curve *c);

/* Use this calibration from now on. */
void compute_open(const struct calibration *c);
/* Do the work that took ns at the source. Short blocks are one kernel's, so that they are exact; over many the
 * kernels meet their shares. What rounding adds or takes is made good by the next block. */
void compute_block(double ns);

/* Measure kernel k: medians of several rounds, about budget_ns long. */
void calibrate_kernel(int k, double budget_ns, struct curve *out);
/* Measure call_ns and block_ns; the curves must be there. */
void calibrate_blocks(struct calibration *c, double budget_ns);
/* Wall time of a long mixed block over the time asked for, at least 0.5: above 1 where ranks share cores. */
double calibrate_share(const struct calibration *c, double budget_ns);
/* Blocks take `factor` times as long as was measured. */
void calibration_scale(struct calibration *c, double factor);

#endif
