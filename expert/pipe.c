/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See pipe.h. */
#include "expert/pipe.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES     8
#define BATCH_BYTES (64u << 10) /* some hundred events: the threads meet seldom, and what is handed over is in a cache */

struct record {
	uint32_t type, n_param;
	struct engine_simple s;
	union rules_value v[];
};

struct batch {
	size_t used;
	_Alignas(16) char data[BATCH_BYTES];
};

struct pipe {
	struct engine *e;
	pthread_t thread;
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed;
	uint64_t filled, emptied; /* batches so far; those between belong to the engine's thread */
	bool ended, failed;
	struct errbuf err;      /* when it failed */
	/* of the one who hands over: */
	struct batch *now;      /* batch number `filled` */
	struct batch batch[BATCHES];
};

/* -1 with the reason. */
static int look_at(struct engine *e, const struct batch *b, struct errbuf *err)
{
	for (size_t at = 0; at < b->used;) {
		const struct record *r = (const struct record *)(b->data + at);

		if (engine_event(e, r->type, &r->s, r->v, err) < 0)
			return -1;
		at += sizeof(*r) + r->n_param * sizeof(*r->v);
	}
	return 0;
}

static void *work(void *arg)
{
	struct pipe *p = arg;
	struct errbuf err = {""};

	pthread_mutex_lock(&p->lock);
	for (;;) {
		const struct batch *b = &p->batch[p->emptied % BATCHES];
		int rv;

		while (p->filled == p->emptied && !p->ended)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->filled == p->emptied || p->failed)
			break;
		pthread_mutex_unlock(&p->lock);
		rv = look_at(p->e, b, &err);
		pthread_mutex_lock(&p->lock);
		p->emptied++;
		if (rv < 0) {
			p->failed = true;
			p->err = err;
		}
		pthread_cond_signal(&p->changed);
		if (rv < 0)
			break;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

uint32_t pipe_threads(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) < 2 ? 1 : 2;
}

struct pipe *pipe_create(struct engine *e)
{
	struct pipe *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	p->e = e;
	p->filled = p->emptied = 0;
	p->ended = p->failed = false;
	p->now = p->batch;
	p->now->used = 0;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (pthread_create(&p->thread, NULL, work, p) == 0)
		return p;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

/* Gives the batch away, and takes the next one as soon as it is free. -1 with the reason. */
static int hand_over(struct pipe *p, struct errbuf *err)
{
	bool failed;

	pthread_mutex_lock(&p->lock);
	p->filled++;
	pthread_cond_signal(&p->changed);
	while (p->filled - p->emptied == BATCHES && !p->failed)
		pthread_cond_wait(&p->changed, &p->lock);
	failed = p->failed;
	if (failed)
		*err = p->err;
	pthread_mutex_unlock(&p->lock);
	p->now = &p->batch[p->filled % BATCHES];
	p->now->used = 0;
	return failed ? -1 : 0;
}

int pipe_event(struct pipe *p, uint32_t type, const struct engine_simple *s, const union rules_value *param, struct errbuf *err)
{
	uint32_t n = engine_wants(p->e, type) ? engine_rules(p->e)->type[type]->n_param : 0;
	size_t size = sizeof(struct record) + n * sizeof(*param);
	struct record *r;

	if (p->now->used + size > BATCH_BYTES && hand_over(p, err) < 0)
		return -1;
	r = (struct record *)(p->now->data + p->now->used);
	p->now->used += size;
	r->type = type;
	r->n_param = n;
	r->s = *s;
	memcpy(r->v, param, n * sizeof(*param));
	return 0;
}

int pipe_close(struct pipe *p, struct errbuf *err)
{
	int rv;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	if (!p->failed)
		p->filled++;
	p->ended = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	rv = p->failed ? -1 : 0;
	if (p->failed)
		*err = p->err;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return rv;
}
