/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members whose traces a probe learns from: see members.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/scaling_model.h"
#include "predictor/probe/members.h"
#include "predictor/store/past.h"
#include "predictor/store/records.h"
#include "predictor/store/runs.h"

#define LOOK_RUNS 128 /* the latest of the kin */

struct members {
	const struct store_program *of;
	unsigned n;
	const struct store_past *taken[PROBE_MEMBERS_MAX];
	const char *own;
};

static bool numbers_are_plain(const char *vars)
{
	return *vars && !vars[strspn(vars, "0123456789.,e+-")];
}

/* Does the run have numbers that no taken run has? */
static bool is_new(const struct members *m, const struct store_past *run)
{
	if (!strcmp(run->vars, m->own))
		return false;
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->taken[i]->vars, run->vars))
			return false;
	return true;
}

/* Returns 1 if it is the traced run of its program, 0 if not, -1 on error. The program may still be probed. */
static int is_traced(const struct daemon_env *env, const struct members *m, const struct store_past *run, struct errbuf *errp)
{
	struct store_program q;
	int rc = store_program_get(env->store, run->key, &q, errp);

	return rc <= 0 ? rc : q.source_job == run->jobid && q.uid == m->of->uid && q.n_traces == 1 && q.state != PROGRAM_NEW;
}

static int members_find(const struct daemon_env *env, struct members *m, const struct store_past *past, int n, struct errbuf *errp)
{
	for (int i = 0; i < n && m->n + 1 < PROBE_MEMBERS_MAX; i++) {
		int rc = past[i].array_job || !numbers_are_plain(past[i].vars) || !is_new(m, &past[i]) ? 0 : is_traced(env, m, &past[i], errp);

		if (rc < 0)
			return -1;
		if (rc)
			m->taken[m->n++] = &past[i];
	}
	return 0;
}

/* Did the probe of a taken run find that computing points takes too long? Returns 1, 0, or -1 on error. */
static int took_too_long(const struct daemon_env *env, const struct members *m, struct errbuf *errp)
{
	struct result *r = malloc(sizeof(*r));
	int rc = 0;

	if (!r)
		return err_set(errp, "no memory for a record");
	for (unsigned i = 0; i < m->n && !rc; i++) {
		rc = store_record_get(env->store, m->taken[i]->key, m->of->source_candidate, r, errp);
		if (rc == 1)
			rc = !strncmp(r->unpoint, RESULT_LATE, strlen(RESULT_LATE));
	}
	free(r);
	return rc;
}

static void options_put(const struct members *m, char *out, size_t size)
{
	int len = snprintf(out, size, " --member %u=%s", m->of->source_job, m->own);

	for (unsigned i = 0; i < m->n && len >= 0 && (size_t)len < size; i++)
		len += snprintf(out + len, size - (size_t)len, " --member %u=%s", m->taken[i]->jobid, m->taken[i]->vars);
	if (len < 0 || (size_t)len >= size)
		out[0] = '\0';
}

int probe_members(const struct daemon_env *env, const struct store_program *p, char *out, size_t size, struct errbuf *errp)
{
	struct store_run own;
	struct store_past_filter of = {.candidate = p->source_candidate, .kin = own.kin};
	struct members m = {.of = p, .own = own.vars};
	struct store_past *past;
	struct drift drift;
	int rc = store_run_get(env->store, p->source_job, &own, errp), n;

	out[0] = '\0';
	if (rc <= 0)
		return rc;
	if (p->n_traces != 1 || strcmp(own.key, p->key) || own.uid != p->uid || own.array_job || !own.kin[0] || !numbers_are_plain(own.vars))
		return 0;
	if (store_drift_get(env->store, own.kin, p->source_candidate, &drift, errp) < 0)
		return -1;
	if (own.submit_time < drift.since)
		return 0;
	of.since = drift.since;
	past = calloc(LOOK_RUNS, sizeof(*past));
	if (!past)
		return err_set(errp, "no memory for past runs");
	n = store_past_read(env->store, &of, past, LOOK_RUNS, errp);
	rc = n < 0 ? -1 : members_find(env, &m, past, n, errp);
	if (!rc && m.n + 1 >= SCALING_POINTS_MIN && (rc = took_too_long(env, &m, errp)) == 0)
		options_put(&m, out, size);
	free(past);
	return rc < 0 ? -1 : 0;
}
