/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state machine of followed jobs, see follow.h. A job is followed if its admin_comment says so. All state is in the store.
 * Jobs that have not changed since an earlier poll are skipped (poll_cache.h).
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/duration.h"
#include "predictor/estimate/param_family.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/estimate/trial.h"
#include "predictor/follow/clock_set.h"
#include "predictor/follow/follow.h"
#include "predictor/follow/poll_cache.h"
#include "predictor/learn/drift_family.h"
#include "predictor/learn/drift_follow.h"
#include "predictor/learn/ended_run.h"
#include "predictor/learn/family_follow.h"
#include "predictor/learn/launch_follow.h"
#include "predictor/learn/param_family_renew.h"
#include "predictor/learn/program_renew.h"
#include "predictor/learn/scaling_follow.h"
#include "predictor/learn/similar_follow.h"
#include "predictor/learn/trial_follow.h"
#include "predictor/limits/lower.h"
#include "predictor/limits/overtime.h"
#include "predictor/limits/proof.h"
#include "predictor/limits/raise.h"
#include "predictor/limits/replan.h"
#include "predictor/probe/probes.h"
#include "predictor/spool/in_time.h"
#include "predictor/spool/spool.h"
#include "predictor/store/busy.h"
#include "predictor/store/kin.h"
#include "predictor/store/layout.h"

/* slurmctld counts whole seconds: a run that starts and ends in one took up to one. */
#define SHORTEST_S 1

/* ---- programs ---- */

static void program_fill(struct store_program *p, const struct store_run *run, int64_t now)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->key, run->key, sizeof(p->key));
	memcpy(p->family, run->family, sizeof(p->family));
	p->uid = run->uid;
	p->created = now;
	snprintf(p->name, sizeof(p->name), "%s", run->name);
}

/* A job marked for tracing was seen: its program is known from now on, so that the plugin does not mark the next one. */
static int program_meet(const struct daemon_env *env, const struct store_run *run, int64_t now, struct errbuf *errp)
{
	struct store_program p;
	int rc = store_program_get(env->store, run->key, &p, errp);

	if (rc < 0)
		return -1;
	if (!rc)
		program_fill(&p, run, now);
	else if (p.uid != run->uid || (p.state != PROGRAM_NEW && p.state != PROGRAM_FAILED))
		return 0;
	p.state = PROGRAM_NEW;
	p.reason[0] = '\0';
	p.source_job = run->jobid;
	p.retrace_at = 0;
	p.updated = now;
	daemon_say(env, LOG_LEVEL_INFO, "job %u: first run of key %.8s (uid %u, %s) is to be traced", run->jobid,
		   run->key, run->uid, run->name);
	return store_program_put(env->store, &p, errp);
}

/* The traced job left nothing to predict from. */
static int program_untraced(const struct daemon_env *env, const struct store_run *run, int64_t retrace_at,
			    const char *reason, int64_t now, struct errbuf *errp)
{
	struct store_program p;
	int rc = store_program_get(env->store, run->key, &p, errp);

	if (rc < 0)
		return -1;
	if (!rc)
		program_fill(&p, run, now);
	else if (p.state != PROGRAM_NEW)
		return 0; /* another run of it has done better */
	p.state = PROGRAM_FAILED;
	p.source_job = run->jobid;
	p.n_traces = 0;
	/* slurmctld marked the key in the second of the submission, and takes such a mark for a newer one. */
	p.retrace_at = retrace_at && retrace_at <= run->submit_time ? run->submit_time + 1 : retrace_at;
	p.updated = now;
	snprintf(p.reason, sizeof(p.reason), "%s", reason);
	daemon_say(env, LOG_LEVEL_WARN, "job %u: key %.8s: %s", run->jobid, run->key, reason);
	return store_program_put(env->store, &p, errp);
}

