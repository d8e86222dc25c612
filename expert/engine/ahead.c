/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events are processed a little later than they come, so that prefetches can bring their queues into the cache. With
 * thousands of ranks, the queues and their entries are not in the cache. The order of events does not change, and
 * neither do the findings.
 *
 * An event passes three stations. When the event comes, its slot in the table of queues is prefetched. Later the queue
 * is prefetched. Later still the first entry of the queue is prefetched, or the last one for a group.
 */
#include "expert/engine/keys.h"

#define LINE        64
#define ENTRY_LINES 5 /* most of the lines that most entries have */

/* The first queue of that hash. It may be the queue of another key; then the prefetch is useless, but harmless. */
static inline const struct bucket *first_of(const struct queues *q, uint32_t hash)
{
	uint32_t mask = q->n_slot - 1;

	for (uint32_t at = hash & mask; q->slot[at].number; at = (at + 1) & mask)
		if (q->slot[at].hash == hash)
			return queues_bucket(q, q->slot[at].number);
	return NULL;
}

/* Of any type, which stands in the entry itself. */
static inline void fetch_entry(const struct entry *x)
{
	for (size_t at = 0; x && at < ENTRY_LINES * LINE; at += LINE) /* NULL: an empty queue */
		__builtin_prefetch((const char *)x + at, 1);
}

/* The event that came `back` events before the last one. If there are fewer events, an event of an earlier round. */
static inline struct ahead_event *earlier(struct ahead *a, uint32_t back)
{
	return &a->event[(a->first + a->n - 1 - back) % AHEAD];
}

void ahead_push(struct engine *e, struct entry *x)
{
	struct ahead *a = &e->ahead;
	struct ahead_event *last = &a->event[(a->first + a->n++) % AHEAD];
	struct ahead_event *v;
	const struct plan_pattern *p = e->p->type[x->type].looks_first;

	*last = (struct ahead_event){.entry = x, .known = p != NULL};
	if (p) {
		struct key k;

		key_make(e, p, x, &k);
		last->hash = k.hash;
		__builtin_prefetch(&e->q.slot[k.hash & (e->q.n_slot - 1)]);
	}
	v = earlier(a, AHEAD / 3);
	v->bucket = v->known ? first_of(&e->q, v->hash) : NULL;
	__builtin_prefetch(v->bucket, 1);
	v = earlier(a, 2 * AHEAD / 3);
	if (v->bucket) /* another one by now, perhaps, or none: its entries are memory of the engine's all the same */
		fetch_entry(v->bucket->n == 1 ? v->bucket->head : v->bucket->tail);
}

struct entry *ahead_pop(struct engine *e)
{
	struct ahead *a = &e->ahead;
	struct entry *x = a->event[a->first].entry;

	a->first = (a->first + 1) % AHEAD;
	a->n--;
	return x;
}
