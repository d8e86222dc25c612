/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Means of several runs with the same seeds, and their confidence intervals. */
#ifndef PRECEDENT_TESTS_BENCH_BACKFILL_INTERVALS_H
#define PRECEDENT_TESTS_BENCH_BACKFILL_INTERVALS_H

#include <stddef.h>

struct interval {
	double mean, half; /* 95 %: mean +- half; half is NAN for one value */
};
struct interval interval_of(const double *values, size_t n);
/* Of the relative differences a[i] to b[i]: a / b - 1. */
struct interval interval_of_change(const double *a, const double *b, size_t n);

#endif
