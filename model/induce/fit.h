/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of time and data from rows: what is exact first (a constant, a line, linear, quadratic, with coefficients as
 * fractions where that fits as well), then terms chosen by correlation with what is left, with least squares and an
 * error on groups of rows that were left out, then polynomials by GMDH where these miss less.
 * Source: paper 000, parametrisation of rules (correlation selection, least squares, GMDH).
 */
#ifndef PRECEDENT_MODEL_INDUCE_FIT_H
#define PRECEDENT_MODEL_INDUCE_FIT_H

#include "model/induce/model.h"

#define FIT_COLS_MAX  64
#define FIT_ROWS_MAX  512 /* that are used for fitting, spread over the groups */

/* Columns of a node: feature[c] of the graph has value col[c][row]. Rows of one run stand together. */
struct fit_table {
	size_t n_rows;
	uint32_t n_cols;
	double *const *col;
	const uint32_t *feature;
	const uint32_t *group; /* run, by row */
};

struct fit_quality {
	bool exact;	  /* holds on every row to rounding */
	double error;	  /* root mean square, of rows that were left out */
	double deviation; /* of the values from their mean */
	double scale;	  /* largest absolute value */
};

/* weigh: errors count relative to the mean of the row's group, as times need. The function's memory is the model's. -1
 * without memory only: whether the quality will do is for the caller to judge. */
int fit_function(const struct fit_table *t, const double *y, bool weigh, struct model *m, struct model_fn *out,
		 struct fit_quality *q, struct errbuf *err);

/* ---- shared with gmdh.c ---- */

/* Rows for fitting: chosen columns and values, weights, and the fold that each row is left out with. */
struct fit_sample {
	uint32_t n, n_cols, n_folds;
	double *col[FIT_COLS_MAX]; /* scaled to at most 1 */
	double scale[FIT_COLS_MAX];
	uint32_t feature[FIT_COLS_MAX];
	double *y, *weight;
	uint32_t *fold;
	double *block;
};
/* Least squares of y on n_terms columns over the rows whose fold is not `without` (UINT32_MAX: all). -1 when there are
 * fewer rows than terms, or no memory. */
int fit_least_squares(const struct fit_sample *s, double *const *term, uint32_t n_terms, uint32_t without, double *coef);

/* GMDH: layers of quadratic polynomials of two operands, chosen by the error on folds that are left out. `error`: on a
 * third part that neither saw. 1 with the function, 0 when there is nothing to gain, -1 without memory. */
int gmdh_fit(const struct fit_sample *s, struct model *m, struct model_fn *out, double *error);

#endif
