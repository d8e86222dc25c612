/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks of a requested length and mix. A block of g ns at the source is a fixed amount of work of each class,
 * found by inverting the source's calibration. On another machine the same work takes that machine's time. No MPI here.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_COMPUTE_H
#define PRECEDENT_SKELGEN_RUNTIME_COMPUTE_H

#include <stdint.h>

#include "skelgen/runtime/kernel.h"

#define COMPUTE_MIXES 64

/* What blocks consist of. */
struct compute_mix {
	double share[CLASS_N]; /* of the time on the processor; the sum is 1 */
	double off_cpu;        /* share of the wall time that is slept; 0 .. 1 */
	int threads;           /* that do the work at the same time */
};

/* Smaller shares are given to the other classes: they are below the accuracy of samples, and may cost much memory. */
#define COMPUTE_LEAST_SHARE 0.02

/* From the numbers of skel.c.data: -1 when they make no sense. */
int compute_mix_read(const double *number, struct compute_mix *out);
/* Classes with weight in any of the mixes, as bits. */
unsigned compute_classes(const struct compute_mix *mix, int n);

/* ns of 1, 2, 4, ... 2^(CURVE_POINTS - 1) units of one kernel; beyond, the last slope. */
#define CURVE_POINTS 15

struct curve {
	double ns[CURVE_POINTS];
};

/* Time that whole blocks of a mix take, for work of BLOCK_LEAST_NS, twice as much, ... by the curves. It includes the cost
 * of changing kernels, of mispredicted branches, of shared caches and of threads that wait for each other. */
#define BLOCK_POINTS   15
#define BLOCK_LEAST_NS 64.0

/* The time of a class among the others of a mix is its time by its curve times a factor, because kernels share the caches.
 * The factor is at most this, and at least the inverse. */
#define AMONG_MOST 100.0

struct calibration {
	struct kernel_shape shape;
	uint64_t mixes;             /* number that stands for the mixes of block_ns; another skeleton has another */
	int n_mix;
	unsigned classes;           /* whose curves are there */
	double call_ns;             /* of a block that is too short and waits for the next */
	double gap_ns;              /* of looking a gap up */
	double lacked;              /* largest share of a rank's time that it lost (company.h), or of its rounds that were left out */
	struct curve kernel[CLASS_N];
	double among[COMPUTE_MIXES][CLASS_N];
	double block_ns[COMPUTE_MIXES][BLOCK_POINTS];
};

double curve_ns(const struct curve *c, double units);
/* Units that take ns, not rounded. */
double curve_units(const struct curve *c, double ns);
double curve_ns_per_unit(const struct curve *c);

/* Make the kernels that these mixes need; -1 without memory. */
int compute_open(const struct compute_mix *mix, int n, const struct kernel_shape *shape);
void compute_close(void);
/* Use this calibration from now on. */
void compute_use(const struct calibration *c);
/* Do the work of mix number `mix` that took ns on the source's processors. Classes take turns: next is the class that is
 * owed most. So the shares hold over many short blocks, and all ranks have the same order. The next block makes up for
 * rounding. */
void compute_block(int mix, double ns);
/* From now on correct the classes' times among the others by one in `every` slices; 0: no longer. The shares of a mix are of the
 * program's time, so that units must be by the time that they take there. */
void compute_learn_slices(int every);
/* On the traced machine: also correct the calibration by the time of the blocks of the run, among other blocks and calls. */
void compute_learn(void);
/* The calibration by which another machine does the work that was done here since compute_learn, block by block in the
 * mean. The times of both machines are then times of the same work. */
void compute_learnt(struct calibration *out);
/* Times of blocks since compute_open. took_ns, asked_ns: the time that they took and should have taken, of sleeps, of blocks
 * from 4 us up, and of shorter blocks that a timed block stands for. short_ns: the time that all others should have taken. */
struct compute_spent {
	double took_ns, asked_ns, short_ns;
};
void compute_spent(struct compute_spent *out);
double compute_clock_ns(void);
/* The sleep that is due with a block of this mix, of ns: the gathered sleep once it is long enough, else 0. */
double compute_sleep_ns(int mix, double ns);
/* The same block's time on the processor. */
double compute_work_ns(int mix, double ns);
double compute_digest(void);
struct kernel *compute_kernel(void);

/* What a look at the clock takes. */
double calibrate_clock(void);
/* calibrate_limit: after wall_ns by the clock no round of a measurement begins, except the first.
 * calibrate_undone: share of the rounds that were left out since then, 0 to 1. */
void calibrate_limit(double wall_ns);
double calibrate_undone(void);
/* Measure kernel c: medians of several rounds, about budget_ns long. */
void calibrate_kernel(int c, double budget_ns, struct curve *out);
/* Measure what classes take among the others of their mixes; the curves must be there. */
void calibrate_among(struct calibration *c, double budget_ns);
/* Measure block_ns of a mix; the curves and the classes' times among the others must be there. */
void calibrate_mix(struct calibration *c, int mix, double budget_ns);
/* Measure call_ns. */
void calibrate_call(struct calibration *c);
/* Time of a long block of the first mix, with a processor, over the time asked for, at least 0.5; *wall_share: the same by the
 * clock, above that where ranks share processors. */
double calibrate_share(const struct calibration *c, double budget_ns, double *wall_share);
/* Blocks take `factor` times as long as was measured. */
void calibration_scale(struct calibration *c, double factor);

#endif