/* The traced job ended well and left traces: its program gets its probes. */
static int program_traced(const struct daemon_env *env, const struct cluster_job *job, const struct store_run *run,
			  unsigned n_traces, int64_t now, struct errbuf *errp)
{
	struct cluster_layout layout;
	struct store_program p;
	struct errbuf why;
	int rc;

	if (cluster_layout_of(job, &layout, &why) < 0)
		return program_untraced(env, run, 0, why.text, now, errp);
	rc = store_program_get(env->store, run->key, &p, errp);
	if (rc < 0)
		return -1;
	if (!rc)
		program_fill(&p, run, now);
	else if (p.uid != run->uid || (p.state != PROGRAM_NEW && p.state != PROGRAM_FAILED))
		return 0; /* an earlier run of the same key was traced already */
	else if (store_program_forget(env->store, run->key, errp) < 0)
		return -1; /* what an earlier trace of this key gave is history */
	p.state = PROGRAM_TRACED;
	p.reason[0] = '\0';
	p.source_job = run->jobid;
	p.source_elapsed_s = fmax(run->elapsed_s, SHORTEST_S);
	p.n_traces = n_traces;
	p.mpi_s = 0;
	p.nodes = run->nodes;
	p.tasks = run->tasks;
	p.retrace_at = 0;
	p.updated = now;
	snprintf(p.source_candidate, sizeof(p.source_candidate), "%s", run->candidate);
	daemon_say(env, LOG_LEVEL_INFO, "job %u: traced on %s in %.0f s, %u trace%s, key %.8s", run->jobid,
		   run->candidate, run->elapsed_s, n_traces, n_traces == 1 ? "" : "s", run->key);
	if (store_layout_put(env->store, run->key, &layout, errp) < 0 || store_program_put(env->store, &p, errp) < 0)
		return -1;
	return probes_begin(env, &p, now, errp);
}

/* ---- the end of a job ---- */

/* What a traced job left in the spool. */
struct leavings {
	char spool_dir[PATH_MAX];
	uint32_t uid, jobid;
	enum spool_gap gap;
	unsigned n_traces, signs;
	struct errbuf why; /* of the gap */
	bool is_full;
	struct errbuf full;
};

static void leavings_read(void *arg)
{
	struct leavings *l = arg;
	int dirfd = spool_job_open(l->spool_dir, l->uid, l->jobid, &l->gap, &l->why), n;

	l->is_full = spool_is_full(l->spool_dir, &l->full);
	if (dirfd < 0)
		return;
	n = spool_traces(dirfd, l->uid, NULL, 0, &l->why);
	l->n_traces = n > 0 ? (unsigned)n : 0;
	l->signs = spool_signs(dirfd, l->uid);
	close(dirfd);
}

/* Returns 0, or -1 if the spool does not answer; then l->why says so. */
static int leavings_look(const struct daemon_env *env, const struct store_run *run, struct leavings *l)
{
	*l = (struct leavings){.uid = run->uid, .jobid = run->jobid};
	snprintf(l->spool_dir, sizeof(l->spool_dir), "%s", env->conf->spool_dir);
	return spool_in_time(leavings_read, l, sizeof(*l), env->conf->spool_dir, &l->why);
}

/* Why there is no trace. Returns whether another run may do better. */
static bool untraced_reason(const struct daemon_env *env, const struct store_run *run, const struct leavings *l,
			    char *reason, size_t size)
{
	const char *spool = env->conf->spool_dir;

	if (l->gap != SPOOL_NO_ROOT && l->gap != SPOOL_UNSAFE && !(l->signs & (SPOOL_BEGUN | SPOOL_REFUSED)) && l->is_full)
		snprintf(reason, size, "no trace: %.270s", l->full.text);
	else if (l->gap == SPOOL_NO_USER)
		snprintf(reason, size, "no trace: %.100s/%u was not made: is spank_precedent in plugstack.conf on the "
				       "nodes, and the spool on a shared file system?", spool, run->uid);
	else if (l->gap == SPOOL_NO_JOB)
		snprintf(reason, size, "no trace: %.100s/%u/%u was not made: is spank_precedent in plugstack.conf on "
				       "all nodes, and the spool writable there?", spool, run->uid, run->jobid);
	else if (l->gap != SPOOL_THERE)
		snprintf(reason, size, "no trace: %.280s", l->why.text);
	else if (l->signs & SPOOL_REFUSED)
		snprintf(reason, size, "no trace: the job could not be traced: %.150s/%u/%u/untraced.txt says why", spool,
			 run->uid, run->jobid);
	else if (l->signs & SPOOL_COMPLAINED)
		snprintf(reason, size, "no trace: the tracer gave up: %.150s/%u/%u/tracer.err says why", spool,
			 run->uid, run->jobid);
	else if (l->signs & SPOOL_BEGUN)
		snprintf(reason, size, "no trace: the program called MPI_Init but never MPI_Finalize");
	else {
		snprintf(reason, size, "no trace: no process called MPI_Init with the tracer: no MPI program, or what started it "
				       "(a container, env -i, ssh) passes on no LD_PRELOAD");
		return false;
	}
	return true;
}

