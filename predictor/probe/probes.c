/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state machine of build-and-probe jobs, see probes.h. A row of the probes table goes
 *
 *   waiting -> submitted -> done | failed, or back to waiting (with a later not_before) when a try was in vain.
 *
 * A row with a record goes from done to waiting again when the probe is to be made again, and keeps the record until there is a
 * new one. Rows that are no longer needed are dropped, and their jobs cancelled.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/learn/program_estimate.h"
#include "predictor/learn/scaling_follow.h"
#include "predictor/probe/job.h"
#include "predictor/spool/in_time.h"
#include "predictor/spool/spool.h"
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"
#include "predictor/store/layout.h"
#include "predictor/store/records.h"
#include "predictor/store/spool_use.h"

/* The probes of one program: at most one per candidate that ever was configured. */
#define ROWS_MAX 64

struct rows {
	struct store_probe row[ROWS_MAX];
	size_t n;
};

static int rows_add(const struct store_probe *p, void *arg)
{
	struct rows *r = arg;

	r->row[r->n++] = *p;
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

int probe_row_put(const struct daemon_env *env, struct store_probe *row, int64_t now, struct errbuf *errp)
{
	row->updated = now;
	return store_probe_put(env->store, row, errp);
}

static int row_create(const struct daemon_env *env, const char *key, const char *candidate, int64_t now,
		      struct errbuf *errp)
{
	struct store_probe row = {.state = PROBE_WAITING};

	snprintf(row.key, sizeof(row.key), "%s", key);
	snprintf(row.candidate, sizeof(row.candidate), "%s", candidate);
	return probe_row_put(env, &row, now, errp);
}

int probes_begin(const struct daemon_env *env, struct store_program *p, int64_t now, struct errbuf *errp)
{
	int busy = store_busy_family(env->store, p, errp);

	if (busy < 0)
		return -1;
	if (busy >= PROBES_FAMILY_MAX) { /* probes_poll comes back to it */
		if (p->reason[0])
			return 0;
		snprintf(p->reason, sizeof(p->reason), "waits until others of its family have been probed");
		return store_program_put(env->store, p, errp);
	}
	if (row_create(env, p->key, p->source_candidate, now, errp) < 0)
		return -1;
	p->state = PROGRAM_BUILDING;
	p->reason[0] = '\0';
	p->updated = now;
	return store_program_put(env->store, p, errp);
}

/* Maximum of tries, by the end of the last one: a preempted try has not failed. */
static unsigned tries_max(const char *end_state)
{
	return end_state && !strcmp(end_state, "PREEMPTED") ? PROBES_PREEMPTED_MAX : PROBES_TRIES_MAX;
}

static int64_t back_off_s(uint32_t tries)
{
	uint32_t doubled = tries > 1 ? tries - 1 : 0;
	int64_t s = (int64_t)PROBES_BACKOFF_S << (doubled < 16 ? doubled : 16);

	return s < PROBES_BACKOFF_MAX_S ? s : PROBES_BACKOFF_MAX_S;
}

/* No more tries. A probe that was to be made again leaves things as they were. */
static int row_give_up(const struct daemon_env *env, struct store_probe *row, int64_t now, struct errbuf *errp)
{
	daemon_say(env, LOG_LEVEL_WARN, "key %.8s: probe on %s (job %u) given up: %s", row->key, row->candidate, row->jobid,
		   row->reason);
	row->state = row->kept ? PROBE_DONE : PROBE_FAILED;
	if (row->kept)
		row->not_before = now + PROBES_AGAIN_S;
	return probe_row_put(env, row, now, errp);
}

/* A try came to nothing: again later, or given up. */
static int row_retry(const struct daemon_env *env, struct store_probe *row, bool again, const char *end_state, int64_t now,
		     struct errbuf *errp)
{
	if (!again || row->tries >= tries_max(end_state))
		return row_give_up(env, row, now, errp);
	row->state = PROBE_WAITING;
	row->not_before = now + back_off_s(row->tries);
	daemon_say(env, LOG_LEVEL_WARN, "key %.8s: probe on %s (job %u) failed, try %u of %u: %s", row->key, row->candidate,
		   row->jobid, row->tries, tries_max(end_state), row->reason);
	return probe_row_put(env, row, now, errp);
}

/* Nobody waits for it any more. Its job, if there is one in the queue, is cancelled as an orphan. */
static int row_drop(const struct daemon_env *env, const struct store_probe *row, const char *why, struct errbuf *errp)
{
	daemon_say(env, LOG_LEVEL_INFO, "key %.8s: probe on %s (job %u) is not needed any more: %s", row->key, row->candidate,
		   row->jobid, why);
	return store_probe_drop(env->store, row->key, row->candidate, errp);
}

/* ---- submitting ---- */

static double spent_node_s(const struct rows *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->row[i].cost_node_s;
	return sum;
}

/* May this try still be made? 1, 0 with the reason, -1. */
static int within_budget(const struct daemon_env *env, const struct store_program *p, struct errbuf *why, struct errbuf *errp)
{
	double allowed = probes_allowance(env, p), spent;
	double next = p->nodes * probes_seconds(env->conf, p->source_elapsed_s, probes_candidates(env, p));
	struct rows *r = rows_load(env->store, p->key, errp);

	if (!r)
		return -1;
	spent = spent_node_s(r);
	free(r);
	if (spent + next <= allowed)
		return 1;
	err_set(why, "the job's ProbeBudget is spent: %.0f of %.0f node seconds", spent, allowed);
	return 0;
}

static int row_submitted(const struct daemon_env *env, struct store_probe *row, int64_t now, struct errbuf *errp)
{
	row->state = PROBE_SUBMITTED;
	row->submitted = now;
	row->reason[0] = '\0';
	return probe_row_put(env, row, now, errp);
}

/* Why the user gets no probes now, and until when. 1, 0 if the user gets them, -1. */
static int user_refused(const struct daemon_env *env, uint32_t uid, int64_t now, int64_t *until, struct errbuf *why)
{
	struct spool_use use;
	int64_t when;
	int rc = probe_user_barred(env, uid, now, until, why);

	if (rc < 0)
		return -1;
	if (*until) {
		err_set(why, "its user has changed or overrun a probe, and gets none for %d hours", PROBES_BAR_S / 3600);
		return 1;
	}
	rc = store_spool_use_get(env->store, uid, &use, &when, why);
	if (rc <= 0 || !use.over || now - when > STORE_SPOOL_OVER_S)
		return rc < 0 ? -1 : 0;
	err_set(why, "its user is above SpoolQuota: make room in %s/%u", env->conf->spool_dir, uid);
	*until = now + PROBES_QUOTA_S;
	return 1;
}

/* The try waits; a probe that has a record keeps that. */
static int row_put_off(const struct daemon_env *env, struct store_probe *row, const char *why, int64_t until, int64_t now,
		       struct errbuf *errp)
{
	snprintf(row->reason, sizeof(row->reason), "%.300s", why);
	if (row->kept)
		return row_give_up(env, row, now, errp);
	row->not_before = until;
	return probe_row_put(env, row, now, errp);
}

/* The next try goes to the queue. */
static int row_try(const struct daemon_env *env, const struct store_program *p, struct store_probe *row, int64_t now,
		   struct errbuf *errp)
{
	struct cluster_layout layout;
	struct errbuf why = {""};
	int64_t until;
	int rc = user_refused(env, p->uid, now, &until, &why);

	if (rc)
		return rc < 0 ? err_set(errp, "%s", why.text) : row_put_off(env, row, why.text, until, now, errp);
	rc = within_budget(env, p, &why, errp);
	if (rc < 0)
		return -1;
	if (!rc) {
		snprintf(row->reason, sizeof(row->reason), "%.300s", why.text);
		return row_give_up(env, row, now, errp);
	}
	rc = store_layout_get(env->store, row->key, &layout, errp);
	if (rc < 0)
		return -1;
	if (!rc)
		err_set(&why, "the layout of the traced job is not known any more");
	row->tries++;
	if (!rc || probe_submit(env, p, &layout, row, &why) < 0) {
		snprintf(row->reason, sizeof(row->reason), "cannot be submitted: %.250s", why.text);
		return row_retry(env, row, rc, NULL, now, errp);
	}
	daemon_say(env, LOG_LEVEL_INFO, "job %u: probe on %s submitted for job %u, key %.8s, uid %u", row->jobid, row->candidate,
		   p->source_job, row->key, p->uid);
	return row_submitted(env, row, now, errp);
}

/* One poll. */
struct pass {
	const struct daemon_env *env;
	const struct cluster_snapshot *snap;
	int64_t now;
	uint32_t users[PROBES_OPEN_MAX]; /* of the probes in the queue */
	size_t n_open;
};

static bool user_has_all(const struct pass *p, uint32_t uid)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n_open; i++)
		n += p->users[i] == uid;
	return n >= PROBES_USER_MAX;
}

