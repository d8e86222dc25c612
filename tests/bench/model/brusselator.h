/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Brusselator, x' = A + x^2 y - (B + 1) x, y' = B x - x^2 y, for every pair of initial values of a matrix K x K,
 * and whether it pays to solve it in parallel: when P(N) < time(K) (N - 1) / N, where P(N) is what it costs to start
 * on N processors and time(K) comes from a model that has seen K = 2^p only.
 * Source: Pekunov (cited in model/induce/model.h), investigation of variants, prediction of time, and its table for K
 * = 800, 160, 32, 6, 1 (with OpenMP on two cores, schedule guided: + + + - -). Coefficients and steps are not given
 * there; ours are such that starting costs about as many cells as in that table.
 */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_BRUSSELATOR_H
#define PRECEDENT_TESTS_BENCH_MODEL_BRUSSELATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define BRUSSELATOR_ASKED 5

/* Row `row` of the matrix: the last x of its K cells is added up, so that nothing can be left out. */
double brusselator_row(size_t k, size_t row);
double brusselator_solve(size_t k);
/* parallel.c, with OpenMP: the same on so many threads, and only the start of it. */
double brusselator_solve_parallel(size_t k, int threads);
double brusselator_start_parallel(int threads);

/* Whether to go parallel on n processors, where starting that takes start_s and one processor takes one_s. */
bool brusselator_advise(double start_s, double one_s, int n);

struct brusselator_size {
	size_t k;
	double model_s, form_s;	   /* predicted for one processor, by the model and by the normal form */
	double one_s, two_s;	   /* measured: medians */
	double two_of_one;	   /* median of the ratio of pairs */
	bool advice, form_advice, faster; /* faster: the ratio is below 1 */
};
struct brusselator_report {
	uint32_t turns;
	double start_s; /* P(2) */
	struct brusselator_size size[BRUSSELATOR_ASKED];
	char form_text[256];
};
struct brusselator_parallel {
	double (*solve)(size_t k, int threads);
	double (*start)(int threads);
};
int brusselator_experiment(const struct brusselator_parallel *p, struct brusselator_report *out, struct errbuf *err);

#endif
