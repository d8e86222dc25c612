/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The law over total times (predictor/estimate/scaling_model.h), asked from a file: `experiments law FILE`. */
#ifndef PRECEDENT_TESTS_BENCH_MODEL_LAW_H
#define PRECEDENT_TESTS_BENCH_MODEL_LAW_H

#include <jansson.h>
#include <stdio.h>

#include "common/errbuf.h"

/*
 * Lines: "run VARS SECONDS" is a run that the law is fitted to, "point VARS SECONDS ERROR" is a computed point beside
 * these, "ask VARS" is to be predicted. VARS as identity_vars_format writes
 * them. Returns one object for each question, with mean, lo and hi in seconds, or with the reason of the refusal. NULL: no such file.
 */
json_t *law_answer(FILE *in, struct errbuf *err);
/* `experiments points VARS=TRACE...`: computed points (model/inputs/points.h), an object for each. NULL: there is no model. */
json_t *points_answer(char **operand, int n, struct errbuf *err);

#endif
