/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much a predicted time is to be trusted: from the cross-validation of the model, and how far outside of the runs the
 * inputs are. */
#ifndef PRECEDENT_MODEL_API_CONFIDENCE_H
#define PRECEDENT_MODEL_API_CONFIDENCE_H

#include "common/errbuf.h"
#include "model/induce/model.h"

/* How far the inputs are outside of the runs, in spans of the runs: 0 inside. On a logarithmic scale where all are above 0.
 * *far: an input that is so far outside that no time is known, or n_inputs. */
double confidence_distance(const struct model *m, const double *input, uint32_t *far);
/*
 * *error: relative error of the time that nine in ten runs do not exceed. *confidence: from 0 to 1; 0.9 inside of the runs, if
 * none was refused when it was left out. Returns -1 if the inputs are too far outside (err says which).
 */
int confidence_of_time(const struct model *m, const double *input, double *error, double *confidence, struct errbuf *err);

#endif
