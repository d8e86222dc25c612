/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renews estimates of other members: see param_family_renew.h. A few at a time, the oldest first, so that the end of a run
 * costs no more in a large family than in a small one.
 */
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/param_family_renew.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/estimate/scaling_model.h"

#define RENEW_MAX 2

struct stale {
	char key[IDENTITY_KEY_LEN + 1];
	int64_t updated;
};

static bool contains_key(const struct store_past *past, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (identity_key_same(past[i].key, key))
			return true;
	return false;
}

static void stale_add(struct stale *list, unsigned *n, const char *key, int64_t updated)
{
	unsigned at = *n < RENEW_MAX ? (*n)++ : RENEW_MAX;

	for (; at && list[at - 1].updated > updated; at--)
		if (at < RENEW_MAX)
			list[at] = list[at - 1];
	if (at < RENEW_MAX) {
		memcpy(list[at].key, key, sizeof(list[at].key));
		list[at].updated = updated;
	}
}

static int stale_find(const struct daemon_env *env, const struct store_run *run, const struct store_past *past, int n, int64_t now,
		      struct stale *list, unsigned *found, struct errbuf *errp)
{
	unsigned looked = 0;

	for (int i = 0; i < n && looked < SCALING_POINTS_MAX; i++) {
		enum estimate_kind kind;
		int64_t updated;
		int rc;

		if (!strcmp(past[i].key, run->key) || contains_key(past, i, past[i].key))
			continue;
		looked++;
		rc = store_estimate_updated(env->store, past[i].key, run->candidate, &kind, &updated, errp);
		if (rc < 0)
			return -1;
		/* the model is part of these alone */
		if (rc && (kind == ESTIMATE_JOINT || kind == ESTIMATE_MODEL) && updated < now)
			stale_add(list, found, past[i].key, updated);
	}
	return 0;
}

int param_family_renew(struct ended_run *r, struct errbuf *errp)
{
	const struct daemon_env *env = r->env;
	const struct store_run *run = r->row;
	struct store_past *past = NULL;
	struct stale list[RENEW_MAX];
	struct program_ended ended = {run->candidate, ended_run_past(r), r->members};
	unsigned found = 0;
	const char *place;
	int n = 0, rv = -1;

	if (!run->kin[0] || !run->vars[0] || run->array_job)
		return 0;
	past = malloc(SCALING_RUNS_MAX * sizeof(*past));
	if (!past)
		return err_set(errp, "no memory for past runs");
	/* also of programs that ran elsewhere and have probes here */
	for (size_t c = 0; n < SCALING_RUNS_MAX && (place = conf_place_at(env->conf, c, run->candidate)); c++) {
		struct store_past_filter f = {.candidate = place, .kin = run->kin};
		int more = store_past_read(env->store, &f, past + n, (size_t)(SCALING_RUNS_MAX - n), errp);

		if (more < 0)
			goto out;
		n += more;
	}
	if (stale_find(env, run, past, n, r->now, list, &found, errp) < 0)
		goto out;
	for (unsigned i = 0; i < found; i++) {
		struct program_estimates est;
		struct store_program p;
		int rc = store_program_get(env->store, list[i].key, &p, errp);

		if (rc < 0 || (rc && p.uid == run->uid && program_estimate(env, &p, &ended, r->now, &est, errp) < 0))
			goto out;
	}
	rv = 0;
out:
	free(past);
	return rv;
}
