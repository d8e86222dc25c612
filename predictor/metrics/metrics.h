/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What precedentd tells a monitoring system, in the Prometheus text format (version 0.0.4). No user, no job and no key is
 * named: labels have values from lists that this program or the configuration has.
 */
#ifndef PRECEDENT_PREDICTOR_METRICS_METRICS_H
#define PRECEDENT_PREDICTOR_METRICS_METRICS_H

#include "common/buf.h"
#include "predictor/accuracy/accuracy.h"
#include "predictor/cluster/daemon_env.h"
#include "predictor/store/keep.h"
#include "predictor/store/probes.h"
#include "predictor/store/trials.h"

#define METRICS_DAYS 7 /* that errors are of */

/* What the daemon knows of itself. */
struct metrics_live {
	int64_t started;
	int64_t looked;	      /* the last look that went well; 0: none yet */
	uint64_t looks, failed_looks;
	double look_s, look_total_s; /* the last one, and all */
	uint32_t period_s;	     /* until the next */
	size_t jobs;		     /* that slurmctld knows now */
	struct job_counts counts;
};

/* What the store knows. */
struct metrics_stored {
	struct store_counts counts;
	uint64_t probes[PROBE_FAILED + 1];
	double probe_node_s;
	int64_t heartbeat;
	enum tracing_state tracing;
	bool limits_stopped;
	uint64_t pairs[TRIAL_PAIRS]; /* within TRIAL_WINDOW_S */
	/* of the last METRICS_DAYS days: */
	struct accuracy_row row;
	unsigned n_candidates;
	struct {
		char name[CONF_CANDIDATE_MAX];
		struct accuracy_row row;
	} candidates[CONF_CANDIDATES_MAX]; /* as rows_fill names them; others are in `row` alone */
};

/* Read all of it; takes a second with a million runs. */
int metrics_collect(struct store *s, const struct precedent_conf *conf, int64_t now, struct metrics_stored *out,
		    struct errbuf *errp);

/* The page; stored NULL: the store could not be read, and the metrics say so. */
void metrics_format(const struct metrics_live *live, const struct metrics_stored *stored, struct buf *out);

#endif
