/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The relations of a job in the answer to "show". "families": by candidate, the estimate from jobs that differ in numbers only,
 * or the reason why there is none. "models": by candidate, the estimate of the model over these numbers. "inputs": the numbers.
 * "drift": the candidates where it ceased to run as predicted, and when.
 */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_FAMILY_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_FAMILY_H

#include <jansson.h>

#include "predictor/query/answer.h"
#include "predictor/store/runs.h"

/* Adds them to the reply, where there are any. */
int answer_family(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp);

#endif
