/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From windows to a loop: see sampled.h. */
#include "skelgen/runtime/sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPIKE_MADS  11.9 /* 8 standard deviations of a normal distribution */
#define SPIKE_LEAST 0.5  /* of a usual iteration */
#define LEAST_PAIRS 2    /* of neighbouring windows, for a slope and a spread */
#define LEAST_TURNS 5    /* of a short execution, after the warm-up */
#define SURE        5.0  /* standard errors of a slope: by chance, 1.5 % of slopes from five windows are that large */

uint64_t sampled_run(const struct sampled_plan *p)
{
	uint64_t run = 1;

	for (int i = 0; i < p->n; i++)
		run += p->w[i].warm + p->w[i].run;
	return run;
}

uint64_t sampled_turns(uint64_t total, uint64_t run, uint64_t turns)
{
	uint64_t n, least = run - 1 < LEAST_TURNS ? run - 1 : LEAST_TURNS;

	if (turns < 2 || run < 2 || run >= total)
		return turns;
	n = (uint64_t)(((unsigned __int128)(turns - 1) * (run - 1) + total - 2) / (total - 1));
	n = n > least ? n : least;
	return n + 1 < turns ? n + 1 : turns;
}

uint64_t sampled_iteration(const struct sampled_plan *p, uint64_t j, double *weight)
{
	uint64_t at = 1;

	*weight = 1;
	for (int i = 0; i < p->n && j > 0; i++) {
		const struct sampled_window *w = &p->w[i];

		if (j < at + w->warm + w->run) {
			*weight = j < at + w->warm ? 0 : (double)w->stands / w->run;
			return w->first + (j - at);
		}
		at += w->warm + w->run;
	}
	return j;
}