/* A trace with suspended time in its gaps, with the files of several runs in its directory, or of a run whose time is not known. */
static bool trace_is_spoiled(const struct cluster_job *job, const struct store_run *run, char *reason, size_t size)
{
	bool untimed = run->elapsed_s <= 0 && run->end_time != run->start_time;

	if (untimed)
		snprintf(reason, size, "slurmctld's clock was set while traced job %u ran; the next run is traced again", run->jobid);
	else if (job->restarts)
		snprintf(reason, size, "traced job %u was queued again while it ran; the next run is traced again", run->jobid);
	else if (job->suspended_s >= 1)
		snprintf(reason, size, "traced job %u was suspended for %.0f s; the next run is traced again", run->jobid,
			 job->suspended_s);
	return untimed || job->restarts || job->suspended_s >= 1;
}

static const char *next_run(const struct store_run *run)
{
	struct trial_run ended = {.end_state = run->end_state, .elapsed_s = run->elapsed_s};

	return trial_may_be_tracer(&ended) ? STORE_WITHOUT_TRACER : "the next run is traced again";
}

/* A traced job has ended. Returns 1 when its trace may still show up, or the spool does not answer; else 0 or -1. */
static int traced_end(const struct daemon_env *env, const struct cluster_job *job, const struct store_run *run,
		      int64_t now, struct errbuf *errp)
{
	char reason[STORE_REASON_MAX];
	struct leavings left;

	if (strcmp(job->end_state, "COMPLETED")) {
		/* The time allows tracing, trial_follow decides. */
		snprintf(reason, sizeof(reason), "traced job %u ended %.20s; %s", run->jobid, job->end_state, next_run(run));
		return program_untraced(env, run, now, reason, now, errp);
	}
	if (job->het)
		return program_untraced(env, run, 0, "heterogeneous jobs are not probed", now, errp);
	if (trace_is_spoiled(job, run, reason, sizeof(reason)))
		return program_untraced(env, run, now, reason, now, errp);
	if (leavings_look(env, run, &left) < 0) {
		daemon_say(env, LOG_LEVEL_DEBUG, "job %u: its trace is looked for later: %s", run->jobid, left.why.text);
		return 1;
	}
	if (left.n_traces)
		return program_traced(env, job, run, left.n_traces, now, errp);
	/* With an end far in the future, the clock was set back. */
	if (now < job->end_time + FOLLOW_TRACE_GRACE_S && job->end_time < now + FOLLOW_TRACE_GRACE_S)
		return 1;
	if (untraced_reason(env, run, &left, reason, sizeof(reason)))
		return program_untraced(env, run, now + PROBES_RETRACE_S, reason, now, errp);
	return program_untraced(env, run, 0, reason, now, errp);
}

static void say_accuracy(const struct daemon_env *env, const struct store_run *r)
{
	if (r->pred_s > 0 && r->elapsed_s > 0 && !strcmp(r->candidate, r->pred_candidate))
		daemon_say(env, LOG_LEVEL_INFO, "job %u: %s on %s after %.0f s, predicted %.0f s (%+.1f %%), key %.8s",
			   r->jobid, r->end_state, r->candidate, r->elapsed_s, r->pred_s,
			   100 * (r->pred_s - r->elapsed_s) / r->elapsed_s, r->key);
	else
		daemon_say(env, LOG_LEVEL_INFO, "job %u: %s on %s after %.0f s, key %.8s", r->jobid, r->end_state,
			   r->candidate, r->elapsed_s, r->key);
}

static bool is_shortened(const struct store_run *r)
{
	return r->limit_min != DURATION_UNSET && r->user_limit_min != DURATION_UNSET && r->limit_min < r->user_limit_min;
}

/* Ended by a limit that Precedent had set, before the limit that its user asked for. */
static bool is_cut_short(const struct store_run *r)
{
	return is_shortened(r) && !strcmp(r->end_state, "TIMEOUT") && r->elapsed_s > 0 &&
	       (r->user_limit_min == DURATION_UNLIMITED || r->elapsed_s < 60.0 * r->user_limit_min);
}

