/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See intervals.h. */
#include <math.h>
#include <stdlib.h>

#include "tests/bench/backfill/intervals.h"

/* Student's t for 95 %, two-sided. */
static double student(size_t freedom)
{
	static const double t[] = {0,	  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
				   2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080,
				   2.074, 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

	return freedom < sizeof(t) / sizeof(t[0]) ? t[freedom] : 1.960 + 2.5 / (double)freedom;
}

struct interval interval_of(const double *v, size_t n)
{
	struct interval r = {0, NAN};
	double square = 0;

	for (size_t i = 0; i < n; i++)
		r.mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		square += (v[i] - r.mean) * (v[i] - r.mean);
	if (n > 1)
		r.half = student(n - 1) * sqrt(square / (double)(n - 1) / (double)n);
	return r;
}

struct interval interval_of_change(const double *a, const double *b, size_t n)
{
	double *change = calloc(n + 1, sizeof(*change));
	struct interval r = {NAN, NAN};

	for (size_t i = 0; change && i < n; i++)
		change[i] = a[i] / b[i] - 1;
	if (change)
		r = interval_of(change, n);
	free(change);
	return r;
}
