/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs behind a model over inputs: see scaling_runs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/scaling_runs.h"
#include "predictor/store/runs.h"

int scaling_runs_read(struct store *s, const struct scaling_runs_filter *of, struct scaling_runs *out, struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = of->candidate, .kin = of->kin, .since = of->since};
	int n = store_past_read(s, &f, out->past, SCALING_RUNS_MAX, errp);

	out->n = 0;
	for (int i = 0; i < n; i++) {
		const struct store_past *p = &out->past[i];
		const char *vars = p->vars;

		if (!p->vars[0] || (p->array_job != 0) != of->array || (of->except && identity_key_same(p->key, of->except)))
			continue;
		if (of->array) {
			snprintf(out->vars[out->n], SCALING_VARS_TEXT_MAX, "%s,%u", p->vars, p->array_task);
			vars = out->vars[out->n];
		}
		out->submitted[out->n] = p->submit_time;
		out->runs[out->n++] = (struct param_family_run){p->key, vars, p->actual_s, p->evidence == RUN_LOWER_BOUND};
	}
	return n < 0 ? -1 : 0;
}

int scaling_evidence(struct store *s, const struct store_program *p, const char *candidate, struct estimate *out, struct errbuf *errp)
{
	struct store_run run;
	struct scaling_runs *others;
	struct scaling_model model;
	struct drift drift;
	double vars[SCALING_VARS_MAX];
	int rc = store_run_get(s, p->source_job, &run, errp);

	if (rc < 0)
		return -1;
	if (!rc || strcmp(run.key, p->key) || run.uid != p->uid || !run.kin[0] || !run.vars[0] || run.array_job) {
		err_set(errp, "the numbers of its first run are not known");
		return 0;
	}
	if (store_drift_get(s, run.kin, candidate, &drift, errp) < 0)
		return -1;
	others = malloc(sizeof(*others));
	if (!others)
		return err_set(errp, "no memory for past runs");
	rc = scaling_runs_read(s, &(struct scaling_runs_filter){run.kin, candidate, false, p->key, drift.since}, others, errp);
	if (!rc)
		rc = scaling_fit(others->runs, others->n, &model, errp) == 0 &&
		     scaling_predict(&model, vars, scaling_vars_parse(run.vars, vars), out, errp) == 0;
	free(others);
	return rc;
}