static void count_end(const struct daemon_env *env, const struct store_run *r)
{
	if (is_cut_short(r))
		daemon_say(env, LOG_LEVEL_ERROR, "job %u: ended by its limit after %.0f s, before the limit that its user asked for",
			   r->jobid, r->elapsed_s);
	if (!env->counts)
		return;
	env->counts->ended++;
	env->counts->cut_short += is_cut_short(r);
}

/* A program that drifts is probed again; if no probe can be made, it is traced again. */
static int drift_settle(struct ended_run *r, struct errbuf *errp)
{
	struct drift_found found;
	int rc = drift_follow(r, &found, errp), again = PROBE_AGAIN_NONE;

	if (rc <= 0)
		return rc;
	if (found.probe)
		again = probes_again(r->env, r->row->key, r->row->candidate, "the last runs were not as predicted", r->now, errp);
	if (again < 0 || again == PROBE_AGAIN_LATER)
		return again < 0 ? -1 : 0;
	return drift_act(r, &found, again == PROBE_AGAIN_PLANNED, errp);
}

/* Jobs of srun and salloc, and heterogeneous jobs, are observed without a key. */
static bool is_followed(const struct job_comment *c)
{
	if (c && c->act == ACT_OBSERVE && !c->key[0])
		return true;
	return c && (c->act == ACT_TRACE || c->act == ACT_PREDICT || c->act == ACT_OBSERVE) && identity_key_valid(c->key);
}

/* Does a later job of the same look lead to the same estimates, as the next task of an array does? */
struct later {
	bool key, kin; /* the program's estimates, those of its kin */
};

#define LATER_LOOK 256 /* jobs behind this one */

static struct later later_find(const struct cluster_snapshot *snap, const struct cluster_job *job)
{
	const struct cluster_job *end = snap->jobs + snap->n;
	struct later later = {false, false};

	for (const struct cluster_job *j = job + 1; j < end && j <= job + LATER_LOOK && !later.key; j++) {
		if (j->phase != CLUSTER_ENDED || !is_followed(j->ours) || j->end_time < job->end_time || j->elapsed_s <= 0 ||
		    j->uid != job->uid || !j->array_job != !job->array_job || strcmp(j->partition, job->partition) ||
		    strcmp(j->features, job->features) || run_evidence_of(j->end_state, j->restarts) == RUN_NO_EVIDENCE)
			continue;
		later.key = !strcmp(j->ours->key, job->ours->key);
		later.kin |= later.key || (j->ours->kin[0] && !strcmp(j->ours->kin, job->ours->kin) &&
					   !strcmp(j->ours->family, job->ours->family));
	}
	return later;
}

/* Every learner in its order: each uses the results of those before. All runs of the look are in the store before the last one. */
static int run_learn(struct ended_run *r, struct later later, struct errbuf *errp)
{
	if (!r->row->key[0] || (!strcmp(r->row->end_state, "CANCELLED") && r->row->elapsed_s <= 0)) /* it never ran */
		return 0;
	if (trial_follow(r, errp) < 0 || drift_settle(r, errp) < 0 || drift_family_follow(r, errp) < 0 ||
	    (!later.key && program_renew(r, errp) < 0))
		return -1;
	if (later.kin || !ended_run_is_evidence(r))
		return 0;
	return family_follow(r, errp) < 0 || scaling_follow(r, errp) < 0 || param_family_renew(r, errp) < 0 ? -1 : 0;
}

/* 1: not yet. */
static int run_end(const struct daemon_env *env, const struct cluster_snapshot *snap, const struct cluster_job *job,
		   struct store_run *run, int64_t now, struct errbuf *errp)
{
	struct ended_run ended = {.env = env, .row = run, .memory = job->memory, .now = now};
	struct later later = {false, false};
	int rc = 0, clock_set;

