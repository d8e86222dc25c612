/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From jobs of an accounting to runs of the store: see import.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/comment.h"
#include "common/duration.h"
#include "predictor/cluster/cluster.h"
#include "predictor/history/import.h"
#include "predictor/store/groups.h"
#include "predictor/store/runs.h"
#include "predictor/store/unscripted.h"

/* Of a transaction: so many jobs, or so long. precedentd, which waits 5 s for the lock, gets it in time. */
#define BATCH_JOBS 20000
#define BATCH_S	   1
/* Between transactions: the longest sleep of SQLite's busy handler, after which precedentd asks for the lock again.
 */
#define PAUSE_MS 100
/* Users that are remembered: more are asked for again. */
#define USERS_KEPT 1024

struct user_kept {
	char name[64];
	bool known;
	uint32_t uid;
};

struct importing {
	const struct import_run *run;
	struct import_report *report;
	unsigned in_batch;
	time_t begun; /* the batch, by a clock that is not set */
	struct user_kept users[USERS_KEPT];
};

/* ---- users ---- */

static unsigned user_slot(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h % USERS_KEPT;
}

/* A directory of users may be far away, and a job's user is mostly one of a few. */
static bool user_find(struct importing *im, const struct sacct_job *job, uint32_t *uid)
{
	struct user_kept *kept = &im->users[user_slot(job->user)];

	if (job->uid >= 0) {
		*uid = (uint32_t)job->uid;
		return true;
	}
	if (strlen(job->user) >= sizeof(kept->name))
		return false;
	if (strcmp(kept->name, job->user)) {
		strcpy(kept->name, job->user);
		kept->known = im->run->user(im->run->arg, job->user, &kept->uid) == 1;
	}
	*uid = kept->uid;
	return kept->known;
}

/* ---- a run ---- */

/* What Precedent wrote when the job was submitted: as run_fill in predictor/follow/follow.c. */
static void run_fill_comment(struct store_run *r, const struct job_comment *c)
{
	r->act = c->act == ACT_TRACE && c->task != COMMENT_NO_TASK && r->array_job && r->array_task != c->task
		     ? ACT_OBSERVE
		     : c->act;
	r->mode = c->mode;
	memcpy(r->key, c->key, sizeof(r->key));
	memcpy(r->family, c->family, sizeof(r->family));
	memcpy(r->kin, c->kin, sizeof(r->kin));
	memcpy(r->vars, c->vars, sizeof(r->vars));
	memcpy(r->weighed, c->at, sizeof(r->weighed));
	memcpy(r->similar, c->similar, sizeof(r->similar));
	memcpy(r->pred_candidate, c->candidate, sizeof(r->pred_candidate));
	r->pred_s = c->pred_s;
	r->lo_s = c->lo_s;
	r->hi_s = c->hi_s;
	r->user_limit_min = c->user_limit_min;
	r->limit_min = c->limit_min;
}

static void run_fill(const struct importing *im, const struct sacct_job *job, uint32_t uid,
		     const struct job_comment *c, struct store_run *r)
{
	*r = (struct store_run){
	    .jobid = job->jobid,
	    .submit_time = job->submit_time,
	    .uid = uid,
	    .act = ACT_OBSERVE,
	    .mode = MODE_OBSERVE,
	    .user_limit_min = job->limit_min,
	    .limit_min = DURATION_UNSET,
	    .nodes = job->nodes,
	    .tasks = job->tasks,
	    .start_time = job->start_time,
	    .end_time = job->end_time,
	    .elapsed_s = job->elapsed_s,
	    .array_job = job->array_job,
	    .array_task = job->array_task,
	    .pred_kind = -1,
	    .pred_scale = 1,
	};
	snprintf(r->name, sizeof(r->name), "%s", job->name);
	snprintf(r->partition, sizeof(r->partition), "%s", job->partition);
	snprintf(r->end_state, sizeof(r->end_state), "%s", job->state);
	cluster_candidate_name(im->run->conf, r->partition, "", r->candidate, sizeof(r->candidate));
	if (c)
		run_fill_comment(r, c);
}

/* A later import knows by the store that this one was killed before it asked for the script. */
static int script_note(const struct importing *im, const struct sacct_job *job, uint32_t uid, struct errbuf *err)
{
	return scripts_note(im->run->scripts, job, uid, err) < 0 ||
		       store_unscripted_add(im->run->store, job->jobid, job->submit_time, err) < 0
		   ? -1
		   : 0;
}

