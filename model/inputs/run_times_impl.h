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
#define TIME_FOLDS   16 /* of many runs, several are left out together */
#define TIME_COLUMNS (8 + SIZES_MAX) /* of a sum: products of a product's factors, and the product times another size */
/* Weighted sums of a fold: products of columns (lower triangle), and with the times. */
struct time_gram {
	double w, xx[TIME_COLUMNS][TIME_COLUMNS], xy[TIME_COLUMNS], yy;
};
/* Columns: products of features, {RULE_NONE} is the constant; divided by scale. */
struct time_sums {
	uint32_t n, n_runs, x[TIME_COLUMNS][3];
	double scale[TIME_COLUMNS];
	struct time_gram all;
};
struct fitter {
	const struct learnt *l;
	struct runs *r;
	uint32_t n_sizes, n_seen, size[SIZES_MAX]; /* n_seen of variables that the program's messages show */
	struct sample s;
	struct sums *fold;
	struct time_gram *gram; /* TIME_FOLDS */
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
double run_times_product_at(const struct fitter *t, const uint32_t x[3], uint32_t point);
/* Is the size the number of ranks, in a sample of two numbers? Linear and logarithmic growth look alike there. The logarithm
 * is assumed, because calls are made in log2(ranks) rounds. */
bool run_times_is_steep(const struct fitter *t, uint32_t size);
/* ---- time_sum.c ---- */

/* Replaces the product in `out` by a sum of products of its factors and of the first n_sizes sizes. `least` is the product's
 * mean square error on runs left out. The sum, and each further term, has to leave at most the share `worth` of the error.
 * Returns the new least error. */
double run_times_choose_sum(struct fitter *t, uint32_t n_sizes, double worth, double least, struct time_fn *out);
/* Fits the coefficients of the function's terms to the sample with the current weights. Returns the mean square error on
 * runs left out. */
double run_times_fit_sum(struct fitter *t, struct time_fn *fn);
/* ---- time_crossval.c ---- */

/* Finds the runs that are alike, and their usual time. */
void run_times_find_like(struct fitter *t);

/* Errors by cross-validation, and the share of other programs. The functions in `out` are those of the last fold. */
void run_times_leave_out(struct fitter *t, struct run_times *out);

#endif
