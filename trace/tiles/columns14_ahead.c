/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing ahead: see columns14_ahead.h. The thread fills a ring of slots, and the caller empties them in order. */
#include <pthread.h>
#include <stdlib.h>

#include "trace/tiles/columns14_ahead.h"

#define SLOTS 4u

struct columns14_ahead {
	struct columns14 *c;
	struct columns14_slot slot[SLOTS];
	pthread_t thread;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	/* slots filled and emptied so far; the difference is the number of waiting slots */
	uint64_t filled, emptied;
	bool held;                /* the caller uses the oldest waiting slot */
	bool quit;
};

static void *parser(void *arg)
{
	struct columns14_ahead *a = arg;
	int more = 1;

	while (more > 0) {
		struct columns14_slot *s;

		pthread_mutex_lock(&a->lock);
		while (a->filled - a->emptied == SLOTS && !a->quit)
			pthread_cond_wait(&a->changed, &a->lock);
		s = a->quit ? NULL : &a->slot[a->filled % SLOTS];
		pthread_mutex_unlock(&a->lock);
		if (!s)
			break;
		s->more = more = columns14_next(a->c, &s->batch, &s->err);
		s->tally = *columns14_tally(a->c);
		s->done = columns14_done(a->c);
		pthread_mutex_lock(&a->lock);
		a->filled++;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static void drop_slot(struct columns14_ahead *a)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		columns14_batch_free(&a->slot[i].batch);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
	free(a);
}

struct columns14_ahead *columns14_ahead_start(struct columns14 *c)
{
	struct columns14_ahead *a = calloc(1, sizeof(*a));
	bool whole = a != NULL;

	if (!a)
		return NULL;
	a->c = c;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	for (uint32_t i = 0; i < SLOTS && whole; i++)
		whole = columns14_batch_init(&a->slot[i].batch) == 0;
	if (whole && pthread_create(&a->thread, NULL, parser, a) == 0)
		return a;
	drop_slot(a);
	return NULL;
}

const struct columns14_slot *columns14_ahead_next(struct columns14_ahead *a, const struct columns14_slot **last)
{
	const struct columns14_slot *s;

	pthread_mutex_lock(&a->lock);
	if (a->held) {
		a->emptied++;
		a->held = false;
		pthread_cond_signal(&a->changed);
	}
	while (a->filled == a->emptied)
		pthread_cond_wait(&a->changed, &a->lock);
	s = &a->slot[a->emptied % SLOTS];
	a->held = s->more > 0; /* the last slot is not given back */
	pthread_mutex_unlock(&a->lock);
	*last = s;
	return s->more > 0 ? s : NULL;
}

void columns14_ahead_stop(struct columns14_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->quit = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	drop_slot(a);
}
