/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Following jobs: what precedentd does with each look at the cluster. A traced job that ends becomes a program with
 * probes; a predicted job that ends is compared with its prediction; a job near a limit that Precedent has shortened gets
 * more time. No Slurm and no clock in here: jobs come as a snapshot, deeds go through cluster_ops, `now` is given.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_FOLLOW_H
#define PRECEDENT_PREDICTOR_FOLLOW_FOLLOW_H

#include "common/log.h"
#include "predictor/cluster/cluster.h"

/* What was seen since these were zeroed, for metrics. */
struct follow_counts {
	uint64_t met[ACT_PROBE + 1]; /* jobs, by act */
	uint64_t told, limited;	     /* of these: with a prediction; with a limit set */
	uint64_t raised;	     /* limits, each time */
	uint64_t ended, cut_short;   /* jobs; ended by a limit below what their user asked for */
};

struct seen;	/* predictor/follow/poll_cache.h */
struct shorten; /* predictor/limits/lower.h */

struct follow_env {
	const struct precedent_conf *conf;
	struct store *store;
	const struct cluster_ops *ops;
	void (*say)(enum log_level level, const char *line); /* one log line */
	struct follow_counts *counts;			     /* NULL: nobody counts */
	struct seen *seen;				     /* what earlier looks have settled; NULL: no memory */
	struct shorten *shorten;			     /* NULL: limits are raised, and none is set */
	uint32_t period_s;				     /* until the next look (pace.h); 0: PollInterval */
};
static inline uint32_t follow_period_s(const struct follow_env *env)
{
	return env->period_s ? env->period_s : env->conf->poll_interval_s;
}

void follow_say(const struct follow_env *env, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* How long after the end of a traced job its trace may take to show on a network file system. */
#define FOLLOW_TRACE_GRACE_S 15

/* Take in a snapshot. Limits are raised and set first and without the store (which may be NULL: nothing else is done then).
 * -1 with the reason when the store failed; what had been done by then stays done. */
int follow_poll(const struct follow_env *env, const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp);

struct follow_estimates {
	unsigned n;	       /* candidates that have an estimate now */
	double source_mpi_s;   /* traced seconds in MPI programs, all traces */
	struct errbuf refused; /* the last refusal, "" when there was none */
};

/* Estimates of a program afresh from its probes and the history of its runs. `also` (may be NULL) is a further candidate,
 * for history without a probe. */
int follow_calibrate(const struct follow_env *env, const struct store_program *p, const char *also, int64_t now,
		     struct follow_estimates *out, struct errbuf *errp);

/* A run has ended: when the last ones were not as predicted, what ran before counts no more, and the probe is made again, or
 * the program is traced again (predictor/estimate/drift.h). */
int follow_drift(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);

/* A run has ended: the same of its kin, by the model over inputs of what ran before; what the model and runs that are alike say is
 * from the runs since then alone. */
int follow_drift_kin(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);

/*
 * A run has ended. If the tracer may have ended a traced run, its program is guarded until an untraced run decides. Pairs of both
 * count for and against the tracer (predictor/estimate/trial.h). memory: as in struct cluster_job; 0 for a run whose end was not seen.
 */
int follow_trial(const struct follow_env *env, const struct store_run *run, uint64_t memory, int64_t now, struct errbuf *errp);
/* Judges all pairs: tracing may become suspected, no longer suspected, or stopped. A change is said once and kept in the
 * store. */
int follow_tracing(const struct follow_env *env, int64_t now, struct errbuf *errp);
/* May the next run of this run's key be traced? Returns 1, 0 or -1. */
int follow_may_trace(const struct follow_env *env, const struct store_run *run, struct errbuf *errp);

/* What the kin of a run that ended says of members that have not run yet, afresh. */
int follow_family(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);
/* And the model over inputs of its kin (predictor/estimate/scaling_model.h). */
int follow_law(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);
/* And estimates of other members there that the model has a part in, the oldest few. */
int follow_kin_renew(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);
/* The model on every candidate, when a program's probes have come to their end. */
int follow_law_probed(const struct follow_env *env, const struct store_program *p, int64_t now, struct errbuf *errp);

#endif
