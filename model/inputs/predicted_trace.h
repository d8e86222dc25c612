/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A predicted run as a trace that is marked as predicted. Calls, values, computation and walltime come from a model.
 * Types, requests and kinds of work come from traced runs, because a model does not hold them. All readers of traces
 * accept a predicted trace; the learners refuse it.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PREDICTED_TRACE_H
#define PRECEDENT_MODEL_INPUTS_PREDICTED_TRACE_H

#include "model/inputs/foresee.h"
#include "model/inputs/pattern.h"

/* from: the origin that the trace records (trace_predicted()). Returns -1 with the reason if a value is unknown or a
 * call cannot be made; then no file is left. */
int predicted_trace_write(struct foresee *f, struct pattern_set *set, const char *from, const char *path, struct errbuf *err);

#endif
