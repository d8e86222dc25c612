/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See channel.h. */
#include "expert/channel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define BATCHES 8
#define RESUME  4           /* a writer who found no room goes on with so many left: it is woken once for several */
#define SLACK   (16u << 10) /* for what comes over CHANNEL_BYTES, mostly */

struct shared_channel {
	struct channel c;       /* of the writer; first */
	int (*eat)(void *arg, const char *data, size_t used, struct errbuf *err);
	void *arg;
	pthread_t thread;
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed;
	uint64_t filled, emptied; /* batches so far; those between belong to the thread */
	bool ended, failed;
	struct errbuf err;      /* when it failed */
	/* each of the one whose turn it is: */
	struct batch batch[BATCHES];
};

static void *work(void *arg)
{
	struct shared_channel *s = arg;
	struct errbuf err = {""};

	pthread_mutex_lock(&s->lock);
	for (;;) {
		const struct batch *b = &s->batch[s->emptied % BATCHES];
		int rv;

		while (s->filled == s->emptied && !s->ended)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->filled == s->emptied)
			break;
		pthread_mutex_unlock(&s->lock);
		rv = s->eat(s->arg, b->data, b->used, &err);
		pthread_mutex_lock(&s->lock);
		s->emptied++;
		if (rv < 0) {
			s->failed = true;
			s->err = err;
		}
		if (rv < 0 || s->filled - s->emptied == RESUME)
			pthread_cond_signal(&s->changed);
		if (rv < 0)
			break;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void free_all(struct shared_channel *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	for (int i = 0; i < BATCHES; i++)
		free(s->batch[i].data);
	free(s);
}

struct channel *channel_create(int (*eat)(void *arg, const char *data, size_t used, struct errbuf *err), void *arg)
{
	struct shared_channel *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->eat = eat;
	s->arg = arg;
	s->c.now = s->batch;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, work, s) == 0)
		return &s->c;
	free_all(s);
	return NULL;
}

int channel_grow(struct channel *c, size_t size)
{
	struct batch *b = c->now;
	size_t want = b->used + size > CHANNEL_BYTES ? 2 * (b->used + size) : CHANNEL_BYTES + SLACK;
	char *data = realloc(b->data, want);

	if (!data)
		return -1;
	b->data = data;
	b->size = want;
	return 0;
}

int channel_hand_over(struct channel *c, struct errbuf *err)
{
	struct shared_channel *s = (struct shared_channel *)c;
	bool failed, full;

	pthread_mutex_lock(&s->lock);
	s->filled++;
	pthread_cond_signal(&s->changed);
	full = s->filled - s->emptied == BATCHES;
	while (full && s->filled - s->emptied > RESUME && !s->failed)
		pthread_cond_wait(&s->changed, &s->lock);
	failed = s->failed;
	if (failed) {
		*err = s->err;
		s->filled--; /* its batch stays the writer's */
	}
	pthread_mutex_unlock(&s->lock);
	c->now = &s->batch[s->filled % BATCHES];
	c->now->used = 0;
	return failed ? -1 : 0;
}

int channel_close(struct channel *c, struct errbuf *err)
{
	struct shared_channel *s = (struct shared_channel *)c;
	int rv;

	if (!c)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (!s->failed)
		s->filled++;
	s->ended = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	rv = s->failed ? -1 : 0;
	if (s->failed)
		*err = s->err;
	free_all(s);
	return rv;
}
