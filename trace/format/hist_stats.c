/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds, mean, deviation and quantiles of a histogram: see hist.h. They need libm, which the tracer does not
 * link. */
#include <math.h>

#include "trace/format/hist.h"

void hist_bounds(unsigned bin, double *lo, double *hi)
{
	unsigned e = bin ? (bin - 1) / 4 : 0, k = bin ? (bin - 1) % 4 : 0;

	*lo = bin ? ldexp(1 + k / 4.0, (int)e) : 0;
	*hi = bin ? ldexp(1 + (k + 1) / 4.0, (int)e) : 1;
}

double hist_mean(const struct hist *h)
{
	return h->n ? h->sum / (double)h->n : 0;
}

double hist_deviation(const struct hist *h)
{
	double mean = hist_mean(h), var = h->n ? h->sum_squares / (double)h->n - mean * mean : 0;

	return var > 0 ? sqrt(var) : 0;
}

double hist_quantile(const struct hist *h, double q)
{
	double want = q * (double)h->n, seen = 0, lo = 0, hi = 0;

	for (unsigned b = 0; b < HIST_BINS; b++) {
		double n = (double)h->bin[b];

		if (!h->bin[b])
			continue;
		hist_bounds(b, &lo, &hi);
		if (!b)
			hi = 0;
		if (seen + n >= want)
			return lo + (hi - lo) * (want > seen ? (want - seen) / n : 0);
		seen += n;
	}
	return hi;
}
