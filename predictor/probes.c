/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state machine of build-and-probe jobs, see probes.h. A row of the probes table goes
 *   waiting -> submitted -> done | failed, or back to waiting (with a later not_before) when a try was in vain.
 * The job script holds nothing that a user chose: paths of the configuration, numbers, and the candidate's safe name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/probes.h"
#include "predictor/spool.h"

/* The probes of one program: at most one per candidate that ever was configured. */
#define ROWS_MAX 64

struct rows {
	struct store_probe row[ROWS_MAX];
	size_t n;
};

static int rows_add(const struct store_probe *p, void *arg)
{
	struct rows *r = arg;

	r->row[r->n] = *p;
	r->row[r->n++].result = NULL; /* borrowed from the store: gone after this call */
	return r->n == ROWS_MAX;
}

static struct rows *rows_load(struct store *s, const char *key, struct errbuf *errp)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(errp, "no memory for the probes");
		return NULL;
	}
	if (store_probes_each(s, key, 0, rows_add, r, errp) < 0) {
		free(r);
		return NULL;
	}
	return r;
}

double probes_seconds(const struct precedent_conf *conf, double elapsed_s, unsigned n_candidates)
{
	double s = elapsed_s * conf->probe_budget / (n_candidates ? n_candidates : 1);

	if (s < conf->probe_seconds)
		s = conf->probe_seconds;
	return s < PROBES_SECONDS_MAX || conf->probe_seconds > PROBES_SECONDS_MAX ? s : PROBES_SECONDS_MAX;
}

static int row_put(const struct follow_env *env, struct store_probe *row, int64_t now, struct errbuf *errp)
{
	row->updated = now;
	return store_probe_put(env->store, row, errp);
}

static int row_create(const struct follow_env *env, const char *key, const char *candidate, int64_t now,
		      struct errbuf *errp)
{
	struct store_probe row = {.state = PROBE_WAITING};

	snprintf(row.key, sizeof(row.key), "%s", key);
	snprintf(row.candidate, sizeof(row.candidate), "%s", candidate);
	return row_put(env, &row, now, errp);
}

int probes_begin(const struct follow_env *env, struct store_program *p, int64_t now, struct errbuf *errp)
{
	if (row_create(env, p->key, p->source_candidate, now, errp) < 0)
		return -1;
	p->state = PROGRAM_BUILDING;
	p->reason[0] = '\0';
	p->updated = now;
	return store_program_put(env->store, p, errp);
}

/* A try came to nothing: again later, or given up. */
static int row_retry(const struct follow_env *env, struct store_probe *row, bool again, int64_t now,
		     struct errbuf *errp)
{
	if (again && row->tries < PROBES_TRIES_MAX) {
		row->state = PROBE_WAITING;
		row->not_before = now + ((int64_t)PROBES_BACKOFF_S << (row->tries ? row->tries - 1 : 0));
		follow_say(env, LOG_LEVEL_WARN, "key %.8s: probe on %s (job %u) failed, try %u of %d: %s", row->key,
			   row->candidate, row->jobid, row->tries, PROBES_TRIES_MAX, row->reason);
	} else {
		row->state = PROBE_FAILED;
		follow_say(env, LOG_LEVEL_WARN, "key %.8s: probe on %s (job %u) given up: %s", row->key,
			   row->candidate, row->jobid, row->reason);
	}
	return row_put(env, row, now, errp);
}

/* ---- submitting ---- */

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

static int script_format(const struct follow_env *env, const char *dir, const char *safe, bool source,
			 enum conf_partial partial, double seconds, char *out, size_t size)
{
	char program[1024], binary[1100], quoted[1200];
	int n;