static int row_submit(struct pass *pass, struct store_probe *row, struct errbuf *errp)
{
	struct store_program p;
	int rc;

	if (pass->n_open >= PROBES_OPEN_MAX)
		return 0;
	rc = store_program_get(pass->env->store, row->key, &p, errp);
	if (rc <= 0)
		return rc < 0 ? -1 : row_drop(pass->env, row, "the program was forgotten", errp);
	if (user_has_all(pass, p.uid))
		return 0;
	if (row_try(pass->env, &p, row, pass->now, errp) < 0)
		return -1;
	if (row->state == PROBE_SUBMITTED)
		pass->users[pass->n_open++] = p.uid;
	return 0;
}

/* A job of ours in the queue, and the row that it may be a try of. */
struct stray {
	const struct cluster_job *job;
	struct store_probe row;
	bool found;
};

static int stray_check(const struct store_probe *row, void *arg)
{
	struct stray *s = arg;
	char safe[RESULT_NAME_SIZE];

	result_candidate_name(row->candidate, safe, sizeof(safe));
	if (row->state != PROBE_WAITING || s->job->job_id <= row->jobid || strcmp(s->job->ours->candidate, safe))
		return 0;
	s->row = *row;
	s->found = true;
	return 1;
}

/* Probes that the daemon submitted and did not note, since it died in between. */
static int strays_adopt(const struct pass *pass, struct errbuf *errp)
{
	for (size_t i = 0; i < pass->snap->n; i++) {
		const struct cluster_job *job = &pass->snap->jobs[i];
		struct stray s = {.job = job};

		if (job->phase == CLUSTER_ENDED || !job->ours || job->ours->act != ACT_PROBE || !identity_key_valid(job->ours->key))
			continue;
		if (store_probes_each(pass->env->store, job->ours->key, 1u << PROBE_WAITING, stray_check, &s, errp) < 0)
			return -1;
		if (!s.found)
			continue;
		s.row.tries++;
		s.row.jobid = job->job_id;
		daemon_say(pass->env, LOG_LEVEL_INFO, "job %u: probe on %s found in the queue, key %.8s", s.row.jobid, s.row.candidate,
			   s.row.key);
		if (row_submitted(pass->env, &s.row, pass->now, errp) < 0)
			return -1;
	}
	return 0;
}

