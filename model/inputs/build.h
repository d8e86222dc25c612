/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was learnt from runs as an object-event model (predictor/model): control points are calls, every loop is a graph of
 * its own that its calling node enters anew until its counter reaches the number of iterations, values are variables, and
 * features are inputs by their names. Doubts stand as variables that are not known. So everything that reads, prints,
 * interprets and compiles models does so with these.
 */
#ifndef PRECEDENT_MODEL_INPUTS_BUILD_H
#define PRECEDENT_MODEL_INPUTS_BUILD_H

#include "model/inputs/learn_runs.h"
#include "model/inputs/run_times.h"
#include "model/induce/model.h"

#define INPUTS_UNKNOWN	  (-0x1p53)	/* as the value of a variable: it varies, or no rule holds */
#define INPUTS_MISSING	  (-0x1p53 + 1) /* there is none here */
#define INPUTS_COMPUTE	  "compute_ns"	/* the variable that says how long the rank computes before a call */
#define INPUTS_DOUBT	  "doubt "	/* what names of variables begin with that are none */
#define INPUTS_REASON_MAX 900

/* A model that was checked. times may be NULL. */
struct model *inputs_build(const struct learnt *l, const struct run_times *times, struct errbuf *err);

#endif
