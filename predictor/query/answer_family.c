/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's family and its drift as JSON: see answer_family.h. */
#include <stdlib.h>

#include "common/clean_json.h"
#include "predictor/query/answer_family.h"
#include "predictor/learn/scaling_row.h"
#include "predictor/store/past.h"

static json_t *family_json(const struct store_family *f)
{
	json_t *o = json_pack("{s:o, s:I, s:s, s:s, s:I}", "candidate", clean_json(f->candidate), "programs",
			      (json_int_t)f->programs, "numbers", f->ranges, "reason", f->reason, "updated", (json_int_t)f->updated);

	if (o && f->e.mean_s > 0)
		json_object_update_new(o, json_pack("{s:f, s:f, s:f, s:I, s:f}", "seconds", f->e.mean_s, "lo_s", f->e.lo_s, "hi_s",
						    f->e.hi_s, "runs", (json_int_t)f->e.n, "scale", f->scale));
	return o;
}

static int families_add(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct store_family kin[STORE_ESTIMATES_MAX];
	int n = r->kin[0] ? store_family_lookup(env->store, r->family, r->kin, kin, STORE_ESTIMATES_MAX, errp) : 0;
	json_t *list;

	if (n <= 0)
		return n;
	list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, family_json(&kin[i]));
	json_object_set_new(reply, "families", list);
	return 0;
}

/* What the model over inputs says of this job on a candidate, afresh. */
static json_t *model_json(const struct store_model *m, const struct store_run *r)
{
	double vars[SCALING_VARS_MAX], scale = 1;
	unsigned n = scaling_vars_parse(r->vars, vars);
	struct errbuf why = {""};
	struct estimate e;
	struct scaling_model model;
	char words[256];
	json_t *o;

	if (r->array_job && n < SCALING_VARS_MAX)
		vars[n++] = r->array_task;
	o = json_pack("{s:o, s:I, s:I, s:I}", "candidate", clean_json(m->candidate), "runs", (json_int_t)m->runs, "inputs",
		      (json_int_t)m->points, "updated", (json_int_t)m->updated);
	if (o && m->law[0] && scaling_parse(m->law, &model, NULL) == 0)
		json_object_update_new(o, json_pack("{s:s, s:f}", "law", scaling_words(&model, words, sizeof(words)), "error", model.s[0].error));
	if (o && scaling_row_predict(m, vars, n, &e, &scale, &why) == 0)
		json_object_update_new(o, json_pack("{s:f, s:f, s:f, s:f}", "seconds", e.mean_s, "lo_s", e.lo_s, "hi_s", e.hi_s, "scale",
						    scale));
	if (o)
		json_object_set_new(o, "reason", clean_json(why.text));
	if (o)
		json_object_set_new(o, "remark", clean_json(m->law[0] ? m->reason : ""));
	return o;
}

static json_t *numbers_json(const char *text)
{
	double vars[SCALING_VARS_MAX];
	unsigned n = scaling_vars_parse(text, vars);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, json_real(vars[i]));
	return list;
}

static int models_add(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct store_model *models = r->kin[0] ? calloc(STORE_ESTIMATES_MAX, sizeof(*models)) : NULL;
	int n = models ? store_model_lookup(env->store, r->kin, models, STORE_ESTIMATES_MAX, errp) : 0;
	json_t *list = n > 0 ? json_array() : NULL;

	for (int i = 0; i < n; i++)
		json_array_append_new(list, model_json(&models[i], r));
	if (list) {
		json_object_set_new(reply, "models", list);
		json_object_set_new(reply, "inputs", numbers_json(r->vars));
	}
	free(models);
	return n < 0 ? -1 : 0;
}

int answer_family(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	const char *candidate = r->candidate[0] ? r->candidate : r->pred_candidate;
	struct drift d;
	int rc;

	if (families_add(env, r, reply, errp) < 0 || models_add(env, r, reply, errp) < 0)
		return -1;
	rc = r->key[0] ? store_drift_get(env->store, r->key, candidate, &d, errp) : 0;
	if (rc == 1)
		json_object_set_new(reply, "drift", json_pack("{s:o, s:s, s:I, s:I}", "candidate", clean_json(candidate), "stage",
							      drift_stage_name(d.stage), "since", (json_int_t)d.since, "acted",
							      (json_int_t)d.acted));
	if (rc >= 0 && r->kin[0])
		rc = store_drift_get(env->store, r->kin, candidate, &d, errp);
	else if (rc > 0)
		rc = 0;
	if (rc == 1)
		json_object_set_new(reply, "drift_model", json_pack("{s:o, s:I}", "candidate", clean_json(candidate), "since",
								    (json_int_t)d.since));
	return rc < 0 ? -1 : 0;
}
