/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's family and its drift as JSON: see answer_family.h. */
#include "predictor/answer_family.h"
#include "predictor/answer_text.h"

static json_t *family_json(const struct store_family *f)
{
	json_t *o = json_pack("{s:o, s:I, s:s, s:s, s:I}", "candidate", answer_text(f->candidate), "programs",
			      (json_int_t)f->programs, "numbers", f->ranges, "reason", f->reason, "updated", (json_int_t)f->updated);

	if (o && f->e.mean_s > 0)
		json_object_update_new(o, json_pack("{s:f, s:f, s:f, s:I, s:f}", "seconds", f->e.mean_s, "lo_s", f->e.lo_s, "hi_s",
						    f->e.hi_s, "runs", (json_int_t)f->e.n, "scale", f->scale));
	return o;
}

static int families_add(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct store_family kin[STORE_ESTIMATES_MAX];
	int n = r->kin[0] ? store_family_lookup(env->store, r->kin, kin, STORE_ESTIMATES_MAX, errp) : 0;
	json_t *list;

	if (n <= 0)
		return n;
	list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, family_json(&kin[i]));
	json_object_set_new(reply, "families", list);
	return 0;
}

int answer_family(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	const char *candidate = r->candidate[0] ? r->candidate : r->pred_candidate;
	struct drift d;
	int rc;

	if (families_add(env, r, reply, errp) < 0)
		return -1;
	rc = r->key[0] ? store_drift_get(env->store, r->key, candidate, &d, errp) : 0;
	if (rc == 1)
		json_object_set_new(reply, "drift", json_pack("{s:o, s:s, s:I, s:I}", "candidate", answer_text(candidate), "stage",
							      drift_stage_name(d.stage), "since", (json_int_t)d.since, "acted",
							      (json_int_t)d.acted));
	return rc < 0 ? -1 : 0;
}
