/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events are looked at a little later than they come, so that what they will ask for is on its way into the cache: of
 * thousands of ranks the queues and what waits in them are not there. Their order does not change, nor what is found.
 *
 * An event passes three stations: when it comes, its place in the table of queues is asked for; later the queue; later
 * what waits in it first, or last where it is a group.
 */
#include "expert/engine/keys.h"

#define LINE        64
#define ENTRY_LINES 5 /* most of what most of them have */

/* The first queue of that hash: it may be another one, which is as good as none. */
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
	for (size_t at = 0; at < ENTRY_LINES * LINE; at += LINE)
		__builtin_prefetch((const char *)x + at, 1);
}

/* The one that came `back` events before the last; that of an earlier round where there are not as many. */
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