	run->end_time = job->end_time ? job->end_time : now;
	clock_set = run->start_time ? clock_set_within(env->store, run->start_time, run->end_time, errp) : 0;
	if (clock_set < 0)
		return -1;
	run->elapsed_s = clock_set ? 0 : job->elapsed_s;
	run->suspended_s = job->suspended_s;
	snprintf(run->end_state, sizeof(run->end_state), "%s", job->end_state);
	if (store_begin(env->store, errp) < 0)
		return -1;
	if (store_run_put(env->store, run, errp) < 0)
		goto fail;
	if (run->act == ACT_TRACE)
		rc = traced_end(env, job, run, now, errp);
	if (rc < 0)
		goto fail;
	if (rc == 1) { /* look again later, as if the job had not ended */
		store_rollback(env->store);
		return 1;
	}
	/* A traced run may have waited for its trace, and the others have ended before. */
	if (job->ours && run->act != ACT_TRACE)
		later = later_find(snap, job);
	if (!clock_set)
		rc = similar_follow(&ended, job->ours, errp) < 0 ? -1 : run_learn(&ended, later, errp);
	ended_run_forget(&ended);
	if (rc < 0)
		goto fail;
	if (store_commit(env->store, errp) < 0)
		return -1;
	count_end(env, run);
	say_accuracy(env, run);
	return 0;
fail:
	store_rollback(env->store);
	return -1;
}

/* ---- runs ---- */

/*
 * A task of an array that runs without the tracer, since another task is traced. Tasks that wait share one record, whose index is
 * not known.
 */
static bool is_untraced_task(const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;

	return c && c->act == ACT_TRACE && c->task != COMMENT_NO_TASK && job->array_job && job->array_task != c->task &&
	       (job->phase != CLUSTER_PENDING || job->array_task);
}

static void run_fill(struct store_run *r, const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;

	memset(r, 0, sizeof(*r));
	r->jobid = job->job_id;
	r->submit_time = job->submit_time;
	r->uid = job->uid;
	memcpy(r->key, c->key, sizeof(r->key));
	memcpy(r->family, c->family, sizeof(r->family));
	snprintf(r->name, sizeof(r->name), "%s", job->name);
	r->act = is_untraced_task(job) ? ACT_OBSERVE : c->act;
	r->mode = c->mode;
	snprintf(r->pred_candidate, sizeof(r->pred_candidate), "%s", c->candidate);
	r->pred_s = c->pred_s;
	r->lo_s = c->lo_s;
	r->hi_s = c->hi_s;
	r->user_limit_min = c->user_limit_min;
	r->limit_min = DURATION_UNSET; /* until it is set */
	memcpy(r->kin, c->kin, sizeof(r->kin));
	memcpy(r->vars, c->vars, sizeof(r->vars));
	memcpy(r->weighed, c->at, sizeof(r->weighed));
	memcpy(r->similar, c->similar, sizeof(r->similar));
	r->array_job = job->array_job;
	r->pred_kind = -1;
	r->pred_scale = 1;
}

/* Set by limit_lower_poll; raised by limit_raise_poll, by slurmctld's trigger, or by an operator. */
static bool limit_refresh(struct store_run *r, const struct cluster_job *job)
{
	const struct job_comment *c = job->ours;
	bool is_new = r->limit_min == DURATION_UNSET;

	if (!c || c->limit_min == DURATION_UNSET || job->limit_min == DURATION_UNSET || (!is_new && job->limit_min <= r->limit_min))
		return false;
	r->limit_min = job->limit_min;
	r->extensions += !is_new;
	return true;
}

/*
 * A user's own --time-min is no plan of ours. Under raise alone the plugin wishes for a job that has one. slurmctld may change the
 * wish in the comment and not the plan: see limit_soft_is_ours.
 */
static bool plan_refresh(const struct daemon_env *env, struct store_run *r, const struct cluster_job *job)
{
	uint32_t plan = job->time_min_min;

	if (plan != r->plan_min && (!job->ours || job->ours->wish_min != plan || env->conf->limit_guard == GUARD_RAISE))
		plan = 0;
	if (plan == r->plan_min)
		return false;
	r->plan_min = plan;
	return true;
}

