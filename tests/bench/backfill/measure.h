/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of one simulated run, and of several runs with the same seeds. */
#ifndef PRECEDENT_TESTS_BENCH_BACKFILL_MEASURE_H
#define PRECEDENT_TESTS_BENCH_BACKFILL_MEASURE_H

#include "tests/bench/backfill/workload.h"

#define MEASURE_BOUND_S 10 /* bounded slowdown: (wait + run) / max(run, this), 1 at least */
#define MEASURE_WARM_UP 0.1 /* share of the jobs, the first ones, that are simulated and not counted */

struct measured {
	size_t jobs;
	double wait_s, wait_median_s, wait_max_s;
	double slowdown, slowdown_median; /* bounded */
	double utilisation;		  /* from the first counted submission to the last */
	double planned;			  /* limit at first / run time, median */
	double short_share;		  /* of the counted: ran longer than its limit at first */
};

int measure_run(const struct workload *w, const struct sim_outcome *outcomes, struct measured *out, struct errbuf *err);

struct interval {
	double mean, half; /* 95 %: mean +- half; half is NAN for one value */
};
struct interval interval_of(const double *values, size_t n);
/* Of the relative differences a[i] to b[i]: a / b - 1. */
struct interval interval_of_change(const double *a, const double *b, size_t n);

#endif
