/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traced runs against untraced ones, as they end: see trial_follow.h; the rules are in trial.h. */
#include <stdio.h>
#include <string.h>

#include "predictor/estimate/array.h"
#include "predictor/learn/trial_follow.h"
#include "predictor/store/trials.h"

static struct trial_run run_of(const struct store_run *run, uint64_t memory)
{
	return (struct trial_run){run->end_state, run->elapsed_s, memory, run->array_job ? run->array_task : ARRAY_NO_INDEX};
}

static struct trial_run traced_of(const struct store_trial *t)
{
	return (struct trial_run){t->end_state, t->elapsed_s, t->memory, t->array_task};
}

static bool completed(const struct store_run *run)
{
	return !strcmp(run->end_state, "COMPLETED");
}

/* ---- a traced run ---- */

static int traced_put(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, uint64_t memory,
		      int64_t now, struct errbuf *errp)
{
	struct trial_run traced = run_of(run, memory);

	snprintf(t->name, sizeof(t->name), "%s", store_trial_name(run->kin, run->key));
	memcpy(t->key, run->key, sizeof(t->key));
	t->uid = run->uid;
	t->traced_job = run->jobid;
	snprintf(t->end_state, sizeof(t->end_state), "%s", run->end_state);
	t->elapsed_s = traced.elapsed_s;
	t->memory = traced.memory;
	t->array_task = traced.array_task;
	t->updated = now;
	return store_trial_put(env->store, t, errp);
}

/* Is this the second traced run that fails, though a run with other numbers completed between without the tracer? */
static bool fails_again(const struct store_trial *t)
{
	return t->guard == TRIAL_DOUBT_KEY && !strcmp(t->control_state, "COMPLETED");
}

static int traced_failed(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, uint64_t memory,
			 int64_t now, struct errbuf *errp)
{
	if (t->guard == TRIAL_DOUBT || t->guard == TRIAL_SUSPECT)
		return 0; /* it was submitted before the first one failed */
	if (fails_again(t)) {
		t->guard = TRIAL_SUSPECT;
	} else {
		t->guard = TRIAL_DOUBT;
		t->control_job = 0;
		t->control_state[0] = '\0';
	}
	return traced_put(env, t, run, memory, now, errp);
}

static int traced_completed(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, uint64_t memory,
			    int64_t now, struct errbuf *errp)
{
	bool same = !strcmp(t->key, run->key);

	if (run->restarts || t->guard == TRIAL_SUSPECT || (t->guard != TRIAL_FREE && same))
		return 0;
	if (t->guard == TRIAL_DOUBT) { /* with other numbers the program runs with the tracer */
		t->guard = TRIAL_DOUBT_KEY;
		t->updated = now;
		return store_trial_put(env->store, t, errp);
	}
	t->guard = TRIAL_FREE;
	t->control_job = 0;
	t->control_state[0] = '\0';
	return traced_put(env, t, run, memory, now, errp);
}

static int traced_ended(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, uint64_t memory,
			int64_t now, struct errbuf *errp)
{
	struct trial_run traced = run_of(run, memory);

	if (completed(run))
		return traced_completed(env, t, run, memory, now, errp);
	return trial_may_be_tracer(&traced) ? traced_failed(env, t, run, memory, now, errp) : 0;
}

/* ---- an untraced run ---- */

/* The program's reason names the untraced run too. */
static int reason_renew(const struct daemon_env *env, const struct store_trial *t, int64_t now, struct errbuf *errp)
{
	struct store_program p;
	int rc = store_program_get(env->store, t->key, &p, errp);

	if (rc <= 0 || p.state != PROGRAM_FAILED || p.source_job != t->traced_job)
		return rc < 0 ? -1 : 0;
	snprintf(p.reason, sizeof(p.reason), "traced job %u ended %s, job %u without the tracer ended %s; %s", t->traced_job, t->end_state,
		 t->control_job, t->control_state,
		 t->guard == TRIAL_SUSPECT ? STORE_NOT_BY_ITSELF : "the next run is traced again");
	p.updated = now;
	return store_program_put(env->store, &p, errp);
}

static bool is_open(const struct store_trial *t)
{
	return t->end_state[0] && (t->guard == TRIAL_DOUBT || t->guard == TRIAL_DOUBT_KEY || (t->guard == TRIAL_FREE && !t->control_job));
}

/* The first pair in which only one run failed stays. Later pairs of the program would hide it. */
static void pair_keep(struct store_trial *t, enum trial_pair pair, int64_t now)
{
	if (pair == TRIAL_NO_PAIR || t->pair >= TRIAL_TRACED_FAILED)
		return;
	t->pair = pair;
	t->pair_traced = t->traced_job;
	t->pair_untraced = t->control_job;
	t->pair_at = now;
}

static void control_set(struct store_trial *t, const struct store_run *run, int64_t now)
{
	t->control_job = run->jobid;
	snprintf(t->control_state, sizeof(t->control_state), "%s", run->end_state);
	t->updated = now;
}

