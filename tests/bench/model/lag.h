/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A first-order lag T y' + y = K u, integrated by Euler's method, and what models say of its result: one of the
 * algorithm, learnt from a journal of its steps, and a direct approximation from the inputs to the last y.
 * Source: Pekunov (cited in model/induce/model.h), investigation of variants, prediction of algorithm and data
 * together. The paper gives the errors (1e-13; 1e-3 to 1e-1) and neither coefficients nor inputs, which are ours.
 */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_LAG_H
#define PRECEDENT_TESTS_BENCH_MODEL_LAG_H

#include <stdbool.h>

#include "model/induce/journal.h"
#include "model/induce/model.h"

/* y0, u, time constant in steps (whole), number of steps. */
enum { LAG_Y0, LAG_U, LAG_T, LAG_STEPS, LAG_INPUTS };
#define LAG_GAIN 2.0 /* K */

/* The last y. j: where its steps are written, as a run of its own, or NULL. */
int lag_run(const double *in, struct journal *j, double *y, struct errbuf *err);
struct journal *lag_journal(struct errbuf *err);
/* n runs with inputs drawn from the seed; the last y of each in y. Steps are 10 to most_steps. */
void lag_inputs(uint64_t seed, uint32_t n, double most_steps, double (*in)[LAG_INPUTS]);

/* Errors of the last y, absolute; |y| is at most 5. */
struct lag_report {
	uint32_t n_runs, n_direct, n_asked; /* learnt from, by either model; asked for */
	double model_worst, model_median;
	double far_worst; /* ten times as many steps as any run had */
	double direct_worst, direct_median, direct_held_out; /* held out: what the fit said of itself */
	bool bits; /* interpreted and compiled gave the same */
	double program_ns, compiled_ns, direct_ns; /* a step; a step; a result: only where `timed` */
};
int lag_experiment(bool timed, struct lag_report *out, struct errbuf *err);

#endif
