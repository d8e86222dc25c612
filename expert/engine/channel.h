/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records handed from one thread to another in batches, in their order. What is written together is looked at together: a
 * batch goes only when its writer says so, and grows until then.
 *
 *   struct channel *c = channel_create(&use);
 *   ... p = channel_room(c, size); ... channel_pass_on(c, &err);
 *   channel_close(c, &err);
 *
 * Whoever waits for the other one looks again and again for a while, where there is a processor for each, and sleeps then.
 * Neither takes a lock while the other one is at work.
 */
#ifndef PRECEDENT_EXPERT_CHANNEL_H
#define PRECEDENT_EXPERT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define CHANNEL_BYTES (32u << 10) /* `full` for records of hundreds of bytes */

struct batch {
	_Alignas(64) size_t used, size; /* bytes; a line of the cache, for one is written while another is read */
	char *data;
};

/* The writer's part is its head; channel.c has the rest. */
struct channel {
	struct batch *now;
	size_t full;       /* bytes of a batch that goes */
};

struct channel_use {
	size_t full;       /* bytes: few, and the threads meet often; many, and what is handed over is in no cache */
	uint32_t threads;  /* at work, of the whole process: as many processors, or nobody looks again and again */
	/* In a thread of its own, a batch; -1 with the reason ends it, and no other batch comes. */
	int (*eat)(void *arg, const char *data, size_t used, struct errbuf *err);
	/* A batch that nobody eats any more; NULL: nothing need be done. */
	void (*drop)(void *arg, const char *data, size_t used);
	void *arg;
};

/* NULL when there can be no thread. */
struct channel *channel_create(const struct channel_use *use);
/* Make the batch larger. -1 without memory. */
int channel_grow(struct channel *c, size_t size);
/* Give the batch away, and take the next one as soon as it is free. -1 with the reason of the one that failed. */
int channel_hand_over(struct channel *c, struct errbuf *err);
/* All that was written has been looked at. -1 with the reason, also for an earlier batch. NULL is legal: 0. */
int channel_close(struct channel *c, struct errbuf *err);

/* Room for a record of a multiple of 8 bytes, behind those that are there: their addresses may change. NULL without memory. */
static inline void *channel_room(struct channel *c, size_t size)
{
	void *p;

	if (c->now->size - c->now->used < size && channel_grow(c, size) < 0)
		return NULL;
	p = c->now->data + c->now->used;
	c->now->used += size;
	return p;
}

/* What was written so far may go. -1 with the reason: the other thread has failed. */
static inline int channel_pass_on(struct channel *c, struct errbuf *err)
{
	return c->now->used < c->full ? 0 : channel_hand_over(c, err);
}

#endif
