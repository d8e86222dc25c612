/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events are looked at a little later than they come, so that what they will ask for is on its way into the cache: of
 * thousands of ranks the queues and what waits in them are not there. Their order does not change, nor what is found.
 *
 * An event passes three stations: when it comes, its place in the table of queues is asked for; later the queue; later
 * what waits in it first, or last where it is a group.
 */
#include "expert/keys.h"

#define LINE        64
#define ENTRY_LINES 5 /* most of what most of them have */

/* The first queue of that hash: it may be another one, which is as good as none. */
static const struct bucket *first_of(const struct queues *q, uint32_t hash)
{
	uint32_t mask = q->n_slot - 1;

	for (uint32_t at = hash & mask; q->slot[at].number; at = (at + 1) & mask)
		if (q->slot[at].hash == hash)
			return queues_bucket(q, q->slot[at].number);
	return NULL;
}

/* Of any type, which stands in the entry itself. */
static void fetch_entry(const struct entry *x)
{
	for (size_t at = 0; x && at < ENTRY_LINES * LINE; at += LINE)
		__builtin_prefetch((const char *)x + at, 1);
}

/* The one that came `back` events before the last; NULL: there is none, or it looks for nothing. */
static const struct ahead_event *earlier(const struct ahead *a, uint32_t back)
{
	const struct ahead_event *v = &a->event[(a->first + a->n - 1 - back) % AHEAD];

	return back < a->n && v->known ? v : NULL;
}

void ahead_push(struct engine *e, struct entry *x)
{
	struct ahead *a = &e->ahead;
	struct ahead_event *last = &a->event[(a->first + a->n++) % AHEAD];
	const struct ahead_event *v;
	const struct plan_pattern *p = e->p->type[x->type].looks_first;
	const struct bucket *b;

	*last = (struct ahead_event){.entry = x, .known = p != NULL};
	if (p) {
		struct key k;

		stored_key(e, p->index, p->pattern, x, &k);
		key_finish(&k, p->index, k.any);
		last->hash = k.hash;
		__builtin_prefetch(&e->q.slot[k.hash & (e->q.n_slot - 1)]);
	}
	v = earlier(a, AHEAD / 3);
	b = v ? first_of(&e->q, v->hash) : NULL;
	if (b)
		__builtin_prefetch(b, 1);
	v = earlier(a, 2 * AHEAD / 3);
	b = v ? first_of(&e->q, v->hash) : NULL;
	if (b)
		fetch_entry(b->n == 1 ? b->head : b->tail);
}

struct entry *ahead_pop(struct engine *e)
{
	struct ahead *a = &e->ahead;
	struct entry *x = a->event[a->first].entry;

	a->first = (a->first + 1) % AHEAD;
	a->n--;
	return x;
}
