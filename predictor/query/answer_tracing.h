/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers about tracing: why a program is not traced, and how tracing is resumed. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_TRACING_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_TRACING_H

#include <jansson.h>

#include "predictor/query/answer.h"
#include "predictor/store/runs.h"

/*
 * Adds to the answer to "show":
 *   "tracing_stopped": time, if tracing is stopped;
 *   "trial": {"guard": name, "job": id, "state": end, "untraced_job": id, "untraced_state": end}, if a traced run failed.
 *   The untraced job is missing until an untraced run has decided.
 * Returns 0, or -1 with the reason.
 */
int answer_tracing(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp);
/* Resumes tracing. Returns {"programs": number of programs that were guarded}, or NULL with the reason. */
json_t *answer_resume(const struct answer_env *env, struct errbuf *errp);

#endif
