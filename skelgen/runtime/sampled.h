/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the windows of a sampled loop tell of the whole loop: its time and the half-width of a 95 % interval. Pure
 * arithmetic, without MPI; the planner's tests use it too.
 *
 *   T = sum over windows of (iterations it stands for / iterations run) x its time, plus what rare spikes add
 *
 * The spread is the spread between neighbouring windows of one segment. So drift and phases do not widen the interval:
 * windows over the whole loop account for them. Source: algorithms, C.2 and C.4.
 *
 * Where the skeleton repeats the gap of each execution, windows differ as they did in the trace. The traced times of all
 * iterations are known. So the total is a regression estimate on these times, and the spread is that of the residuals
 * (Cochran, "Sampling techniques", 1977, chapter 7). The slope comes from differences between neighbours.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_SAMPLED_H
#define PRECEDENT_SKELGEN_RUNTIME_SAMPLED_H

#include <stdint.h>

#define SAMPLED_MAX 32
#define SAMPLED_LEAST 5 /* windows for a regression: with fewer, Student's t is large */

struct sampled_window {
	uint64_t first;   /* first iteration that is run, the warm-up's if there is one */
	uint32_t warm;    /* iterations that are run before it counts: 0 or 1 */
	uint32_t run;     /* iterations that count */
	uint64_t stands;  /* iterations that they stand for */
	uint32_t segment; /* of the loop's iterations, by change points; not falling */
	double traced_ns; /* time of the iterations that count, in the trace */
};

/* Rare long iterations, from the traced run: their excess over a usual iteration, in usual iterations. The skeleton's own
 * compute blocks lack these spikes. */
struct sampled_spikes {
	uint64_t known;   /* traced iterations; 0: no spikes to account for */
	double rate;      /* share of them that are spikes */
	double excess;    /* sum over them */
	double square;    /* sum of squares */
};

struct sampled_plan {
	int n;
	int trend;        /* the loop drifts steadily: a line through neighbours is no spread */
	double traced_ns; /* of the iterations that the windows stand for, in the trace; 0: no regression on traced times */
	struct sampled_window w[SAMPLED_MAX];
	struct sampled_spikes spikes;
};

/* The number of iterations that run, with warm-ups and the loop's first one. */
uint64_t sampled_run(const struct sampled_plan *p);
/* The program's iteration that iteration j of these stands for; *weight: its weight. */
uint64_t sampled_iteration(const struct sampled_plan *p, uint64_t j, double *weight);

/* Iterations to run of an execution with `turns` iterations, if `run` are run of an execution with `total`, more than
 * turns: the same share, but a few at least. All of them if run is not below total. */
uint64_t sampled_turns(uint64_t total, uint64_t run, uint64_t turns);

struct sampled_result {
	double total_ns, half_ns; /* of the iterations that the windows stand for */
	double spikes_ns;         /* of it: added for spikes that were not met */
	double relative;          /* half-width over the total */
};

/* sum_ns: time of each window, warm-ups not counted. each: time of every counted iteration, in order, or NULL when
 * there are no spikes to account for; overwritten. */
struct sampled_result sampled_estimate(const struct sampled_plan *p, const double *sum_ns, double *each);

/* Student's t for 95 %, two-sided. */
double sampled_student95(double degrees);

#endif
