/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicted against actual run times: which runs count, and the figures of a set of runs. These are the median, 90 % quantile
 * and worst error, the number of runs predicted too short, extensions, and the used part of the requested time. Simpler
 * predictors (baseline.h) get the same figures for the same runs.
 *
 * A run counts when it was predicted, ran on the candidate that it was predicted for, and completed or was ended by its limit.
 * Errors are computed for completed runs: the full time of a run that was ended is not known.
 */
#ifndef PRECEDENT_PREDICTOR_ACCURACY_ACCURACY_H
#define PRECEDENT_PREDICTOR_ACCURACY_ACCURACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/store/runs.h"

enum accuracy_predictor {
	ACCURACY_PRECEDENT,
	ACCURACY_REQUEST,  /* what the user asked for, or the partition gives */
	ACCURACY_USER_TWO, /* mean of the user's last two runs, at most the request */
	ACCURACY_KEY_TWO,  /* mean of the last two runs of the same job, at most the request */
	ACCURACY_PERFECT,
	ACCURACY_PREDICTORS
};
const char *accuracy_predictor_name(enum accuracy_predictor p); /* precedent, request, last_two_user, last_two_job, perfect */

/* What a job was told its time by. */
enum accuracy_source {
	ACCURACY_PROBE,   /* skeleton or partial execution */
	ACCURACY_RUNS,	  /* runs of the same job */
	ACCURACY_MODEL,	  /* runs with other numbers */
	ACCURACY_SIMILAR, /* no prediction: times of similar runs alone */
	ACCURACY_NOTHING,
	ACCURACY_SOURCES
};
const char *accuracy_source_name(enum accuracy_source s); /* probe, runs, model, similar, nothing */

struct accuracy_sample {
	enum accuracy_source source;
	uint32_t jobid, uid, nodes, extensions;
	unsigned candidate; /* index into accuracy_set.candidates */
	char family[IDENTITY_KEY_LEN + 1];
	char name[64]; /* of the job, cut */
	int64_t submit_time, end_time;
	double elapsed_s, lo_s, hi_s;
	double said_s[ACCURACY_PREDICTORS]; /* 0: that one knew nothing */
	double limit_s;			    /* what we set, in the end; 0: left alone */
	double plan_s; /* with a limit that was left alone: planned for so long, or until it ended; 0: as it was asked for */
	bool completed;			    /* else ended by its limit */
};

#define ACCURACY_CANDIDATES_MAX 256

struct accuracy_set {
	struct accuracy_sample *list; /* latest submission first */
	size_t n, cap;
	bool cut; /* there are more than were read */
	/* Batch jobs that Precedent saw when they were submitted and that have ended, the earliest end first. Imported jobs are none. */
	struct accuracy_ended {
		int64_t end_time;
		enum accuracy_source source;
	} *ended;
	size_t n_ended, ended_cap;
	size_t unseen; /* runs with a limit below what their user asked for whose end nobody saw; not in the list */
	unsigned n_candidates;
	char candidates[ACCURACY_CANDIDATES_MAX][CONF_CANDIDATE_MAX];
};

/* The predicted runs of a user (or STORE_ALL_USERS) that were submitted since then. Freed by accuracy_free, also after -1. */
int accuracy_read(struct store *s, uint32_t uid, int64_t since, struct accuracy_set *set, struct errbuf *errp);
void accuracy_free(struct accuracy_set *set); /* zeroed and freed sets are legal */

/* Does this run count? And its sample: said_s of Precedent, the request and the perfect predictor; candidate 0. */
bool accuracy_run_counts(const struct store_run *r);
void accuracy_sample_of(const struct store_run *r, struct accuracy_sample *s);

struct accuracy_errors {
	size_t n;		   /* completed runs of which it said something */
	double median, p90, worst; /* of |predicted - actual| / actual */
	double bias;		   /* median of (predicted - actual) / actual */
	size_t too_short;	   /* ran longer than it said */
	double said_of_used;	   /* sum of predicted / sum of used seconds */
	double precedent_median;   /* Precedent's own median over the same runs */
	uint32_t worst_job;
};

struct accuracy_row {
	size_t n; /* runs that count */
	struct accuracy_errors of[ACCURACY_PREDICTORS];
	size_t under, below, inside; /* above, below, within the interval; n = under + below + inside + unknown, which is of ended ones */
	size_t limits;		     /* set by Precedent, or planned with less */
	size_t extended, extensions; /* runs, times */
	size_t timed_out, cut_short; /* by their limit; of those with a limit below what their user asked for */
	/* Over the runs of which the request is known: */
	double used_s, requested_s, set_s; /* set: the request where nothing was set */
	double used_node_h, requested_node_h, set_node_h;
};

/* -1: no memory. The samples may be in any order. */
int accuracy_row_make(const struct accuracy_sample *const *samples, size_t n, struct accuracy_row *row, struct errbuf *errp);

/* |error| of one predictor over the completed samples, ascending; *out is to be freed. Returns how many, -1: no memory. */
int64_t accuracy_errors_sorted(const struct accuracy_sample *const *samples, size_t n, enum accuracy_predictor p, double **out,
			       struct errbuf *errp);
/* Of n ascending numbers: the q-quantile (0 .. 1), linear between neighbours; 0 of none. */
double accuracy_quantile(const double *sorted, size_t n, double q);

#endif
