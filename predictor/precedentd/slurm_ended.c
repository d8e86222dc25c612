/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How jobs ended that slurmctld has forgotten, by slurmdbd. One thread asks, since slurmdbd may not answer: the main loop only
 * looks whether the answer is there. A thread that hangs is left alone, and its questions are given up in time.
 */
#include <errno.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "predictor/precedentd/daemon.h"

#define ASKED_MAX   64
#define ASK_AGAIN_S 10
/* slurmctld tells slurmdbd of an end with a delay, after a break of slurmdbd a long one. */
#define ASK_LONGEST_S 3600

struct question {
	uint32_t job_id;
	int64_t submit_time, since;
	bool answered;
	struct cluster_end end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All under the lock. */
static struct question questions[ASKED_MAX];
static unsigned n_questions;
static char cluster[128];
static bool running;
static int64_t begun;

/* ---- the thread ---- */

static void answer_note(const slurmdb_job_rec_t *r)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_questions; i++) {
		struct question *q = &questions[i];

		if (q->job_id != r->jobid || q->submit_time != r->submit || !r->end)
			continue;
		q->end = (struct cluster_end){.start_time = r->start, .end_time = r->end, .elapsed_s = r->elapsed};
		snprintf(q->end.state, sizeof(q->end.state), "%s", slurm_side_end_state(r->state));
		snprintf(q->end.partition, sizeof(q->end.partition), "%s", r->partition ? r->partition : "");
		snprintf(q->end.features, sizeof(q->end.features), "%s", r->constraints ? r->constraints : "");
		q->answered = true;
	}
	pthread_mutex_unlock(&lock);
}

static void answers_read(void *db, slurmdb_job_cond_t *which)
{
	__auto_type jobs = slurmdb_jobs_get(db, which);
	__auto_type i = jobs ? slurm_list_iterator_create(jobs) : NULL;
	const slurmdb_job_rec_t *r;

	while (i && (r = slurm_list_next(i)))
		answer_note(r);
	if (i)
		slurm_list_iterator_destroy(i);
	if (jobs)
		slurm_list_destroy(jobs);
	else
		log_warn("slurmdbd does not tell the ends of jobs: %s", slurm_strerror(errno));
}

static void *ask_all(void *arg)
{
	slurmdb_job_cond_t which = {.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC,
				    .db_flags = SLURMDB_JOB_FLAG_NOTSET, .cluster_list = slurm_list_create(NULL),
				    .step_list = slurm_list_create(NULL)};
	static slurm_selected_step_t steps[ASKED_MAX]; /* one thread at a time */
	void *db;

	(void)arg;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < n_questions; i++) {
		steps[i] = (slurm_selected_step_t){.array_task_id = NO_VAL, .het_job_offset = NO_VAL,
						   .step_id = {.job_id = questions[i].job_id, .step_het_comp = NO_VAL, .step_id = NO_VAL}};
		slurm_list_append(which.step_list, &steps[i]);
	}
	slurm_list_append(which.cluster_list, cluster);
	pthread_mutex_unlock(&lock);
	db = slurmdb_connection_get(NULL);
	if (db) {
		answers_read(db, &which);
		slurmdb_connection_close(&db);
	}
	slurm_list_destroy(which.cluster_list);
	slurm_list_destroy(which.step_list);
	pthread_mutex_lock(&lock);
	running = false;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ---- the main thread ---- */

static void thread_start(int64_t now)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (running || (begun <= now && now - begun < ASK_AGAIN_S))
		return;
	begun = now;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	running = pthread_create(&thread, &attr, ask_all, NULL) == 0;
	pthread_attr_destroy(&attr);
}

/* Looks for the answer, and asks the question if nobody has. The lock is held. */
static int answer_find(uint32_t job_id, int64_t submit_time, int64_t now, struct cluster_end *end)
{
	unsigned i = 0;
	int rv;

	while (i < n_questions && (questions[i].job_id != job_id || questions[i].submit_time != submit_time))
		i++;
	if (i == ASKED_MAX)
		return 0;
	if (i == n_questions)
		questions[n_questions++] = (struct question){.job_id = job_id, .submit_time = submit_time, .since = now};
	*end = questions[i].end;
	rv = questions[i].answered ? 1 : now < questions[i].since || now - questions[i].since >= ASK_LONGEST_S ? -1 : 0;
	if (rv)
		questions[i] = questions[--n_questions];
	else
		thread_start(now);
	return rv;
}

int slurm_side_ended(void *arg, uint32_t job_id, int64_t submit_time, struct cluster_end *end)
{
	const char *name;
	struct errbuf why;
	int rv;

	(void)arg;
	if (slurm_side_overtime_conf(&why) < 0)
		return 0;
	name = slurm_side_accounting();
	if (!name)
		return -1;
	pthread_mutex_lock(&lock);
	if (!running)
		snprintf(cluster, sizeof(cluster), "%s", name);
	rv = answer_find(job_id, submit_time, time(NULL), end);
	pthread_mutex_unlock(&lock);
	return rv;
}
