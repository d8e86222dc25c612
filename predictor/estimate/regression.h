/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear least squares with its leave-one-out error: normal equations of columns scaled to length one, Cholesky decomposition.
 * The error of a point that is left out is its residual over one minus its leverage (Allen's PRESS statistic, 1974). Programs that
 * only evaluate models (the job_submit plugin) do not link this file.
 *
 * A regression grows by columns. The factor of the earlier columns stays. So a search that tries many last columns behind the same
 * first columns computes the last column alone.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_REGRESSION_H
#define PRECEDENT_PREDICTOR_ESTIMATE_REGRESSION_H

#define REGRESSION_COLS_MAX 4
#define REGRESSION_ROWS_MAX 48

/* What is to be fitted. */
struct regression_target {
	unsigned rows;
	double y[REGRESSION_ROWS_MAX];
	double weight; /* of all rows together, each of which was multiplied by the root of its own; 0: each weighs 1 */
	unsigned first; /* so many rows at the front, of weight 1, have an error of their own: 0 or more */
};

/* A column for one target. */
struct regression_column {
	double x[REGRESSION_ROWS_MAX]; /* of length one */
	double norm;		       /* its length before; 0: it cannot be a column */
	double square, product;	       /* of x with itself, and with the target */
};
/* x: as many values as the target has rows. */
void regression_column_make(const struct regression_target *t, const double *x, struct regression_column *out);

/* Zeroed but for the target: without columns. To take another last column, set cols back. */
struct regression {
	const struct regression_target *target; /* borrowed, as the columns are */
	unsigned cols;
	const struct regression_column *col[REGRESSION_COLS_MAX];
	double factor[REGRESSION_COLS_MAX][REGRESSION_COLS_MAX]; /* lower triangle: Cholesky factor of x' x */
	double scale[REGRESSION_COLS_MAX];			 /* reciprocal of the root of each pivot */
	double square; /* of the target with itself */
	/* factor^-1 x' y. square minus the sum of the squares of part is the sum of the squared residuals. */
	double part[REGRESSION_COLS_MAX];
	double z[REGRESSION_COLS_MAX][REGRESSION_ROWS_MAX];	 /* factor^-1 x': the leverage of a row is the sum of its squares */
	double first_error; /* set by regression_solve unless it returns INFINITY: root mean square of their leave-one-out errors */
};

/*
 * Returns -1 if the column is, as far as doubles tell, a sum of the others, or if it cannot be one: then it is not taken. Returns
 * 1, and does not take it, if the residuals alone are above `most`: leave-one-out errors are larger than residuals, so
 * regression_solve would return more than `most`.
 */
int regression_take(struct regression *r, const struct regression_column *column, double most);

/*
 * Fills coef[cols]. Returns the root mean square of the leave-one-out errors. Returns INFINITY without columns, if rows <= cols,
 * or if one row alone decides a coefficient.
 */
double regression_solve(struct regression *r, double coef[REGRESSION_COLS_MAX]);

#endif
