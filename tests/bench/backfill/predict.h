/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What plans are made of: the user's request, the mean of the user's last two runs (Tsafrir, Etsion and Feitelson, IEEE
 * TPDS 18, 2007), Precedent with the errors that were measured, the truth. Nothing is known of a run before it has ended.
 * Predictions become limits by the rule of the product.
 */
#ifndef PRECEDENT_TESTS_BENCH_BACKFILL_PREDICT_H
#define PRECEDENT_TESTS_BENCH_BACKFILL_PREDICT_H

#include "tests/bench/backfill/workload.h"

enum predict_kind {
	PREDICT_REQUEST,
	PREDICT_LAST_TWO,
	PREDICT_PRECEDENT, /* exact repetitions alone; what has new input is traced afresh */
	PREDICT_FAMILY,	   /* as if new inputs of a known program were predicted as well */
	PREDICT_MIXED,	   /* precedent where it knows, else the user's last two runs */
	PREDICT_PERFECT,
	PREDICT_KINDS
};
const char *predict_name(enum predict_kind kind);
int predict_parse(const char *name, enum predict_kind *kind);

/* How far predictions were off: actual time / predicted time, one for each measured pair. */
struct predict_errors {
	double *ratio; /* owned */
	size_t n;
};
/* From lines of JSON with "actual" and the prediction's column; lines without either are left out. */
int predict_errors_read(const char *path, const char *column, struct predict_errors *out, struct errbuf *err);
void predict_errors_free(struct predict_errors *e);

struct predict_conf {
	enum predict_kind kind;
	uint64_t seed;
	const struct predict_errors *errors;
	double cover;	   /* the upper bound holds for this share of the errors seen so far */
	double withheld;   /* share of the programs that are never predicted */
	double margin;	   /* Margin and MinLimit of precedent.conf */
	uint32_t min_limit_min;
	double first_cost; /* how much longer a run is that is traced and probed, relative; not past its own limit */
	int64_t probe_s;   /* from the end of a traced run until its prediction is there */
};
extern const struct predict_conf predict_defaults; /* all but kind, seed and errors */

/* The product's rule: architecture, "Limits and placement"; see limit_wanted in plugin/decide.c. */
uint32_t predict_limit_min(const struct predict_conf *conf, double upper_s, uint32_t request_min);

struct predict;
int predict_create(const struct predict_conf *conf, const struct workload *w, struct predict **out, struct errbuf *err);
void predict_destroy(struct predict *p);
/* Callbacks for sim_run; good for one run. */
struct sim_predictor predict_callbacks(struct predict *p);
/* Jobs that were planned by a prediction so far. */
uint64_t predict_predicted(const struct predict *p);

#endif
