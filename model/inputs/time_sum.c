/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times as sums of products of sizes. A code on a grid computes in the volume and at the faces: such a time is no single
 * product of sizes. Coefficients come from least squares by Cholesky and are never below zero. Every subset of the terms is
 * fitted, and the best subset without a negative coefficient is the solution. Terms therefore cannot cancel each other, and
 * the sum can be used outside of the range of the runs. Source: Lawson, Hanson, Solving Least Squares Problems, 1974,
 * chapter 23, non-negative least squares.
 */
#include <math.h>
#include <string.h>

#include "model/inputs/run_times_impl.h"

#define SINGULAR 1e-9 /* of a column's square beside the others: two columns that are alike in the sample */

/* Adds the products of row i of the sample. */
static void add_row(const struct fitter *t, const struct time_sums *s, uint32_t i, struct time_gram *g)
{
	double x[TIME_COLUMNS], w = t->s.w[i], y = t->s.y[i];

	for (uint32_t a = 0; a < s->n; a++)
		x[a] = s->x[a][0] == RULE_NONE ? 1 : run_times_product_at(t, s->x[a], t->s.point[i]) / s->scale[a];
	for (uint32_t a = 0; a < s->n; a++) {
		for (uint32_t b = 0; b <= a; b++)
			g->xx[a][b] += w * x[a] * x[b];
		g->xy[a] += w * x[a] * y;
	}
	g->yy += w * y * y;
	g->w += w;
}

static void add_gram(const struct time_gram *from, uint32_t n, double sign, struct time_gram *to)
{
	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = 0; b <= a; b++)
			to->xx[a][b] += sign * from->xx[a][b];
		to->xy[a] += sign * from->xy[a];
	}
	to->yy += sign * from->yy;
	to->w += sign * from->w;
}

/* Columns of the sums by fold, scaled to at most 1 so that powers of large sizes can be compared. */
static void fill_grams(struct fitter *t, struct time_sums *s)
{
	for (uint32_t a = 0; a < s->n; a++) {
		s->scale[a] = 0;
		for (uint32_t i = 0; i < t->s.n && s->x[a][0] != RULE_NONE; i++)
			s->scale[a] = fmax(s->scale[a], run_times_product_at(t, s->x[a], t->s.point[i]));
		s->scale[a] = s->scale[a] > 0 ? s->scale[a] : 1;
	}
	s->all = (struct time_gram){0};
	memset(t->gram, 0, TIME_FOLDS * sizeof(*t->gram));
	s->n_runs = 0;
	for (uint32_t i = 0; i < t->s.n; i++) {
		s->n_runs += !i || t->s.fold[i] != t->s.fold[i - 1];
		add_row(t, s, i, &t->gram[(s->n_runs - 1) % TIME_FOLDS]);
	}
	for (uint32_t k = 0; k < TIME_FOLDS; k++)
		add_gram(&t->gram[k], s->n, 1, &s->all);
}

static double entry(const struct time_gram *g, uint32_t a, uint32_t b)
{
	return a > b ? g->xx[a][b] : g->xx[b][a];
}

/* Least squares on n columns. Returns false if these are singular, or a coefficient is below zero. */
static bool solve(const struct time_gram *g, const uint32_t *column, uint32_t n, double *coef)
{
	double l[TIME_TERMS + 1][TIME_TERMS + 1], z[TIME_TERMS + 1];

	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = 0; b <= a; b++) {
			l[a][b] = entry(g, column[a], column[b]);
			for (uint32_t k = 0; k < b; k++)
				l[a][b] -= l[a][k] * l[b][k];
			if (b < a)
				l[a][b] /= l[b][b];
		}
		if (!(l[a][a] > SINGULAR * entry(g, column[a], column[a])))
			return false;
		l[a][a] = sqrt(l[a][a]);
		z[a] = g->xy[column[a]];
		for (uint32_t k = 0; k < a; k++)
			z[a] -= l[a][k] * z[k];
		z[a] /= l[a][a];
	}
	for (uint32_t a = n; a-- > 0;) {
		coef[a] = z[a];
		for (uint32_t k = a + 1; k < n; k++)
			coef[a] -= l[k][a] * coef[k];
		coef[a] /= l[a][a];
		if (!(coef[a] >= 0))
			return false;
	}
	return true;
}

/* Columns of a subset, and their coefficients. */
struct part {
	uint32_t n, column[TIME_TERMS + 1];
	double coef[TIME_TERMS + 1];
};

/* Weighted sum of squared errors of the part. */
static double missed(const struct time_gram *g, const struct part *p)
{
	double e = g->yy;

	for (uint32_t a = 0; a < p->n; a++) {
		e -= 2 * p->coef[a] * g->xy[p->column[a]];
		for (uint32_t b = 0; b < p->n; b++)
			e += p->coef[a] * p->coef[b] * entry(g, p->column[a], p->column[b]);
	}
	return fmax(e, 0);
}

/* Least squares on the columns of `all` with coefficients of at least zero: the best part of them. No column is left if
 * all times are 0. */
static void fit_parts(const struct time_gram *g, const struct part *all, struct part *best)
{
	double least = INFINITY;

	*best = (struct part){0};
	for (uint32_t bits = (1u << all->n) - 1; bits; bits--) {
		struct part p = {0};
		double e;

		for (uint32_t a = 0; a < all->n; a++)
			if (bits >> a & 1)
				p.column[p.n++] = all->column[a];
		if (!solve(g, p.column, p.n, p.coef))
			continue;
		e = missed(g, &p);
		if (e < least * (1 - 1e-9)) {
			least = e;
			*best = p;
		}
		if (p.n == all->n)
			break;
	}
}