/* Of jobs with other texts, and the key of this one since they launch the same, a text may be the mended one. */
static bool has_own_key(const struct store_run *run)
{
	return !strstr(run->similar, "launch/");
}

/* Other numbers, or another text, say nothing of this key, but the others need not wait for it. */
static int other_ended(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, int64_t now,
		       struct errbuf *errp)
{
	if (t->guard != TRIAL_DOUBT || (!completed(run) && strcmp(run->end_state, "FAILED")))
		return 0;
	t->guard = TRIAL_DOUBT_KEY;
	control_set(t, run, now);
	return store_trial_put(env->store, t, errp);
}

static int untraced_ended(const struct daemon_env *env, struct store_trial *t, const struct store_run *run, uint64_t memory,
			  int64_t now, struct errbuf *errp)
{
	struct trial_run traced = traced_of(t), untraced = run_of(run, memory);
	enum trial_pair pair = TRIAL_NO_PAIR;
	bool doubted = t->guard != TRIAL_FREE;

	if (run->restarts || !is_open(t)) /* queued again it may have gone on where it was */
		return 0;
	if (strcmp(t->key, run->key) || !has_own_key(run))
		return other_ended(env, t, run, now, errp);
	if (!trial_compare(&traced, &untraced, &t->guard, &pair))
		return 0;
	control_set(t, run, now);
	pair_keep(t, pair, now);
	if (t->guard == TRIAL_SUSPECT)
		daemon_say(env, LOG_LEVEL_WARN,
			   "job %u: key %.8s: completed without the tracer, and traced job %u ended %s: not traced again by itself",
			   run->jobid, run->key, t->traced_job, t->end_state);
	if (store_trial_put(env->store, t, errp) < 0 || (doubted && reason_renew(env, t, now, errp) < 0))
		return -1;
	return pair >= TRIAL_TRACED_FAILED ? trial_judge_tracing(env, now, errp) : 0;
}

int trial_follow(const struct ended_run *r, struct errbuf *errp)
{
	const struct daemon_env *env = r->env;
	const struct store_run *run = r->row;
	struct store_trial t;
	int rc = store_trial_get(env->store, store_trial_name(run->kin, run->key), &t, errp);

	if (rc < 0 || (rc && t.uid != run->uid))
		return rc < 0 ? -1 : 0;
	if (!rc)
		t = (struct store_trial){.guard = TRIAL_FREE};
	return run->act == ACT_TRACE ? traced_ended(env, &t, run, r->memory, r->now, errp)
				     : untraced_ended(env, &t, run, r->memory, r->now, errp);
}

/* ---- all programs ---- */

static void say_state(const struct daemon_env *env, enum tracing_state state, const struct store_trial_tally *n)
{
	double chance = trial_chance(n->traced_failed, n->untraced_failed);

	if (state == TRACING_ON)
		daemon_say(env, LOG_LEVEL_INFO, "tracing is no longer suspected of making jobs fail");
	else if (state == TRACING_SUSPECTED)
		daemon_say(env, LOG_LEVEL_WARN,
			   "tracing is suspected of making jobs fail: %u programs failed traced alone, %u untraced alone (chance %.2g): "
			   "precedent doctor names jobs to look at",
			   n->traced_failed, n->untraced_failed, chance);
	else
		daemon_say(env, LOG_LEVEL_ERROR,
			   "tracing stops on the whole cluster: %u programs failed traced alone, %u untraced alone (chance %.2g): precedent "
			   "doctor names jobs to look at; precedent retrace --all resumes tracing",
			   n->traced_failed, n->untraced_failed, chance);
}

int trial_judge_tracing(const struct daemon_env *env, int64_t now, struct errbuf *errp)
{
	struct store_trial_tally n;
	struct store_tracing t;
	enum tracing_state state;

	if (store_tracing_get(env->store, &t, errp) < 0)
		return -1;
	if (t.state == TRACING_STOPPED) /* until the administrator resumes it */
		return 0;
	if (store_trial_count(env->store, now - TRIAL_WINDOW_S, &n, errp) < 0)
		return -1;
	state = trial_judge(n.traced_failed, n.untraced_failed);
	if (state == t.state)
		return 0;
	t = (struct store_tracing){state, now};
	if (store_tracing_set(env->store, &t, errp) < 0)
		return -1;
	say_state(env, state, &n);
	return 0;
}

int trial_may_trace(const struct daemon_env *env, const struct store_run *run, struct errbuf *errp)
{
	struct store_tracing tracing;
	struct store_trial t;
	int rc;

	if (store_tracing_get(env->store, &tracing, errp) < 0)
		return -1;
	if (tracing.state == TRACING_STOPPED)
		return 0;
	rc = store_trial_withholds(env->store, store_trial_name(run->kin, run->key), run->key, &t, errp);
	return rc < 0 ? -1 : !rc;
}