/* A job that the store has. An import that was killed has left its script. */
static int job_again(const struct importing *im, const struct sacct_job *job, uint32_t uid, struct errbuf *err)
{
	int rc = im->run->scripts ? store_unscripted_has(im->run->store, job->jobid, job->submit_time, err) : 0;

	return rc > 0 ? scripts_note(im->run->scripts, job, uid, err) : rc;
}

/* Adds the run to the groups in AdminComment. Without them the groups follow from the accounting. */
static int groups_add(const struct importing *im, const struct sacct_job *job, const struct store_run *r,
		      const char *groups, struct errbuf *err)
{
	const struct group_job known = {
	    .uid = r->uid,
	    .nodes = r->nodes,
	    .limit_min = r->user_limit_min,
	    .partition = r->partition,
	    .command = job->submit_line,
	    .name = job->name,
	    .work_dir = job->work_dir,
	    .account = job->account,
	};
	const struct group_run run = {r->uid, r->end_state, r->elapsed_s, r->end_time};
	struct group_ids ids;

	if (group_ids_parse(groups, &ids) < 0)
		group_ids_of(&known, &ids);
	if (im->run->scripts && !ids.id[LADDER_SCRIPT] && script_note(im, job, r->uid, err) < 0)
		return -1;
	return store_groups_add(im->run->store, &ids, &run, err);
}

static int job_add(struct importing *im, const struct sacct_job *job, struct errbuf *err)
{
	struct import_report *report = im->report;
	struct job_comment c;
	struct store_run r;
	bool ours = comment_parse(job->comment, &c) == 0;
	uint32_t uid;
	int rc;

	report->jobs++;
	if (ours && c.act == ACT_PROBE) {
		report->probes++;
		return 0;
	}
	if (!user_find(im, job, &uid)) {
		report->unknown++;
		return 0;
	}
	run_fill(im, job, uid, ours ? &c : NULL, &r);
	rc = store_run_add(im->run->store, &r, err);
	if (rc <= 0)
		return rc < 0 ? -1 : job_again(im, job, uid, err);
	if (groups_add(im, job, &r, ours ? c.groups : "", err) < 0)
		return -1;
	report->added++;
	report->with_key += r.key[0] != '\0';
	return 0;
}

/* ---- transactions ---- */

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

static int batch_end(struct importing *im, struct errbuf *err)
{
	if (!im->in_batch)
		return 0;
	if (store_commit(im->run->store, err) < 0)
		return -1;
	im->in_batch = 0;
	if (im->run->progress)
		im->run->progress(im->run->arg, im->report->jobs + im->report->bad);
	return 0;
}

static int job_in_batch(struct importing *im, const struct sacct_job *job, struct errbuf *err)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

	if (!im->in_batch) {
		if (store_begin(im->run->store, err) < 0)
			return -1;
		im->begun = now_s();
	}
	im->in_batch++;
	if (job_add(im, job, err) < 0)
		return -1;
	if (im->in_batch < BATCH_JOBS && now_s() - im->begun <= BATCH_S)
		return 0;
	if (batch_end(im, err) < 0)
		return -1;
	nanosleep(&pause, NULL);
	return 0;
}

static void bad_tell(struct importing *im, const struct errbuf *err)
{
	if (im->report->bad++ < IMPORT_BAD_TOLD)
		im->run->bad(im->run->arg, err->text);
}

int history_import(const struct import_run *run, FILE *in, const char *name, struct import_report *report,
		   struct errbuf *err)
{
	struct importing im = {.run = run, .report = report};
	struct sacct_reader *reader;
	struct import_report kept;
	struct sacct_job job;
	int rc, rv = 0;

	*report = kept = (struct import_report){0};
	reader = sacct_reader_create(in, name, err);
	if (!reader)
		return -1;
	while (rv == 0 && (rc = sacct_read(reader, &job, err))) {
		if (rc < 0) {
			bad_tell(&im, err);
			continue;
		}
		rv = job_in_batch(&im, &job, err);
		if (rv == 0 && !im.in_batch)
			kept = *report;
	}
	if (rv == 0)
		rv = batch_end(&im, err);
	if (rv < 0 && im.in_batch) {
		store_rollback(run->store);
		*report = kept;
	}
	report->left_out = sacct_left_out(reader);
	sacct_reader_destroy(reader);
	return rv;
}
