/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computed points: run times of the members of a kin (common/identity.h), by the model of their calls. A model is
 * learnt from one trace of each of several members. It is run at the inputs of these members, and at others between and
 * around these. A law over total times (predictor/estimate/scaling_model.h) takes the points beside real runs.
 */
#ifndef PRECEDENT_MODEL_INPUTS_POINTS_H
#define PRECEDENT_MODEL_INPUTS_POINTS_H

#include "common/errbuf.h"
#include "common/identity.h"

#define POINTS_MAX	32 /* as many inputs as a law can use beside 16 real ones */
#define POINTS_RUNS_MAX 16

struct points_run {
	const char *trace;
	unsigned n_vars; /* the same of all runs */
	double vars[IDENTITY_VARS_MAX];
};
struct points_point {
	double vars[IDENTITY_VARS_MAX];
	double seconds; /* from MPI_Init to MPI_Finalize */
	double error;	/* that the model claims: a ratio, less 1 */
};
struct points {
	unsigned n, n_vars;
	struct points_point p[POINTS_MAX];
};

/*
 * Inputs that the model refuses are left out. Returns -1 with the reason if there is no model: too few runs, runs on
 * another number of ranks than their inputs say, or too many inputs that vary.
 * If *out is in memory that processes share, another one finds whole points there at any time.
 */
int points_compute(const struct points_run *run, unsigned n, struct points *out, struct errbuf *err);

#endif
