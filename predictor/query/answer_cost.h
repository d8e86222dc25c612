/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost request: cost of probes, and time freed by shorter limits, by user and partition. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_COST_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_COST_H

#include <jansson.h>

#include "predictor/query/answer.h"

/* NULL with the reason. */
json_t *answer_cost(const struct answer_env *env, json_t *request, struct errbuf *errp);

#endif
