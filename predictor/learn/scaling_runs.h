/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs that a model over inputs is fitted to (predictor/estimate/scaling_model.h), from the store. */
#ifndef PRECEDENT_PREDICTOR_LEARN_SCALING_RUNS_H
#define PRECEDENT_PREDICTOR_LEARN_SCALING_RUNS_H

#include "predictor/estimate/scaling_model.h"
#include "predictor/store/past.h"
#include "predictor/store/programs.h"

#define SCALING_VARS_TEXT_MAX (COMMENT_VARS_MAX + 12) /* with the index of an array's task behind the numbers */

struct scaling_runs {
	char kin[IDENTITY_KEY_LEN + 1];
	int64_t since;
	bool array;
	size_t n;
	struct param_family_run runs[SCALING_RUNS_MAX]; /* the latest first; they borrow from here */
	int64_t submitted[SCALING_RUNS_MAX];
	struct store_past past[SCALING_RUNS_MAX];
	char vars[SCALING_RUNS_MAX][SCALING_VARS_TEXT_MAX];
};

struct scaling_runs_filter {
	const char *kin, *candidate;
	bool array;	    /* tasks of arrays alone, which have one input more; else none of them */
	int64_t since;	    /* submitted at or after */
};

/* The latest runs of the parameter family on the candidate, at most SCALING_RUNS_MAX. */
int scaling_runs_read(struct store *s, const struct scaling_runs_filter *of, struct scaling_runs *out, struct errbuf *errp);

/*
 * Predicts a program from the runs of other members alone, so that its own runs count once when both are weighed. Skeletons of
 * other members are left out: they err as its own does. Returns 1, 0 with the reason if the model refuses, or -1 on error.
 *
 * read: runs on the candidate that were read already, used if they are of the program's kin; NULL: none.
 */
int scaling_evidence(struct store *s, const struct store_program *p, const char *candidate, const struct scaling_runs *read,
		     struct estimate *out, struct errbuf *errp);

#endif
