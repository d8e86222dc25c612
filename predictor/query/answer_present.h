/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The present estimate for the tasks of an array that wait, as JSON. The prediction of their submission stays beside it. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_PRESENT_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_PRESENT_H

#include <jansson.h>

#include "predictor/query/answer.h"
#include "predictor/store/runs.h"

/* Adds "present" to a run that waits: {"candidate": name, "seconds": n, "lo_s": n, "hi_s": n, "kind": word}. Left out if unknown. */
void answer_present(const struct answer_env *env, json_t *run, const struct store_run *r);

#endif
