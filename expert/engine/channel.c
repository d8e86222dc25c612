/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See channel.h. */
#include "expert/engine/channel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BATCHES 16
#define SEVERAL 8           /* batches: who sleeps is woken for so many, not for each */
#define SLACK   8           /* a batch has room for an eighth more: for what comes over `full`, mostly */
#define LOOKS   2000        /* before it sleeps: some 30 us, longer than a batch takes */
#define IN_VAIN 6           /* times in a row: each time half as many, since the other one has no processor perhaps ... */
#define ONCE_MORE 32        /* ... but after so many as at first */
#define LINE    64

/* How long one of the two looks before it sleeps. */
struct patience {
	bool none;
	uint32_t in_vain;       /* times in a row */
};

struct shared_channel {
	struct channel c;       /* of the writer; first */
	uint64_t known_emptied; /* the writer's, as it was when it looked last */
	struct patience patience; /* the writer's */
	/* A line of the cache for each that writes it. */
	_Alignas(LINE) struct channel_use use;
	struct patience reader_patience;
	pthread_t thread;
	/* Batches so far; those between belong to the thread. */
	_Alignas(LINE) _Atomic uint64_t filled;
	_Alignas(LINE) _Atomic uint64_t emptied;
	_Atomic bool failed;    /* it is not in its batches any more, and err is set */
	struct errbuf err;
	_Alignas(LINE) _Atomic bool ended;
	_Atomic bool reader_sleeps, writer_sleeps; /* or is about to: set, and then it looks once more */
	pthread_mutex_t lock;   /* who sleeps looks while it has it; who wakes has changed something before it takes it */
	pthread_cond_t changed;
	struct batch batch[BATCHES + 1]; /* the last one: what comes after it failed */
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static uint64_t under_way(const struct shared_channel *s)
{
	return s->filled - s->emptied;
}

static void wake(struct shared_channel *s)
{
	pthread_mutex_lock(&s->lock);
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static uint32_t looks(const struct patience *p)
{
	return p->none ? 0 : LOOKS >> (p->in_vain < IN_VAIN ? p->in_vain : IN_VAIN);
}

static bool looked(struct patience *p, bool in_vain)
{
	p->in_vain = in_vain ? (p->in_vain + 1) % ONCE_MORE : 0;
	return !in_vain;
}

/* ---- the thread ---- */

static bool worth_waking(const struct shared_channel *s)
{
	return s->ended || under_way(s) >= SEVERAL;
}

static bool look_for_batch(struct shared_channel *s)
{
	for (uint32_t i = looks(&s->reader_patience); i && !s->ended && !under_way(s); i--)
		pause_briefly();
	return looked(&s->reader_patience, !under_way(s));
}

/* Until there is a batch; false: no more come. */
static bool await_batch(struct shared_channel *s)
{
	if (look_for_batch(s))
		return true;
	pthread_mutex_lock(&s->lock);
	s->reader_sleeps = true;
	while (!worth_waking(s))
		pthread_cond_wait(&s->changed, &s->lock);
	s->reader_sleeps = false;
	pthread_mutex_unlock(&s->lock);
	return under_way(s) > 0;
}

static void *work(void *arg)
{
	struct shared_channel *s = arg;
	uint64_t known_filled = 0, at = 0;
	int rv = 0;

	while (rv == 0) {
		const struct batch *b = &s->batch[at % BATCHES];

		if (at == known_filled) {
			if (!await_batch(s))
				break;
			known_filled = s->filled;
		}
		rv = s->use.eat(s->use.arg, b->data, b->used, &s->err);
		s->emptied = ++at;
		if (rv < 0)
			s->failed = true;
		if (s->writer_sleeps && (rv < 0 || under_way(s) <= SEVERAL))
			wake(s);
	}
	return NULL;
}

/* ---- the writer ---- */

static bool look_for_room(struct shared_channel *s)
{
	for (uint32_t i = looks(&s->patience); i && !s->failed && under_way(s) == BATCHES; i--)
		pause_briefly();
	return looked(&s->patience, under_way(s) == BATCHES);
}

static void await_room(struct shared_channel *s)
{
	if (look_for_room(s))
		return;
	pthread_mutex_lock(&s->lock);
	s->writer_sleeps = true;
	while (under_way(s) > SEVERAL && !s->failed)
		pthread_cond_wait(&s->changed, &s->lock);
	s->writer_sleeps = false;
	pthread_mutex_unlock(&s->lock);
}

static void fill(struct shared_channel *s)
{
	s->filled++;
	if (s->reader_sleeps && worth_waking(s))
		wake(s);
}

static void drop(const struct shared_channel *s, struct batch *b)
{
	if (s->use.drop)
		s->use.drop(s->use.arg, b->data, b->used);
	b->used = 0;
}

int channel_hand_over(struct channel *c, struct errbuf *err)
{
	struct shared_channel *s = (struct shared_channel *)c;
	uint64_t filled;

	if (!s->failed) {
		fill(s);
		filled = s->filled;
		if (filled - s->known_emptied == BATCHES) {
			if (under_way(s) == BATCHES)
				await_room(s);
			s->known_emptied = s->emptied;
		}
		c->now = &s->batch[s->failed ? BATCHES : filled % BATCHES];
		c->now->used = 0;
	}
	if (!s->failed)
		return 0;
	*err = s->err;
	return -1;
}

int channel_grow(struct channel *c, size_t size)
{
	struct batch *b = c->now;
	size_t want = b->used + size > c->full ? 2 * (b->used + size) : c->full + c->full / SLACK;
	char *data = realloc(b->data, want);

	if (!data)
		return -1;
	b->data = data;
	b->size = want;
	return 0;
}

/* ---- both ---- */

static void free_all(struct shared_channel *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	for (int i = 0; i <= BATCHES; i++)
		free(s->batch[i].data);
	free(s);
}

struct channel *channel_create(const struct channel_use *use)
{
	struct shared_channel *s = aligned_alloc(LINE, sizeof(*s));
	cpu_set_t set;

	if (!s)
		return NULL;
	*s = (struct shared_channel){.c = {.now = s->batch, .full = use->full}, .use = *use};
	s->patience.none = sched_getaffinity(0, sizeof(set), &set) < 0 || (uint32_t)CPU_COUNT(&set) < use->threads;
	s->reader_patience = s->patience;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, work, s) == 0)
		return &s->c;
	free_all(s);
	return NULL;
}

int channel_close(struct channel *c, struct errbuf *err)
{
	struct shared_channel *s = (struct shared_channel *)c;
	int rv;

	if (!c)
		return 0;
	if (s->failed)
		drop(s, c->now);
	else
		fill(s);
	s->ended = true;
	wake(s);
	pthread_join(s->thread, NULL);
	for (uint64_t at = s->emptied; at < s->filled; at++)
		drop(s, &s->batch[at % BATCHES]);
	rv = s->failed ? -1 : 0;
	if (s->failed)
		*err = s->err;
	free_all(s);
	return rv;
}
