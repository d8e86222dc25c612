/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cleaning of the spool, in a thread of its own: a file server that does not answer must not keep the main loop from
 * raising limits. One at a time; one that hangs is left alone, and no other is begun.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/spool/spool.h"

struct sweep_task {
	char *spool_dir;
	int64_t before;
	size_t n_live;
	uint32_t live[];
};

static atomic_bool running, stopping;

static void task_free(struct sweep_task *t)
{
	if (t)
		free(t->spool_dir);
	free(t);
}

static void *sweep_run(void *arg)
{
	struct sweep_task *t = arg;
	struct spool_swept swept;

	spool_sweep(t->spool_dir, t->before, t->live, t->n_live, &stopping, &swept);
	if (swept.removed && !atomic_load(&stopping))
		log_info("%s: %llu files that runs which died have left were removed, %.1f MiB", t->spool_dir,
			 (unsigned long long)swept.removed, (double)swept.bytes / (1 << 20));
	if (swept.kept && !atomic_load(&stopping))
		log_debug("%s: %llu files that runs which died have left may not be removed by this user", t->spool_dir,
			  (unsigned long long)swept.kept);
	task_free(t);
	atomic_store(&running, false);
	return NULL;
}

void sweep_start(const char *spool_dir, int64_t before, const struct cluster_snapshot *snap)
{
	struct sweep_task *t;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	if (atomic_load(&running))
		return;
	t = calloc(1, sizeof(*t) + snap->n * sizeof(t->live[0]));
	if (!t || !(t->spool_dir = strdup(spool_dir))) {
		task_free(t);
		return;
	}
	t->before = before;
	for (size_t i = 0; i < snap->n; i++) /* sorted as they are */
		if (snap->jobs[i].phase != CLUSTER_ENDED)
			t->live[t->n_live++] = snap->jobs[i].job_id;
	atomic_store(&running, true);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, sweep_run, t);
	pthread_attr_destroy(&attr);
	if (rc) {
		log_warn("no thread to clean the spool: %s", strerror(rc));
		task_free(t);
		atomic_store(&running, false);
	}
}

void sweep_stop(void)
{
	atomic_store(&stopping, true);
}
