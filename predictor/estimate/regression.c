/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear least squares of a few columns: see regression.h. Sums run in the order of the reference BLAS, from row 0 upwards. */
#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdbool.h>

#include "predictor/estimate/regression.h"

#define PIVOT_MIN    1e-10 /* of columns of length one; a smaller pivot counts as singular */
#define LEVERAGE_MAX 0.999
#define ROUNDING     1e-9 /* of the target's square: differences of squares are not exact */

static double product_of(const double *a, const double *b, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

void regression_column_make(const struct regression_target *t, const double *x, struct regression_column *out)
{
	double norm = cblas_dnrm2((int)t->rows, x, 1); /* without overflow */

	out->norm = 0;
	if (!(norm > 0) || !isfinite(norm))
		return;
	for (unsigned i = 0; i < t->rows; i++)
		out->x[i] = x[i] * (1 / norm);
	out->norm = norm;
	out->square = product_of(out->x, out->x, t->rows);
	out->product = product_of(out->x, t->y, t->rows);
}

static double weight_of(const struct regression_target *t)
{
	return t->weight > 0 ? t->weight : (double)t->rows;
}

/* Is the root mean square of the residuals above `most`? */
static bool is_above(const struct regression *r, unsigned cols, double most)
{
	double rest = r->square - product_of(r->part, r->part, cols);

	return !isinf(most) && rest - ROUNDING * r->square > most * most * weight_of(r->target);
}

int regression_take(struct regression *r, const struct regression_column *column, double most)
{
	unsigned n = r->cols, rows = r->target->rows;
	double *row = r->factor[n], pivot;

	if (n == REGRESSION_COLS_MAX || !(column->norm > 0))
		return -1;
	if (!n)
		r->square = product_of(r->target->y, r->target->y, rows);
	for (unsigned k = 0; k < n; k++)
		row[k] = (product_of(column->x, r->col[k]->x, rows) - product_of(r->factor[k], row, k)) * r->scale[k];
	pivot = column->square - product_of(row, row, n);
	if (pivot <= 0)
		return -1;
	r->scale[n] = 1 / sqrt(pivot);
	row[n] = pivot * r->scale[n];
	if (row[n] * row[n] < PIVOT_MIN)
		return -1;
	r->part[n] = column->product;
	for (unsigned k = 0; k < n; k++)
		r->part[n] -= row[k] * r->part[k];
	r->part[n] /= row[n];
	if (is_above(r, n + 1, most))
		return 1;
	for (unsigned i = 0; i < rows; i++) {
		double z = column->x[i];

		for (unsigned k = 0; k < n; k++)
			z -= row[k] * r->z[k][i];
		r->z[n][i] = z / row[n];
	}
	r->col[r->cols++] = column;
	return 0;
}

/* By back substitution; of columns of length one. */
static void coefficients(const struct regression *r, double coef[REGRESSION_COLS_MAX])
{
	for (unsigned i = r->cols; i-- > 0;) {
		double c = r->part[i];

		for (unsigned k = i + 1; k < r->cols; k++)
			c -= r->factor[k][i] * coef[k];
		coef[i] = c / r->factor[i][i];
	}
}

double regression_solve(struct regression *r, double coef[REGRESSION_COLS_MAX])
{
	const struct regression_target *t = r->target;
	double sum = 0, first = 0;

	if (t->rows <= r->cols || !r->cols)
		return INFINITY;
	coefficients(r, coef);
	for (unsigned i = 0; i < t->rows; i++) {
		double leverage = 0, missed = -t->y[i];

		for (unsigned k = 0; k < r->cols; k++) {
			leverage += r->z[k][i] * r->z[k][i];
			missed += coef[k] * r->col[k]->x[i];
		}
		if (leverage > LEVERAGE_MAX)
			return INFINITY;
		missed /= 1 - leverage;
		sum += missed * missed;
		first += i < t->first ? missed * missed : 0;
	}
	for (unsigned k = 0; k < r->cols; k++)
		coef[k] /= r->col[k]->norm;
	r->first_error = t->first ? sqrt(first / t->first) : 0;
	return sqrt(sum / weight_of(t));
}
