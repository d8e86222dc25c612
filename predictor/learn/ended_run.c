/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several learners read of the store: see ended_run.h. */
#include <stdlib.h>

#include "predictor/learn/ended_run.h"

void ended_run_forget(struct ended_run *r)
{
	free(r->family_drift);
	free(r->members);
	past_accuracy_free(r->accuracy);
	past_runs_free(&r->runs);
	r->family_drift = NULL;
	r->members = NULL;
	r->accuracy = NULL;
}

bool ended_run_is_evidence(const struct ended_run *r)
{
	return run_evidence_of(r->row->end_state, r->row->restarts) != RUN_NO_EVIDENCE;
}

const struct drift *ended_run_family_drift(struct ended_run *r, struct errbuf *errp)
{
	struct drift *d = r->family_drift ? NULL : malloc(sizeof(*d));

	if (r->family_drift)
		return r->family_drift;
	if (!d) {
		err_set(errp, "no memory for a drift");
		return NULL;
	}
	if (store_drift_get(r->env->store, r->row->kin, r->row->candidate, d, errp) < 0) {
		free(d);
		return NULL;
	}
	return r->family_drift = d;
}

const struct scaling_runs *ended_run_members(struct ended_run *r, struct errbuf *errp)
{
	struct scaling_runs_filter of = {r->row->kin, r->row->candidate, r->row->array_job != 0, 0};
	const struct drift *drift;
	struct scaling_runs *members;

	if (r->members)
		return r->members;
	drift = ended_run_family_drift(r, errp);
	if (!drift)
		return NULL;
	of.since = of.array ? 0 : drift->since;
	members = malloc(sizeof(*members));
	if (!members) {
		err_set(errp, "no memory for past runs");
		return NULL;
	}
	if (scaling_runs_read(r->env->store, &of, members, errp) < 0) {
		free(members);
		return NULL;
	}
	return r->members = members;
}

struct past_runs *ended_run_past(struct ended_run *r)
{
	r->runs.store = r->env->store;
	r->runs.uid = r->row->uid;
	r->runs.family = r->row->family;
	return &r->runs;
}

const struct past_accuracy *ended_run_accuracy(struct ended_run *r, struct errbuf *errp)
{
	if (!r->accuracy)
		r->accuracy = past_accuracy_gather(ended_run_past(r), NULL, r->row->candidate, errp);
	return r->accuracy;
}