	n = snprintf(program, sizeof(program), "%s/bin/precedent", env->conf->install_dir);
	if (n < 0 || (size_t)n >= sizeof(program) || shell_quote(program, binary, sizeof(binary)) < 0 ||
	    shell_quote(dir, quoted, sizeof(quoted)) < 0)
		return -1;
	n = snprintf(out, size, "#!/bin/sh\nexec %s probe --dir %s --candidate %s%s%s%s --seconds %.2f\n", binary, quoted,
		     safe, source ? " --source" : "", partial == PARTIAL_OFF ? "" : " --partial=",
		     partial == PARTIAL_OFF ? "" : partial_name(partial), seconds);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

/* Building, starting, and a candidate that is ten times slower, but never more than the partition allows. */
static uint32_t probe_limit_min(const struct follow_env *env, const char *partition, uint32_t n_traces, double seconds)
{
	unsigned traces = n_traces < 1 ? 1 : n_traces > 8 ? 8 : n_traces;
	uint32_t limit_min = (uint32_t)((240 + 10 * seconds * traces) / 60) + 1;
	struct store_partition part;

	if (store_partition_get(env->store, partition, &part, NULL) == 1 && part.max_min < limit_min)
		limit_min = part.max_min;
	return limit_min;
}

static unsigned candidates_count(const struct follow_env *env, const struct store_program *p)
{
	unsigned n = (unsigned)env->conf->n_candidates;

	return conf_candidate_find(env->conf, p->source_candidate) ? n : n + 1;
}

/* Texts that a submission points to. */
struct submission_text {
	char dir[1024], out[1200], script[4096], comment[COMMENT_TEXT_MAX], safe[RESULT_NAME_SIZE];
};

static int submission_text(const struct follow_env *env, const struct store_program *p, const char *candidate,
			   double seconds, struct submission_text *t, struct errbuf *errp)
{
	bool source = !strcmp(candidate, p->source_candidate);
	struct job_comment c;
	int n;

	result_candidate_name(candidate, t->safe, sizeof(t->safe));
	n = snprintf(t->dir, sizeof(t->dir), "%s/%u/%u", env->conf->spool_dir, p->uid, p->source_job);
	if (n < 0 || (size_t)n >= sizeof(t->dir))
		return err_set(errp, "SpoolDir is too long");
	snprintf(t->out, sizeof(t->out), "%s/probe.%s.log", t->dir, t->safe);
	if (script_format(env, t->dir, t->safe, source, partial_for(env->conf, candidate, p->source_candidate), seconds, t->script,
			  sizeof(t->script)) < 0)
		return err_set(errp, "SpoolDir or InstallDir is too long");
	comment_init(&c);
	c.act = ACT_PROBE;
	memcpy(c.key, p->key, sizeof(c.key));
	snprintf(c.candidate, sizeof(c.candidate), "%s", t->safe);
	if (comment_format(&c, t->comment, sizeof(t->comment)) < 0)
		return err_set(errp, "the admin comment does not fit");
	return 0;
}

static int probe_submit(const struct follow_env *env, const struct store_program *p,
			const struct cluster_layout *layout, struct store_probe *row, struct errbuf *errp)
{
	const struct conf_candidate *cand = conf_candidate_find(env->conf, row->candidate);
	double seconds = probes_seconds(env->conf, p->source_elapsed_s, candidates_count(env, p));
	const char *account = env->conf->probe_account, *qos = env->conf->probe_qos;
	struct submission_text t;
	struct cluster_submission sub = {
		.uid = p->uid, .gid = layout->gid, .name = "precedent-probe", .script = t.script, .work_dir = t.dir,
		.std_out = t.out, .admin_comment = t.comment,
		.partition = cand ? cand->partition : row->candidate, .features = cand ? cand->constraint : "",
		.account = account && *account ? account : layout->account, .qos = qos && *qos ? qos : layout->qos,
		.nodes = p->nodes, .tasks = p->tasks, .tasks_per_node = layout->tasks_per_node,
		.cpus_per_task = layout->cpus_per_task, .memory = layout->memory, .exclusive = layout->exclusive,
	};

	if (submission_text(env, p, row->candidate, seconds, &t, errp) < 0)
		return -1;
	sub.limit_min = probe_limit_min(env, sub.partition, p->n_traces, seconds);
	return env->ops->submit(env->ops->arg, &sub, &row->jobid, errp);
}

/* Our probe job for this row may be in the queue already: the daemon died between submitting and noting it. */
static const struct cluster_job *probe_adopt(const struct cluster_snapshot *snap, const struct store_probe *row)
{
	char safe[RESULT_NAME_SIZE];

	result_candidate_name(row->candidate, safe, sizeof(safe));
	for (size_t i = 0; i < snap->n; i++) {
		const struct cluster_job *j = &snap->jobs[i];
		struct job_comment c;

		if (j->phase != CLUSTER_ENDED && j->job_id > row->jobid && comment_parse(j->admin_comment, &c) == 0 &&
		    c.act == ACT_PROBE && !strcmp(c.key, row->key) && !strcmp(c.candidate, safe))
			return j;
	}
	return NULL;
}

static int row_submit(const struct follow_env *env, const struct cluster_snapshot *snap, struct store_probe *row,
		      int64_t now, struct errbuf *errp)
{
	const struct cluster_job *there = probe_adopt(snap, row);
	struct store_program p;
	struct cluster_layout layout;
	struct errbuf why = {""};
	int rc = store_program_get(env->store, row->key, &p, errp);

	if (rc < 0)
		return -1;
	if (!rc) { /* forgotten meanwhile */
		row->state = PROBE_FAILED;
		snprintf(row->reason, sizeof(row->reason), "the program was forgotten");
		return row_put(env, row, now, errp);
	}
	row->tries++;
	if (there) {
		row->jobid = there->job_id;
	} else {
		rc = cluster_layout_get(env->store, row->key, &layout, errp);
		if (rc < 0)
			return -1;
		if (!rc)
			err_set(&why, "the layout of the traced job is not known any more");
		if (!rc || probe_submit(env, &p, &layout, row, &why) < 0) {
			snprintf(row->reason, sizeof(row->reason), "cannot be submitted: %.250s", why.text);
			return row_retry(env, row, rc, now, errp);
		}
	}
	row->state = PROBE_SUBMITTED;
	row->submitted = now;
	row->reason[0] = '\0';
	follow_say(env, LOG_LEVEL_INFO, "job %u: probe on %s %s for job %u, key %.8s, uid %u", row->jobid,
		   row->candidate, there ? "found in the queue" : "submitted", p.source_job, row->key, p.uid);
	return row_put(env, row, now, errp);
}

/* ---- collecting ---- */

/* The record's own text, from the parsed form: what is stored has passed the parser. 1 good, 0 none, -1 refused. */
static int record_load(const struct follow_env *env, const struct store_program *p, const char *candidate,
		       struct result *res, struct buf *text, struct errbuf *why)
{
	char safe[RESULT_NAME_SIZE], name[RESULT_NAME_SIZE + 16];
	int rc, dirfd = spool_job_open(env->conf->spool_dir, p->uid, p->source_job, NULL, why);