/* ---- collecting ---- */

/* A look for the record of a probe. */
struct record_look {
	char spool_dir[PATH_MAX];
	uint32_t uid, source_job;
	char candidate[RESULT_NAME_SIZE]; /* as in file names */
	int rc;				  /* 1 good, 0 none, -1 refused */
	struct errbuf why;		  /* refused, or why the spool is full */
	struct result res;
};

static void record_read(void *arg)
{
	struct record_look *l = arg;
	char name[RESULT_NAME_SIZE + 16];
	int dirfd = spool_job_open(l->spool_dir, l->uid, l->source_job, NULL, &l->why);

	l->rc = -1;
	if (dirfd < 0)
		return;
	snprintf(name, sizeof(name), "probe.%s.result", l->candidate);
	l->rc = result_read(dirfd, name, l->uid, &l->res, &l->why);
	close(dirfd);
	if (l->rc > 0 && strcmp(l->res.candidate, l->candidate))
		l->rc = err_set(&l->why, "%s is for candidate %s", name, l->res.candidate);
	if (l->rc == 0 && !spool_is_full(l->spool_dir, &l->why))
		l->why.text[0] = '\0';
}

/* Returns 0, or -1 if the spool does not answer (err says so). */
static int record_load(const struct daemon_env *env, const struct store_program *p, const char *candidate, struct record_look *l,
		       struct errbuf *errp)
{
	snprintf(l->spool_dir, sizeof(l->spool_dir), "%s", env->conf->spool_dir);
	l->uid = p->uid;
	l->source_job = p->source_job;
	result_candidate_name(candidate, l->candidate, sizeof(l->candidate));
	return spool_in_time(record_read, l, sizeof(*l), env->conf->spool_dir, errp);
}

