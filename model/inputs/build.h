/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules learnt from runs, as an object-event model (model/induce). Control points are calls, values are variables,
 * and features are inputs by their names. Every loop is a graph of its own. The calling node of a loop enters the graph
 * anew until its counter reaches the number of iterations. Doubts are variables that are not known. So the functions
 * that read, print, interpret and compile models work on models of runs.
 */
#ifndef PRECEDENT_MODEL_INPUTS_BUILD_H
#define PRECEDENT_MODEL_INPUTS_BUILD_H

#include "model/inputs/learn_runs.h"
#include "model/inputs/run_times.h"
#include "model/induce/model.h"

#define INPUTS_UNKNOWN	  (-0x1p53)	/* value of a variable that varies, or that has no rule */
#define INPUTS_MISSING	  (-0x1p53 + 1) /* the call has no such value */
#define INPUTS_COMPUTE	  "compute_ns"	/* the variable that says how long the rank computes before a call */
#define INPUTS_DOUBT	  "doubt "	/* prefix of the names of doubts */
#define INPUTS_REASON_MAX 900

/* A model that was checked. times may be NULL. */
struct model *inputs_build(const struct learnt *l, const struct run_times *times, struct errbuf *err);

#endif
