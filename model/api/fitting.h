/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to fit a model, which runs to fit it from, and whether the new model is better than the current one. */
#ifndef PRECEDENT_MODEL_API_FITTING_H
#define PRECEDENT_MODEL_API_FITTING_H

#include "model/api/session.h"
#include "model/induce/journal.h"

#define FITTING_RUNS_MAX 64
#define FITTING_ROWS_MAX 200000

/* Runs that a model is learnt from, referenced. */
struct fitting_set {
	uint32_t n, n_groups, n_points, n_vars; /* points and variables that the session has now */
	uint64_t n_rows;
	struct run_log *run[FITTING_RUNS_MAX];
	uint32_t group[FITTING_RUNS_MAX]; /* of equal inputs */
	double tick_s;
};

/* The model file of the options: 0 when it was taken, or is not there. */
int fitting_load(struct precedent_model *m, struct errbuf *err);
/* In the child of fork. */
void fitting_forked(void);

/* ---- choose.c ---- */
/* Chooses runs to learn from: some runs for each set of inputs, the newest first. */
int fitting_choose(struct precedent_model *m, struct fitting_set *set);
void fitting_release(struct precedent_model *m, struct fitting_set *set);
/* The journal of the runs. Leaves out a group and a run (UINT32_MAX: none). */
struct journal *fitting_journal(const struct precedent_model *m, const struct fitting_set *set, uint32_t without_group,
				uint32_t without_run, struct errbuf *err);
/* How a model predicts run `i` of the set: added to the confidence. */
void fitting_compare(const struct precedent_model *m, const struct fitting_set *set, uint32_t i, const struct model *model,
		     struct model_confidence *sum);

#endif
