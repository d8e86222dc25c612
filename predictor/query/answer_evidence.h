/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a prediction rests on and stands beside: part of the answer to "show". Private to answer.c. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_EVIDENCE_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_EVIDENCE_H

#include <jansson.h>

#include "predictor/query/answer.h"
#include "predictor/store/runs.h"

/*
 * What came of earlier predictions, of those that had ended when this run was submitted: by candidate, of the same job and of
 * its family. {"fast": {"job": {"n", "median_error", "worst_error", "inside", "under"}, "family": {...}}, ...}
 */
json_t *answer_past_errors(const struct answer_env *env, const struct store_run *r, struct errbuf *errp);

/* What simpler predictors would have said of this run when it was submitted, in seconds; null what they did not know. */
json_t *answer_baselines(const struct answer_env *env, const struct store_run *r, struct errbuf *errp);

#endif
