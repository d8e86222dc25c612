/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much the pace of a run's computation varies, where the program does the same. The pace is the time of the
 * computations in a slice of the run over their usual times. A usual time is the mean of the computations before the
 * same call. A computation that grows or shrinks evenly has an even pace: second differences between slices count.
 * Source: the three-sample variance of Baugh, "Frequency modulation analysis with the Hadamard variance", Proc. 25th
 * Annual Symposium on Frequency Control, 1971.
 */
#ifndef PRECEDENT_TRACE_PACE_H
#define PRECEDENT_TRACE_PACE_H

#include <stdint.h>

struct trace;

struct pace {
	double slice_ns;
	uint32_t n; /* calls that differ, of the rank at hand */
	struct pace_sum {
		double ns, n;
	} *sum;     /* [slice * n + call]; NULL: no rank at hand, or no memory, then nothing is added */
	double square, differences; /* over ranks */
};

/* One rank after the other. n: symbols of the rank; wall_ns: length of its run. */
void pace_begin(struct pace *p, uint32_t n, double wall_ns);
/* A computation of gap_ns before the call `sym` that began at at_ns of the rank's clock. */
void pace_add(struct pace *p, uint32_t sym, double at_ns, double gap_ns);
void pace_end(struct pace *p);
/* Relative half width by which two runs of the program differ, with a chance of 95 %, as far as the run at hand tells.
 * 0: it does not. */
double pace_half_width(const struct pace *p);

#endif
