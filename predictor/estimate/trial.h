/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does tracing make jobs fail? Two questions, both answered from runs that ended. Pure.
 *
 * Of one program: after a traced run that failed, the next runs go without the tracer. The first of these that says something
 * decides whether the tracer is suspected for this program.
 *
 * Of all programs: each pair of a traced run and the untraced run that follows counts once. Pairs in which only one run failed
 * are compared by McNemar's test, one-sided and exact, against odds of TRIAL_ODDS: Q. McNemar, Note on the sampling error of the
 * difference between correlated proportions or percentages, Psychometrika 12(2), 1947.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_TRIAL_H
#define PRECEDENT_PREDICTOR_ESTIMATE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/* ---- one program ---- */

/* A run that ended. */
struct trial_run {
	const char *end_state; /* as in struct store_run; UNKNOWN: nobody saw the end */
	double elapsed_s;
	uint64_t memory;     /* asked for, as Slurm codes it; 0: nothing */
	uint32_t array_task; /* ARRAY_NO_INDEX: not of an array */
};

enum trial_guard {
	TRIAL_FREE,	 /* tracing may mark the program */
	TRIAL_DOUBT,	 /* a traced run failed: the next run of the program goes without the tracer */
	TRIAL_DOUBT_KEY, /* the same for one key; with other numbers the program has run since */
	TRIAL_SUSPECT,	 /* without the tracer the program completed: only `precedent retrace` traces it again */
};
const char *trial_guard_name(enum trial_guard guard); /* free, doubt, key, suspect */

/* Which run of a pair failed. */
enum trial_pair {
	TRIAL_NO_PAIR,
	TRIAL_BOTH_COMPLETED,
	TRIAL_BOTH_FAILED,
	TRIAL_TRACED_FAILED, /* from here on only one of the two did */
	TRIAL_UNTRACED_FAILED,
	TRIAL_PAIRS
};
const char *trial_pair_name(enum trial_pair pair); /* none, both_completed, both_failed, traced_failed, untraced_failed */

/* May the tracer be why the traced run ended so? */
bool trial_may_be_tracer(const struct trial_run *traced);

/*
 * Compares a traced run that completed, or that the tracer may have ended, with the untraced run of the same key after it.
 * Returns false if the untraced run says nothing: *guard and *pair stay.
 */
bool trial_compare(const struct trial_run *traced, const struct trial_run *untraced, enum trial_guard *guard,
		   enum trial_pair *pair);

/* ---- all programs ---- */

/*
 * Innocence allows two pairs against the tracer for each pair against the untraced run. The traced run comes first, and after a
 * failure users mend what the key does not hold: a file that was missing, a quota. So the first run fails more often without any
 * tracer.
 */
#define TRIAL_ODDS 2

/*
 * Bounds on the chance of the pairs under TRIAL_ODDS. From 8 pairs against the tracer and none the other way it is suspected,
 * from 12 it stops. The test is repeated with each pair. A harmless tracer is stopped within 100 pairs with probability 0.0004 at
 * odds of 1, and 0.05 at odds of 2. A tracer that nine of ten pairs speak against is stopped within 50 pairs with probability
 * 0.97.
 */
#define TRIAL_SUSPECT_CHANCE 0.05
#define TRIAL_STOP_CHANCE    0.01

/*
 * The latest programs of one user that count. Programs of one user share libraries and habits, and nobody decides for all. So a
 * suspicion takes two users, and a stop three.
 */
#define TRIAL_PER_USER 4

/* How long a pair counts, the default of Retention. Older pairs are mostly of another tracer or MPI library. */
#define TRIAL_WINDOW_S (90 * 86400)

enum tracing_state { TRACING_ON, TRACING_SUSPECTED, TRACING_STOPPED };
const char *tracing_state_name(enum tracing_state state); /* on, suspected, stopped */

/* The chance that so many of all these pairs, or more, are against the tracer, under TRIAL_ODDS: 0 to 1. */
double trial_chance(unsigned traced_failed, unsigned untraced_failed);
enum tracing_state trial_judge(unsigned traced_failed, unsigned untraced_failed);

#endif
