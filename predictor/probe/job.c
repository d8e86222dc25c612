/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Submits one probe job and computes its budget: see probes.h. The job script holds no text of a user: paths of the
 * configuration, numbers, and the candidate's safe name.
 */
#include <stdio.h>
#include <string.h>

#include "predictor/probe/job.h"
#include "predictor/probe/members.h"
#include "predictor/spool/result.h"

#define MEMBERS_TEXT_MAX (PROBE_MEMBERS_MAX * (COMMENT_VARS_MAX + 24)) /* each: the option, a number of a job, numbers */

double probes_seconds(const struct precedent_conf *conf, double elapsed_s, unsigned n_candidates)
{
	double s = elapsed_s * conf->probe_budget / (n_candidates ? n_candidates : 1);

	if (s < conf->probe_seconds)
		s = conf->probe_seconds;
	return s < PROBES_SECONDS_MAX || conf->probe_seconds > PROBES_SECONDS_MAX ? s : PROBES_SECONDS_MAX;
}

/* 'path' for the shell, quotes in it and all. */
static int shell_quote(const char *s, char *out, size_t size)
{
	size_t n = 0;

	if (size < 3)
		return -1;
	out[n++] = '\'';
	for (; *s; s++) {
		const char *put = *s == '\'' ? "'\\''" : NULL;
		size_t len = put ? 4 : 1;

		if (n + len + 2 > size)
			return -1;
		memcpy(out + n, put ? put : s, len);
		n += len;
	}
	out[n++] = '\'';
	out[n] = '\0';
	return 0;
}

/* On the traced candidate also where it is on for any other: the two are compared. Where it is forbidden there, it is of no
 * use elsewhere. */
static enum conf_partial partial_for(const struct precedent_conf *conf, const char *candidate, const char *source)
{
	enum conf_partial p = conf_partial_for(conf, candidate);
	bool same = !strcmp(candidate, source);

	if (!same && conf_partial_for(conf, source) == PARTIAL_NEVER)
		return PARTIAL_NEVER;
	for (size_t i = 0; same && p == PARTIAL_OFF && i < conf->n_candidates; i++)
		if (conf_partial_for(conf, conf->candidates[i].name) == PARTIAL_ON)
			p = PARTIAL_ON;
	return p;
}

enum conf_partial probe_partial(const struct daemon_env *env, const struct store_program *p, const char *candidate,
				const struct cluster_layout *layout)
{
	enum conf_partial partial = partial_for(env->conf, candidate, p->source_candidate);

	/* Whether the traced job asked for it is not known before the probe runs. */
	return partial == PARTIAL_OFF && layout->want[WANT_LICENCES][0] ? PARTIAL_NEVER : partial;
}

const char *probe_want(const struct cluster_layout *layout, enum conf_partial partial, enum cluster_want want)
{
	return want == WANT_LICENCES && partial != PARTIAL_ON ? "" : layout->want[want];
}

/* Texts that a submission points to. */
struct submission_text {
	/* Set before the other texts: */
	enum conf_partial partial;
	bool source; /* builds the skeletons, once */
	char members[MEMBERS_TEXT_MAX + 32]; /* and for how long it computes points */
	char dir[1024], out[1200], script[8192], comment[COMMENT_TEXT_MAX], safe[RESULT_NAME_SIZE];
};

static int script_format(const struct daemon_env *env, double seconds, struct submission_text *t)
{
	char program[1024], binary[1100], quoted[1200];
	int n;

	n = snprintf(program, sizeof(program), "%s/bin/precedent", env->conf->install_dir);
	if (n < 0 || (size_t)n >= sizeof(program) || shell_quote(program, binary, sizeof(binary)) < 0 ||
	    shell_quote(t->dir, quoted, sizeof(quoted)) < 0)
		return -1;
	n = snprintf(t->script, sizeof(t->script), "#!/bin/sh\nexec %s probe --dir %s --candidate %s%s%s%s --seconds %.2f%s\n", binary, quoted,
		     t->safe, t->source ? " --source" : "", t->partial == PARTIAL_OFF ? "" : " --partial=",
		     t->partial == PARTIAL_OFF ? "" : partial_name(t->partial), seconds, t->members);
	return n < 0 || (size_t)n >= sizeof(t->script) ? -1 : 0;
}

/* Building, starting, computing points, and a candidate that is ten times slower, but never more than the partition allows. */
static uint32_t probe_limit_min(const struct daemon_env *env, const char *partition, uint32_t n_traces, double seconds,
				unsigned points_s)
{
	unsigned traces = n_traces < 1 ? 1 : n_traces > 8 ? 8 : n_traces;
	uint32_t limit_min = (uint32_t)((240 + 10 * seconds * traces + points_s) / 60) + 1;
	struct store_partition part;

	if (store_partition_get(env->store, partition, &part, NULL) == 1 && part.max_min < limit_min)
		limit_min = part.max_min;
	return limit_min;
}

