/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prediction of a run that was never traced, from a model of runs (build.h). The prediction has the calls of each rank
 * in order, and the walltime. It computes features of the ranks by the names of the model's inputs, and checks doubts.
 */
#ifndef PRECEDENT_MODEL_INPUTS_FORESEE_H
#define PRECEDENT_MODEL_INPUTS_FORESEE_H

#include "model/inputs/build.h"
#include "model/induce/interpret.h"
#include "trace/read/reader.h"

#define FORESEE_CROWDED	   2 /* times as many ranks per processor as in the runs: up to this the time is not a guess */
#define FORESEE_RANKS_MAX  65536
#define FORESEE_EVENTS_MAX 2000000000ull /* of a rank */

struct foresee {
	const struct model *m; /* borrowed */
	uint32_t ranks, n_vars, n_features;
	double var[FEATURE_VARS_MAX];
	struct feature *feature;
	uint32_t *feature_of; /* by input */
	double *input;	      /* of the rank that was prepared last */
	int64_t *value;	      /* by feature that is used, of that rank */
	bool *used;
	uint32_t n_doubts;
	struct learnt_doubt *doubt;
	bool row_taken;    /* simpler: a row of ranks that may be a grid */
	char simpler[900]; /* a rule that was taken as the simpler one, though another holds in all runs too; or "" */
	char about[600];   /* the loop whose trip count is about so many, with --anyway; or "" */
	double about_error; /* of its time: logarithm of the ratio */
	/* foresee_place: */
	uint32_t processors; /* 0: not known */
	double crowd;	     /* ranks per processor, at least 1 */
	double stretch;	     /* seconds of the run per second of CPU time of the longest rank */
};

/* Opens a prediction. name[i] = value[i]: every variable of the model once. Returns -1 with the reason if the model is
 * not one of runs, if a variable is missing or unknown, or if a doubt matters for these values. `anyway`: ignore
 * doubts. A line near the trip counts of a loop then widens the interval of the time. */
int foresee_open(struct foresee *f, const struct model *m, uint32_t ranks, const char *const *name, const double *value,
		 uint32_t n, bool anyway, struct errbuf *err);
void foresee_close(struct foresee *f);

/* Name of a variable, or "ranks", that is more than FORESEE_FAR times outside the range of the runs; lo and hi get the
 * range. The calls are exact all the same; the time is a guess. NULL if there is none. */
#define FORESEE_FAR 4
const char *foresee_far(const struct foresee *f, double *lo, double *hi);

/* Name of a variable, or "ranks", that is outside the range of the runs at all. NULL if there is none. */
const char *foresee_outside(const struct foresee *f);
/* Ratio of the error of the time, less 1, from cross-validation. Outside the range of the runs, the ratio comes from
 * runs that were outside. After foresee_place. */
double foresee_error(const struct foresee *f);

/*
 * Sets the number of processors for all ranks together. 0 means that of the runs, or one per rank if the runs had
 * different numbers. Without this call each rank has a processor. Returns -1 with the reason. If there are more ranks
 * than processors, ranks take turns, and their times are stretched. The stretched time keeps all processors busy
 * (run_place_wall). It is never less than with a processor for each rank.
 */
int foresee_place(struct foresee *f, uint32_t processors, struct errbuf *err);
/* Why the time is a guess with so many ranks per processor, or NULL. */
const char *foresee_crowded(const struct foresee *f, char *buf, size_t size);

/* A call that is predicted: its control point, the time since MPI_Init, and the model's variables. */
struct foresee_sink {
	int (*call)(void *arg, uint32_t point, double time_s, const double *var);
	void *arg;
};
/* One rank, from MPI_Init to MPI_Finalize. Seconds and calls may be NULL. */
int foresee_rank(struct foresee *f, uint32_t rank, const struct foresee_sink *sink, double *wall_s, uint64_t *calls,
		 struct errbuf *err);

/* Indexes of the variables that are values of a control point. Returns how many, at most CALL_VALUES. */
uint32_t foresee_values(const struct model *m, uint32_t point, uint32_t var[CALL_VALUES]);

/* The prediction compared with a trace of the same run. */
struct foresee_difference {
	uint64_t calls, values, wrong, unknown; /* compared; values predicted wrong; values not predicted */
	uint32_t exact_ranks;			/* ranks whose sequence of calls is predicted exactly */
	double wall_s, predicted_s;		/* of the longest rank */
	double own_s;				/* the time without other programs (run_own_wall) */
	char first[400];			/* difference, or "" */
};
int foresee_compare(struct foresee *f, const struct trace *t, struct foresee_difference *out, struct errbuf *err);

#endif