/* Updates the row from the job; returns true if the row has changed. */
static bool run_refresh(const struct daemon_env *env, struct store_run *r, const struct cluster_job *job)
{
	bool changed = false, started = job->phase != CLUSTER_PENDING && job->start_time;
	char candidate[CONF_CANDIDATE_MAX] = "";

	if (strncmp(r->partition, job->partition, sizeof(r->partition) - 1)) {
		snprintf(r->partition, sizeof(r->partition), "%s", job->partition);
		changed = true;
	}
	if (started)
		cluster_candidate_name(env->conf, job->partition, job->features, candidate, sizeof(candidate));
	if (started && (r->start_time != job->start_time || strcmp(r->candidate, candidate))) {
		r->start_time = job->start_time;
		snprintf(r->candidate, sizeof(r->candidate), "%s", candidate);
		changed = true;
	}
	if (r->act == ACT_TRACE && is_untraced_task(job)) {
		r->act = ACT_OBSERVE;
		changed = true;
	}
	changed |= limit_refresh(r, job);
	changed |= plan_refresh(env, r, job);
	if (r->nodes != job->nodes || r->tasks != job->tasks || r->restarts != job->restarts || r->array_task != job->array_task) {
		r->nodes = job->nodes;
		r->tasks = job->tasks;
		r->restarts = job->restarts;
		r->array_task = job->array_task;
		changed = true;
	}
	return changed;
}

static int model_trace_back(const struct daemon_env *env, struct store_run *run, struct errbuf *errp)
{
	struct store_model *models = calloc(STORE_ESTIMATES_MAX, sizeof(*models));
	int n = models ? store_model_lookup(env->store, run->kin, models, STORE_ESTIMATES_MAX, errp) : err_set(errp, "no memory");

	for (int i = 0; i < n; i++) {
		if (strcmp(models[i].candidate, run->pred_candidate) || !models[i].law[0])
			continue;
		run->pred_kind = ESTIMATE_MODEL;
		run->pred_scale = models[i].scale;
	}
	free(models);
	return n < 0 ? -1 : 0;
}

/* As in the plugin: by the parameter family if its numbers are like these, else by the model. */
static int param_family_trace_back(const struct daemon_env *env, struct store_run *run, struct errbuf *errp)
{
	struct store_family kin[STORE_ESTIMATES_MAX];
	double vars[SCALING_VARS_MAX];
	unsigned n_vars = scaling_vars_parse(run->vars, vars);
	int n;

	if (!run->kin[0] || !run->family[0])
		return 0;
	n = store_family_lookup(env->store, run->family, run->kin, kin, STORE_ESTIMATES_MAX, errp);
	for (int i = 0; i < n; i++) {
		if (strcmp(kin[i].candidate, run->pred_candidate) || !(kin[i].e.mean_s > 0) ||
		    !param_family_covers(kin[i].ranges, vars, n_vars))
			continue;
		run->pred_kind = ESTIMATE_FAMILY;
		run->pred_scale = kin[i].scale;
		return 0;
	}
	return n < 0 ? -1 : model_trace_back(env, run, errp);
}

/* Which evidence its prediction came from, and how its interval was scaled. */
static int prediction_trace_back(const struct daemon_env *env, struct store_run *run, struct errbuf *errp)
{
	struct store_lookup found;
	int rc = store_lookup(env->store, run->key, &found, errp);

	if (!rc)
		return param_family_trace_back(env, run, errp);
	for (unsigned i = 0; rc == 1 && i < found.n_estimates; i++) {
		if (strcmp(found.estimates[i].candidate, run->pred_candidate))
			continue;
		run->pred_kind = (int)found.estimates[i].e.kind;
		run->pred_scale = found.estimates[i].scale;
	}
	return rc < 0 ? -1 : 0;
}

/* A job that Precedent has not seen before; c: its comment. */
static int run_meet(const struct daemon_env *env, struct store_run *run, const struct job_comment *c, int64_t now,
		    struct errbuf *errp)
{
	if (!run->key[0])
		return 0;
	if (launch_follow(env, run, c, now, errp) < 0)
		return -1;
	if (run->act == ACT_TRACE && program_meet(env, run, now, errp) < 0)
		return -1;
	if (run->pred_s > 0 && prediction_trace_back(env, run, errp) < 0)
		return -1;
	return 0;
}

/* A run is new, or has changed; limited: its limit is set now and was not; raised: how often since the last look. */
static void count_run(const struct daemon_env *env, const struct store_run *r, bool is_new, bool limited, uint32_t raised)
{
	struct job_counts *c = env->counts;

	if (!c)
		return;
	c->raised += raised;
	c->met[r->act] += is_new;
	c->told += is_new && r->pred_s > 0;
	c->limited += limited;
}

