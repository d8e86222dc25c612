/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops of one rank's run, as shown to the user. Loops are found by contraction (contract.h). Calls are compared by
 * call site and kind, without sizes and peers. A loop whose iterations leave out some calls is one loop
 * (irregular_loops.h). Each loop has its place in the sequence of events, its time, and its place in the source.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_LOOPS_H
#define PRECEDENT_SKELGEN_MERGE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

#define LOOPS_NONE  UINT32_MAX
#define LOOPS_MAX   2000 /* loops kept: the loops with the most time, and every loop around a kept loop */
#define LOOPS_CURVE 128
/* Items of a rank's folded calls beyond which only the outermost loop is sought, in a sample: finding all loops takes 1.5 KiB
 * and 15 us for each item. */
#define LOOPS_ITEMS_MAX (1u << 18)

struct loop {
	uint32_t parent;         /* index of the loop around it (a smaller one), or LOOPS_NONE */
	uint32_t depth;          /* loops around it */
	uint32_t sym;            /* signature of the first call in its body, in the rank's definitions */
	uint32_t site, frame;    /* place in the source: site of that call, and the frame of the loop's function in it */
	uint32_t n_call;         /* leaves in the loop's body, with the leaves of inner loops */
	uint64_t executions;     /* times that it was entered */
	uint64_t iterations;     /* over all executions; numbered 0 .. iterations - 1 in order */
	uint64_t turns_min, turns_max;   /* iterations of an execution */
	uint64_t events_min, events_max; /* of an iteration */
	uint64_t first_event, end_event; /* of the first execution; after the last */
	double t0_ns, t1_ns;     /* the same as times since the rank's start, without the recorder's cost */
	double ns, mpi_ns;       /* of all iterations, and the part of it inside MPI calls */
	double share;            /* of the rank's time, 0 .. 1 */
	uint64_t timed;          /* iterations with all times known; the fields below count only timed iterations */
	double mean_ns, sd_ns, min_ns, max_ns; /* of an iteration */
	uint64_t slowest;        /* number of the iteration that took max_ns */
	uint32_t n_curve;        /* mean time of an iteration, ns, by place: each point is curve_step iterations */
	uint64_t curve_step;
	double curve[LOOPS_CURVE]; /* NAN where no iteration is timed */
};

struct loops {
	uint32_t rank, n;
	struct loop *loop;       /* in the order in which the program comes to them, outer before inner */
	uint64_t events, untimed; /* of the rank */
	double ns;               /* of the rank: sum of all gaps and calls */
	double share;            /* of it inside loops */
	uint32_t n_left_out;     /* loops beyond LOOPS_MAX */
	bool irregular;          /* more than LOOPS_ITEMS_MAX items: n is 0 or 1 */
	struct loops_place *place; /* private: where iterations begin */
};

/* One pass over the rank's events and times, unless they are irregular. -1: the rank is not in the trace, or no memory. */
int loops_build(const struct trace *t, uint32_t rank, struct loops *out, struct errbuf *err);
/* Legal on a zeroed one. */
void loops_free(struct loops *l);

/* Events [*first, *end) of iteration k (< iterations) of a loop. */
void loops_iteration(const struct loops *l, uint32_t loop, uint64_t k, uint64_t *first, uint64_t *end);
/* Iterations [*first, *end) of execution e (< executions). */
void loops_execution(const struct loops *l, uint32_t loop, uint64_t e, uint64_t *first, uint64_t *end);
/* The innermost loop that event is in, with its iteration; LOOPS_NONE outside of loops. O(loops x log iterations). */
uint32_t loops_at(const struct loops *l, uint64_t event, uint64_t *iteration);

/* Call f with the times of each iteration of one loop, in order. This reads the rank's events again, up to the end of
 * the loop. known: every time in the iteration is known. f returns non-zero to stop. Returns 0 at the end, 1 if f
 * stopped, -1 on error. */
int loops_times(const struct loops *l, const struct trace *t, uint32_t loop,
		int (*f)(uint64_t k, double t0_ns, double t1_ns, bool known, void *arg), void *arg,
		struct errbuf *err);

#endif