	if (dirfd < 0)
		return -1;
	result_candidate_name(candidate, safe, sizeof(safe));
	snprintf(name, sizeof(name), "probe.%s.result", safe);
	rc = result_read(dirfd, name, p->uid, res, why);
	close(dirfd);
	if (rc <= 0)
		return rc;
	if (strcmp(res->candidate, safe))
		return err_set(why, "%s is for candidate %s", name, res->candidate);
	if (result_format(res, text, why) < 0)
		return -1;
	buf_put_u8(text, '\0');
	return text->failed ? err_set(why, "no memory for the record") : 1;
}

/* What the end of a probe job without a usable record means. */
static bool end_is_worth_a_retry(const char *state)
{
	return strcmp(state, "CANCELLED") && strcmp(state, "DEADLINE");
}

static int row_collect(const struct follow_env *env, const struct cluster_job *job, struct store_probe *row,
		       int64_t now, struct errbuf *errp)
{
	struct result *res = calloc(1, sizeof(*res));
	struct errbuf why = {""};
	struct buf text = {0};
	struct store_program p;
	int rv = -1, rc;

	if (!res)
		return err_set(errp, "no memory for a record");
	rc = store_program_get(env->store, row->key, &p, errp);
	if (rc < 0)
		goto out;
	if (!rc) {
		row->state = PROBE_FAILED;
		snprintf(row->reason, sizeof(row->reason), "the program was forgotten");
		rv = row_put(env, row, now, errp);
		goto out;
	}
	if (job)
		row->cost_node_s += job->nodes * job->elapsed_s;
	rc = record_load(env, &p, row->candidate, res, &text, &why);
	if (rc == 1 && (res->job_id == row->jobid || res->job_id == p.source_job)) {
		row->result = (const char *)text.data;
		if (res->ok) {
			row->state = PROBE_DONE;
			follow_say(env, LOG_LEVEL_INFO, "job %u: probe on %s done in %.0f s, key %.8s", row->jobid,
				   row->candidate, job ? job->elapsed_s : 0.0, row->key);
			rv = row_put(env, row, now, errp);
		} else {
			snprintf(row->reason, sizeof(row->reason), "%.300s", res->reason);
			rv = row_retry(env, row, false, now, errp);
		}
		goto out;
	}
	if (rc < 0)
		snprintf(row->reason, sizeof(row->reason), "result not usable: %.270s", why.text);
	else
		snprintf(row->reason, sizeof(row->reason), "no result; the job ended %s",
			 job ? job->end_state : "unseen");
	rv = row_retry(env, row, !job || end_is_worth_a_retry(job->end_state), now, errp);
out:
	buf_free(&text);
	free(res);
	return rv;
}

static int row_pending_too_long(const struct follow_env *env, struct store_probe *row, int64_t now,
				struct errbuf *errp)
{
	struct errbuf why;

