/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of measured values is noise: see fit.h. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/fit.h"

#define SIGNIFICANT    0.05 /* probability that noise alone gives so much, over all columns that are tried */
#define STRAY	       5  /* times as long as 19 in 20 passages: no noise of caches and clocks */
#define STRAY_ROWS     40 /* of a run: if 1 in 20 passages is so long, it has one */

/* Sums of squares of a residual between the different values of a term, and within them. */
struct squares {
	double between, within;
	uint32_t n_values;
};

struct by_value {
	double x, rest, weight;
};

static int by_value_cmp(const void *a, const void *b)
{
	double x = ((const struct by_value *)a)->x, y = ((const struct by_value *)b)->x;

	return (x > y) - (x < y);
}

static struct squares squares_of(const struct fit_sample *s, const double *x, const double *rest)
{
	struct squares sq = {0};
	struct by_value v[FIT_ROWS_MAX];

	for (uint32_t i = 0; i < s->n; i++)
		v[i] = (struct by_value){x[i], rest[i], s->weight[i] * s->weight[i]};
	qsort(v, s->n, sizeof(*v), by_value_cmp);
	for (uint32_t i = 0, end; i < s->n; i = end) {
		double sum = 0, weight = 0, all = 0;

		for (end = i; end < s->n && v[end].x == v[i].x; end++) {
			sum += v[end].weight * v[end].rest;
			all += v[end].weight * v[end].rest * v[end].rest;
			weight += v[end].weight;
		}
		sq.between += sum * sum / weight;
		sq.within += fmax(0, all - sum * sum / weight);
		sq.n_values++;
	}
	return sq;
}

bool fit_significant(const struct fit_sample *s, const double *term, const double *before, const double *after,
		     uint32_t n_terms)
{
	struct squares b = squares_of(s, term, before), a = squares_of(s, term, after);
	double df = (double)a.n_values - n_terms - 1, inner = (double)s->n - a.n_values, rest, f;

	if (df < 1)
		return false;
	rest = a.between / df;
	if (inner >= 1 && a.within / inner > rest) {
		rest = a.within / inner;
		df = inner;
	}
	if (!(rest > 0))
		return true;
	f = (b.between - a.between) / rest;
	return f > 0 && gsl_cdf_fdist_Q(f, 1, df) * (s->n_cols + 1.0) < SIGNIFICANT;
}

bool fit_variance_falls(double from, double to, uint32_t rows)
{
	return rows && to < from && gsl_cdf_fdist_Q((from * from) / (to * to), rows, rows) < SIGNIFICANT;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void fit_strays_cut(struct fit_sample *s, const struct fit_table *t, const size_t *row)
{
	double sorted[FIT_ROWS_MAX], cut[FIT_ROWS_MAX];
	uint32_t longer = 0, with = 0;

	for (uint32_t i = 0, end; i < s->n; i = end) {
		bool stray = false;
		double most;

		for (end = i; end < s->n && t->group[row[end]] == t->group[row[i]]; end++)
			sorted[end - i] = s->y[end];
		qsort(sorted, end - i, sizeof(*sorted), by_number);
		most = STRAY * sorted[(end - i - 1) * 19 / 20];
		for (uint32_t k = i; k < end; k++) {
			cut[k] = most > 0 && s->y[k] > most ? most / STRAY : s->y[k];
			stray |= cut[k] != s->y[k];
		}
		longer += end - i >= STRAY_ROWS;
		with += end - i >= STRAY_ROWS && stray;
	}
	if (longer < 2 || with < longer)
		memcpy(s->y, cut, s->n * sizeof(*cut));
}
