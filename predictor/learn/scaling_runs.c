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

	snprintf(out->kin, sizeof(out->kin), "%s", of->kin);
	out->since = of->since;
	out->array = of->array;
	out->n = 0;
	for (int i = 0; i < n; i++) {
		const struct store_past *p = &out->past[i];
		const char *vars = p->vars;

		if (!p->vars[0] || (p->array_job != 0) != of->array)
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

/* Fits the runs of other programs. Returns 0, or -1 with the reason. */
static int others_fit(const struct scaling_runs *of, const char *except, struct scaling_model *model, struct errbuf *errp)
{
	struct param_family_run others[SCALING_RUNS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < of->n; i++)
		if (!identity_key_same(of->runs[i].key, except))
			others[n++] = of->runs[i];
	return scaling_fit(others, n, model, errp);
}

int scaling_evidence(struct store *s, const struct store_program *p, const char *candidate, const struct scaling_runs *read,
		     struct estimate *out, struct errbuf *errp)
{
	struct store_run run;
	struct scaling_runs *own = NULL;
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
	if (!read || read->array || read->since != drift.since || strcmp(read->kin, run.kin)) {
		read = own = malloc(sizeof(*own));
		if (!own)
			return err_set(errp, "no memory for past runs");
		rc = scaling_runs_read(s, &(struct scaling_runs_filter){run.kin, candidate, false, drift.since}, own, errp);
	} else {
		rc = 0;
	}
	if (!rc)
		rc = others_fit(read, p->key, &model, errp) == 0 &&
		     scaling_predict(&model, vars, scaling_vars_parse(run.vars, vars), out, errp) == 0;
	free(own);
	return rc;
}
