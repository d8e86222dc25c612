/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs behind a model over inputs: see law_runs.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/scaling_runs.h"

int law_runs_read(struct store *s, const struct law_runs_of *of, struct law_runs *out, struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = of->candidate, .kin = of->kin, .since = of->since};
	int n = store_past_read(s, &f, out->past, LAW_LOOK, errp);

	out->n = 0;
	for (int i = 0; i < n; i++) {
		const struct store_past *p = &out->past[i];
		char *vars = out->vars[out->n];

		if (!p->vars[0] || (p->array_job != 0) != of->array || (of->except && !strcmp(p->key, of->except)))
			continue;
		if (of->array)
			snprintf(vars, LAW_RUNS_VARS_MAX, "%s,%u", p->vars, p->array_task);
		else
			snprintf(vars, LAW_RUNS_VARS_MAX, "%s", p->vars);
		out->submitted[out->n] = p->submit_time;
		out->runs[out->n++] = (struct kin_run){p->key, vars, p->actual_s, p->worth == WORTH_BOUND};
	}
	return n < 0 ? -1 : 0;
}

int law_evidence(struct store *s, const struct store_program *p, const char *candidate, struct estimate *out, struct errbuf *errp)
{
	struct store_run run;
	struct law_runs *others;
	struct law law;
	struct drift drift;
	double vars[LAW_VARS_MAX];
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
	rc = law_runs_read(s, &(struct law_runs_of){run.kin, candidate, false, p->key, drift.since}, others, errp);
	if (!rc)
		rc = law_fit(others->runs, others->n, &law, errp) == 0 &&
		     law_say(&law, vars, law_vars_read(run.vars, vars), out, errp) == 0;
	free(others);
	return rc;
}
