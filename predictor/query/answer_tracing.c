/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_tracing.h. */
#include <string.h>

#include "common/clean_json.h"
#include "predictor/query/answer_tracing.h"
#include "predictor/store/trials.h"

static json_t *trial_json(const struct store_trial *t)
{
	json_t *o = json_pack("{s:s, s:I, s:o}", "guard", trial_guard_name(t->guard), "job", (json_int_t)t->traced_job, "state",
			      clean_json(t->end_state));

	if (o && (t->guard == TRIAL_FREE || t->guard == TRIAL_SUSPECT))
		json_object_update_new(o, json_pack("{s:I, s:o}", "untraced_job", (json_int_t)t->control_job, "untraced_state",
						    clean_json(t->control_state)));
	return o;
}

/* Runs with other numbers have nothing to do with a doubt of one key. */
static bool concerns(const struct store_trial *t, const struct store_run *r)
{
	return t->uid == r->uid && t->end_state[0] && strcmp(t->end_state, "COMPLETED") != 0 &&
	       (t->guard != TRIAL_DOUBT_KEY || !strcmp(t->key, r->key));
}

int answer_tracing(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct store_tracing tracing;
	struct store_trial t;
	int rc;

	if (store_tracing_get(env->store, &tracing, errp) < 0)
		return -1;
	if (tracing.state == TRACING_STOPPED)
		json_object_set_new(reply, "tracing_stopped", json_integer(tracing.since));
	if (!r->key[0])
		return 0;
	rc = store_trial_get(env->store, store_trial_name(r->kin, r->key), &t, errp);
	if (rc == 1 && concerns(&t, r))
		json_object_set_new(reply, "trial", trial_json(&t));
	return rc < 0 ? -1 : 0;
}

json_t *answer_resume(const struct answer_env *env, struct errbuf *errp)
{
	int n;

	if (!env->admin) {
		err_set(errp, "only root and SlurmUser may have all programs traced again");
		return NULL;
	}
	n = store_tracing_resume(env->store, env->now, errp);
	return n < 0 ? NULL : json_pack("{s:i, s:i}", "precedent", 1, "programs", n);
}
