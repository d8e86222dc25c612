/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pool of threads: see threads.h. */
#include "skelgen/runtime/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "common/arch/arch.h"

#define SPIN_NS 100000 /* that a thread waits on the processor before it sleeps */

static struct {
	pthread_t thread[THREADS_MOST];
	int n;              /* threads, the caller's among them; 0: not opened. The caller's own, like all without a note */
	int crowded;        /* more threads than processors: nobody waits on one */
	void (*fn)(void *arg, int index); /* set before `call` moves */
	void *arg;
	int wanted;         /* the same */
	atomic_uint call;   /* moves with every region */
	atomic_int left;    /* threads that have not finished the region */
	atomic_int asleep, caller_asleep; /* under `lock` where they rise */
	pthread_mutex_t lock;
	pthread_cond_t go, done;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static long now_ns_coarse(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Wait until *v is not `old`, on the processor; false after a while. */
static int spin_while(atomic_uint *v, unsigned old)
{
	long end = now_ns_coarse() + SPIN_NS;

	if (pool.crowded)
		return atomic_load(v) != old;
	do {
		for (int i = 0; i < 64; i++) {
			if (atomic_load_explicit(v, memory_order_acquire) != old)
				return 1;
			arch_relax();
		}
	} while (now_ns_coarse() < end);
	return 0;
}

static void *thread_main(void *arg)
{
	int index = (int)(ptrdiff_t)arg;
	unsigned seen = 0;

	for (;;) {
		if (!spin_while(&pool.call, seen)) {
			pthread_mutex_lock(&pool.lock);
			atomic_fetch_add(&pool.asleep, 1);
			while (atomic_load(&pool.call) == seen)
				pthread_cond_wait(&pool.go, &pool.lock);
			atomic_fetch_sub(&pool.asleep, 1);
			pthread_mutex_unlock(&pool.lock);
		}
		seen++;
		if (pool.fn == NULL)
			return NULL;
		if (index < pool.wanted)
			pool.fn(pool.arg, index);
		if (atomic_fetch_sub(&pool.left, 1) == 1 && atomic_load(&pool.caller_asleep)) {
			pthread_mutex_lock(&pool.lock);
			pthread_cond_signal(&pool.done);
			pthread_mutex_unlock(&pool.lock);
		}
	}
}

/* New threads must have seen no region: they are made between regions only, from call number 0 on. */
static void region_begin(int n, void (*fn)(void *, int), void *arg)
{
	pool.fn = fn;
	pool.arg = arg;
	pool.wanted = n;
	atomic_store(&pool.left, pool.n - 1);
	atomic_fetch_add(&pool.call, 1);
	if (atomic_load(&pool.asleep) > 0) {
		pthread_mutex_lock(&pool.lock);
		pthread_cond_broadcast(&pool.go);
		pthread_mutex_unlock(&pool.lock);
	}
}

static void region_end(void)
{
	long end = now_ns_coarse() + SPIN_NS;

	while (atomic_load_explicit(&pool.left, memory_order_acquire) > 0) {
		if (!pool.crowded && now_ns_coarse() < end) {
			for (int i = 0; i < 64 && atomic_load(&pool.left) > 0; i++)
				arch_relax();
			continue;
		}
		pthread_mutex_lock(&pool.lock);
		atomic_store(&pool.caller_asleep, 1);
		while (atomic_load(&pool.left) > 0)
			pthread_cond_wait(&pool.done, &pool.lock);
		atomic_store(&pool.caller_asleep, 0);
		pthread_mutex_unlock(&pool.lock);
	}
}

int threads_open(int n)
{
	cpu_set_t cpus;
	sigset_t all, before;

	if (n > THREADS_MOST)
		n = THREADS_MOST;
	if (n <= pool.n)
		return pool.n;
	threads_close();
	pool.n = 1;
	pool.crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < n;
	/* Signals are the program's thread's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool.n < n && pthread_create(&pool.thread[pool.n], NULL, thread_main, (void *)(ptrdiff_t)pool.n) == 0)
		pool.n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pool.n;
}

void threads_run(int n, void (*fn)(void *arg, int index), void *arg)
{
	if (n > pool.n)
		n = pool.n;
	if (n <= 1) {
		fn(arg, 0);
		return;
	}
	region_begin(n, fn, arg);
	fn(arg, 0);
	region_end();
}

void threads_close(void)
{
	if (pool.n > 1)
		region_begin(0, NULL, NULL);
	for (int i = 1; i < pool.n; i++)
		pthread_join(pool.thread[i], NULL);
	pool.n = 0;
	atomic_store(&pool.call, 0);
}
