/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by what learns times (run_times.c) and what leaves runs out to see how good that is (run_times_left.c). */
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
/* What runs of the same inputs, ranks and processors took is taken together, by the first of them (RUN_NONE behind the last). */
struct like {
	uint32_t first, next;
	double wall_s;	/* its own, without other programs; 0: no call was timed */
	double trust;	/* the square of the part of its time in which it had its processors: what is taken away is not known exactly */
	double usual_s; /* the median of all, by their trust, */
	double lost;	/* and so much of it in addition that none of their ranks had, in none of them: what taking turns costs */
	double calls;	/* seconds in calls for one, with that: where ranks take turns */
	double weight;	/* of its times among theirs: its trust, and less, the farther it is from the median */
	double counts;	/* of all: what their mean is worth beside other runs */
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
	bool rounds;   /* the sample's calls have two numbers of ranks at most */
	int64_t **col; /* by feature: as learnt, but those of times have their values */
};
/* Seconds in a call, on a way between calls, or on all ways to a call: the first of them that is there. */
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
/* Mean seconds of the subject at a point; -1: none were timed there. In that run, and in all like it as if each had taken what is usual. */
double run_times_mean_at(const struct fitter *t, const struct subject *of, uint32_t point);
double run_times_usual_at(const struct fitter *t, const struct subject *of, uint32_t point);
/* Is the call outside of the walltime? */
bool run_times_outside(const char *name);
/* All functions, without the runs that are left out. */
void run_times_fit_all(struct fitter *t, struct run_times *out);
/* ---- run_times_left.c ---- */

/* Which runs are alike, and how long these took. */
void run_times_find_like(struct fitter *t);

/* Errors, and what other programs had of the processors. The functions in `out` are those of the last try. */
void run_times_leave_out(struct fitter *t, struct run_times *out);

#endif
