/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_present.h. */
#include <string.h>

#include "common/clean_json.h"
#include "predictor/query/answer_present.h"
#include "predictor/store/present.h"

/* The row does not tell the features that the job asked for. They decide only where a candidate has a constraint. */
static bool features_count(const struct precedent_conf *conf, const char *partitions)
{
	for (size_t i = 0; i < conf->n_candidates; i++)
		if (conf->candidates[i].constraint[0] && strstr(partitions, conf->candidates[i].partition))
			return true;
	return false;
}

void answer_present(const struct answer_env *env, json_t *run, const struct store_run *r)
{
	const struct store_waiting waits = {r->key, r->uid, r->partition, "", true};
	struct store_estimate e;

	if (!r->array_job || r->start_time || r->end_state[0] || !r->key[0] || features_count(env->conf, r->partition) ||
	    store_present(env->store, env->conf, &waits, env->now, &e, NULL) <= 0)
		return;
	json_object_set_new(run, "present",
			    json_pack("{s:o, s:f, s:f, s:f, s:s}", "candidate", clean_json(e.candidate), "seconds", e.e.mean_s, "lo_s",
				      e.e.lo_s, "hi_s", e.e.hi_s, "kind", estimate_kind_name(e.e.kind)));
}