	if (env->ops->cancel(env->ops->arg, row->jobid, &why) < 0) {
		follow_say(env, LOG_LEVEL_WARN, "job %u: probe cannot be cancelled: %s", row->jobid, why.text);
		return 0;
	}
	snprintf(row->reason, sizeof(row->reason), "waited %d days in the queue", PROBES_PENDING_MAX_S / 86400);
	return row_retry(env, row, false, now, errp);
}

/* ---- programs ---- */

static int others_create(const struct follow_env *env, const struct store_program *p, int64_t now, struct errbuf *errp)
{
	for (size_t i = 0; i < env->conf->n_candidates; i++) {
		const char *name = env->conf->candidates[i].name;
		struct store_probe have = {0};
		int rc;

		if (!strcmp(name, p->source_candidate))
			continue;
		rc = store_probe_get(env->store, p->key, name, &have, errp);
		free((void *)(uintptr_t)have.result);
		if (rc < 0 || (!rc && row_create(env, p->key, name, now, errp) < 0))
			return -1;
	}
	return 0;
}

static const struct store_probe *row_find(const struct rows *r, const char *candidate)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->row[i].candidate, candidate))
			return &r->row[i];
	return NULL;
}

static int program_fail(const struct follow_env *env, struct store_program *p, const char *reason, int64_t now,
			struct errbuf *errp)
{
	p->state = PROGRAM_FAILED;
	p->retrace_at = now + PROBES_RETRACE_S;
	p->updated = now;
	snprintf(p->reason, sizeof(p->reason), "%s", reason);
	follow_say(env, LOG_LEVEL_WARN, "key %.8s: job %u will not be predicted: %s", p->key, p->source_job, p->reason);
	if (cluster_layout_drop(env->store, p->key, errp) < 0)
		return -1;
	return store_program_put(env->store, p, errp);
}

/* All probes of a program have come to an end. */
static int program_conclude(const struct follow_env *env, struct store_program *p, const struct rows *r, int64_t now,
			    struct errbuf *errp)
{
	struct follow_estimates est;

	p->reason[0] = '\0';
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].state == PROBE_FAILED && !p->reason[0])
			snprintf(p->reason, sizeof(p->reason), "nothing for %.60s: %.200s", r->row[i].candidate,
				 r->row[i].reason);
	if (follow_calibrate(env, p, NULL, now, &est, errp) < 0)
		return -1;
	if (!est.n)
		return program_fail(env, p, est.refused.text[0] ? est.refused.text : "no estimate", now, errp);
	if (est.refused.text[0] && !p->reason[0])
		snprintf(p->reason, sizeof(p->reason), "%.300s", est.refused.text);
	p->state = PROGRAM_READY;
	p->mpi_s = est.source_mpi_s;
	p->updated = now;
	follow_say(env, LOG_LEVEL_INFO, "key %.8s: ready, %u candidate%s predicted from job %u%s%s", p->key, est.n,
		   est.n == 1 ? "" : "s", p->source_job, p->reason[0] ? "; " : "", p->reason);
	if (cluster_layout_drop(env->store, p->key, errp) < 0)
		return -1;
	return store_program_put(env->store, p, errp);
}

