/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work with a deadline: see patience.h. One thread of the program at a time is in MPI_Init, MPI_Finalize or exit. */
#include "spank/tracer/patience.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define STACK (256u << 10)

struct task {
	void (*work)(void *);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done;
};

static bool lost;

bool patience_lost(void)
{
	return lost;
}

static void *run_task(void *arg)
{
	struct task *t = arg;

	t->work(t->arg);
	pthread_mutex_lock(&t->lock);
	t->done = true;
	pthread_cond_signal(&t->ended);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Returns false if there can be no thread. The program's signals are not for it. */
static bool start_thread(struct task *t, pthread_t *thread)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int rv;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rv = pthread_create(thread, &attr, run_task, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rv == 0;
}

static bool await_task(struct task *t, unsigned seconds)
{
	struct timespec end;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&t->lock);
	while (!t->done && pthread_cond_timedwait(&t->ended, &t->lock, &end) != ETIMEDOUT)
		;
	done = t->done;
	pthread_mutex_unlock(&t->lock);
	return done;
}

static struct task *make_task(void (*work)(void *), void *arg)
{
	struct task *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (!t || pthread_condattr_init(&attr)) {
		free(t);
		return NULL;
	}
	t->work = work;
	t->arg = arg;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->ended, &attr);
	pthread_condattr_destroy(&attr);
	return t;
}

static void free_task(struct task *t)
{
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* A process that can have no thread works without a deadline. */
bool patience_run(void (*work)(void *), void *arg, unsigned seconds)
{
	struct task *t = lost ? NULL : make_task(work, arg);
	pthread_t thread;

	if (lost)
		return false;
	if (!t || !start_thread(t, &thread)) {
		if (t)
			free_task(t);
		work(arg);
		return true;
	}
	lost = !await_task(t, seconds);
	if (lost) {
		pthread_detach(thread);
		return false;
	}
	pthread_join(thread, NULL);
	free_task(t);
	return true;
}
