/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linear least squares by GSL: see regression.h. */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>

#include "predictor/estimate/regression.h"

#define PIVOT_MIN    1e-10 /* of columns of length one; a smaller pivot counts as singular */
#define LEVERAGE_MAX 0.999

/* x' is a matrix of cols x rows. Scales each column of x to length one. Returns -1 if a column has no length. */
static int columns_scale(gsl_matrix *xt, double norm[REGRESSION_COLS_MAX])
{
	for (size_t k = 0; k < xt->size1; k++) {
		gsl_vector_view column = gsl_matrix_row(xt, k);

		norm[k] = gsl_blas_dnrm2(&column.vector);
		if (!(norm[k] > 0) || !isfinite(norm[k]))
			return -1;
		gsl_blas_dscal(1 / norm[k], &column.vector);
	}
	return 0;
}

/* The lower triangle of *gram becomes the Cholesky factor of x' x. */
static int gram_decompose(const gsl_matrix *xt, gsl_matrix *gram)
{
	gsl_blas_dsyrk(CblasLower, CblasNoTrans, 1, xt, 0, gram);
	if (gsl_linalg_cholesky_decomp1(gram))
		return -1;
	for (size_t k = 0; k < gram->size1; k++)
		if (pow(gsl_matrix_get(gram, k, k), 2) < PIVOT_MIN)
			return -1;
	return 0;
}

/* The leverage of a row is the squared length of factor^-1 times the row; xt is overwritten by these. r->y: residuals. */
static double left_out_error(const gsl_matrix *factor, gsl_matrix *xt, struct regression *r)
{
	double sum = 0, first = 0;

	gsl_blas_dtrsm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, factor, xt);
	for (size_t i = 0; i < xt->size2; i++) {
		double leverage = 0, missed;

		for (size_t k = 0; k < xt->size1; k++)
			leverage += pow(xt->data[k * xt->tda + i], 2);
		if (leverage > LEVERAGE_MAX)
			return INFINITY;
		missed = r->y[i] / (1 - leverage);
		sum += missed * missed;
		first += i < r->first ? missed * missed : 0;
	}
	r->first_error = r->first ? sqrt(first / r->first) : 0;
	return sqrt(sum / (r->weight > 0 ? r->weight : (double)xt->size2));
}

double regression_solve(struct regression *r, double coef[REGRESSION_COLS_MAX])
{
	double squares[REGRESSION_COLS_MAX * REGRESSION_COLS_MAX], norm[REGRESSION_COLS_MAX], error;
	gsl_matrix_view xt, gram;
	gsl_vector_view y, c;

	if (r->rows <= r->cols || !r->cols)
		return INFINITY;
	gsl_set_error_handler_off(); /* a singular matrix is an answer */
	xt = gsl_matrix_view_array_with_tda(r->x[0], r->cols, r->rows, REGRESSION_ROWS_MAX);
	y = gsl_vector_view_array(r->y, r->rows);
	c = gsl_vector_view_array(coef, r->cols);
	gram = gsl_matrix_view_array(squares, r->cols, r->cols);
	if (columns_scale(&xt.matrix, norm) < 0 || gram_decompose(&xt.matrix, &gram.matrix) < 0)
		return INFINITY;
	gsl_blas_dgemv(CblasNoTrans, 1, &xt.matrix, &y.vector, 0, &c.vector);
	gsl_linalg_cholesky_svx(&gram.matrix, &c.vector);
	gsl_blas_dgemv(CblasTrans, 1, &xt.matrix, &c.vector, -1, &y.vector);
	error = left_out_error(&gram.matrix, &xt.matrix, r);
	for (unsigned k = 0; k < r->cols; k++)
		coef[k] /= norm[k];
	return error;
}
