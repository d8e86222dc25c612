/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals: the data that a model is learnt from. A journal holds several runs with the same inputs and variables, by
 * name. A run has the values of its inputs and a list of rows in the order of execution. A row is a control point, a
 * time and the variables. All values are doubles, so whole numbers are exact up to 2^53. An input named "rank" is the
 * rank's number, and an input named "ranks" is the number of ranks. So neighbours on a ring are tried as features.
 * Source: Pekunov (cited in model.h), the journal of execution A^ks.
 */
#ifndef PRECEDENT_MODEL_INDUCE_JOURNAL_H
#define PRECEDENT_MODEL_INDUCE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define JOURNAL_MAX_POINTS 4096
#define JOURNAL_MAX_INPUTS 256
#define JOURNAL_MAX_VARS   256
#define JOURNAL_MAX_RUNS   65536
#define JOURNAL_MAX_NAME   255
#define JOURNAL_MAX_ROWS   (1ull << 31) /* over all runs */

struct journal_run {
	double *input; /* n_inputs */
	size_t n_rows, cap;
	uint32_t *point; /* by row */
	double *time_s;	 /* since the start of the run, never falling */
	double *var;	 /* [row * n_vars + v] */
};

struct journal {
	uint32_t n_points, n_inputs, n_vars, n_runs;
	char **point, **input, **var; /* names */
	int32_t rank_input, ranks_input; /* by name; -1 when there is none */
	struct journal_run *run;
	uint64_t n_rows;
	uint32_t points_cap, runs_cap;
};

/* NULL with the reason: names are 1 to JOURNAL_MAX_NAME bytes that are clean (common/clean.h), and differ. */
struct journal *journal_create(const char *const *inputs, uint32_t n_inputs, const char *const *vars, uint32_t n_vars,
			       struct errbuf *err);
void journal_destroy(struct journal *j);

/* Returns the number of the control point of that name, and adds the point if it is new. Returns -1 with the reason. */
int64_t journal_point(struct journal *j, const char *name, struct errbuf *err);
/* Begin another run. input: n_inputs finite values. */
int journal_begin(struct journal *j, const double *input, struct errbuf *err);
/* A row of the run that was begun last. var: n_vars finite values (may be NULL when there are none). */
int journal_add(struct journal *j, uint32_t point, double time_s, const double *var, struct errbuf *err);

#endif
