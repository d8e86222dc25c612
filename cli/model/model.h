/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of `precedent model` share. */
#ifndef PRECEDENT_CLI_MODEL_H
#define PRECEDENT_CLI_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/inputs/foresee.h"
#include "model/inputs/runs.h"

struct model_given {
	const char *name, *text;
};
struct model_options {
	struct model_given given[FEATURE_VARS_MAX];
	uint32_t n_given;
	long dims, ranks, cpus, events; /* events: of that rank, or -1 */
	const char *out, *against;
	const char *from[RUNS_MAX]; /* traced runs: a predicted trace takes from them the parts that a model does not hold */
	uint32_t n_from;
	bool dot, anyway, json;
};

/* The exit code. */
int model_predict(const struct model_options *o, const char *path);
int model_run(const struct model_options *o, const char *dir);
int model_show(const struct model_options *o, const char *path);
/* Write the prediction as a trace: 0, -1 with the reason. */
int model_predict_trace(const struct model_options *o, const char *path, struct foresee *f, struct errbuf *err);

#endif