static int program_advance(const struct follow_env *env, struct store_program *p, int64_t now, struct errbuf *errp)
{
	struct rows *r = rows_load(env->store, p->key, errp);
	const struct store_probe *source;
	char reason[STORE_REASON_MAX];
	size_t before, open = 0;
	int rv = -1;

	if (!r)
		return -1;
	source = row_find(r, p->source_candidate);
	if (!source || source->state == PROBE_FAILED) {
		snprintf(reason, sizeof(reason), "probe on %.60s: %.230s", p->source_candidate,
			 source ? source->reason : "lost");
		rv = program_fail(env, p, reason, now, errp);
		goto out;
	}
	if (source->state != PROBE_DONE) {
		rv = 0;
		goto out;
	}
	before = r->n;
	if (others_create(env, p, now, errp) < 0)
		goto out;
	free(r);
	r = rows_load(env->store, p->key, errp);
	if (!r)
		return -1;
	for (size_t i = 0; i < r->n; i++)
		open += r->row[i].state == PROBE_WAITING || r->row[i].state == PROBE_SUBMITTED;
	rv = open || r->n < before ? 0 : program_conclude(env, p, r, now, errp);
out:
	free(r);
	return rv;
}

/* Programs under construction: conclude those whose probes are done, begin those that waited for a candidate. */
static int programs_poll(const struct follow_env *env, int64_t now, struct errbuf *errp)
{
	struct store_pair *list;
	struct store_program p;
	size_t n;
	int rv = 0, rc;

	if (store_busy_programs(env->store, &list, &n, errp) < 0)
		return -1;
	for (size_t i = 0; i < n && !rv; i++) {
		rc = store_program_get(env->store, list[i].key, &p, errp);
		if (rc < 0)
			rv = -1;
		if (rc == 1 && p.state == PROGRAM_TRACED && env->conf->n_candidates)
			rv = probes_begin(env, &p, now, errp);
		else if (rc == 1 && p.state == PROGRAM_BUILDING)
			rv = program_advance(env, &p, now, errp);
	}
	free(list);
	return rv;
}

static int row_poll(const struct follow_env *env, const struct cluster_snapshot *snap, struct store_probe *row,
		    int64_t now, struct errbuf *errp)
{
	const struct cluster_job *job;

	if (row->state == PROBE_WAITING)
		return row->not_before > now ? 0 : row_submit(env, snap, row, now, errp);
	job = cluster_job_find(snap, row->jobid);
	if (!job) /* an older snapshot does not know it yet */
		return snap->taken <= row->submitted + 1 ? 0 : row_collect(env, NULL, row, now, errp);
	if (job->phase == CLUSTER_ENDED)
		return row_collect(env, job, row, now, errp);
	if (job->phase == CLUSTER_PENDING && now - row->submitted > PROBES_PENDING_MAX_S)
		return row_pending_too_long(env, row, now, errp);
	return 0;
}

static int rows_poll(const struct follow_env *env, const struct cluster_snapshot *snap, int64_t now,
		     struct errbuf *errp)
{
	struct store_pair *list;
	struct store_probe row;
	size_t n;
	int rv = 0, rc;

	if (store_busy_probes(env->store, &list, &n, errp) < 0)
		return -1;
	for (size_t i = 0; i < n && !rv; i++) {
		rc = store_probe_get(env->store, list[i].key, list[i].candidate, &row, errp);
		if (rc == 1) {
			free((void *)(uintptr_t)row.result);
			row.result = NULL;
			rc = row_poll(env, snap, &row, now, errp);
		}
		if (rc < 0)
			rv = -1;
	}
	free(list);
	return rv;
}

int probes_poll(const struct follow_env *env, const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp)
{
	/* Twice, so that a source probe's result leads to the other probes in the same look. */
	for (int pass = 0; pass < 2; pass++)
		if (rows_poll(env, snap, now, errp) < 0 || programs_poll(env, now, errp) < 0)
			return -1;
	return 0;
}
