/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A predicted run as a trace that says that it is one: calls, values, computation and walltime from a model, what a model
 * does not hold (types, requests, kinds of work) from traced runs. Whatever reads traces reads it, and whatever learns
 * from runs refuses it.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PREDICTED_TRACE_H
#define PRECEDENT_MODEL_INPUTS_PREDICTED_TRACE_H

#include "model/inputs/foresee.h"
#include "model/inputs/pattern.h"

/* from: what the trace says of where it comes from (trace_predicted()). -1 with the reason: a value that is not known, a call that cannot be made; then no file is
 * left. */
int predicted_trace_write(struct foresee *f, struct pattern_set *set, const char *from, const char *path, struct errbuf *err);

#endif
