/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fits functions of time and data to rows, in three steps. The first step tries exact functions: a constant, a line,
 * linear, quadratic. Coefficients become fractions if those fit as well. The second step adds terms by their
 * correlation with the residual, fits them by least squares and takes the error on folds left out. The third step tries
 * polynomials by GMDH, and keeps them if their error is smaller. Source: Pekunov (cited in model.h),
 * parametrisation of rules (correlation selection, least squares, GMDH).
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
	const uint32_t *own;   /* the feature that has the variable's value before; NULL: there is none */
};

struct fit_quality {
	bool exact;	  /* holds on every row to rounding */
	double error;	  /* root mean square, of rows that were left out */
	double deviation; /* of the values from their mean */
	double scale;	  /* largest absolute value */
};

/* weigh: errors count relative to the mean of the row's group; times need that. The model owns the function's memory.
 * Returns -1 only without memory: the caller judges whether the quality is good enough. */
int fit_function(const struct fit_table *t, const double *y, bool weigh, struct model *m, struct model_fn *out,
		 struct fit_quality *q, struct errbuf *err);

/* ---- shared with gmdh.c and significance.c ---- */

/* Rows for fitting: chosen columns and values, weights, and the fold of each row for cross-validation. */
struct fit_sample {
	uint32_t n, n_cols, n_folds;
	double *col[FIT_COLS_MAX]; /* scaled to at most 1 */
	double scale[FIT_COLS_MAX];
	uint32_t feature[FIT_COLS_MAX];
	double *y, *weight;
	uint32_t *fold;
	double *block;
};
/* Least squares of y on n_terms columns over the rows whose fold is not `without` (UINT32_MAX: all). Returns -1 if
 * there are fewer rows than terms, or no memory. */
int fit_least_squares(const struct fit_sample *s, double *const *term, uint32_t n_terms, uint32_t without, double *coef);

/* Does a term bring more than noise? F test of the term against what is left of the values (before and after it), with
 * Bonferroni's correction for the columns that were tried. Rows with one value of the term are one observation: runs differ
 * by more than their rows do. n_terms: those before it. */
bool fit_significant(const struct fit_sample *s, const double *term, const double *before, const double *after,
		     uint32_t n_terms);
/* Of errors on so many rows that were left out: is one less by more than noise? F test of two variances. */
bool fit_variance_falls(double from, double to, uint32_t rows);
/* A process that loses its processor takes a thousand times as long for a passage. Of each run, a passage counts as at
 * most what 19 in 20 passages take, if it takes several times that. Not if all longer runs have such passages: then the
 * program makes them. row: of the table, by row of the sample. */
void fit_strays_cut(struct fit_sample *s, const struct fit_table *t, const size_t *row);

/* GMDH: layers of quadratic polynomials of two operands, chosen by cross-validation. `error`: error on a third part of
 * the rows, which neither fitting nor choice has used. Returns 1 with the function, 0 if there is nothing to gain, -1
 * without memory. */
int gmdh_fit(const struct fit_sample *s, struct model *m, struct model_fn *out, double *error);

#endif
