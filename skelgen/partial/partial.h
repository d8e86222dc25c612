/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partial execution: the program itself, run until enough iterations of its main loop are done. Here: where to stop it,
 * by the trace, and what its times until then say about the whole run.
 *
 *	T = t(stop) + (N - n_stop) / n * (C * D + (t - C) * E) + T_end * R
 *
 * What has been run, the start first of all, counts as it was. The n iterations of the windows took t, of which C is
 * computation (of the rank that has most of it); the N - n_stop others take as long, but for what the trace says for sure:
 * that they compute D times as much, and, where they do not make the same calls, that calls take E times as long. Their
 * traced time itself says little: what disturbed the traced run is in it, and elsewhere other things last. What lies
 * outside of the loop is scaled by R, the ratio of the loop there, as it is told, to that of the trace. What of the whole is
 * computation: all that was traced by the ratio of the computation in these iterations. Source: algorithms, C.9.
 */
#ifndef PRECEDENT_SKELGEN_PARTIAL_PARTIAL_H
#define PRECEDENT_SKELGEN_PARTIAL_PARTIAL_H

#include <stdbool.h>

#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"
#include "trace/format/stop.h"

#define PARTIAL_BATCHES    5  /* of iterations between the marks */
#define PARTIAL_MARKS      (PARTIAL_BATCHES + 1)
#define PARTIAL_LEAST      10 /* iterations that a main loop has */
#define PARTIAL_SHARE      0.5 /* of the time that it takes */
#define PARTIAL_WINDOW_NS  5e6 /* that a window takes at least in the trace, and the warm-up before the first */
#define PARTIAL_WINDOW_LEAST 3 /* iterations of it, unless fewer take twice the time */

/* By how much iterations behind the windows differ from those in them, as a logarithm, and what of it chance explains. */
struct partial_change {
	double log, chance;
};

struct partial_plan {
	struct stop_plan stop;
	/* All times are without what the recorder took. */
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
	uint64_t made[PARTIAL_BATCHES + 1]; /* iterations of each window and behind them, without those that executions leave out */
	double window_work_ns[PARTIAL_BATCHES]; /* computation of an iteration of each window, of the rank that has most */
	struct partial_change work, calls;	/* calls: no change where all iterations make the same */
};

/* seconds: how long the iterations between the first and the last mark shall take. -1 with the reason when the run cannot
 * be stopped half way. */
int partial_plan_make(const struct skel_tree *tree, const struct skel_times *times, double seconds,
		      struct partial_plan *out, struct errbuf *err);
void partial_plan_free(struct partial_plan *p);

/* When iterations of the main loop were done in the trace, as far as that is known, ascending. */
struct partial_series {
	size_t n;
	uint64_t *done;  /* so many were; the first entry is the beginning */
	double *ns;
	bool whole;      /* behind the last entry there are no more */
};

/* Windows that take `seconds` together, placed by the series: after the warm-up, each of its time and with a least length;
 * where the whole loop is too short for them, it is divided by time. 1: more of the series is needed; -1: too few
 * iterations. */
int partial_marks_place(const struct partial_series *s, double seconds, uint64_t at[PARTIAL_MARKS]);

struct partial_estimate {
	double whole_s, lo_s, hi_s; /* MPI_Init's return to MPI_Finalize */
	double ran_s;               /* until the stop */
	double startup_s;           /* process start to MPI_Init's return */
	double ratio;               /* of the windows there to the same in the trace */
	double computed_s;          /* of whole_s, mean over ranks; 0: not known */
};
int partial_estimate_make(const struct partial_plan *p, const struct stop_marks *m, struct partial_estimate *out,
			  struct errbuf *err);

#endif