unsigned probes_candidates(const struct daemon_env *env, const struct store_program *p)
{
	unsigned n = (unsigned)env->conf->n_candidates;

	return conf_candidate_find(env->conf, p->source_candidate) ? n : n + 1;
}

/* What the skeleton leaves of this candidate's share of the allowance, in seconds of all nodes. */
static double points_seconds(const struct daemon_env *env, const struct store_program *p, const struct store_probe *row,
			     double seconds)
{
	double left = (probes_allowance(env, p) / probes_candidates(env, p) - row->cost_node_s) / (p->nodes ? p->nodes : 1) - seconds;

	return left < RESULT_POINTS_S ? left : RESULT_POINTS_S;
}

/* Members for the source probe. Sets *points_s to how long it may compute points: 0 if it has no members. */
static int members_text(const struct daemon_env *env, const struct store_program *p, const struct store_probe *row, double seconds,
			struct submission_text *t, unsigned *points_s, struct errbuf *errp)
{
	double left = t->source ? points_seconds(env, p, row, seconds) : 0;
	size_t len;

	t->members[0] = '\0';
	*points_s = 0;
	if (left >= 1 && probe_members(env, p, t->members, MEMBERS_TEXT_MAX, errp) < 0)
		return -1;
	if (t->members[0]) {
		*points_s = (unsigned)left;
		len = strlen(t->members);
		snprintf(t->members + len, sizeof(t->members) - len, " --points-seconds %u", *points_s);
	}
	return 0;
}

static int submission_text(const struct daemon_env *env, const struct store_program *p, const struct store_probe *row,
			   uint32_t limit_min, struct submission_text *t, struct errbuf *errp)
{
	double seconds = probes_seconds(env->conf, p->source_elapsed_s, probes_candidates(env, p));
	struct job_comment c;
	int n;

	result_candidate_name(row->candidate, t->safe, sizeof(t->safe));
	n = snprintf(t->dir, sizeof(t->dir), "%s/%u/%u", env->conf->spool_dir, p->uid, p->source_job);
	if (n < 0 || (size_t)n >= sizeof(t->dir))
		return err_set(errp, "SpoolDir is too long");
	snprintf(t->out, sizeof(t->out), "%s/probe.%s.log", t->dir, t->safe);
	if (script_format(env, seconds, t) < 0)
		return err_set(errp, "SpoolDir or InstallDir is too long");
	comment_init(&c);
	c.act = ACT_PROBE;
	c.user_limit_min = limit_min;
	memcpy(c.key, p->key, sizeof(c.key));
	snprintf(c.candidate, sizeof(c.candidate), "%s", t->safe);
	if (comment_format(&c, t->comment, sizeof(t->comment)) < 0)
		return err_set(errp, "the admin comment does not fit");
	return 0;
}

int probe_submit(const struct daemon_env *env, const struct store_program *p,
		 const struct cluster_layout *layout, struct store_probe *row, struct errbuf *errp)
{
	const struct conf_candidate *cand = conf_candidate_find(env->conf, row->candidate);
	double seconds = probes_seconds(env->conf, p->source_elapsed_s, probes_candidates(env, p));
	const char *account = env->conf->probe_account, *qos = env->conf->probe_qos;
	struct submission_text t;
	unsigned points_s;
	struct cluster_submission sub = {
		.uid = p->uid, .gid = layout->gid, .name = PROBE_JOB_NAME, .script = t.script, .work_dir = t.dir,
		.std_out = t.out, .admin_comment = t.comment,
		.partition = cand ? cand->partition : row->candidate, .features = cand ? cand->constraint : "",
		.account = account && *account ? account : layout->account, .qos = qos && *qos ? qos : layout->qos,
		.nodes = p->nodes, .tasks = p->tasks, .tasks_per_node = layout->tasks_per_node,
		.cpus_per_task = layout->cpus_per_task, .memory = layout->memory, .exclusive = layout->exclusive,
	};

	t.partial = probe_partial(env, p, row->candidate, layout);
	for (enum cluster_want i = 0; i < CLUSTER_WANTS; i++)
		sub.want[i] = probe_want(layout, t.partial, i);
	t.source = !strcmp(row->candidate, p->source_candidate) && !row->kept;
	if (members_text(env, p, row, seconds, &t, &points_s, errp) < 0)
		return -1;
	sub.limit_min = probe_limit_min(env, sub.partition, p->n_traces, seconds, points_s);
	if (submission_text(env, p, row, sub.limit_min, &t, errp) < 0)
		return -1;
	return env->ops->submit(env->ops->arg, &sub, &row->jobid, errp);
}

double probes_allowance(const struct daemon_env *env, const struct store_program *p)
{
	double budget = env->conf->probe_budget * p->source_elapsed_s * p->nodes;
	double least = probes_candidates(env, p) * (double)p->nodes * (env->conf->probe_seconds + PROBES_LEAST_S);

	return budget > least ? budget : least;
}
