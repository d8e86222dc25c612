/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prediction of a run that was never traced, from a model of runs (build.h): features of its ranks by the names of the
 * model's inputs, doubts, the calls of each rank in order, and the walltime.
 */
#ifndef PRECEDENT_MODEL_INPUTS_FORESEE_H
#define PRECEDENT_MODEL_INPUTS_FORESEE_H

#include "model/inputs/build.h"
#include "model/induce/interpret.h"
#include "trace/read/reader.h"

#define FORESEE_CROWDED	   2 /* times as many ranks for a processor as in the runs: still not a guess */
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
	/* foresee_place: */
	uint32_t processors; /* 0: not known */
	double crowd;	     /* ranks for a processor, at least 1 */
	double stretch;	     /* seconds of the run for one that its longest rank needs its processor for */
};

/* Is the model one of runs, and may it be asked this? name[i] = value[i]: every variable of the model once. -1 with the
 * reason: a variable is missing or unknown to the model, a doubt matters here. `anyway`: doubts do not matter. */
int foresee_open(struct foresee *f, const struct model *m, uint32_t ranks, const char *const *name, const double *value,
		 uint32_t n, bool anyway, struct errbuf *err);
void foresee_close(struct foresee *f);

/* Name of a variable, or "ranks", that is more than FORESEE_FAR times outside of what the runs had, with the ends of that:
 * the calls are exact all the same, the time is a guess. NULL when there is none. */
#define FORESEE_FAR 4
const char *foresee_far(const struct foresee *f, double *lo, double *hi);

/* Name of a variable, or "ranks", that is outside of what the runs had at all; NULL when there is none. */
const char *foresee_outside(const struct foresee *f);
/* The time is within this ratio, less 1: of runs that were left out, or of such as are outside. After foresee_place. */
double foresee_error(const struct foresee *f);

/*
 * Where there are more ranks than processors they take turns, and a time of a rank is the time that it needs a processor for,
 * stretched: all of them together keep the processors busy (run_place_wall), and not less than with a processor for each. processors: of all ranks together, 0: those of the
 * runs, or one for each rank where these had different numbers. Without this call each has its own. -1 with the reason.
 */
int foresee_place(struct foresee *f, uint32_t processors, struct errbuf *err);
/* Why the time is a guess with as many ranks as there are for a processor, or NULL. */
const char *foresee_crowded(const struct foresee *f, char *buf, size_t size);

/* A call that is predicted: its control point, the time since MPI_Init, and the model's variables. */
struct foresee_sink {
	int (*call)(void *arg, uint32_t point, double time_s, const double *var);
	void *arg;
};
/* One rank, from MPI_Init to MPI_Finalize. Seconds and calls may be NULL. */
int foresee_rank(struct foresee *f, uint32_t rank, const struct foresee_sink *sink, double *wall_s, uint64_t *calls,
		 struct errbuf *err);

/* Names of the values of a control point, as indexes of variables: how many, at most CALL_VALUES. */
uint32_t foresee_values(const struct model *m, uint32_t point, uint32_t var[CALL_VALUES]);

/* The prediction against a trace of that very run. */
struct foresee_difference {
	uint64_t calls, values, wrong, unknown; /* compared; values that are another, and that were not predicted */
	uint32_t exact_ranks;			/* whose sequence is the predicted one */
	double wall_s, predicted_s;		/* of the longest rank */
	double own_s;				/* what it took without other programs (run_own_wall) */
	char first[400];			/* difference, or "" */
};
int foresee_compare(struct foresee *f, const struct trace *t, struct foresee_difference *out, struct errbuf *err);

#endif
