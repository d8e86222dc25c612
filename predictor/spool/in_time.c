/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks into the spool with a deadline: see in_time.h. */
#include "predictor/spool/in_time.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEADLINE_S 3

/* Of the caller and the thread; freed by the second of them that leaves it. */
struct task {
	spool_look *look;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done, left; /* left: the caller has gone */
	_Alignas(max_align_t) unsigned char arg[];
};

static atomic_uint n_late;

bool spool_is_silent(void)
{
	return atomic_load(&n_late) > 0;
}

static void task_free(struct task *t)
{
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static void *task_run(void *arg)
{
	struct task *t = arg;
	bool left;

	t->look(t->arg);
	pthread_mutex_lock(&t->lock);
	t->done = true;
	left = t->left;
	pthread_cond_signal(&t->ended);
	pthread_mutex_unlock(&t->lock);
	if (!left)
		return NULL;
	task_free(t);
	atomic_fetch_sub(&n_late, 1);
	return NULL;
}

static bool task_await(struct task *t)
{
	struct timespec end;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&t->lock);
	while (!t->done && pthread_cond_timedwait(&t->ended, &t->lock, &end) != ETIMEDOUT)
		;
	done = t->done;
	t->left = !done;
	if (!done)
		atomic_fetch_add(&n_late, 1);
	pthread_mutex_unlock(&t->lock);
	return done;
}

static struct task *task_make(spool_look *look, const void *arg, size_t size)
{
	struct task *t = calloc(1, sizeof(*t) + size);
	pthread_condattr_t attr;

	if (!t)
		return NULL;
	t->look = look;
	memcpy(t->arg, arg, size);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ended, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

int spool_in_time(spool_look *look, void *arg, size_t size, const char *spool_dir, struct errbuf *err)
{
	struct task *t = spool_is_silent() ? NULL : task_make(look, arg, size);
	pthread_t thread;
	int rc;

	if (!t)
		return err_set(err, "%s does not answer", spool_dir);
	rc = pthread_create(&thread, NULL, task_run, t);
	if (rc) {
		task_free(t);
		return err_set(err, "%s: no thread: %s", spool_dir, strerror(rc));
	}
	if (!task_await(t)) {
		pthread_detach(thread); /* the thread frees the task */
		return err_set(err, "%s does not answer", spool_dir);
	}
	pthread_join(thread, NULL);
	memcpy(arg, t->arg, size);
	task_free(t);
	return 0;
}
