/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The performance-model normal form, the usual way to model a program's total time by its parameters: a constant and a
 * few terms, each a coefficient times products of x^i log2(x)^j over the parameters, with i and j from short lists. It is
 * the baseline that models of the algorithm are compared with.
 * Source: Calotoiu, Hoefler, Poke, Wolf, "Using automated performance modeling to find scalability bugs in complex codes"
 * (SC 2013) for one parameter, and Calotoiu et al., "Fast multi-parameter performance modeling" (Cluster 2016) for
 * several. Terms are chosen by what they leave of the squares, as many as rows left out one by one say; squares are
 * weighed by 1 / y, as it is relative errors that count.
 */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_NORMAL_FORM_H
#define PRECEDENT_TESTS_BENCH_MODEL_NORMAL_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define NORMAL_FORM_PARAMS 5
#define NORMAL_FORM_TERMS  3
#define NORMAL_FORM_ROWS   512

struct normal_form_term {
	double coef;
	double power[NORMAL_FORM_PARAMS]; /* i */
	uint8_t log[NORMAL_FORM_PARAMS];  /* j */
};
struct normal_form {
	uint32_t n_params, n_terms;
	double constant;
	struct normal_form_term term[NORMAL_FORM_TERMS];
	double left_out; /* root mean square of the relative errors of rows that were left out */
};

/* x: x[row * n_params + p] >= 1; y > 0. Rows with the same x should be one (their median). -1 with the reason. */
int normal_form_fit(const double *x, const double *y, uint32_t n_rows, uint32_t n_params, struct normal_form *out, struct errbuf *err);
double normal_form_value(const struct normal_form *f, const double *x);
/* "1.2e-06 + 3.4e-09 N^2 log2(N)"; what does not fit is cut. */
void normal_form_print(const struct normal_form *f, const char *const *param, char *out, size_t size);

#endif
