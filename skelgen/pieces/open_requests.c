/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See open_requests.h. The open requests of an envelope are a queue. Its first request and each two neighbours tell the whole
 * queue, if no two of its requests are alike. The state is the sum of hashes of these, over all queues.
 */
#include "skelgen/pieces/open_requests.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"

/* The number of the envelope's queue, and 1; 0 without memory. */
static uint32_t queue_of(struct open_requests *o, uint64_t envelope)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&o->queues, envelope, at, i)
		if (o->queue[i].envelope == envelope)
			return i + 1;
	if (ARRAY_ROOM(o->queue, o->cap_queue, o->n_queue + 1) != 0 || hash_table_add(&o->queues, envelope, o->n_queue) != 0)
		return 0;
	o->queue[o->n_queue] = (struct open_queue){.envelope = envelope};
	return ++o->n_queue;
}

/* Hash of two neighbours. before: 0 for the first of the queue. */
static uint64_t neighbours(const struct open_requests *o, uint32_t before, uint32_t after)
{
	uint64_t pair[2] = {before > 0 ? o->at[before - 1].call : 0, o->at[after - 1].call};

	return XXH3_64bits(pair, sizeof pair);
}

int open_requests_add(struct open_requests *o, const struct open_request *r)
{
	struct open_queue *q;
	uint32_t queue, own = (uint32_t)r->slot + 1;

	open_requests_remove(o, r->slot);
	queue = queue_of(o, r->envelope);
	if (queue == 0 || ARRAY_ROOM_ZEROED(o->at, o->cap, own) != 0)
		return -1;
	q = &o->queue[queue - 1];
	o->at[own - 1] = (struct open_link){r->call, queue, q->last, 0};
	o->state += neighbours(o, q->last, own);
	if (q->last > 0)
		o->at[q->last - 1].after = own;
	q->last = own;
	return 0;
}

bool open_requests_remove(struct open_requests *o, int64_t slot)
{
	struct open_link *l = slot >= 0 && slot < o->cap ? &o->at[slot] : NULL;

	if (l == NULL || l->queue == 0)
		return false;
	o->state -= neighbours(o, l->before, (uint32_t)slot + 1);
	if (l->after > 0) {
		o->state += neighbours(o, l->before, l->after) - neighbours(o, (uint32_t)slot + 1, l->after);
		o->at[l->after - 1].before = l->before;
	} else {
		o->queue[l->queue - 1].last = l->before;
	}
	if (l->before > 0)
		o->at[l->before - 1].after = l->after;
	l->queue = 0;
	return true;
}

uint64_t open_requests_order(const struct open_requests *o)
{
	uint64_t sum = 0;

	/* By slots: a run may use a new envelope in each step, and never an old one again. */
	for (uint32_t slot = 0; slot < o->cap; slot++) {
		const struct open_link *last = &o->at[slot];
		uint64_t link[2];

		if (last->queue == 0 || last->after > 0)
			continue;
		link[0] = o->queue[last->queue - 1].envelope;
		for (uint32_t at = slot + 1; at > 0; at = o->at[at - 1].before) {
			link[1] = o->at[at - 1].call;
			link[0] = XXH3_64bits(link, sizeof link);
		}
		sum += link[0];
	}
	return sum;
}

uint32_t open_requests_list(const struct open_requests *o, uint32_t *slot)
{
	uint32_t n = 0;

	for (uint32_t q = 0; q < o->n_queue; q++)
		for (uint32_t at = o->queue[q].last; at > 0; at = o->at[at - 1].before, n++)
			if (slot != NULL)
				slot[n] = at - 1;
	return n;
}

void open_requests_free(struct open_requests *o)
{
	free(o->at);
	free(o->queue);
	hash_table_free(&o->queues);
	*o = (struct open_requests){0};
}
