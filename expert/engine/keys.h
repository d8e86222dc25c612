/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of queues, and queues by key: inline functions that run for each event, for queues.c and pair.c. See queues.c. */
#ifndef PRECEDENT_EXPERT_KEYS_H
#define PRECEDENT_EXPERT_KEYS_H

#include "expert/engine/engine_impl.h"

/* Products of the parts by odd numbers of their own: they do not wait for each other. */
static const uint64_t odd[PLAN_MAX_PARTS] = {
	0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull, 0xd6e8feb86659fd93ull,
	0xff51afd7ed558ccdull, 0xc4ceb9fe1a85ec53ull, 0x94d049bb133111ebull, 0xbf58476d1ce4e5b9ull,
	0x2545f4914f6cdd1dull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull};

static inline uint64_t key_mix(int64_t part, uint32_t i)
{
	return (uint64_t)part * odd[i];
}

/* All bits of the parts have gone into the highest ones, which become the lowest: those are the place in the table. */
static inline uint32_t key_end(uint64_t h)
{
	return (uint32_t)__builtin_bswap64(h);
}

/* Of the index, with the wild parts in `out` left out. Indexes of one seed have equal hashes of equal keys. */
static inline void key_finish(struct key *k, const struct plan_index *x, uint32_t out)
{
	uint64_t h = PLAN_KEY_BEGIN(x->seed, out);

	k->index = x->number << PLAN_MAX_WILDS | out;
	k->n = x->n_key + x->n_wild;
	for (uint32_t i = 0; i < x->n_wild; i++)
		if (out & 1u << i)
			k->part[x->n_key + i] = 0;
	for (uint32_t i = 0; i < k->n; i++)
		h += key_mix(k->part[i], i);
	k->hash = key_end(h);
}

/* The same with other parts left out. */
static inline struct key key_without(const struct key *k, const struct plan_index *x, uint32_t out)
{
	struct key other;

	other.any = k->any;
	memcpy(other.part, k->part, (x->n_key + x->n_wild) * sizeof(*k->part));
	key_finish(&other, x, out);
	return other;
}

static inline struct bucket *queues_bucket(const struct queues *q, uint32_t number)
{
	return &q->slab[(number - 1) / BUCKET_SLAB]->bucket[(number - 1) % BUCKET_SLAB];
}

/* The parts of a key that do not lie in the queue itself. */
static inline int64_t *queues_more_parts(const struct queues *q, uint32_t number)
{
	return q->slab[(number - 1) / BUCKET_SLAB]->more[(number - 1) % BUCKET_SLAB];
}

/* k has its hash. */
static inline bool bucket_is(const struct queues *q, const struct bucket *b, const struct key *k, uint32_t index)
{
	if (b->index != index)
		return false;
	if (k->n > BUCKET_PARTS)
		return !memcmp(b->part, k->part, sizeof(b->part)) &&
		       !memcmp(queues_more_parts(q, b->number), k->part + BUCKET_PARTS, (k->n - BUCKET_PARTS) * sizeof(*k->part));
	for (uint32_t i = 0; i < k->n; i++)
		if (b->part[i] != k->part[i])
			return false;
	return true;
}

/* The queue of that index by a key of its own or of an index of the same seed. NULL: nothing waits by it. */
static inline struct bucket *queues_find(const struct queues *q, const struct key *k, uint32_t index)
{
	uint32_t mask = q->n_slot - 1;

	for (uint32_t at = k->hash & mask; q->slot[at].number; at = (at + 1) & mask)
		if (q->slot[at].hash == k->hash) {
			struct bucket *b = queues_bucket(q, q->slot[at].number);

			if (bucket_is(q, b, k, index))
				return b;
		}
	return NULL;
}

/* Parts of the stored side; which of them are any. */
static inline void stored_key(struct engine *e, const struct plan_index *x, uint8_t pattern, struct entry *y, struct key *k)
{
	struct entry *bound[RULES_MAX_PATTERNS];

	k->any = 0;
	bound[pattern] = y;
	for (uint32_t i = 0; i < x->n_key; i++)
		k->part[i] = x->plain ? y->v[x->slot[i]].i : engine_value(e, &x->key[i], bound).i;
	for (uint32_t i = 0, n = x->n_key; i < x->n_wild; i++, n++) {
		k->part[n] = x->plain ? y->v[x->slot[n]].i : engine_value(e, &x->wild[i].here, bound).i;
		if (x->wild[i].stored && k->part[n] == x->wild[i].any)
			k->any |= 1u << i;
	}
}

/* The key of x in the pattern, parts that are any left out. */
static inline void key_make(struct engine *e, const struct plan_pattern *p, struct entry *x, struct key *k)
{
	const struct plan_index *ix = p->index;
	uint64_t h = ix->begin;
	uint32_t n = ix->n_key;

	if (!ix->quick) {
		stored_key(e, ix, p->pattern, x, k);
		key_finish(k, ix, k->any);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		int64_t part = x->v[ix->slot[i]].i;

		k->part[i] = part;
		h += key_mix(part, i);
	}
	k->any = 0;
	if (ix->n_wild) {
		k->part[n] = x->v[ix->slot[n]].i;
		if (ix->wild[0].stored && k->part[n] == ix->wild[0].any) {
			k->any = 1;
			key_finish(k, ix, 1);
			return;
		}
		h += key_mix(k->part[n], n);
		n++;
	}
	k->n = n;
	k->index = ix->number << PLAN_MAX_WILDS;
	k->hash = key_end(h);
}

static inline void bucket_append(struct bucket *b, struct entry *x, uint32_t link)
{
	struct link *l = entry_link(x, link);

	l->bucket = b;
	l->next = NULL;
	l->prev = b->tail;
	if (b->tail)
		entry_link(b->tail, link)->next = x;
	else
		b->head = x;
	b->tail = x;
	b->n++;
}

/* The n-th choice among the parts that those who ask may leave out. */
static inline uint32_t key_choice(const struct plan_index *x, uint32_t n)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < x->n_wild; i++)
		if (!x->wild[i].stored) {
			out |= (n & 1) << i;
			n >>= 1;
		}
	return out;
}

/* One more queue to look through. */
static inline void cursor_add(struct cursor *c, const struct bucket *b, uint32_t link)
{
	if (!b || !b->head)
		return;
	c->next[c->n] = b->head;
	c->link[c->n++] = link;
}

/* Nothing waits there, or there is no memory. */
static inline bool queues_nothing(const struct engine *e, const struct plan_pattern *p)
{
	return (!e->q.n_waiting[p->number] && !(p->passes && e->q.n_passing)) || e->q.failed;
}

#endif
