/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much the speed of a run's computation varies. The pace is the time of the computations in a slice of the run over
 * their usual times. A usual time is the mean of the computations before the same call. Second differences between
 * slices are used, so a pace that changes evenly counts as no variation. Unlike work before one call counts as
 * variation. A symbol that comes in one slice only counts as even: it cannot be told from a program that changes.
 * Source: the three-sample variance of Baugh, "Frequency modulation analysis with the Hadamard variance", Proc. 25th
 * Annual Symposium on Frequency Control, 1971.
 */
#ifndef PRECEDENT_TRACE_PACE_H
#define PRECEDENT_TRACE_PACE_H

#include <stdint.h>

#include "trace/read/reader.h"

struct pace {
	double slice_ns;
	uint32_t n; /* symbols of the rank at hand */
	struct pace_sum {
		double ns, n;
	} *sum;     /* [slice * n + symbol]; NULL: no rank at hand, too many symbols, or no memory */
	double square, differences; /* over ranks */
};

/* One rank after the other. */
void pace_begin(struct pace *p, const struct trace_rank *rank);
/* A computation of gap_ns before the call `sym` that began at at_ns of the rank's clock. */
void pace_add(struct pace *p, uint32_t sym, double at_ns, double gap_ns);
void pace_end(struct pace *p);
/* By how much two runs of the program may differ, relative, with a chance of 95 %: 0 to 0.1. 0: no variation, or the runs
 * of all ranks say too little. */
double pace_half_width(const struct pace *p);

#endif
