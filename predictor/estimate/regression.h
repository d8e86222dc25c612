/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear least squares with its leave-one-out error, by GSL: normal equations of columns scaled to length one, Cholesky
 * decomposition. The error of a point that is left out is its residual over one minus its leverage (Allen's PRESS statistic,
 * 1974). Programs that only evaluate models (the job_submit plugin) do not link this file, and so no GSL.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_REGRESSION_H
#define PRECEDENT_PREDICTOR_ESTIMATE_REGRESSION_H

#define REGRESSION_COLS_MAX 4
#define REGRESSION_ROWS_MAX 48

struct regression {
	unsigned rows, cols;
	double x[REGRESSION_COLS_MAX][REGRESSION_ROWS_MAX]; /* by column; overwritten by regression_solve, as y is */
	double y[REGRESSION_ROWS_MAX];
	double weight; /* of all rows together, each of which was multiplied by the root of its own; 0: each weighs 1 */
	unsigned first;	    /* so many rows at the front, of weight 1, have an error of their own: 0 or more */
	double first_error; /* set by regression_solve unless it returns INFINITY: root mean square of their leave-one-out errors */
};

/*
 * Fills coef[cols]. Returns the root mean square of the leave-one-out errors. Returns INFINITY if the matrix is singular, if
 * rows <= cols, or if one row alone decides a coefficient.
 */
double regression_solve(struct regression *r, double coef[REGRESSION_COLS_MAX]);

#endif