/* Do the rows determine all columns? */
static bool is_determined(const struct time_gram *g, const struct part *p)
{
	struct time_gram none = *g;
	double coef[TIME_TERMS + 1];

	memset(none.xy, 0, sizeof(none.xy));
	return solve(&none, p->column, p->n, coef);
}

/* Relative mean square error on runs that are left out. strict: INFINITY if the other runs do not determine all columns;
 * otherwise fewer columns are fitted to them. */
static double left_out_error(const struct fitter *t, const struct time_sums *s, const struct part *p, bool strict)
{
	double error = 0;
	uint32_t folds = 0;

	for (uint32_t k = 0; k < TIME_FOLDS; k++) {
		struct time_gram rest = s->all;
		struct part of;

		if (!(t->gram[k].w > 0))
			continue;
		add_gram(&t->gram[k], s->n, -1, &rest);
		if (!(rest.w > 1e-12 * s->all.w))
			continue;
		if (strict && !is_determined(&rest, p))
			return INFINITY;
		fit_parts(&rest, p, &of);
		error += missed(&t->gram[k], &of);
		folds++;
	}
	return folds ? error / s->n_runs : 0;
}

static void to_fn(const struct time_sums *s, const struct part *p, struct time_fn *out)
{
	*out = (struct time_fn){.proportional = true};
	for (uint32_t a = 0; a < p->n; a++) {
		uint32_t c = p->column[a];

		if (s->x[c][0] == RULE_NONE) {
			out->constant_s = p->coef[a];
			out->proportional = false;
		} else if (p->coef[a] > 0 && out->n < TIME_TERMS) {
			out->coef[out->n] = p->coef[a] / s->scale[c];
			memcpy(out->x[out->n++], s->x[c], sizeof(s->x[c]));
		}
	}
}

static void add_column(struct time_sums *s, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t x[3] = {a, b, c};

	for (uint32_t i = 0; i < s->n; i++)
		if (!memcmp(s->x[i], x, sizeof(x)))
			return;
	if (s->n < TIME_COLUMNS)
		memcpy(s->x[s->n++], x, sizeof(x));
}

/* The constant, the product, products of a part of its factors, and the product with one of its factors again or with
 * another of the first n_sizes sizes. */
static void add_family(const struct fitter *t, const uint32_t f[3], uint32_t n_sizes, struct time_sums *s)
{
	uint32_t n = f[1] == RULE_NONE ? 1 : f[2] == RULE_NONE ? 2 : 3;

	add_column(s, RULE_NONE, RULE_NONE, RULE_NONE);
	add_column(s, f[0], f[1], f[2]);
	for (uint32_t i = 0; i < n; i++)
		add_column(s, f[i], RULE_NONE, RULE_NONE);
	for (uint32_t i = 0; n == 3 && i < 3; i++)
		add_column(s, f[i == 0], f[i == 2 ? 1 : 2], RULE_NONE);
	if (n == 1)
		add_column(s, f[0], f[0], f[0]);
	for (uint32_t i = 0; n < 3 && i < n; i++)
		add_column(s, f[0], n == 1 ? f[0] : f[1], n == 1 ? RULE_NONE : f[i]);
	for (uint32_t i = 0; n < 3 && i < n_sizes; i++)
		if (!run_times_is_steep(t, t->size[i]))
			add_column(s, f[0], n == 1 ? t->size[i] : f[1], n == 1 ? RULE_NONE : t->size[i]);
}

/* The best sum of n columns, if it misses less than `least` on runs left out. Returns its error. */
static double choose_columns(const struct fitter *t, const struct time_sums *s, uint32_t n, double least, struct part *best)
{
	struct part p = {.n = n};

	for (uint32_t i = 0; i < n; i++)
		p.column[i] = i;
	while (p.column[n - 1] < s->n) {
		/* If a column counts for nothing, a sum of fewer columns is the same. */
		if (solve(&s->all, p.column, n, p.coef) && missed(&s->all, &p) < least * s->n_runs) {
			double error = left_out_error(t, s, &p, true);

			if (error < least * (1 - 1e-9)) {
				least = error;
				*best = p;
			}
		}
		/* the next n columns, in rising order */
		uint32_t i = 0;

		while (i + 1 < n && p.column[i] + 1 == p.column[i + 1])
			i++;
		p.column[i]++;
		for (uint32_t k = 0; k < i; k++)
			p.column[k] = k;
	}
	return least;
}

double run_times_choose_sum(struct fitter *t, uint32_t n_sizes, double worth, double least, struct time_fn *out)
{
	struct time_sums s = {0};

	add_family(t, out->x[0], n_sizes, &s);
	fill_grams(t, &s);
	for (uint32_t n = 1; n <= TIME_TERMS && n <= s.n; n++) {
		struct part best;
		double now = choose_columns(t, &s, n, least * worth, &best);

		if (now < least * worth) {
			to_fn(&s, &best, out);
			least = now;
		}
	}
	return least;
}

double run_times_fit_sum(struct fitter *t, struct time_fn *fn)
{
	struct time_sums s = {0};
	struct part all = {0}, best;
	double error, error_s = fn->error_s;

	if (!fn->proportional || !fn->n)
		add_column(&s, RULE_NONE, RULE_NONE, RULE_NONE);
	for (uint32_t k = 0; k < fn->n; k++)
		add_column(&s, fn->x[k][0], fn->x[k][1], fn->x[k][2]);
	fill_grams(t, &s);
	for (all.n = 0; all.n < s.n; all.n++)
		all.column[all.n] = all.n;
	error = left_out_error(t, &s, &all, false);
	fit_parts(&s.all, &all, &best);
	to_fn(&s, &best, fn);
	fn->error_s = error_s;
	return error;
}
