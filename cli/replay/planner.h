/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the scheduler plans the jobs of a stream with. Precedent's own plans come from the plugin's decision (plugin/decide.h),
 * with a store in memory. When a run has ended, it is learned from as precedentd does (predictor/learn/). A decision sees only runs that
 * have ended in the simulation before.
 *
 * The accounting has no traces. So no program has probes here: estimates of a program come from two runs of its own.
 */
#ifndef PRECEDENT_CLI_REPLAY_PLANNER_H
#define PRECEDENT_CLI_REPLAY_PLANNER_H

#include "common/conf.h"
#include "predictor/estimate/ladder.h"
#include "predictor/replay/stream.h"

enum plan_by {
	PLAN_REQUEST,
	PLAN_LAST_TWO,	/* the mean of the user's last two runs (Tsafrir, Etsion and Feitelson, IEEE TPDS 18, 2007) */
	PLAN_SIMILAR,	/* similar runs alone */
	PLAN_PRECEDENT, /* as Precedent plans */
	PLAN_PERFECT,	/* the run time to the second */
	PLAN_WAYS
};

/* Where an estimate comes from. */
enum plan_source {
	SOURCE_RUNS,  /* runs of the same program */
	SOURCE_MODEL, /* runs of the program with other numbers */
	SOURCE_SIMILAR, /* the first rung; the other rungs follow */
	SOURCE_NONE = SOURCE_SIMILAR + LADDER_RUNGS,
	SOURCES
};
struct plan_estimate {
	float mean_s, lo_s, hi_s;
	enum plan_source source; /* SOURCE_NONE: the others are 0 */
};

struct planner_conf {
	const struct precedent_conf *conf; /* with the guard in force and Mode=limit */
	const struct stream *stream;
	uint32_t overtime_min; /* OverTimeLimit of all partitions */
	enum plan_by by;
};

struct planner;
/* outcomes: of the simulation that will run; borrowed. */
int planner_create(const struct planner_conf *conf, const struct sim_outcome *outcomes, struct planner **out, struct errbuf *err);
void planner_destroy(struct planner *p); /* NULL is legal */
/* Callbacks for sim_run; good for one run. */
struct sim_predictor planner_callbacks(struct planner *p);
/* Did a decision or a learner fail in the run? Returns 0, or -1 with the first reason. */
int planner_fault(const struct planner *p, struct errbuf *err);
/* What was told of each job when it was submitted; NULL for plans without estimates of Precedent. */
const struct plan_estimate *planner_estimates(const struct planner *p);

#endif
