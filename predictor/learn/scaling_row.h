/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model over inputs as the store keeps it: what it says of a job. */
#ifndef PRECEDENT_PREDICTOR_LEARN_SCALING_ROW_H
#define PRECEDENT_PREDICTOR_LEARN_SCALING_ROW_H

#include "predictor/store/store.h"

/* How long a job with these numbers (struct identity) takes; *scale: by what its interval was multiplied. 0, or -1 with the
 * reason: there is no model, or it does not know. */
int scaling_row_predict(const struct store_model *m, const double *vars, unsigned n_vars, struct estimate *out, double *scale,
		struct errbuf *why);
#endif
