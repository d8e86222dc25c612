/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accuracy request: how good predictions were, by candidate and by family. Private to answer.c. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_ACCURACY_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_ACCURACY_H

#include <jansson.h>

#include "predictor/query/answer.h"

/* NULL with the reason. */
json_t *answer_accuracy(const struct answer_env *env, json_t *request, struct errbuf *errp);

#endif