/* What the end of a probe job without a usable record means. */
static bool end_is_worth_a_retry(const char *state)
{
	return strcmp(state, "CANCELLED") && strcmp(state, "DEADLINE");
}

/* What the try has cost, for the program's budget and for the books. One whose end nobody saw counts as it was planned. */
static int try_account(const struct daemon_env *env, const struct store_program *p, const struct cluster_job *job,
		       struct store_probe *row, int64_t now, struct errbuf *errp)
{
	double cost = job ? job->nodes * job->elapsed_s
			  : p->nodes * probes_seconds(env->conf, p->source_elapsed_s, probes_candidates(env, p));

	row->cost_node_s += cost;
	return cost > 0 ? store_cost_add(env->store, now, p->uid, row->candidate, cost, errp) : 0;
}

static int row_done(const struct daemon_env *env, struct store_program *p, const struct cluster_job *job,
		    struct store_probe *row, const struct result *res, int64_t now, struct errbuf *errp)
{
	bool again = row->kept;

	/* Before the record of the traced class gives way to one of another: ratios refer to it. */
	if (again && !strcmp(row->candidate, p->source_candidate) && store_base_keep(env->store, row->key, row->candidate, errp) < 0)
		return -1;
	row->state = PROBE_DONE;
	row->not_before = 0;
	row->reason[0] = '\0';
	snprintf(row->class_hex, sizeof(row->class_hex), "%s", res->has_class ? res->class_hex : "");
	daemon_say(env, LOG_LEVEL_INFO, "job %u: probe on %s done%s in %.0f s, key %.8s", row->jobid, row->candidate,
		   again ? " again" : "", job ? job->elapsed_s : 0.0, row->key);
	row->updated = now;
	if (store_record_put(env->store, row, res, errp) < 0)
		return -1;
	return again ? probe_refresh(env, p, now, errp) : 0;
}

static int row_conclude(const struct daemon_env *env, struct store_program *p, const struct cluster_job *job,
			struct store_probe *row, const struct record_look *look, int64_t now, struct errbuf *errp)
{
	const char *end_state = job ? job->end_state : NULL;
	const struct result *res = &look->res;
	int rv;

	if (look->rc == 1 && res->job_id == row->jobid) {
		struct store_class_record told = {p->uid, row->candidate, res->class_hex, res->class_text};

		if (res->ok)
			rv = store_class_seen(env->store, &told, now, errp) < 0 ? -1 : row_done(env, p, job, row, res, now, errp);
		else {
			snprintf(row->reason, sizeof(row->reason), "%.300s", res->reason);
			rv = row->kept ? 0 : store_record_put(env->store, row, res, errp);
			if (rv == 0)
				rv = row_give_up(env, row, now, errp);
		}
	} else {
		if (look->rc < 0)
			snprintf(row->reason, sizeof(row->reason), "result not usable: %.270s", look->why.text);
		else
			snprintf(row->reason, sizeof(row->reason), "no result; the job ended %s%s%.200s", end_state ? end_state : "unseen",
				 look->why.text[0] ? "; " : "", look->why.text);
		rv = row_retry(env, row, !job || end_is_worth_a_retry(end_state), end_state, now, errp);
	}
	return rv;
}

