/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the latest runs, has them judged, and acts on a drift: see drift_follow.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/array.h"
#include "predictor/learn/drift_follow.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/learn/trial_follow.h"

#define RUNS_MAX 16

/* ---- the latest runs ---- */

/*
 * The program's runs on the candidate, the latest first, that got an interval, and up to DRIFT_LOOK runs after them that got
 * none. A run that was far off may have caused the prediction to be withheld, so later runs are judged by the last interval.
 */
static int runs_gather(const struct daemon_env *env, const struct store_run *run, struct drift_run runs[RUNS_MAX],
		       struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = run->candidate, .key = run->key};
	struct store_past past[RUNS_MAX];
	int n = store_past_read(env->store, &f, past, RUNS_MAX, errp), kept = RUNS_MAX, untold = DRIFT_LOOK + 1;
	double lo = 0, hi = 0;

	for (int i = n - 1; i >= 0; i--) {
		if (past[i].array_job)
			continue;
		untold++;
		if (past[i].pred_s > 0) {
			lo = past[i].lo_s;
			hi = past[i].hi_s;
			untold = 0;
		}
		if (untold <= DRIFT_LOOK)
			runs[--kept] = (struct drift_run){past[i].submit_time, past[i].actual_s, lo, hi, past[i].evidence == RUN_LOWER_BOUND};
	}
	if (n < 0)
		return -1;
	memmove(runs, runs + kept, (size_t)(RUNS_MAX - kept) * sizeof(*runs));
	return RUNS_MAX - kept;
}

/* ---- the latest arrays ---- */

/*
 * An array is one submission with one interval, which must hold for its longest task. It counts as one run, that of this task.
 * Indexes that never ran before do not count: their run times are no change.
 */
#define ARRAYS DRIFT_LOOK
#define TASKS  64 /* of an array, the latest */

struct array_past {
	int n;
	struct store_past task[TASKS]; /* all of one array; n 0: there is none */
};

static int array_read(const struct daemon_env *env, struct store_past_filter *f, struct array_past *out, struct errbuf *errp)
{
	int n = store_past_read(env->store, f, out->task, TASKS, errp), kept = 0;

	for (int i = 0; i < n; i++)
		if (out->task[i].array_job && out->task[i].array_job == out->task[0].array_job)
			out->task[kept++] = out->task[i];
	out->n = kept;
	if (n > 0)
		f->before = out->task[0].submit_time;
	return n < 0 ? -1 : 0;
}

static bool has_index(const struct array_run *runs, int n, uint32_t index)
{
	for (int i = 0; i < n; i++)
		if (runs[i].index == index && !runs[i].at_least)
			return true;
	return false;
}

/* False when nothing can be said of that array. `earlier` ran before all that are looked at. */
static bool array_longest(const struct array_past *a, const struct array_run *earlier, int n, const struct array_view *view, double lo,
			  double hi, struct drift_run *out)
{
	bool longest_ran = false;

	*out = (struct drift_run){a->task[0].submit_time, 0, lo, hi, 0};
	for (int i = 0; i < a->n; i++) {
		const struct store_past *t = &a->task[i];

		if (!has_index(earlier, n, t->array_task))
			continue;
		longest_ran |= t->array_task == view->longest && t->evidence != RUN_LOWER_BOUND;
		if (t->actual_s <= out->actual_s)
			continue;
		out->actual_s = t->actual_s;
		out->at_least = t->evidence == RUN_LOWER_BOUND;
	}
	/* If the index matters, all tasks but the longest may be shorter than predicted. */
	return out->actual_s > hi || (out->actual_s > 0 && view->word == ARRAY_ALIKE) || (view->word == ARRAY_LONGEST && longest_ran);
}

/* Tasks of arrays alone. */
static int earlier_read(const struct daemon_env *env, const struct store_past_filter *f, struct array_run *out, struct errbuf *errp)
{
	struct store_past *past = malloc(ARRAY_LOOK * sizeof(*past));
	int n = past ? store_past_read(env->store, f, past, ARRAY_LOOK, errp) : err_set(errp, "no memory for past runs"), kept = 0;

	for (int i = 0; i < n; i++)
		if (past[i].array_job)
			out[kept++] = (struct array_run){past[i].array_task, past[i].actual_s, past[i].evidence == RUN_LOWER_BOUND};
	free(past);
	return n < 0 ? -1 : kept;
}

