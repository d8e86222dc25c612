/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimate of a member that has not run yet, from the runs of its parameter family: see family_follow.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/family_follow.h"
#include "predictor/estimate/param_family.h"
#include "predictor/learn/past_accuracy.h"
#include "predictor/store/kin.h"

/* Runs as param_family.h wants them; those whose numbers are not kept are left out. */
static size_t runs_of(const struct store_past *past, int n, struct param_family_run runs[PARAM_FAMILY_RUNS_MAX])
{
	size_t count = 0;

	for (int i = 0; i < n; i++)
		if (past[i].vars[0])
			runs[count++] = (struct param_family_run){past[i].key, past[i].vars, past[i].actual_s, past[i].evidence == RUN_LOWER_BOUND};
	return count;
}

int family_follow(struct ended_run *r, struct errbuf *errp)
{
	const struct store_run *run = r->row;
	struct store_past_filter f = {.candidate = run->candidate, .family = run->family, .kin = run->kin};
	struct store_family row = {.updated = r->now, .scale = 1};
	struct param_family_run runs[PARAM_FAMILY_RUNS_MAX];
	const struct past_accuracy *accuracy;
	const struct drift *drift;
	struct errbuf why = {""};
	struct store_past *past;
	size_t n_runs;
	int n, rv = -1;

	if (!run->kin[0] || !run->vars[0] || !run->family[0])
		return 0;
	drift = ended_run_family_drift(r, errp);
	if (!drift)
		return -1;
	f.since = drift->since;
	past = malloc(PARAM_FAMILY_RUNS_MAX * sizeof(*past));
	if (!past)
		return err_set(errp, "no memory for past runs");
	n = store_past_read(r->env->store, &f, past, PARAM_FAMILY_RUNS_MAX, errp);
	if (n < 0)
		goto out;
	n_runs = runs_of(past, n, runs);
	memcpy(row.family, run->family, sizeof(row.family));
	memcpy(row.kin, run->kin, sizeof(row.kin));
	snprintf(row.candidate, sizeof(row.candidate), "%s", run->candidate);
	if (param_family_estimate(runs, n_runs, &row.e, &row.programs, &why) == 0) {
		accuracy = ended_run_accuracy(r, errp);
		if (!accuracy)
			goto out;
		past_accuracy_apply(accuracy, &row.e, &row.scale);
		estimate_check(&row.e, &why);
	}
	if (why.text[0]) {
		memset(&row.e, 0, sizeof(row.e));
		snprintf(row.reason, sizeof(row.reason), "%.300s", why.text);
	}
	rv = 0;
	if (row.programs < PARAM_FAMILY_PROGRAMS_MIN && !drift->since)
		goto out; /* of most programs there is but one, and nothing to be kept */
	param_family_ranges(runs, n_runs, row.ranges, sizeof(row.ranges));
	rv = store_family_put(r->env->store, &row, errp);
out:
	free(past);
	return rv;
}
