/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settled jobs of the last poll: see poll_cache.h. Two lists in the order of job ids are walked side by side: that of the last
 * poll and that of this one. Of each job only a hash is kept, of all fields that job_follow reads.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "predictor/follow/poll_cache.h"

struct entry {
	struct store_run_id id;
	uint64_t facts;
	bool settled;
};

struct list {
	struct entry *list;
	size_t n, cap;
};

struct poll_cache {
	bool valid; /* last holds every job of a good look, and nobody else has written since */
	bool lost;  /* no memory for this look's list */
	int64_t version;
	struct list last, now;
	size_t at;		   /* the first of last that no job has come to yet */
	struct store_run_id *gone; /* as much room as last has */
	size_t n_gone;
	bool again; /* some that were gone are to be checked again */
	uint64_t facts; /* of the job that poll_cache_settled said no of */
};

struct poll_cache *poll_cache_create(void)
{
	return calloc(1, sizeof(struct poll_cache));
}

void poll_cache_destroy(struct poll_cache *s)
{
	if (!s)
		return;
	free(s->last.list);
	free(s->now.list);
	free(s->gone);
	free(s);
}

void poll_cache_forget(struct poll_cache *s)
{
	if (!s)
		return;
	s->valid = false;
	s->last.n = 0;
}

int poll_cache_begin(struct poll_cache *s, struct store *store, const struct cluster_snapshot *snap, struct errbuf *errp)
{
	int64_t version;

	if (!s)
		return 0;
	if (store_data_version(store, &version, errp) < 0)
		return -1;
	if (version != s->version)
		poll_cache_forget(s);
	s->version = version;
	free(s->gone);
	s->gone = s->valid && s->last.n ? malloc(s->last.n * sizeof(*s->gone)) : NULL;
	if (s->last.n && !s->gone)
		poll_cache_forget(s);
	s->n_gone = s->at = 0;
	s->now.n = 0;
	s->lost = ARRAY_ROOM(s->now.list, s->now.cap, snap->n) < 0;
	return 0;
}

/* ---- what a job is ---- */

static uint64_t hash_text(uint64_t seed, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text), seed);
}

static uint64_t facts_of(const struct cluster_job *job)
{
	bool ended = job->phase == CLUSTER_ENDED;
	/* Until it has ended the times are those of a clock, or of a plan. */
	const int64_t numbers[] = {
		job->submit_time,
		job->phase,
		job->phase == CLUSTER_PENDING ? 0 : job->start_time,
		ended ? job->end_time : 0,
		job->uid,
		job->het,
		job->restarts,
		job->array_job,
		job->array_task,
		job->limit_min,
		job->time_min_min,
		job->nodes,
		job->tasks,
	};
	uint64_t h = XXH3_64bits(numbers, sizeof(numbers));

	h = hash_text(h, job->admin_comment);
	h = hash_text(h, job->partition);
	h = hash_text(h, job->features);
	return ended ? hash_text(h, job->end_state) : h;
}

/* ---- the walk ---- */

static void go_by(struct poll_cache *s)
{
	s->gone[s->n_gone++] = s->last.list[s->at++].id;
}

/* The entry of the last look; NULL: it had none. */
static const struct entry *last_of(struct poll_cache *s, const struct cluster_job *job)
{
	while (s->at < s->last.n && s->last.list[s->at].id.jobid < job->job_id)
		go_by(s);
	if (s->at == s->last.n || s->last.list[s->at].id.jobid != job->job_id)
		return NULL;
	if (s->last.list[s->at].id.submit_time == job->submit_time)
		return &s->last.list[s->at++];
	go_by(s); /* queued again */
	return NULL;
}

bool poll_cache_settled(struct poll_cache *s, const struct cluster_job *job)
{
	const struct entry *old;

	if (!s)
		return false;
	s->facts = facts_of(job);
	old = last_of(s, job);
	if (!old || !old->settled || old->facts != s->facts)
		return false;
	poll_cache_note(s, job, true);
	return true;
}

void poll_cache_note(struct poll_cache *s, const struct cluster_job *job, bool settled)
{
	if (!s || s->lost)
		return;
	s->now.list[s->now.n++] = (struct entry){{job->job_id, job->submit_time}, s->facts, settled};
}

const struct store_run_id *poll_cache_gone(struct poll_cache *s, size_t *n)
{
	static const struct store_run_id none;

	bool all = !s || !s->valid || s->again;

	*n = 0;
	if (s)
		s->again = false;
	if (all)
		return NULL;
	while (s->at < s->last.n)
		go_by(s);
	*n = s->n_gone;
	return s->n_gone ? s->gone : &none;
}

void poll_cache_gone_again(struct poll_cache *s)
{
	if (s)
		s->again = true;
}

void poll_cache_end(struct poll_cache *s)
{
	struct list old;

	if (!s)
		return;
	old = s->last;
	s->last = s->now;
	s->now = old;
	s->valid = !s->lost;
	if (s->lost)
		s->last.n = 0;
}