static int row_collect(const struct daemon_env *env, const struct cluster_job *job, struct store_probe *row,
		       int64_t now, struct errbuf *errp)
{
	struct record_look *look = calloc(1, sizeof(*look));
	struct store_program p;
	struct errbuf late;
	int rv = -1, rc;

	if (!look)
		return err_set(errp, "no memory for a record");
	if (store_begin(env->store, errp) < 0)
		goto out;
	rc = store_program_get(env->store, row->key, &p, errp);
	if (rc == 0)
		rv = row_drop(env, row, "the program was forgotten", errp);
	else if (rc == 1 && record_load(env, &p, row->candidate, look, &late) < 0)
		rv = 0; /* the next look tries again */
	else if (rc == 1 && try_account(env, &p, job, row, now, errp) == 0)
		rv = row_conclude(env, &p, job, row, look, now, errp);
	if (rv == 0)
		rv = store_commit(env->store, errp);
	if (rv < 0)
		store_rollback(env->store);
out:
	free(look);
	return rv;
}

/* A job that still waits in the queue, in vain. It is cancelled as an orphan: nobody waits for it any more. */
static int row_pending(const struct daemon_env *env, const struct cluster_job *job, struct store_probe *row, int64_t now,
		       struct errbuf *errp)
{
	if (job->held)
		snprintf(row->reason, sizeof(row->reason), "was held, or made to wait for a time or another job");
	else if (now - row->submitted > PROBES_PENDING_MAX_S)
		snprintf(row->reason, sizeof(row->reason), "waited %d days in the queue", PROBES_PENDING_MAX_S / 86400);
	else
		return 0;
	return row_give_up(env, row, now, errp);
}

/* The job is not what was submitted, or has run for too long: it is cancelled as an orphan, and its record is not read. Returns 1
 * if so, 0, or -1. */
static int row_misused(const struct daemon_env *env, const struct cluster_job *job, struct store_probe *row, int64_t now,
		       struct errbuf *errp)
{
	struct cluster_layout layout;
	struct store_program p;
	struct errbuf what;
	int rc = store_program_get(env->store, row->key, &p, errp), known;

	if (rc <= 0)
		return rc;
	known = store_layout_get(env->store, row->key, &layout, errp);
	if (known < 0)
		return -1;
	if (!probe_changed(&p, row, job, &what) &&
	    !(known && probe_wants_changed(&layout, probe_partial(env, &p, row->candidate, &layout), job, &what))) {
		if (!probe_overran(job))
			return 0;
		err_set(&what, "it ran for %.0f s", job->elapsed_s);
	}
	snprintf(row->reason, sizeof(row->reason), "not what was submitted: %.250s", what.text);
	if (probe_user_bar(env, p.uid, now, errp) < 0)
		return -1;
	/* What has ended is accounted here, the rest when it is cancelled. */
	if (job->phase == CLUSTER_ENDED && try_account(env, &p, job, row, now, errp) < 0)
		return -1;
	return row_give_up(env, row, now, errp) < 0 ? -1 : 1;
}

/* ---- programs ---- */

