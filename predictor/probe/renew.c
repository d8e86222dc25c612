/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes made again after a change of nodes, and jobs of probes that are no longer needed: see probes.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/program_estimate.h"
#include "predictor/probe/job.h"
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"

#define META_LOOKED "probes.again" /* when runs were last gone through for such */

int probe_refresh(const struct daemon_env *env, struct store_program *p, int64_t now, struct errbuf *errp)
{
	struct program_estimates est;

	if (p->state != PROGRAM_READY)
		return 0;
	if (program_estimate(env, p, NULL, now, &est, errp) < 0)
		return -1;
	snprintf(p->reason, sizeof(p->reason), "%.300s", est.refused.text);
	p->updated = now;
	return store_program_put(env->store, p, errp);
}

/* ---- again ---- */

static int row_again(const struct daemon_env *env, struct store_probe *row, const char *why, int64_t now, struct errbuf *errp)
{
	row->state = PROBE_WAITING;
	row->tries = 0;
	row->cost_node_s = 0; /* it has its allowance anew; the books have the old cost */
	row->not_before = now;
	snprintf(row->reason, sizeof(row->reason), "to be made again: %.270s", why);
	daemon_say(env, LOG_LEVEL_INFO, "key %.8s: probe on %s %s", row->key, row->candidate, row->reason);
	return probe_row_put(env, row, now, errp);
}

/* Is the program probed in that place nowadays? */
static bool is_place(const struct precedent_conf *conf, const struct store_program *p, const char *candidate)
{
	return conf->n_candidates ? conf_candidate_find(conf, candidate) != NULL : !strcmp(candidate, p->source_candidate);
}

static bool may_again(const struct daemon_env *env, const struct store_program *p, const struct store_probe *row, int64_t now)
{
	return row->state == PROBE_DONE && row->kept && row->not_before <= now && is_place(env->conf, p, row->candidate);
}

int probes_again(const struct daemon_env *env, const char *key, const char *candidate, const char *why, int64_t now,
		 struct errbuf *errp)
{
	struct store_program p;
	struct store_probe row;
	int busy = store_busy_again(env->store, errp), rc = busy < 0 ? -1 : store_program_get(env->store, key, &p, errp);

	if (rc <= 0 || p.state != PROGRAM_READY)
		return rc < 0 ? -1 : PROBE_AGAIN_NONE;
	rc = store_probe_get(env->store, key, candidate, &row, errp);
	if (rc <= 0)
		return rc < 0 ? -1 : PROBE_AGAIN_NONE;
	if (row.state == PROBE_WAITING || row.state == PROBE_SUBMITTED)
		return PROBE_AGAIN_LATER;
	if (!may_again(env, &p, &row, now))
		return PROBE_AGAIN_NONE;
	if (busy >= PROBES_AGAIN_MAX)
		return PROBE_AGAIN_LATER;
	return row_again(env, &row, why, now, errp) < 0 ? -1 : PROBE_AGAIN_PLANNED;
}

/* ---- which ---- */

struct renewal {
	const struct daemon_env *env;
	int64_t now;
	int room;	 /* how many more */
	bool gone;	 /* some class has gone somewhere */
	unsigned silent; /* bits of candidates that nothing was heard of for long */
	char seen[PROBES_AGAIN_RUNS][IDENTITY_KEY_LEN + 1];
	size_t n_seen;
	struct store_probe due[CONF_CANDIDATES_MAX];
	size_t n_due;
	const struct store_program *program; /* that is looked at */
	struct errbuf *errp;
	bool failed;
};

static unsigned candidate_bit(const struct precedent_conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_candidates; i++)
		if (!strcmp(conf->candidates[i].name, name))
			return 1u << i;
	return 0;
}

/* A row of a program that runs nowadays: why it is to be made again, NULL when it is not. */
static const char *why_again(struct renewal *r, const struct store_probe *row)
{
	int gone;

	if (!may_again(r->env, r->program, row, r->now))
		return NULL;
	gone = r->gone ? store_class_gone(r->env->store, r->program->uid, row->candidate, row->class_hex, r->errp) : 0;
	if (gone < 0)
		r->failed = true;
	if (gone > 0)
		return "the nodes are of another class now";
	if (gone == 0 && r->silent & candidate_bit(r->env->conf, row->candidate))
		return "nothing was heard of these nodes for long";
	return NULL;
}

static int row_consider(const struct store_probe *row, void *arg)
{
	struct renewal *r = arg;
	const char *why = r->n_due < CONF_CANDIDATES_MAX && (int)r->n_due < r->room ? why_again(r, row) : NULL;

	if (!why)
		return r->failed;
	r->silent &= ~candidate_bit(r->env->conf, row->candidate);
	r->due[r->n_due] = *row;
	snprintf(r->due[r->n_due++].reason, sizeof(row->reason), "%s", why);
	return 0;
}

