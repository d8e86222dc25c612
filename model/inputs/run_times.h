/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of calls and of the computation between calls, as functions of sizes. Only time in which ranks had their
 * processors counts (run_own.h). A function is a sum of a constant and products of up to three features; the number of
 * ranks may divide. Coefficients come from least squares and are never below zero. Cross-validation over runs chooses
 * one product, and then a sum of products of the same factors (time_sum.c).
 * Cross-validation also predicts from two runs, which determine one coefficient: a time in proportion to a product.
 *
 * Calls: if runs have only two numbers of ranks, linear and logarithmic growth look alike. Then the logarithm of the
 * number of ranks is used. If ranks take turns, the time may jump with the length of a message.
 *
 * Computation: each pair of calls has a function. It is the function of all ways to the second call, times a number. A
 * function of its own is used if its error on runs left out is smaller.
 */
#ifndef PRECEDENT_MODEL_INPUTS_RUN_TIMES_H
#define PRECEDENT_MODEL_INPUTS_RUN_TIMES_H

#include "model/inputs/learn_runs.h"

#define TIME_TERMS 3 /* volume, faces and edges of a grid */
/* Marks a feature as its inverse: 1 / feature. A part of a size is a whole number of rows. Work is not, if it is
 * divided in smaller pieces than the size counts (a size in millions of samples, for example). */
#define TIME_INVERSE 0x40000000u

struct time_fn {
	double constant_s;
	bool proportional; /* no constant */
	uint32_t n;
	double coef[TIME_TERMS];
	uint32_t x[TIME_TERMS][3]; /* features, maybe with TIME_INVERSE; RULE_NONE */
	double error_s;		   /* root mean square on runs left out */
};
struct run_times {
	struct time_fn *gap, *into; /* by way; by leaf, over all ways to the leaf */
	struct time_fn *dur;	    /* by leaf */
	/* split: crowded is for calls of runs with more ranks than processors, and dur for the other runs. Both need at
	 * least RUNS_MIN runs. */
	bool split;
	struct time_fn *crowded;
	/* Cross-validation: errors of the walltimes of runs that were left out. */
	uint32_t n_errors;
	double mean_error;   /* relative */
	double worst_error;  /* ratio less 1, runs inside the range: nine of ten are within */
	double beyond_error; /* the same for all runs, and for the runs with the most ranks or the greatest value of a variable */
	/* By variable, the number of ranks last: exponent with which the error grows outside the range of the runs. */
	double reach[FEATURE_VARS_MAX + 1];
	double shared;			/* share of a run's time in which other programs had its processors: the worst run */
	struct arena *arena;
};

/* -1 without memory, or when the traces have no times. */
int run_times_learn(const struct learnt *l, struct run_times *out, struct errbuf *err);
/* Of the calls of a leaf. */
static inline const struct time_fn *run_times_dur(const struct run_times *t, uint32_t leaf, bool crowded)
{
	return crowded && t->split ? &t->crowded[leaf] : &t->dur[leaf];
}
/* Between two calls. If no rank of the runs went from `from` to `to`: the function of all ways to `to`. */
static inline const struct time_fn *run_times_gap(const struct run_times *t, const struct runs *r, uint32_t from, uint32_t to)
{
	uint32_t w = runs_way_find(r, from, to);

	return w == RUNS_NO_WAY ? &t->into[to] : &t->gap[w];
}
void run_times_free(struct run_times *t);

#endif
