/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Have all members of a parameter family ceased to run as their model predicts, for example after a new library or on other
 * nodes? See drift_family.h. The model is fitted to the earlier runs and judges the latest ones, also those that got no
 * prediction. Only inputs within the range of the earlier runs count: an error of the model beyond them is no change.
 */
#include <string.h>

#include "predictor/learn/drift_family.h"
#include "predictor/estimate/interval_calibration.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/learn/past_accuracy.h"

#define NEAR 0.1 /* widths beyond the range of the earlier runs that count as within it */

/* A change of one program alone is its own drift. */
static bool is_of_several(const struct param_family_run *runs, const struct drift_run *judged, const size_t *which, size_t n)
{
	int first = -1;

	for (size_t i = 0; i < n; i++) {
		if (judged[i].actual_s >= judged[i].lo_s && judged[i].actual_s <= judged[i].hi_s)
			continue;
		if (first < 0)
			first = (int)which[i];
		else if (strcmp(runs[first].vars, runs[which[i]].vars))
			return true;
	}
	return false;
}

bool drift_family_judge(struct drift *d, const struct param_family_run *runs, const int64_t *submitted, size_t n, double scale, int64_t now)
{
	size_t which[DRIFT_LOOK], count = 0, recent = n < DRIFT_LOOK ? n : DRIFT_LOOK;
	struct drift_run judged[DRIFT_LOOK];
	struct drift after = *d;
	struct errbuf why;
	struct scaling_model model;

	if (n < recent + SCALING_POINTS_MIN || scaling_fit(runs + recent, n - recent, &model, &why) < 0)
		return false;
	for (size_t i = 0; i < recent; i++) {
		double vars[SCALING_VARS_MAX];
		struct scaling_beyond far;
		unsigned n_vars = scaling_vars_parse(runs[i].vars, vars);
		struct estimate e;

		if (n_vars != model.n_vars || scaling_distance(&model, vars, &far, NULL) < 0 || far.above > NEAR || far.below > NEAR ||
		    scaling_predict(&model, vars, n_vars, &e, NULL) < 0)
			continue;
		interval_calibration_apply(&e, scale);
		which[count] = i;
		judged[count++] = (struct drift_run){submitted[i], runs[i].actual_s, e.lo_s, e.hi_s, runs[i].at_least};
	}
	if (!is_of_several(runs, judged, which, count) || drift_judge(&after, judged, count, now) == DRIFT_REST)
		return false;
	after.stage = DRIFT_NONE; /* of a kin nothing is made again: its programs see to that themselves */
	*d = after;
	return true;
}

/* It ended as it was told: nothing speaks for a change. */
static bool is_within(const struct store_run *run)
{
	return run->hi_s > 0 && !strcmp(run->candidate, run->pred_candidate) && run->elapsed_s >= run->lo_s && run->elapsed_s <= run->hi_s;
}

/* Runs of one program say nothing of the family: see is_of_several. */
static bool are_of_one(const struct scaling_runs *members)
{
	for (size_t i = 1; i < DRIFT_LOOK; i++)
		if (strcmp(members->runs[i].vars, members->runs[0].vars))
			return false;
	return true;
}

int drift_family_follow(struct ended_run *r, struct errbuf *errp)
{
	const struct store_run *run = r->row;
	const struct past_accuracy *accuracy;
	const struct scaling_runs *members;
	const struct drift *known;
	struct drift d;

	if (!run->kin[0] || !run->vars[0] || run->array_job || is_within(run) || !ended_run_is_evidence(r))
		return 0;
	known = ended_run_family_drift(r, errp);
	members = known ? ended_run_members(r, errp) : NULL;
	if (!members)
		return -1;
	if (members->n < DRIFT_LOOK + SCALING_POINTS_MIN || are_of_one(members))
		return 0;
	accuracy = ended_run_accuracy(r, errp);
	if (!accuracy)
		return -1;
	d = *known;
	if (!drift_family_judge(&d, members->runs, members->submitted, members->n, past_accuracy_scale(accuracy, ESTIMATE_MODEL), r->now))
		return 0;
	ended_run_forget(r);
	daemon_say(r->env, LOG_LEVEL_WARN, "job %u: the last runs on %s that differ in numbers from key %.8s were not as their model said: "
		   "what ran before counts no more for it", run->jobid, run->candidate, run->key);
	return store_drift_put(r->env->store, run->kin, run->candidate, &d, errp);
}