double sampled_student95(double degrees)
{
	static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
				   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
	const int n = sizeof t / sizeof *t;
	int i = (int)degrees;

	if (degrees <= 1)
		return t[0];
	if (i >= n)
		return 1.96 + (t[n - 1] - 1.96) * n / degrees;
	return t[i - 1] + (t[i] - t[i - 1]) * (degrees - i);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, uint64_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return n > 0 ? (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
}

/* Spikes of one segment's iterations are cut down to its usual iteration. Their excess and its square, in units of a usual
 * iteration, and their number. scratch: as long as each. */
struct cut_down {
	uint64_t n;
	double excess, square;
};

static void cut_spikes(double *each, uint64_t n, double *scratch, struct cut_down *out)
{
	double usual, mad, most;

	memcpy(scratch, each, n * sizeof *each);
	usual = median(scratch, n);
	for (uint64_t i = 0; i < n; i++)
		scratch[i] = fabs(each[i] - usual);
	mad = median(scratch, n);
	most = usual + fmax(SPIKE_MADS * mad, SPIKE_LEAST * usual);
	for (uint64_t i = 0; i < n && usual > 0; i++) {
		double e = (each[i] - usual) / usual;

		if (each[i] <= most)
			continue;
		out->n++;
		out->excess += e;
		out->square += e * e;
		each[i] = usual;
	}
}

/* Replace the windows' sums by sums without spikes, if there are not more of them than the traced run lets expect. */
static int without_spikes(const struct sampled_plan *p, double *sum, double *each, struct cut_down *cut)
{
	uint64_t n = sampled_run(p), at = 0;
	double expected, *scratch = malloc(n * sizeof *scratch);

	memset(cut, 0, sizeof *cut);
	if (scratch == NULL)
		return 0;
	for (int i = 0; i < p->n;) {
		uint64_t k = 0;
		int j = i;

		while (j < p->n && p->w[j].segment == p->w[i].segment)
			k += p->w[j++].run;
		cut_spikes(each + at, k, scratch, cut);
		at += k;
		i = j;
	}
	free(scratch);
	expected = p->spikes.rate * (double)at;
	if ((double)cut->n > expected + 2 * sqrt(expected) + 0.5)
		return 0;
	at = 0;
	for (int i = 0; i < p->n; i++) {
		sum[i] = 0;
		for (uint32_t k = 0; k < p->w[i].run; k++)
			sum[i] += each[at++];
	}
	return 1;
}

struct spread {
	double var, df_sum; /* sum of variances; sum of their squares over their degrees of freedom */
};

static double per_iteration(const struct sampled_plan *p, const double *sum, int i)
{
	return sum[i] / p->w[i].run;
}

/* By how much windows become longer, per traced nanosecond by which they were. *pairs: neighbours that tell it. */
static double slope(const struct sampled_plan *p, const double *sum, int *pairs)
{
	double xx = 0, xy = 0;

	*pairs = 0;
	for (int i = 1; i < p->n; i++) {
		double dx = p->w[i].traced_ns / p->w[i].run - p->w[i - 1].traced_ns / p->w[i - 1].run;

		if (p->w[i].segment != p->w[i - 1].segment)
			continue;
		xx += dx * dx;
		xy += dx * (per_iteration(p, sum, i) - per_iteration(p, sum, i - 1));
		++*pairs;
	}
	return xx > 0 ? xy / xx : 0;
}

/* Variance of a window's time per iteration, from neighbours; of a loop that drifts, from how far each lies off the
 * line through its neighbours. */
static double neighbour_variance(const struct sampled_plan *p, const double *sum, int a, int b, double *degrees)
{
	double s2 = 0, n = b - a, m = n - 2;

	if (p->trend && b - a >= 4) {
		for (int i = a + 1; i + 1 < b; i++) {
			double d = per_iteration(p, sum, i - 1) - 2 * per_iteration(p, sum, i) +
				   per_iteration(p, sum, i + 1);

			s2 += d * d / 6 / m;
		}
		*degrees = m * m / (m + 8.0 / 9 * (m - 1) + 1.0 / 18 * (m - 2));
		return s2;
	}
	for (int i = a + 1; i < b; i++) {
		double d = per_iteration(p, sum, i) - per_iteration(p, sum, i - 1);

		s2 += d * d / 2 / (n - 1);
	}
	*degrees = 2 * (n - 1) * (n - 1) / (3 * n - 4);
	return s2;
}

/* Variance of a segment by its windows [a, b); 0 of a segment with a single window. */
static double segment_variance(const struct sampled_plan *p, const double *sum, int a, int b, double *degrees)
{
	double s2, squares = 0, run = 0, stands = 0;

	*degrees = 1;
	if (b - a < 2)
		return 0;
	s2 = neighbour_variance(p, sum, a, b, degrees);
	*degrees = fmax(1, *degrees);
	for (int i = a; i < b; i++) {
		squares += (double)p->w[i].stands * (double)p->w[i].stands;
		run += p->w[i].run;
		stands += (double)p->w[i].stands;
	}
	return stands > run ? squares * s2 * (1 - run / stands) : 0;
}

static struct spread spread_of(const struct sampled_plan *p, const double *sum)
{
	struct spread s = {0, 0};

	for (int i = 0, j; i < p->n; i = j) {
		double var, degrees;
		int a = i;

		for (j = i; j < p->n && p->w[j].segment == p->w[i].segment;)
			j++;
		/* A lone window counts with its neighbour, across the border of segments. */
		if (j - a < 2 && p->n >= 2)
			a = a > 0 ? a - 1 : a;
		var = segment_variance(p, sum, a, j - a < 2 && j < p->n ? j + 1 : j, &degrees);
		s.var += var;
		s.df_sum += var * var / degrees;
	}
	return s;
}

/* The total that the windows give, and its squared half-width. */
struct whole {
	double total_ns, half2;
};

/* left: share of the evidence on the spread that is left when a slope was found. */
static struct whole whole_of(const struct sampled_plan *p, const double *sum, double total_ns, double left)
{
	struct spread s = spread_of(p, sum);
	double t = s.df_sum > 0 ? sampled_student95(left * s.var * s.var / s.df_sum) : 0;

	return (struct whole){total_ns, t * t * s.var / left};
}

/* The regression on the traced times: the total is corrected for the traced time that the windows lack, and the spread is that of
 * the residuals. */
static struct whole regress(const struct sampled_plan *p, const double *sum, struct whole plain)
{
	double residual[SAMPLED_MAX], lacks = p->traced_ns, b;
	struct whole w;
	int pairs;

	b = slope(p, sum, &pairs);
	if (pairs < LEAST_PAIRS)
		return plain;
	for (int i = 0; i < p->n; i++) {
		lacks -= (double)p->w[i].stands / p->w[i].run * p->w[i].traced_ns;
		residual[i] = sum[i] - b * p->w[i].traced_ns;
	}
	w = whole_of(p, residual, plain.total_ns + b * lacks, (pairs - 1.0) / pairs);
	/* A slope of so many standard errors leaves this part of the variance, about. */
	return w.half2 < (pairs - 1) / (pairs - 1 + SURE * SURE) * plain.half2 ? w : plain;
}

struct sampled_result sampled_estimate(const struct sampled_plan *p, const double *sum_ns, double *each)
{
	struct sampled_result e = {0, 0, 0, 0};
	double sum[SAMPLED_MAX], total = 0, stands = 0, run = 0, var_spikes = 0, usual;
	struct cut_down cut = {0, 0, 0};
	struct whole w;
	int robust;

	memcpy(sum, sum_ns, (size_t)p->n * sizeof *sum);
	robust = each != NULL && p->spikes.known > 0 && without_spikes(p, sum, each, &cut);
	for (int i = 0; i < p->n; i++) {
		total += (double)p->w[i].stands / p->w[i].run * sum[i];
		stands += (double)p->w[i].stands;
		run += p->w[i].run;
	}
	w = whole_of(p, sum, total, 1);
	if (p->traced_ns > 0)
		w = regress(p, sum, w);
	usual = stands > 0 ? w.total_ns / stands : 0;
	if (robust) {
		double seen = (double)p->spikes.known + run;

		e.spikes_ns = stands * (p->spikes.excess + cut.excess) / seen * usual;
		/* Of the spikes seen and of those to come: both vary as rare events do. */
		var_spikes = stands * (1 + stands / seen) * (p->spikes.square + cut.square) / seen * usual * usual;
	}
	e.total_ns = w.total_ns + e.spikes_ns;
	e.half_ns = sqrt(w.half2 + 1.96 * 1.96 * var_spikes);
	e.relative = e.total_ns > 0 ? e.half_ns / e.total_ns : 0;
	return e;
}