static int others_create(const struct daemon_env *env, const struct store_program *p, int64_t now, struct errbuf *errp)
{
	for (size_t i = 0; i < env->conf->n_candidates; i++) {
		const char *name = env->conf->candidates[i].name;
		struct store_probe have;
		int rc;

		if (!strcmp(name, p->source_candidate))
			continue;
		rc = store_probe_get(env->store, p->key, name, &have, errp);
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

/* Did the source probe say that no skeleton repeats the program? Another trace would say the same. */
static bool is_unrepeatable(const struct daemon_env *env, const struct store_program *p)
{
	struct result *r = malloc(sizeof(*r));
	struct errbuf unused;
	bool is = r && store_record_get(env->store, p->key, p->source_candidate, r, &unused) == 1 && !r->ok && r->unskeleton[0];

	free(r);
	return is;
}

static int program_fail(const struct daemon_env *env, struct store_program *p, const char *reason, int64_t now,
			struct errbuf *errp)
{
	p->state = PROGRAM_FAILED;
	p->retrace_at = is_unrepeatable(env, p) ? 0 : now + PROBES_RETRACE_S;
	p->updated = now;
	snprintf(p->reason, sizeof(p->reason), "%s", reason);
	daemon_say(env, LOG_LEVEL_WARN, "key %.8s: job %u will not be predicted: %s", p->key, p->source_job, p->reason);
	if (store_layout_drop(env->store, p->key, errp) < 0)
		return -1;
	return store_program_put(env->store, p, errp);
}

/* All probes of a program have come to an end. */
static int program_conclude(const struct daemon_env *env, struct store_program *p, const struct rows *r, int64_t now,
			    struct errbuf *errp)
{
	struct program_estimates est;

	p->reason[0] = '\0';
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].state == PROBE_FAILED && !p->reason[0])
			snprintf(p->reason, sizeof(p->reason), "nothing for %.60s: %.200s", r->row[i].candidate,
				 r->row[i].reason);
	if (program_estimate(env, p, NULL, now, &est, errp) < 0)
		return -1;
	if (!est.n) /* what its record says of other members counts all the same */
		return program_fail(env, p, est.refused.text[0] ? est.refused.text : "no estimate", now, errp) < 0
			       ? -1 : scaling_follow_probed(env, p, now, errp);
	if (est.refused.text[0] && !p->reason[0])
		snprintf(p->reason, sizeof(p->reason), "%.300s", est.refused.text);
	p->state = PROGRAM_READY;
	p->mpi_s = est.source_mpi_s;
	p->updated = now;
	daemon_say(env, LOG_LEVEL_INFO, "key %.8s: ready, %u candidate%s predicted from job %u%s%s", p->key, est.n,
		   est.n == 1 ? "" : "s", p->source_job, p->reason[0] ? "; " : "", p->reason);
	/* The layout stays: the probes may have to be made again. */
	return store_program_put(env->store, p, errp) < 0 ? -1 : scaling_follow_probed(env, p, now, errp);
}

static int program_advance(const struct daemon_env *env, struct store_program *p, int64_t now, struct errbuf *errp)
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

/* Conclude a program whose probes are done. Begin a program that waited for a candidate. */
static int program_poll(const struct daemon_env *env, const char *key, int64_t now, struct errbuf *errp)
{
	struct store_program p;
	int rc = store_program_get(env->store, key, &p, errp);

	if (rc <= 0)
		return rc;
	if (p.state == PROGRAM_TRACED)
		return probes_begin(env, &p, now, errp);
	return p.state == PROGRAM_BUILDING ? program_advance(env, &p, now, errp) : 0;
}

static int programs_poll(const struct pass *pass, struct store_place *at, struct errbuf *errp)
{
	struct store_pair *list;
	size_t n;
	int rv = 0;

	if (store_busy_programs(pass->env->store, at, PROBES_LOOK_ROWS, &list, &n, errp) < 0)
		return -1;
	for (size_t i = 0; i < n && !rv; i++)
		rv = program_poll(pass->env, list[i].key, pass->now, errp);
	free(list);
	return rv < 0 ? -1 : 0;
}