/* As runs_gather, for arrays: an array without an interval is judged by the interval of the array before. */
static int arrays_gather(const struct daemon_env *env, const struct store_run *run, struct drift_run runs[ARRAYS], struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = run->candidate, .key = run->key};
	struct array_run earlier[ARRAY_LOOK];
	struct array_past *arrays = calloc(ARRAYS, sizeof(*arrays));
	struct array_view view;
	double lo = 0, hi = 0;
	int n = -1, kept = ARRAYS, count = 0;

	if (!arrays)
		return err_set(errp, "no memory for past arrays");
	for (; count < ARRAYS; count++) {
		if (array_read(env, &f, &arrays[count], errp) < 0)
			goto out;
		if (!arrays[count].n)
			break;
	}
	n = earlier_read(env, &f, earlier, errp);
	if (n < 0)
		goto out;
	array_judge(earlier, (size_t)n, &view);
	for (int i = count - 1; i >= 0; i--) {
		if (arrays[i].task[0].told) {
			lo = arrays[i].task[0].lo_s;
			hi = arrays[i].task[0].hi_s;
		}
		if (hi > 0 && array_longest(&arrays[i], earlier, n, &view, lo, hi, &runs[kept - 1]))
			kept--;
	}
	memmove(runs, runs + kept, (size_t)(ARRAYS - kept) * sizeof(*runs));
	n = ARRAYS - kept;
out:
	free(arrays);
	return n;
}

/* Most tasks end as they should, and need not be looked at with all that ran before. */
static bool is_within(const struct store_run *run)
{
	return run->array_job && run->hi_s > 0 && !strcmp(run->candidate, run->pred_candidate) && run->elapsed_s >= run->lo_s &&
	       run->elapsed_s <= run->hi_s;
}

/* ---- what is done ---- */

static int trace_again(const struct daemon_env *env, struct store_program *p, const char *candidate, int64_t now,
		       struct errbuf *errp)
{
	p->state = PROGRAM_NEW;
	p->retrace_at = now;
	p->updated = now;
	snprintf(p->reason, sizeof(p->reason), "the last runs on %.60s were not as predicted: the next run is traced again",
		 candidate);
	return store_program_put(env->store, p, errp);
}

int drift_act(struct ended_run *r, struct drift_found *found, bool probed, struct errbuf *errp)
{
	const struct daemon_env *env = r->env;
	const struct store_run *run = r->row;
	struct store_program *p = &found->program;
	struct program_estimates est;
	int may = 0;

	if (found->traced && !probed) {
		may = trial_may_trace(env, run, errp);
		if (may < 0)
			return -1;
		found->drift.stage = may ? DRIFT_RETRACED : DRIFT_REPROBED;
	}
	ended_run_forget(r);
	if (store_drift_put(env->store, p->key, run->candidate, &found->drift, errp) < 0 ||
	    program_estimate(env, p, &(struct program_ended){run->candidate, ended_run_past(r), NULL}, r->now, &est, errp) < 0)
		return -1;
	daemon_say(env, LOG_LEVEL_WARN, "job %u: key %.8s: the last runs on %s were not as predicted: %s", run->jobid, p->key,
		   run->candidate, may	    ? "the next run is traced again"
				   : probed ? "the probe is made again"
					    : "what ran before counts no more");
	return may ? trace_again(env, p, run->candidate, r->now, errp) : 0;
}

int drift_follow(const struct ended_run *r, struct drift_found *found, struct errbuf *errp)
{
	const struct daemon_env *env = r->env;
	const struct store_run *run = r->row;
	struct store_program *p = &found->program;
	struct drift_run runs[RUNS_MAX];
	int n, rc;

	if (!ended_run_is_evidence(r) || is_within(run))
		return 0;
	rc = store_program_get(env->store, run->key, p, errp);
	if (rc <= 0 || p->uid != run->uid || (p->state != PROGRAM_READY && p->state != PROGRAM_FAILED))
		return rc < 0 ? -1 : 0;
	n = run->array_job ? arrays_gather(env, run, runs, errp) : runs_gather(env, run, runs, errp);
	if (n < 0 || store_drift_get(env->store, run->key, run->candidate, &found->drift, errp) < 0)
		return -1;
	if (drift_judge(&found->drift, runs, (size_t)n, r->now) == DRIFT_REST)
		return 0;
	found->traced = p->state == PROGRAM_READY;
	found->probe = found->traced && found->drift.stage == DRIFT_REPROBED;
	return 1;
}
