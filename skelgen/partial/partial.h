/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partial execution: the program itself runs until enough iterations of its main loop are done. This room chooses the
 * stop by the trace, and estimates the whole run from the times until the stop.
 *
 *	T = t(stop) + (N - n_stop) / n * (C * D + (t - C) * E) + T_end * R
 *
 *     t(stop)   measured time until the stop
 *     N         iterations of the main loop; n_stop: iterations until the stop; n: iterations of the windows
 *     t, C      measured time of the windows; the computation in t, of the rank that computes most
 *     D, E      change of computation and of calls behind the windows
 *     T_end     traced time after the stop, outside the loop
 *     R         ratio of the loop's time in this run to its time in the trace
 *
 * The other N - n_stop iterations are taken to be as long as the windows, except for changes that the trace shows beyond
 * chance. D is such a change of computation. E is such a change of calls; E is 1 if all iterations make the same calls.
 * The traced times themselves are not used: they contain disturbances of the traced run, and another machine has other
 * proportions.
 *
 * The computation of the whole run is the traced computation, scaled by the ratio of the computation in the windows.
 */
#ifndef PRECEDENT_SKELGEN_PARTIAL_PARTIAL_H
#define PRECEDENT_SKELGEN_PARTIAL_PARTIAL_H

#include <stdbool.h>

#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"
#include "trace/format/stop.h"

#define PARTIAL_BATCHES    5  /* of iterations between the marks */
#define PARTIAL_MARKS      (PARTIAL_BATCHES + 1)
#define PARTIAL_LEAST      10 /* least iterations of a main loop */
#define PARTIAL_SHARE      0.5 /* least share of a main loop in the run's time */
#define PARTIAL_WINDOW_NS  5e6 /* least time in the trace of a window, and of the warm-up before the first window */
#define PARTIAL_WINDOW_LEAST 3 /* least iterations of a window, unless fewer take twice the window's time */

/* Change from the iterations in the windows to the iterations behind the windows, as a logarithm. chance: the part of it
 * that chance explains. */
struct partial_change {
	double log, chance;
};

struct partial_plan {
	struct stop_plan stop;
	/* All times are without the cost of the recorder. */
	double (*traced_ns)[PARTIAL_MARKS]; /* of each rank: its marks in the trace, from the return of MPI_Init */
	double *gap_ns;         /* of each rank: computation between the first and the last mark */
	double *loop_ns;        /* of each rank: in the main loop behind the last mark */
	double *end_ns;         /* of each rank: MPI_Finalize, on the same clock */
	double computed_s;      /* computation of the whole trace, mean over ranks */
	double share;           /* of the main loop in it */
	double planned_s;       /* until the stop, in the trace */
	uint32_t node;          /* the main loop */
	uint64_t iterations;    /* of it */
	uint64_t at[PARTIAL_MARKS]; /* iterations that are complete at the marks */
	uint64_t made[PARTIAL_BATCHES + 1]; /* iterations of each window and behind them, without left-out iterations */
	double window_work_ns[PARTIAL_BATCHES]; /* computation of an iteration of each window, of the rank that has most */
	struct partial_change work, calls;	/* calls: no change where all iterations make the same */
};

/* Choose the stop. seconds: wanted time of the iterations between the first and the last mark. Returns 0, or -1 with the
 * reason in err if the run cannot be stopped half way. */
int partial_plan_make(const struct skel_tree *tree, const struct skel_times *times, double seconds,
		      struct partial_plan *out, struct errbuf *err);
void partial_plan_free(struct partial_plan *p);

/* Known completion times of the main loop's iterations in the trace, ascending. */
struct partial_series {
	size_t n;
	uint64_t *done;  /* iterations complete at this time; the first entry is the beginning of the loop */
	double *ns;
	bool whole;      /* the series reaches the end of the loop */
};

/* Place windows that take `seconds` together behind the warm-up. Each window has an equal share of the time, and a least
 * length. If the whole loop is too short, it is divided by time. Returns 0, 1 if more of the series is needed, -1 if there
 * are too few iterations. */
int partial_marks_place(const struct partial_series *s, double seconds, uint64_t at[PARTIAL_MARKS]);

struct partial_estimate {
	double whole_s, lo_s, hi_s; /* MPI_Init's return to MPI_Finalize */
	double ran_s;               /* until the stop */
	double startup_s;           /* process start to MPI_Init's return */
	double ratio;               /* of the windows' time in this run to their time in the trace */
	double computed_s;          /* of whole_s, mean over ranks; 0: not known */
	double lacked;              /* share of its processors that other programs had; 0 if not known. Whoever ran it sets this. */
};
int partial_estimate_make(const struct partial_plan *p, const struct stop_marks *m, struct partial_estimate *out,
			  struct errbuf *err);

#endif