/* A candidate that was taken out of the configuration; the source of ratios stays wherever it was. 1 dropped, 0, -1. */
static int row_moot(const struct daemon_env *env, const struct store_probe *row, int64_t now, struct errbuf *errp)
{
	struct store_program p;
	struct store_probe back = *row;
	int rc;

	if (conf_candidate_find(env->conf, row->candidate))
		return 0;
	rc = store_program_get(env->store, row->key, &p, errp);
	if (rc < 0 || (rc && !strcmp(p.source_candidate, row->candidate)))
		return rc < 0 ? -1 : 0;
	if (!row->kept)
		return row_drop(env, row, rc ? "no such candidate any more" : "the program was forgotten", errp) < 0 ? -1 : 1;
	back.state = PROBE_DONE; /* as it was */
	return probe_row_put(env, &back, now, errp) < 0 ? -1 : 1;
}

static int row_poll(struct pass *pass, struct store_probe *row, struct errbuf *errp)
{
	const struct daemon_env *env = pass->env;
	const struct cluster_job *job;
	int64_t now = pass->now;
	int rc = row_moot(env, row, now, errp);

	if (rc)
		return rc < 0 ? -1 : 0;
	if (row->state == PROBE_WAITING)
		return row->not_before > now ? 0 : row_submit(pass, row, errp);
	job = cluster_job_find(pass->snap, row->jobid);
	if (!job) /* an older snapshot does not know it yet */
		return pass->snap->taken <= row->submitted + 1 ? 0 : row_collect(env, NULL, row, now, errp);
	rc = row_misused(env, job, row, now, errp);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (job->phase == CLUSTER_ENDED)
		return row_collect(env, job, row, now, errp);
	return job->phase == CLUSTER_PENDING ? row_pending(env, job, row, now, errp) : 0;
}

static int pair_poll(struct pass *pass, const struct store_pair *of, struct errbuf *errp)
{
	struct store_probe row;
	int rc = store_probe_get(pass->env->store, of->key, of->candidate, &row, errp);

	return rc == 1 ? row_poll(pass, &row, errp) : rc;
}

/* All probes in the queue, and their programs with them: the end of a probe is never waited for. */
static int submitted_poll(struct pass *pass, struct errbuf *errp)
{
	struct store_submitted *list;
	size_t n;
	int rv = 0;

	if (store_busy_submitted(pass->env->store, &list, &n, errp) < 0)
		return -1;
	for (size_t i = 0; i < n && !rv; i++) {
		rv = pair_poll(pass, &list[i].of, errp);
		rv = rv < 0 ? -1 : program_poll(pass->env, list[i].of.key, pass->now, errp);
	}
	free(list);
	return rv < 0 ? -1 : 0;
}

static int waiting_poll(struct pass *pass, struct store_place *at, struct errbuf *errp)
{
	struct store_submitted *open;
	struct store_pair *list;
	size_t n;
	int rv = 0;

	if (store_busy_submitted(pass->env->store, &open, &n, errp) < 0)
		return -1;
	pass->n_open = n < PROBES_OPEN_MAX ? n : PROBES_OPEN_MAX;
	for (size_t i = 0; i < pass->n_open; i++)
		pass->users[i] = open[i].uid;
	free(open);
	if (store_busy_probes(pass->env->store, at, PROBES_LOOK_ROWS, &list, &n, errp) < 0)
		return -1;
	for (size_t i = 0; i < n && !rv; i++)
		rv = pair_poll(pass, &list[i], errp);
	free(list);
	return rv < 0 ? -1 : 0;
}

int probes_poll(const struct daemon_env *env, struct probes_turn *turn, const struct cluster_snapshot *snap, int64_t now,
		struct errbuf *errp)
{
	struct pass pass = {.env = env, .snap = snap, .now = now};
	struct probes_turn beginning = {0};

	if (!turn)
		turn = &beginning;
	if (probe_renew(env, now, errp) < 0 || strays_adopt(&pass, errp) < 0)
		return -1;
	/* Twice, so that a source probe's result leads to the other probes in the same look. */
	for (int i = 0; i < 2; i++)
		if (submitted_poll(&pass, errp) < 0 || waiting_poll(&pass, &turn->probes, errp) < 0 ||
		    programs_poll(&pass, &turn->programs, errp) < 0)
			return -1;
	return probe_orphans(env, snap, now, errp);
}
