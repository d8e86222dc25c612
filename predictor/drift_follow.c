/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon does when a program ceases to run as predicted: see follow_drift in follow.h; the rules are in drift.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/probes.h"

#define RUNS_MAX 16

/*
 * The runs of the program on the candidate that were told an interval, and up to DRIFT_LOOK after one that were told nothing:
 * a run that was far off may have withheld the prediction, and is then judged by the last one that there was. The latest first.
 */
static int runs_gather(const struct follow_env *env, const struct store_run *run, struct drift_run runs[RUNS_MAX],
		       struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = run->candidate, .key = run->key};
	struct store_past past[RUNS_MAX];
	int n = store_past_read(env->store, &f, past, RUNS_MAX, errp), kept = RUNS_MAX, untold = DRIFT_LOOK + 1;
	double lo = 0, hi = 0;

	for (int i = n - 1; i >= 0; i--) {
		untold++;
		if (past[i].pred_s > 0) {
			lo = past[i].lo_s;
			hi = past[i].hi_s;
			untold = 0;
		}
		if (untold <= DRIFT_LOOK)
			runs[--kept] = (struct drift_run){past[i].submit_time, past[i].actual_s, lo, hi, past[i].worth == WORTH_BOUND};
	}
	if (n < 0)
		return -1;
	memmove(runs, runs + kept, (size_t)(RUNS_MAX - kept) * sizeof(*runs));
	return RUNS_MAX - kept;
}

/* 1 the probe is made again, 2 others are in the queue, or it is itself: not now, 0 it cannot be made again, -1 fault. */
static int probe_again(const struct follow_env *env, const struct store_program *p, const char *candidate, int64_t now,
		       struct errbuf *errp)
{
	struct store_probe row = {0};
	int rc = probes_again(env, p->key, candidate, "the last runs were not as predicted", now, errp);

	if (rc)
		return rc;
	rc = store_probe_get(env->store, p->key, candidate, &row, errp);
	if (rc <= 0)
		return rc;
	free((void *)(uintptr_t)row.result);
	if (row.state == PROBE_WAITING || row.state == PROBE_SUBMITTED)
		return 2;
	return row.state == PROBE_DONE && row.not_before <= now && conf_candidate_find(env->conf, candidate) ? 2 : 0;
}

static int trace_again(const struct follow_env *env, struct store_program *p, const char *candidate, int64_t now,
		       struct errbuf *errp)
{
	p->state = PROGRAM_NEW;
	p->retrace_at = now;
	p->updated = now;
	snprintf(p->reason, sizeof(p->reason), "the last runs on %.60s were not as predicted: the next run is traced again",
		 candidate);
	return store_program_put(env->store, p, errp);
}

/* Without a trace there are the program's past runs alone, and of these from now on only the latest. */
static int program_act(const struct follow_env *env, const struct store_run *run, struct store_program *p, struct drift *d,
		       int64_t now, struct errbuf *errp)
{
	bool traced = p->state == PROGRAM_READY && env->conf->n_candidates;
	struct follow_estimates est;
	int rc = traced && d->stage == DRIFT_REPROBED ? probe_again(env, p, run->candidate, now, errp) : 0;

	if (rc < 0 || rc == 2)
		return rc < 0 ? -1 : 0;
	if (traced && !rc)
		d->stage = DRIFT_RETRACED;
	if (store_drift_put(env->store, p->key, run->candidate, d, errp) < 0 ||
	    follow_calibrate(env, p, run->candidate, now, &est, errp) < 0)
		return -1;
	follow_say(env, LOG_LEVEL_WARN, "job %u: key %.8s: the last runs on %s were not as predicted: %s", run->jobid, p->key,
		   run->candidate, !traced ? "what ran before counts no more"
				   : rc	   ? "the probe is made again"
					   : "the next run is traced again");
	return traced && !rc ? trace_again(env, p, run->candidate, now, errp) : 0;
}

int follow_drift(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp)
{
	struct drift_run runs[RUNS_MAX];
	struct store_program p;
	struct drift d;
	int n, rc;

	if (estimate_run_worth(run->end_state, run->restarts) == WORTH_NOTHING)
		return 0;
	rc = store_program_get(env->store, run->key, &p, errp);
	if (rc <= 0 || p.uid != run->uid || (p.state != PROGRAM_READY && p.state != PROGRAM_FAILED))
		return rc < 0 ? -1 : 0;
	n = runs_gather(env, run, runs, errp);
	if (n < 0 || store_drift_get(env->store, run->key, run->candidate, &d, errp) < 0)
		return -1;
	return drift_judge(&d, runs, (size_t)n, now) == DRIFT_REST ? 0 : program_act(env, run, &p, &d, now, errp);
}
