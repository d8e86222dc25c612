/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by run_times.c (learns times) and time_crossval.c (cross-validation over runs). */
#ifndef PRECEDENT_MODEL_INPUTS_RUN_TIMES_IMPL_H
#define PRECEDENT_MODEL_INPUTS_RUN_TIMES_IMPL_H

#include "model/inputs/run_times.h"

#define SIZES_MAX 13 /* features that times are tried with */

/* Weighted sums of a fold, which is a run: x, y and the products of them. */
struct sums {
	double w, x, y, xx, xy, yy;
};
struct sample {
	uint32_t n;
	uint32_t *point, *fold;
	double *y, *w, *x;
	double counts; /* mean of the runs */
};
/* Runs of the same inputs, ranks and processors are alike, and form a list that begins with `first` (RUN_NONE behind
 * the last). */
struct like {
	uint32_t first, next;
	double wall_s;	/* its own, without other programs; 0: no call was timed */
	double trust;	/* square of the share of its time in which the run had its processors */
	double usual_s; /* median of the walltimes of all runs alike, weighted by trust */
	double lost;	/* additional share that even the quietest run lost: the cost of taking turns */
	double calls;	/* stretch of the seconds in calls by that cost, if ranks take turns */
	double weight;	/* weight of the run's times among runs alike: its trust, less with the distance from the median */
	double counts;	/* weight of the mean of runs alike, beside other runs */
};
#define RUN_NONE UINT32_MAX
struct fitter {
	const struct learnt *l;
	struct runs *r;
	uint32_t n_sizes, n_seen, size[SIZES_MAX]; /* n_seen of variables that the program's messages show */
	struct sample s;
	struct sums *fold;
	bool *without; /* by run */
	struct like *like; /* by run */
	bool rounds;   /* the sample has at most two numbers of ranks */
	int64_t **col; /* by feature: the learnt columns; features of times have their values here */
};
/* The first one that is present: seconds in a call, on a way between calls, or on all ways to a call. */
struct subject {
	const struct runs_leaf *call;
	uint32_t way, to;
};

static inline bool is_crowded(const struct runs_run *run)
{
	return run->place.crowd > 1;
}

/* Seconds by the function at a point. */
double run_times_value_at(const struct fitter *t, const struct time_fn *fn, uint32_t point);
/* Mean seconds of the subject at a point, in that run. Returns -1 if no event was timed there. run_times_usual_at: in
 * all runs alike, scaled to their usual time. */
double run_times_mean_at(const struct fitter *t, const struct subject *of, uint32_t point);
double run_times_usual_at(const struct fitter *t, const struct subject *of, uint32_t point);
/* Is the call outside of the walltime? */
bool run_times_outside(const char *name);
/* All functions, without the runs that are left out. */
void run_times_fit_all(struct fitter *t, struct run_times *out);
/* ---- run_times_left.c ---- */

/* Finds the runs that are alike, and their usual time. */
void run_times_find_like(struct fitter *t);

/* Errors by cross-validation, and the share of other programs. The functions in `out` are those of the last fold. */
void run_times_leave_out(struct fitter *t, struct run_times *out);

#endif
