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
#include "predictor/store/spool_use.h"

#define EMPTY_S	  3600 /* an empty directory of a job goes when it is that old */
#define TOLD_MAX  256  /* users whose quota the log and the store hear of at one time */

struct sweep_task {
	char *spool_dir;
	struct spool_order order;
	uint32_t jobs[];
};

static atomic_bool running, stopping;

/* For the main thread, which has the store. */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static struct spool_use told[TOLD_MAX];
static unsigned n_told;

static void task_free(struct sweep_task *t)
{
	if (t)
		free(t->spool_dir);
	free(t);
}

static void use_tell(const struct spool_use *u, void *arg)
{
	const struct sweep_task *t = arg;

	if (u->removed_files)
		log_warn("%s/%u: above SpoolQuota: %llu files removed, %.1f MiB; %.1f MiB in %llu files remain", t->spool_dir, u->uid,
			 (unsigned long long)u->removed_files, (double)u->removed_bytes / (1 << 20), (double)u->bytes / (1 << 20),
			 (unsigned long long)u->files);
	if (u->over)
		log_warn("%s/%u: cannot be brought below SpoolQuota (%llu directories are closed to precedentd): uid %u gets no probes",
			 t->spool_dir, u->uid, (unsigned long long)u->closed, u->uid);
	pthread_mutex_lock(&told_lock);
	if (n_told < TOLD_MAX)
		told[n_told++] = *u;
	pthread_mutex_unlock(&told_lock);
}

static void *sweep_run(void *arg)
{
	struct sweep_task *t = arg;
	struct spool_swept swept;

	spool_sweep(t->spool_dir, &t->order, use_tell, t, &swept);
	if ((swept.removed || swept.dirs) && !atomic_load(&stopping))
		log_info("%s: %llu files that runs which died have left were removed, %.1f MiB, and %llu empty directories", t->spool_dir,
			 (unsigned long long)swept.removed, (double)swept.bytes / (1 << 20), (unsigned long long)swept.dirs);
	if (swept.kept && !atomic_load(&stopping))
		log_debug("%s: %llu files that runs which died have left may not be removed by this user", t->spool_dir,
			  (unsigned long long)swept.kept);
	task_free(t);
	atomic_store(&running, false);
	return NULL;
}

int sweep_note(struct store *store, int64_t now, struct errbuf *errp)
{
	int rv = 0;

	pthread_mutex_lock(&told_lock);
	while (n_told && rv == 0) {
		rv = store_spool_use_put(store, &told[n_told - 1], now, errp);
		n_told -= rv == 0;
	}
	pthread_mutex_unlock(&told_lock);
	return rv;
}

void sweep_start(const struct precedent_conf *conf, const struct cluster_snapshot *snap, int64_t now)
{
	struct sweep_task *t;
	size_t n_live = 0;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	if (atomic_load(&running))
		return;
	t = calloc(1, sizeof(*t) + 2 * snap->n * sizeof(t->jobs[0]));
	if (!t || !(t->spool_dir = strdup(conf->spool_dir))) {
		task_free(t);
		return;
	}
	/* Sorted as they are. The trace of a job that has ended may still be looked for. */
	for (size_t i = 0; i < snap->n; i++) {
		t->jobs[i] = snap->jobs[i].job_id;
		if (snap->jobs[i].phase != CLUSTER_ENDED)
			t->jobs[snap->n + n_live++] = snap->jobs[i].job_id;
	}
	t->order = (struct spool_order){.before = now - (int64_t)conf->retention_s, .empty_before = now - EMPTY_S,
					.quota_bytes = conf->spool_quota, .jobs = t->jobs, .n_jobs = snap->n,
					.live = t->jobs + snap->n, .n_live = n_live, .stop = &stopping};
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
