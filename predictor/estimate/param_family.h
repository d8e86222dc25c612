/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameter families: programs that differ in numbers only (`kin` in common/identity.h). If all members that ran took about as
 * long, the numbers are seeds or names of outputs, and a member that has not run takes as long too. The estimate holds for
 * numbers within the range of those that ran, widened by its width on either side. A number that was always the same must be
 * the same. Pure.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_PARAM_FAMILY_H
#define PRECEDENT_PREDICTOR_ESTIMATE_PARAM_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/estimate/estimate.h"

#define PARAM_FAMILY_RUNS_MIN	 3
#define PARAM_FAMILY_PROGRAMS_MIN 2
#define PARAM_FAMILY_SPREAD_MAX	 1.25 /* the slowest program takes at most so many times as long as the quickest */
#define PARAM_FAMILY_RUNS_MAX	 64   /* the latest runs that are looked at */
#define PARAM_FAMILY_RANGES_MAX	 256

/* Borrowed: a run's program, its numbers as identity_vars_format writes them, and how long it took. */
struct param_family_run {
	const char *key, *vars;
	double actual_s;
	bool at_least; /* ended before its end */
};

/* The latest first, at most PARAM_FAMILY_RUNS_MAX are used. *programs: how many programs have run to their end. Refuses with the reason. */
int param_family_estimate(const struct param_family_run *runs, size_t n, struct estimate *out, unsigned *programs, struct errbuf *why);
/* "1000:1000,1:4": least and greatest of each number over the runs that ended. "" when they have not equally many. */
void param_family_ranges(const struct param_family_run *runs, size_t n, char *out, size_t size);
/* Are these numbers such as those? Never where there are none: then nothing tells programs apart. */
bool param_family_covers(const char *ranges, const double *vars, unsigned n_vars);

#endif