/* 1: it has to be looked at again even if nothing of it changes. */
static int job_follow(const struct daemon_env *env, const struct cluster_snapshot *snap, const struct cluster_job *job, int64_t now,
		      struct errbuf *errp)
{
	struct store_run run;
	bool changed, known, limited;
	uint32_t raised;
	int rc = store_run_get(env->store, job->job_id, &run, errp);

	if (rc < 0)
		return -1;
	known = rc && run.submit_time == job->submit_time;
	if (known && run.end_state[0])
		return 0;
	if (!known && job->phase == CLUSTER_ENDED) {
		rc = job->ours->key[0] ? store_key_forgotten(env->store, job->ours->key, job->submit_time, errp)
				       : store_user_forgotten(env->store, job->uid, job->submit_time, errp);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	if (!known)
		run_fill(&run, job);
	raised = run.extensions;
	limited = run.limit_min != DURATION_UNSET;
	changed = run_refresh(env, &run, job) || !known;
	if (!known && (run_meet(env, &run, job->ours, now, errp) < 0 || limit_overtime_meet(env, job, errp) < 0))
		return -1;
	if (job->phase == CLUSTER_ENDED && !changed)
		return run_end(env, snap, job, &run, now, errp);
	if (changed && store_run_put(env->store, &run, errp) < 0)
		return -1;
	count_run(env, &run, !known, !limited && run.limit_min != DURATION_UNSET, run.extensions - raised);
	return job->phase == CLUSTER_ENDED ? run_end(env, snap, job, &run, now, errp) : 0;
}

/* ---- runs that slurmctld no longer knows ---- */

/* The end of a traced run was not seen. A trace in the spool says that the program came to MPI_Finalize. */
static int traced_lost(const struct daemon_env *env, const struct store_run *run, int64_t now, struct errbuf *errp)
{
	struct ended_run ended = {.env = env, .row = run, .now = now};
	struct leavings left;
	char reason[STORE_REASON_MAX];

	leavings_look(env, run, &left);
	snprintf(reason, sizeof(reason), "traced job ended while precedentd was not running; %s",
		 left.n_traces ? "the next run is traced again" : next_run(run));
	if (program_untraced(env, run, now, reason, now, errp) < 0)
		return -1;
	return left.n_traces ? 0 : trial_follow(&ended, errp);
}

/* What slurmdbd says of a shortened job: 1: noted, 0: not yet, -1: nobody knows. */
static int lost_end(const struct daemon_env *env, struct store_run *r)
{
	struct cluster_end end;
	int rc = env->ops->ended(env->ops->arg, r->jobid, r->submit_time, &end);

	if (rc < 0 && env->counts)
		env->counts->unseen++;
	if (rc <= 0)
		return rc;
	r->start_time = end.start_time;
	r->end_time = end.end_time;
	r->elapsed_s = end.elapsed_s;
	snprintf(r->end_state, sizeof(r->end_state), "%s", end.state);
	if (end.start_time)
		cluster_candidate_name(env->conf, end.partition, end.features, r->candidate, sizeof(r->candidate));
	return 1;
}

/* 1: its end may be known later. */
static int run_lost(const struct daemon_env *env, const struct cluster_snapshot *snap, struct store_run *r, int64_t now,
		    struct errbuf *errp)
{
	bool requeued = cluster_job_find(snap, r->jobid) != NULL;
	int known = !requeued && is_shortened(r) ? lost_end(env, r) : -1;

	if (known == 0)
		return 1;
	if (known > 0) {
		if (store_run_put(env->store, r, errp) < 0)
			return -1;
		count_end(env, r);
		daemon_say(env, LOG_LEVEL_INFO, "job %u: %s after %.0f s, as slurmdbd says, key %.8s", r->jobid, r->end_state, r->elapsed_s,
			   r->key);
		return 0;
	}
	r->end_time = now;
	snprintf(r->end_state, sizeof(r->end_state), "%s", requeued ? "REQUEUED" : "UNKNOWN");
	if (store_run_put(env->store, r, errp) < 0)
		return -1;
	daemon_say(env, LOG_LEVEL_WARN, "job %u: %s, key %.8s", r->jobid,
		   requeued ? "was requeued" : "is gone, its end was not seen", r->key);
	return r->act == ACT_TRACE && !requeued ? traced_lost(env, r, now, errp) : 0;
}

/* Marks runs whose job has left the queue as lost. Loads the ids of open runs only, and the full row once the job is gone: most
 * jobs of a long queue are still there. */
static int lost_settle(const struct daemon_env *env, struct poll_cache *cache, const struct cluster_snapshot *snap, int64_t now,
		       struct errbuf *errp)
{
	struct store_run_id *read = NULL;
	const struct store_run_id *open;
	struct store_run run;
	size_t n;
	int rv = 0;

