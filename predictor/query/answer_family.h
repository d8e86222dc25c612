/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What "show" says of a job's relations: "families": what jobs that differ from it in numbers only say on each candidate, or
 * why they say nothing; "models": what the model over these numbers says, by candidate, and "inputs", the numbers; "drift": where it ran, when it ceased to run as predicted.
 */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_FAMILY_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_FAMILY_H

#include <jansson.h>

#include "predictor/query/answer.h"

/* Adds them to the reply, where there are any. */
int answer_family(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp);

#endif
