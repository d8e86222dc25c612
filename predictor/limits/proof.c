/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does slurmctld let the daemon raise limits? See proof.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/limits/proof.h"
#include "predictor/store/limits.h"

#define FIRST_MIN 1
#define RAISED_MIN 2

enum proof_state { PROOF_NONE, PROOF_RAISED, PROOF_HOLDS, PROOF_FAILED, PROOF_REFUSED };

struct limit_proof {
	enum proof_state state;
	int64_t boot; /* slurmctld's start that the proof is of */
	int64_t tried;
	uint32_t job_id; /* of PROOF_RAISED */
	struct errbuf why; /* nothing is lowered; "": nothing is wrong */
	bool told;	   /* the store has it */
};

struct limit_proof *limit_proof_create(void)
{
	return calloc(1, sizeof(struct limit_proof));
}

void limit_proof_destroy(struct limit_proof *p)
{
	free(p);
}

static void settle(struct limit_proof *p, const struct daemon_env *env, enum proof_state state, const char *why)
{
	p->state = state;
	p->told = false;
	snprintf(p->why.text, sizeof(p->why.text), "%s", why);
	if (*why)
		daemon_say(env, LOG_LEVEL_ERROR, "no limit is lowered: %s; set LimitGuard = auto, or let SlurmUser submit jobs and raise limits, and "
						 "start precedentd again", why);
	else
		daemon_say(env, LOG_LEVEL_INFO, "slurmctld lets precedentd raise limits (job %u)", p->job_id);
}

void limit_proof_refuse(struct limit_proof *p, const struct daemon_env *env)
{
	if (p && p->state != PROOF_REFUSED)
		settle(p, env, PROOF_REFUSED, "slurmctld refuses to raise limits");
}

static void job_cancel(const struct daemon_env *env, uint32_t job_id)
{
	struct errbuf why;

	if (env->ops->cancel(env->ops->arg, job_id, &why) < 0)
		daemon_say(env, LOG_LEVEL_WARN, "job %u (" LIMIT_PROOF_JOB "): cannot be cancelled: %s", job_id, why.text);
}

static int job_submit(const struct daemon_env *env, uint32_t *job_id, struct errbuf *errp)
{
	const struct precedent_conf *conf = env->conf;
	char comment[COMMENT_TEXT_MAX];
	struct job_comment c;
	struct cluster_submission sub = {
		.uid = geteuid(), .gid = getegid(), .name = LIMIT_PROOF_JOB, .script = "#!/bin/sh\n", .work_dir = "/", .std_out = "/dev/null",
		.admin_comment = comment, .partition = conf->n_candidates ? conf->candidates[0].partition : "", .features = "", .account = "",
		.qos = "", .nodes = 1, .tasks = 1, .limit_min = FIRST_MIN, .held = true,
	};

	comment_init(&c);
	c.act = ACT_PROBE; /* without a key: the plugin lets it pass */
	if (comment_format(&c, comment, sizeof(comment)) < 0)
		return err_set(errp, "no room for its comment");
	return env->ops->submit(env->ops->arg, &sub, job_id, errp);
}

static void begin(struct limit_proof *p, const struct daemon_env *env, int64_t now)
{
	struct errbuf why;

	p->tried = now;
	if (job_submit(env, &p->job_id, &why) < 0) {
		err_prefix(&why, "a held job to try with cannot be submitted");
		settle(p, env, PROOF_FAILED, why.text);
		return;
	}
	p->state = PROOF_RAISED;
	if (env->ops->set_limit(env->ops->arg, p->job_id, RAISED_MIN, NULL, &why) == 0)
		return;
	err_prefix(&why, "the limit of job %u (" LIMIT_PROOF_JOB ") cannot be raised", p->job_id);
	settle(p, env, PROOF_FAILED, why.text);
	job_cancel(env, p->job_id);
}

/* A job_submit plugin may drop a change without a word: the limit is looked at. */
static void finish(struct limit_proof *p, const struct daemon_env *env, const struct cluster_snapshot *snap)
{
	const struct cluster_job *job = cluster_job_find(snap, p->job_id);

	if (job && job->limit_min == RAISED_MIN)
		settle(p, env, PROOF_HOLDS, "");
	else
		settle(p, env, PROOF_FAILED, "the limit of a held job was raised, and stayed as it was");
	job_cancel(env, p->job_id);
}

static void leftovers_cancel(const struct limit_proof *p, const struct daemon_env *env, const struct cluster_snapshot *snap)
{
	for (size_t i = 0; i < snap->n; i++) {
		const struct cluster_job *job = &snap->jobs[i];

		if (job->phase == CLUSTER_PENDING && job->uid == geteuid() && !strcmp(job->name, LIMIT_PROOF_JOB) &&
		    (p->state != PROOF_RAISED || job->job_id != p->job_id))
			job_cancel(env, job->job_id);
	}
}

static void prove(struct limit_proof *p, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now)
{
	int64_t boot = env->ops->boot(env->ops->arg);

	if (!boot)
		return;
	if (p->state != PROOF_REFUSED && boot != p->boot)
		p->state = PROOF_NONE;
	p->boot = boot;
	if (p->state == PROOF_RAISED)
		finish(p, env, snap);
	else if (p->state == PROOF_NONE || (p->state == PROOF_FAILED && now - p->tried >= LIMIT_PROOF_AGAIN_S))
		begin(p, env, now);
}

bool limit_proof_poll(struct limit_proof *p, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now)
{
	bool wanted = env->conf->limit_guard == GUARD_RAISE;
	struct errbuf why;

	if (!p)
		return false;
	leftovers_cancel(p, env, snap);
	if (!wanted && p->state != PROOF_NONE)
		*p = (struct limit_proof){0};
	if (wanted)
		prove(p, env, snap, now);
	if (!p->told && env->store && (!wanted || p->state >= PROOF_HOLDS))
		p->told = store_limits_note_set(env->store, STORE_LIMITS_STOPPED, p->why.text, &why) == 0;
	return p->state == PROOF_HOLDS;
}