	open = poll_cache_gone(cache, &n);
	if (!open) {
		rv = store_busy_runs(env->store, &read, &n, errp);
		open = read;
	}

	for (size_t i = 0; i < n && rv >= 0; i++) {
		const struct cluster_job *job = cluster_job_find(snap, open[i].jobid);

		if (job && job->submit_time == open[i].submit_time)
			continue;
		rv = store_run_of(env->store, &open[i], &run, errp);
		if (rv == 1 && !run.end_state[0])
			rv = run_lost(env, snap, &run, now, errp);
		if (rv == 1)
			poll_cache_gone_again(cache);
	}
	free(read);
	return rv < 0 ? -1 : 0;
}

/* The comment is gone or cannot be read, but the job is known. */
static int is_followed_yet(const struct daemon_env *env, const struct cluster_job *job, struct errbuf *errp)
{
	struct store_run run;
	int rc = job->ours ? 0 : store_run_get(env->store, job->job_id, &run, errp);

	return rc == 1 ? run.submit_time == job->submit_time && !run.end_state[0] : rc;
}

/* Jobs written in one transaction: each transaction waits for the disk. */
#define JOBS_A_TRANSACTION 512

static int jobs_follow(const struct daemon_env *env, struct poll_cache *cache, const struct cluster_snapshot *snap, int64_t now,
		       struct limit_replan *ended, struct errbuf *errp)
{
	unsigned written = 0;

	for (size_t i = 0; i < snap->n; i++) {
		const struct cluster_job *job = &snap->jobs[i];
		int rc;

		if (poll_cache_settled(cache, job))
			continue;
		if (!is_followed(job->ours)) {
			rc = is_followed_yet(env, job, errp);
			if (rc < 0 && written)
				store_rollback(env->store);
			if (rc < 0)
				return -1;
			if (!rc) {
				poll_cache_note(cache, job, true);
				continue;
			}
		}
		if (written == 0 && store_begin(env->store, errp) < 0)
			return -1;
		rc = job_follow(env, snap, job, now, errp);
		if (rc < 0) {
			store_rollback(env->store);
			return err_prefix(errp, "job %u", job->job_id);
		}
		poll_cache_note(cache, job, rc == 0);
		if (rc == 0 && job->phase == CLUSTER_ENDED && job->array_job)
			limit_replan_note(ended, job->array_job);
		if (++written == JOBS_A_TRANSACTION) {
			if (store_commit(env->store, errp) < 0)
				return -1;
			written = 0;
		}
	}
	return written ? store_commit(env->store, errp) : 0;
}

int follow_poll(const struct daemon_env *env, const struct follow_memory *memory, const struct cluster_snapshot *snap, int64_t now,
		struct errbuf *errp)
{
	struct poll_cache *cache = memory->cache;
	struct limit_replan ended = {0};
	bool raises;
	int rc;

	limit_overtime_poll(env, snap, now);
	if (limit_raise_poll(env, snap, now))
		limit_proof_refuse(memory->proof, env);
	raises = limit_proof_poll(memory->proof, env, snap, now);
	if (env->conf->limit_guard == GUARD_RAISE)
		limit_lower_poll(memory->lower, env, snap, now, raises);
	if (!env->store) {
		poll_cache_forget(cache);
		return 0;
	}
	rc = poll_cache_begin(cache, env->store, snap, errp) < 0 ? -1 : jobs_follow(env, cache, snap, now, &ended, errp);
	limit_replan_poll(&ended, env, snap, now);
	if (rc < 0 || lost_settle(env, cache, snap, now, errp) < 0) {
		poll_cache_forget(cache);
		return -1;
	}
	poll_cache_end(cache);
	return probes_poll(env, memory->probes, snap, now, errp);
}
