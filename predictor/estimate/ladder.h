/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates for jobs that were never traced, from runs that resemble them: a ladder of ever wider groups of runs.
 * Pure arithmetic.
 *
 * A job is in one group of each rung. A group keeps its last runs. It also keeps how far its own median missed the
 * runs that came after it: in logarithms of seconds, older misses count less. Rungs are weighed by the inverse of
 * their mean squared miss, as experts in Cesa-Bianchi and Lugosi, Prediction, Learning, and Games, 2006, chapter 2.
 * The estimate is the median of all their runs by these weights. The interval covers nine tenths of these runs, and
 * the misses of the past.
 *
 * Runs that were ended while they ran are lower bounds: the product-limit estimator (Kaplan and Meier, JASA 53, 1958)
 * moves their weight to longer runs. Failures in the first minutes are counted apart, and take no part.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_LADDER_H
#define PRECEDENT_PREDICTOR_ESTIMATE_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The narrowest first. */
enum ladder_rung {
	LADDER_SCRIPT,	/* same user, script and arguments, in any directory */
	LADDER_COMMAND, /* same user, command line, directory */
	LADDER_NUMBERS, /* same user; script and arguments differ in numbers */
	LADDER_NAME,	/* same user, job name, directory */
	LADDER_SHAPE,	/* same user, nodes, requested time */
	LADDER_USER,
	LADDER_ACCOUNT,
	LADDER_RUNGS
};
const char *ladder_rung_name(enum ladder_rung rung); /* script, command, numbers, name, ... */

#define LADDER_RUNS    16  /* runs that a group keeps: see doc/evaluation/benefit.md */
#define LADDER_EARLY_S 180 /* a failure before this time is a failure at the start: a wrong path, a missing file */

enum ladder_end {
	LADDER_WHOLE,	 /* it ended by itself */
	LADDER_AT_LEAST, /* it was ended while it ran */
	LADDER_EARLY,	 /* it failed at once */
	LADDER_NOTHING	 /* it says nothing of the time of a run */
};
/* end_state: Slurm's word. */
enum ladder_end ladder_end_of(const char *end_state, double elapsed_s);

/* Zeroed: no runs. Plain data without pointers: the store keeps it as it is. */
struct ladder_group {
	uint16_t n;	   /* runs in `seconds`, the latest first */
	uint16_t early;	   /* of the last LADDER_RUNS ended runs, as bits, the latest the lowest: it failed early */
	uint16_t ended;	   /* such runs, at most LADDER_RUNS */
	uint16_t censored; /* of `seconds`, as bits: a lower bound */
	float seconds[LADDER_RUNS];
	float miss_sq, misses; /* of logarithms; sum and weight, both fading */
};
/* A run of the group has ended. */
void ladder_group_add(struct ladder_group *g, double elapsed_s, enum ladder_end end);
/* Is it a group that ladder_group_add can have made? */
bool ladder_group_valid(const struct ladder_group *g);

struct ladder_estimate {
	double mean_s, lo_s, hi_s;
	enum ladder_rung rung; /* with the greatest weight */
	unsigned runs;	       /* of this rung's group */
	/* early_share of the narrowest group's last runs failed at once. limit_share of the others were ended while they ran. */
	double early_share, limit_share;
};
/* groups[rung]: NULL or without runs: the job has none. Returns 0, -1 if no rung has a whole run. */
int ladder_predict(const struct ladder_group *const groups[LADDER_RUNGS], struct ladder_estimate *out);

#endif
