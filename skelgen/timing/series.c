/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of a series of iteration times: see series.h. The windows are in series_windows.c. */
#include "skelgen/timing/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPIKE_MADS      11.9  /* 8 standard deviations of a normal distribution; as in runtime/sampled.c */
#define SPIKE_LEAST     0.5   /* of a usual element */
#define SPIKES_MOST     0.025 /* of all elements: any sample contains spikes that are more frequent */
#define PENALTY         4.0   /* times log n, in units of the long-run variance */
#define LEAST_SEGMENT   0.04  /* of the series */
#define LEAST_ELEMENTS  20
#define LONGEST_PERIOD  64
#define PERIOD_STRENGTH 0.3
#define LINE_EXPLAINS   0.8   /* of the variance between segments */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts v. */
static double median(double *v, uint64_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return n > 0 ? (v[(n - 1) / 2] + v[n / 2]) / 2 : 0;
}

/* Above this an element of x[n] is a spike; its median in *usual. */
static double spike_limit(const double *x, uint64_t n, double *scratch, double *usual)
{
	double mad;

	memcpy(scratch, x, n * sizeof *x);
	*usual = median(scratch, n);
	for (uint64_t i = 0; i < n; i++)
		scratch[i] = fabs(x[i] - *usual);
	mad = median(scratch, n);
	return *usual + fmax(SPIKE_MADS * mad, SPIKE_LEAST * *usual);
}

/* Long-run variance of one element, from neighbouring blocks of about the root of n: steps between segments are few
 * among them, so the median takes them out. */
static double long_run_variance(const double *x, uint64_t n, double *scratch)
{
	uint64_t b = (uint64_t)sqrt((double)n), blocks = b > 0 ? n / b : 0;
	double before = 0;

	for (uint64_t k = 0; k < blocks; k++) {
		double m = 0;

		for (uint64_t i = 0; i < b; i++)
			m += x[k * b + i] / (double)b;
		if (k > 0)
			scratch[k - 1] = (m - before) * (m - before) / 2;
		before = m;
	}
	/* The median of a chi-square with one degree of freedom is 0.455. */
	return blocks > 1 ? median(scratch, blocks - 1) / 0.455 * (double)b : 0;
}

/* ---- change points ---- */

struct cuts {
	uint64_t at[SERIES_SEGMENTS + 1];
	uint32_t n; /* segments */
};

/* Best split of [a, b): its gain, and where. */
static double best_split(const double *sum, uint64_t a, uint64_t b, uint64_t least, uint64_t *where)
{
	double best = 0, all = sum[b] - sum[a], n = (double)(b - a);

	for (uint64_t i = a + least; i + least <= b; i++) {
		double left = (double)(i - a), d = (sum[i] - sum[a]) / left - (all - (sum[i] - sum[a])) / (n - left);
		double gain = left * (n - left) / n * d * d;

		if (gain > best) {
			best = gain;
			*where = i;
		}
	}
	return best;
}

static void segmentation(const double *sum, uint64_t n, double variance, struct cuts *c)
{
	uint64_t least = (uint64_t)(LEAST_SEGMENT * (double)n), where = 0;
	double penalty = PENALTY * log((double)n + 1) * variance;

	c->n = 1;
	c->at[0] = 0;
	c->at[1] = n;
	least = least > LEAST_ELEMENTS ? least : LEAST_ELEMENTS;
	while (c->n < SERIES_SEGMENTS) {
		double best = penalty;
		uint64_t at = 0;
		uint32_t k = 0;

		for (uint32_t s = 0; s < c->n; s++) {
			double gain = best_split(sum, c->at[s], c->at[s + 1], least, &where);

			if (gain > best) {
				best = gain;
				at = where;
				k = s;
			}
		}
		if (at == 0)
			return;
		memmove(&c->at[k + 2], &c->at[k + 1], (c->n - k) * sizeof *c->at);
		c->at[k + 1] = at;
		c->n++;
	}
}

/* ---- what is left within segments ---- */

/* Residuals of x, spikes and segment means taken out, into r. */
static void residuals(const double *x, struct series_stats *s, double *r)
{
	for (uint32_t k = 0; k < s->n_segment; k++) {
		const struct series_segment *g = &s->segment[k];

		for (uint64_t i = g->first; i < g->first + g->n; i++)
			r[i] = x[i] - s->spike_over[i] - g->mean;
	}
}

static double autocorrelation(const double *r, uint64_t n, uint64_t lag)
{
	double sum = 0, square = 0;

	for (uint64_t i = 0; i < n; i++) {
		square += r[i] * r[i];
		sum += i >= lag ? r[i] * r[i - lag] : 0;
	}
	return square > 0 ? sum / square : 0;
}

static uint32_t find_period(const double *r, uint64_t n)
{
	uint64_t last = n / 4 < LONGEST_PERIOD ? n / 4 : LONGEST_PERIOD;
	double a[3];

	for (uint64_t p = 2; p <= last; p++) {
		for (int k = 0; k < 3; k++)
			a[k] = autocorrelation(r, n, p - 1 + (uint64_t)k);
		if (a[1] > PERIOD_STRENGTH && a[1] > a[0] + 0.1 && a[1] > a[2] + 0.1)
			return (uint32_t)p;
	}
	return 0;
}

