/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the poll loop lends to everything that it calls: the configuration, the store, the cluster's operations, the log. No Slurm
 * and no clock: `now` is an argument wherever it is needed.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_DAEMON_ENV_H
#define PRECEDENT_PREDICTOR_CLUSTER_DAEMON_ENV_H

#include "common/comment.h"
#include "common/conf.h"
#include "common/log.h"
#include "predictor/cluster/cluster.h"

struct store;

/* Events since these counters were zeroed, for metrics. */
struct job_counts {
	uint64_t met[ACT_PROBE + 1]; /* jobs, by act */
	uint64_t told, limited;	     /* of these: with a prediction; with a limit set */
	uint64_t raised;	     /* limits, each time */
	uint64_t ended, cut_short;   /* jobs; ended by a limit below what their user asked for */
	uint64_t unseen;	     /* ends of jobs with a limit below what their user asked for that nobody saw */
};

struct daemon_env {
	const struct precedent_conf *conf;
	struct store *store; /* NULL: the store is not available */
	const struct cluster_ops *ops;
	void (*say)(enum log_level level, const char *line); /* one log line; NULL: no log */
	struct job_counts *counts;			     /* NULL: events are not counted */
	uint32_t period_s;				     /* until the next poll (poll_interval.h); 0: PollInterval */
};

uint32_t daemon_period_s(const struct daemon_env *env);

void daemon_say(const struct daemon_env *env, enum log_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
