/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Discrete-event simulation of one machine of equal nodes. A batch scheduler plans on time limits, as Slurm does: first
 * come first served with EASY or with conservative backfill. The guard says how the planned time and the user's limit
 * differ. A job that is killed before its user's limit is counted as killed by us. A broken invariant ends the run with
 * an error.
 */
#ifndef PRECEDENT_PREDICTOR_REPLAY_SIM_H
#define PRECEDENT_PREDICTOR_REPLAY_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

struct sim_job {
	int64_t submit_s; /* ascending */
	int64_t run_s;	  /* above 0; longer than request_min: its user's own limit kills it */
	uint32_t nodes;
	uint32_t request_min;
};

/* What is planned for a job, said when it is submitted. */
struct sim_plan {
	int64_t limit_s;   /* above 0, at most the user's */
	int64_t run_s;	   /* how long it runs (tracing has its cost); 0: as it says itself */
	bool fixed;	   /* the limit is never raised: it is the user's, or the truth */
};

struct sim;
struct sim_predictor {
	void *arg;
	void (*submitted)(void *arg, size_t job, int64_t now, struct sim_plan *plan);
	/* It may call sim_plan_anew. */
	void (*ended)(void *arg, size_t job, int64_t now, struct sim *s);
};
/* Does the job wait? */
bool sim_waits(const struct sim *s, size_t job);
/* A job that waits is planned with another limit from now on: above 0, at most the user's. */
void sim_plan_anew(struct sim *s, size_t job, int64_t limit_s);

enum sim_policy {
	SIM_EASY,	  /* the first waiting job has a reservation */
	SIM_CONSERVATIVE, /* all have (up to depth) */
	SIM_SLURM,	  /* the same, planned from nothing at every pass as Slurm's sched/backfill: no promise is kept */
	SIM_POLICIES
};
const char *sim_policy_name(enum sim_policy policy);

/* LimitGuard of precedent.conf(5). */
enum sim_guard {
	SIM_RAISE,    /* a job is killed at its limit; limits are raised by predictor/limits/raise.h at the polls */
	SIM_SOFT,     /* a job is killed at its user's limit; late jobs are planned for half of the time that is left */
	SIM_OVERTIME, /* killed at the user's limit, which is at most overtime_s beyond the limit that is set */
	SIM_GUARDS
};
const char *sim_guard_name(enum sim_guard guard);

struct sim_conf {
	enum sim_policy policy;
	enum sim_guard guard;
	int64_t overtime_s; /* OverTimeLimit, for SIM_OVERTIME */
	uint32_t nodes;
	uint32_t poll_interval_s;
	uint32_t depth;	   /* conservative: so many waiting jobs have a reservation, as bf_max_job_test; 0: all */
	bool never_late;   /* no limit is ever raised, so that no reservation may ever move back: checked, but for SIM_SLURM */
};

struct sim_outcome {
	int64_t start_s, end_s;
	int64_t limit_s; /* when it started */
	uint32_t extensions;
	bool killed_by_us, killed_by_user;
};

struct sim_totals {
	uint64_t extensions, killed_by_us, killed_by_user;
	uint64_t moved; /* times that a reservation was moved back */
	uint64_t passes, events;
};

/* outcomes: one for each job, the caller's. -1 with the reason when something broke that must always hold. */
int sim_run(const struct sim_conf *conf, const struct sim_job *jobs, size_t n, const struct sim_predictor *predictor,
	    struct sim_outcome *outcomes, struct sim_totals *totals, struct errbuf *err);

#endif