/* Straight line through the segments' means. */
static void find_drift(struct series_stats *s)
{
	double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;

	for (uint32_t k = 0; k < s->n_segment; k++) {
		const struct series_segment *g = &s->segment[k];
		double w = (double)g->n / (double)s->n;

		mx += w * ((double)g->first + (double)g->n / 2);
		my += w * g->mean;
	}
	for (uint32_t k = 0; k < s->n_segment; k++) {
		const struct series_segment *g = &s->segment[k];
		double w = (double)g->n / (double)s->n, dx = (double)g->first + (double)g->n / 2 - mx, dy = g->mean - my;

		xx += w * dx * dx;
		xy += w * dx * dy;
		yy += w * dy * dy;
	}
	if (s->n_segment < 2 || xx <= 0 || my <= 0 || yy <= 0)
		return;
	s->drift = xy / xx * (double)s->n / my;
	/* Steps are few, and a line through two of them is no evidence. */
	s->drifts = s->n_segment >= 3 && xy * xy / (xx * yy) > LINE_EXPLAINS;
}

static void segment_fill(const double *x, struct series_stats *s, struct series_segment *g, double *scratch)
{
	double limit, usual, sum = 0, square = 0;
	uint64_t spikes = 0;

	limit = spike_limit(x + g->first, g->n, scratch, &usual);
	for (uint64_t i = g->first; i < g->first + g->n; i++) {
		s->spike_over[i] = x[i] > limit && usual > 0 ? x[i] - usual : 0;
		spikes += s->spike_over[i] > 0;
		s->spike_excess += s->spike_over[i] > 0 ? s->spike_over[i] / usual : 0;
		s->spike_square += s->spike_over[i] * s->spike_over[i] / (usual > 0 ? usual * usual : 1);
	}
	s->n_spike += spikes;
	for (uint64_t i = g->first; i < g->first + g->n; i++) {
		double v = x[i] - s->spike_over[i];

		sum += v;
		square += v * v;
	}
	g->mean = sum / (double)g->n;
	g->deviation = sqrt(fmax(0, square / (double)g->n - g->mean * g->mean));
}

/* Long iterations that come often are no spikes. */
static void forget_spikes(const double *x, struct series_stats *s)
{
	s->n_spike = 0;
	s->spike_excess = s->spike_square = 0;
	memset(s->spike_over, 0, s->n * sizeof *s->spike_over);
	for (uint32_t k = 0; k < s->n_segment; k++) {
		struct series_segment *g = &s->segment[k];
		double sum = 0, square = 0;

		for (uint64_t i = g->first; i < g->first + g->n; i++) {
			sum += x[i];
			square += x[i] * x[i];
		}
		g->mean = sum / (double)g->n;
		g->deviation = sqrt(fmax(0, square / (double)g->n - g->mean * g->mean));
	}
}

static void within_segments(const double *x, struct series_stats *s, double *r, double *scratch)
{
	double var = 0, lr = 0;

	residuals(x, s, r);
	for (uint32_t k = 0; k < s->n_segment; k++) {
		struct series_segment *g = &s->segment[k];
		double w = (double)g->n / (double)s->n;
		double v = long_run_variance(r + g->first, g->n, scratch);

		g->long_run = fmax(sqrt(v), g->deviation * 0.5);
		s->usual += w * g->mean;
		var += w * g->deviation * g->deviation;
		lr += w * g->long_run * g->long_run;
	}
	s->deviation = sqrt(var);
	s->long_run = sqrt(lr);
	s->lag1 = autocorrelation(r, s->n, 1);
	s->period = find_period(r, s->n);
	find_drift(s);
}

int series_analyse(const double *x, uint64_t n, uint64_t group, struct series_stats *out)
{
	double *scratch = malloc((n + 1) * sizeof *scratch), *sum = malloc((n + 1) * sizeof *sum), usual, limit;
	struct cuts c;
	int rv = -1;

	memset(out, 0, sizeof *out);
	out->group = group > 0 ? group : 1;
	out->spike_over = calloc(n + 1, sizeof *out->spike_over);
	if (scratch == NULL || sum == NULL || out->spike_over == NULL)
		goto done;
	rv = 0;
	if (n == 0)
		goto done;
	out->n = n;
	limit = spike_limit(x, n, scratch, &usual);
	sum[0] = 0;
	for (uint64_t i = 0; i < n; i++) {
		sum[i + 1] = sum[i] + fmin(x[i], limit);
		out->mean += x[i] / (double)n;
	}
	segmentation(sum, n, long_run_variance(x, n, scratch), &c);
	out->n_segment = c.n;
	for (uint32_t k = 0; k < c.n; k++) {
		out->segment[k].first = c.at[k];
		out->segment[k].n = c.at[k + 1] - c.at[k];
		segment_fill(x, out, &out->segment[k], scratch);
	}
	if ((double)out->n_spike > SPIKES_MOST * (double)n)
		forget_spikes(x, out);
	within_segments(x, out, sum, scratch);
done:
	free(scratch);
	free(sum);
	if (rv != 0)
		series_stats_free(out);
	return rv;
}

void series_stats_free(struct series_stats *s)
{
	free(s->spike_over);
	memset(s, 0, sizeof *s);
}