static bool seen_before(struct renewal *r, const char *key)
{
	for (size_t i = 0; i < r->n_seen; i++)
		if (!memcmp(r->seen[i], key, sizeof(r->seen[i])))
			return true;
	if (r->n_seen < PROBES_AGAIN_RUNS)
		memcpy(r->seen[r->n_seen++], key, sizeof(r->seen[0]));
	return false;
}

static int program_consider(const struct store_run *run, void *arg)
{
	struct renewal *r = arg;
	struct store_program p;
	int rc;

	if (!run->key[0] || seen_before(r, run->key))
		return 0;
	rc = store_program_get(r->env->store, run->key, &p, r->errp);
	r->n_due = 0;
	r->program = &p;
	if (rc == 1 && p.state == PROGRAM_READY && store_probes_each(r->env->store, p.key, 0, row_consider, r, r->errp) < 0)
		rc = -1;
	for (size_t i = 0; rc == 1 && i < r->n_due; i++, r->room--) {
		char why[STORE_REASON_MAX];

		memcpy(why, r->due[i].reason, sizeof(why));
		rc = row_again(r->env, &r->due[i], why, r->now, r->errp) < 0 ? -1 : 1;
	}
	r->failed = r->failed || rc < 0;
	return r->failed || r->room <= 0;
}

/* Candidates whose class no probe has told for long, though one has before. */
static int silent_find(struct renewal *r)
{
	for (size_t i = 0; i < r->env->conf->n_candidates; i++) {
		int64_t told;

		if (store_class_told(r->env->store, r->env->conf->candidates[i].name, &told, r->errp) < 0)
			return -1;
		if (told && r->now - told > PROBES_NEWS_S)
			r->silent |= 1u << i;
	}
	return 0;
}

static int looked_lately(const struct daemon_env *env, int64_t now, struct errbuf *errp)
{
	char text[24];
	int64_t when;
	int rc = store_meta_get(env->store, META_LOOKED, text, sizeof(text), errp);

	if (rc < 0)
		return -1;
	when = strtoll(text, NULL, 10);
	if (rc && when <= now && now - when < PROBES_AGAIN_LOOK_S)
		return 1;
	snprintf(text, sizeof(text), "%" PRId64, now);
	return store_meta_set(env->store, META_LOOKED, text, errp);
}

int probe_renew(const struct daemon_env *env, int64_t now, struct errbuf *errp)
{
	struct store_run_filter latest = {.uid = STORE_ALL_USERS, .max = PROBES_AGAIN_RUNS};
	struct renewal *r;
	int gone = store_classes_gone(env->store, errp), busy, rv = -1;

	if (gone < 0 || !(r = calloc(1, sizeof(*r))))
		return gone < 0 ? -1 : err_set(errp, "no memory for what is to be probed again");
	*r = (struct renewal){.env = env, .now = now, .gone = gone > 0, .errp = errp};
	busy = store_busy_again(env->store, errp);
	if (busy < 0 || (!busy && silent_find(r) < 0))
		goto out;
	r->room = PROBES_AGAIN_MAX - busy;
	rv = 0;
	if ((!r->gone && !r->silent) || r->room <= 0 || (rv = looked_lately(env, now, errp)))
		goto out;
	rv = store_runs_each(env->store, &latest, program_consider, r, errp) < 0 || r->failed ? -1 : 0;
out:
	free(r);
	return rv < 0 ? -1 : 0;
}

/* ---- orphans ---- */

struct owner {
	uint32_t job_id;
	bool found;
};

static int owner_check(const struct store_probe *row, void *arg)
{
	struct owner *o = arg;

	o->found = row->jobid == o->job_id && row->state == PROBE_SUBMITTED;
	return o->found;
}

static int orphan_cancel(const struct daemon_env *env, const struct cluster_job *job, int64_t now, struct errbuf *errp)
{
	double cost = job->nodes * job->elapsed_s;
	struct errbuf why;

	if (env->ops->cancel(env->ops->arg, job->job_id, &why) < 0) {
		daemon_say(env, LOG_LEVEL_WARN, "job %u: probe cannot be cancelled: %s", job->job_id, why.text);
		return 0;
	}
	daemon_say(env, LOG_LEVEL_INFO, "job %u: probe cancelled: nobody waits for it any more", job->job_id);
	return cost > 0 ? store_cost_add(env->store, now, job->uid, job->partition, cost, errp) : 0;
}

int probe_orphans(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp)
{
	for (size_t i = 0; i < snap->n; i++) {
		const struct cluster_job *job = &snap->jobs[i];
		const struct job_comment *c = job->ours;
		struct owner owner = {job->job_id, false};

		if (job->phase == CLUSTER_ENDED || !c || c->act != ACT_PROBE || !identity_key_valid(c->key))
			continue;
		if (store_probes_each(env->store, c->key, 1u << PROBE_SUBMITTED, owner_check, &owner, errp) < 0)
			return -1;
		if (!owner.found && orphan_cancel(env, job, now, errp) < 0)
			return -1;
	}
	return 0;
}
