/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times between calls and in them, as far as ranks had their processors (run_own.h), as functions of sizes: a constant and at
 * most one product of up to three features, of which the number of ranks may divide, with coefficients of least squares that are
 * not below zero, chosen by what they miss on runs that were left out. What calls take grows with the logarithm of the number of
 * ranks, not with it, where runs have two numbers of ranks, from which that cannot be told; and may jump with the length of a
 * message where ranks take turns. What is computed between two calls has a function for each pair of them, which is that of all
 * ways to the second call, times a number, unless one of its own misses less on runs that were left out.
 */
#ifndef PRECEDENT_MODEL_INPUTS_RUN_TIMES_H
#define PRECEDENT_MODEL_INPUTS_RUN_TIMES_H

#include "model/inputs/learn_runs.h"

#define TIME_TERMS 1
/* As the mark of a feature: 1 / it. A part of a size is a whole number of rows; work that is divided in smaller pieces than what
 * the size counts, millions of samples say, is not. */
#define TIME_INVERSE 0x40000000u

struct time_fn {
	double constant_s;
	uint32_t n;
	double coef[TIME_TERMS];
	uint32_t x[TIME_TERMS][3]; /* features, maybe with TIME_INVERSE; RULE_NONE */
	double error_s;		   /* root mean square on runs left out */
};
struct run_times {
	struct time_fn *gap, *into; /* by way; by leaf, of all ways to it */
	struct time_fn *dur;	    /* by leaf */
	/* Calls of runs with more ranks than processors, and dur of the others: where there are at least RUNS_MIN of each. */
	bool split;
	struct time_fn *crowded;
	/* Walltimes of runs that were left out, against what the others say. */
	uint32_t n_errors;
	double mean_error;   /* relative */
	double worst_error;  /* as a ratio less 1: nine of ten runs between others in size and ranks are within, by how far those were off */
	double beyond_error; /* the same of all, and of the runs with the most ranks or the greatest value of a variable by the rest */
	/* By variable, the number of ranks last: how many times as fast as that, beyond the runs, the time that is missed grows, as logarithms. */
	double reach[FEATURE_VARS_MAX + 1];
	double shared;			/* of a run's time other programs had its processors so much, where it was worst */
	struct arena *arena;
};

/* -1 without memory, or when the traces have no times. */
int run_times_learn(const struct learnt *l, struct run_times *out, struct errbuf *err);
/* Of the calls of a leaf. */
static inline const struct time_fn *run_times_dur(const struct run_times *t, uint32_t leaf, bool crowded)
{
	return crowded && t->split ? &t->crowded[leaf] : &t->dur[leaf];
}
/* Between two calls; where no rank of the runs went from one to the other, as from others to the second. */
static inline const struct time_fn *run_times_gap(const struct run_times *t, const struct runs *r, uint32_t from, uint32_t to)
{
	uint32_t w = runs_way_find(r, from, to);

	return w == RUNS_NO_WAY ? &t->into[to] : &t->gap[w];
}
void run_times_free(struct run_times *t);

#endif
