/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins sends and arrivals: see columns14_match.h. A bucket is a queue in order of sending. */
#include <stdlib.h>

#include "trace/tiles/columns14_match.h"
#include "common/array.h"

#define BUCKETS (1u << 15)
#define NONE    UINT32_MAX

struct flight {
	uint64_t t, amount;
	uint32_t src, dst;
	int32_t tag;
	uint32_t next;             /* next in its bucket, or in the free list */
	uint32_t older, younger;   /* neighbours in the list of all messages in flight */
};

struct queue {
	uint32_t head, tail;
};

struct match {
	struct queue bucket[BUCKETS];
	struct flight *f;
	uint32_t cap, n, free_list, oldest, youngest;
	uint64_t unsent;
};

struct match *match_create(void)
{
	struct match *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	for (uint32_t i = 0; i < BUCKETS; i++)
		m->bucket[i].head = m->bucket[i].tail = NONE;
	m->free_list = m->oldest = m->youngest = NONE;
	return m;
}

void match_destroy(struct match *m)
{
	if (!m)
		return;
	free(m->f);
	free(m);
}

static struct queue *bucket_of(struct match *m, uint32_t src, uint32_t dst, int32_t tag)
{
	uint64_t h = ((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15ull + (uint32_t)tag * 0xc2b2ae3d27d4eb4full;

	return &m->bucket[(h ^ h >> 29) * 0x9e3779b97f4a7c15ull >> (64 - 15)];
}

static int grow_nodes(struct match *m)
{
	uint32_t before = m->cap;

	if (ARRAY_ROOM(m->f, m->cap, before + 1) != 0)
		return -1;
	for (uint32_t i = m->cap; i-- > before;) {
		m->f[i].next = m->free_list;
		m->free_list = i;
	}
	return 0;
}

static int add_send(struct match *m, const struct columns14_message *half)
{
	struct queue *q = bucket_of(m, half->rank, half->peer, half->tag);
	struct flight *f;
	uint32_t i;

	if (m->free_list == NONE && grow_nodes(m) < 0)
		return -1;
	i = m->free_list;
	f = &m->f[i];
	m->free_list = f->next;
	*f = (struct flight){.t = half->t, .amount = half->amount, .src = half->rank, .dst = half->peer, .tag = half->tag,
			     .next = NONE, .older = m->youngest, .younger = NONE};
	if (q->tail == NONE)
		q->head = i;
	else
		m->f[q->tail].next = i;
	q->tail = i;
	if (m->youngest == NONE)
		m->oldest = i;
	else
		m->f[m->youngest].younger = i;
	m->youngest = i;
	m->n++;
	return 0;
}

/* Take message i out of its bucket; `before` precedes it there. */
static void unlink_message(struct match *m, struct queue *q, uint32_t before, uint32_t i)
{
	struct flight *f = &m->f[i];

	if (before == NONE)
		q->head = f->next;
	else
		m->f[before].next = f->next;
	if (q->tail == i)
		q->tail = before;
	if (f->older == NONE)
		m->oldest = f->younger;
	else
		m->f[f->older].younger = f->younger;
	if (f->younger == NONE)
		m->youngest = f->older;
	else
		m->f[f->younger].older = f->older;
	f->next = m->free_list;
	m->free_list = i;
	m->n--;
}

static struct exchange exchange_of(const struct flight *f, uint64_t t1, bool received)
{
	return (struct exchange){.src = f->src, .dst = f->dst, .t0 = f->t, .t1 = t1, .bytes = f->amount, .tag = f->tag,
				 .received = received};
}

int match_add(struct match *m, const struct columns14_message *half, struct exchange *out)
{
	struct queue *q;
	uint32_t before = NONE;

	if (!half->arrival)
		return add_send(m, half);
	q = bucket_of(m, half->peer, half->rank, half->tag);
	for (uint32_t i = q->head; i != NONE; before = i, i = m->f[i].next) {
		const struct flight *f = &m->f[i];

		if (f->src != half->peer || f->dst != half->rank || f->tag != half->tag)
			continue;
		*out = exchange_of(f, half->t, true);
		unlink_message(m, q, before, i);
		return 1;
	}
	m->unsent++;
	return 0;
}

int match_give_up(struct match *m, struct exchange *out)
{
	uint32_t i = m->oldest, before = NONE;
	const struct flight *f;
	struct queue *q;

	if (i == NONE)
		return 0;
	f = &m->f[i];
	q = bucket_of(m, f->src, f->dst, f->tag);
	for (uint32_t k = q->head; k != i; k = m->f[k].next)
		before = k;
	*out = exchange_of(f, f->t, false);
	unlink_message(m, q, before, i);
	return 1;
}

int match_full(const struct match *m)
{
	return m->n > MATCH_OPEN_MAX;
}

uint64_t match_unsent(const struct match *m)
{
	return m->unsent;
}
