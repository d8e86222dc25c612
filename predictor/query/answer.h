/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request of the query protocol to its reply, JSON text in and out. Users see and change only what is theirs; root
 * and SlurmUser everything. Verbs and fields are in answer.c, beside the functions that make them.
 */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_H

#include "predictor/store/store.h"

struct answer_env {
	struct store *store;
	const struct precedent_conf *conf;
	uint32_t uid; /* who asks */
	bool admin;
	int64_t now;
};

/* The reply, to be freed by the caller; NULL only without memory. A fault is a reply too: {"error": "..."}. */
char *answer_make(const struct answer_env *env, const char *request, size_t len);

#endif
