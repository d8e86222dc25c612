/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates a model over inputs as stored. */
#ifndef PRECEDENT_PREDICTOR_LEARN_SCALING_ROW_H
#define PRECEDENT_PREDICTOR_LEARN_SCALING_ROW_H

#include "predictor/store/kin.h"

/* Predicts a job with these numbers (struct identity). *scale: factor of the interval. Returns 0, or -1 with the reason if
 * there is no model or it refuses. */
int scaling_row_predict(const struct store_model *m, const double *vars, unsigned n_vars, struct estimate *out, double *scale,
			struct errbuf *why);
#endif
