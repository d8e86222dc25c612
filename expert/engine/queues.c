/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues of waiting entries, found by key. All indexes share one hash table. A queue exists while it holds an entry. A
 * key may have wild parts, which may be left out. Such a key has one queue for each choice of left-out parts. A waiting
 * entry that is `any` in a part lies in the queue without that part. A lookup that is `any` in a part uses the queues
 * without that part. These queues are kept from the first such lookup on.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/engine/keys.h"

int queues_init(struct queues *q, const struct plan *p)
{
	q->n_slot = 1024;
	q->slot = calloc(q->n_slot, sizeof(*q->slot));
	q->all = calloc(p->n_pattern + 1ull, sizeof(*q->all));
	q->n_waiting = calloc(p->n_pattern + 1ull, sizeof(*q->n_waiting));
	q->asked = calloc(p->n_index + 1ull, 1);
	q->held = calloc(p->n_index + 1ull, 1);
	return q->slot && q->all && q->n_waiting && q->asked && q->held ? 0 : -1;
}

void queues_free(struct queues *q)
{
	for (uint32_t i = 0; i < q->n_slab; i++)
		free(q->slab[i]);
	free(q->slab);
	free(q->slot);
	free(q->all);
	free(q->n_waiting);
	free(q->passing);
	free(q->asked);
	free(q->held);
}

static struct bucket *bucket_create(struct queues *q)
{
	struct bucket *b;

	if (!q->free) {
		struct bucket_slab **s = realloc(q->slab, (q->n_slab + 1) * sizeof(struct bucket_slab *));

		if (!s)
			return NULL;
		q->slab = s;
		s[q->n_slab] = aligned_alloc(64, sizeof(**s));
		if (!s[q->n_slab])
			return NULL;
		b = s[q->n_slab]->bucket;
		for (uint32_t i = BUCKET_SLAB; i-- > 0;) {
			b[i].number = q->n_slab * BUCKET_SLAB + i + 1;
			b[i].hash = q->free;
			q->free = b[i].number;
		}
		q->n_slab++;
	}
	b = queues_bucket(q, q->free);
	q->free = b->hash;
	if (q->free)
		__builtin_prefetch(queues_bucket(q, q->free), 1); /* until it is wanted */
	return b;
}

/* Where that hash belongs in the table: the first free place. */
static struct place *free_place(struct place *slot, uint32_t n_slot, uint32_t hash)
{
	uint32_t at = hash & (n_slot - 1);

	while (slot[at].number)
		at = (at + 1) & (n_slot - 1);
	return &slot[at];
}

/* Twice the room. */
static bool grow_places(struct queues *q)
{
	struct place *slot;

	slot = q->n_slot < UINT32_MAX / 4 ? calloc(2ull * q->n_slot, sizeof(*slot)) : NULL;
	if (!slot)
		return false;
	for (uint32_t i = 0; i < q->n_slot; i++)
		if (q->slot[i].number)
			*free_place(slot, 2 * q->n_slot, q->slot[i].hash) = q->slot[i];
	free(q->slot);
	q->slot = slot;
	q->n_slot *= 2;
	return true;
}

/* ---- in and out ---- */

/* The queue by that key, made when there is none. NULL without memory. */
static inline __attribute__((always_inline)) struct bucket *find_or_make(struct queues *q, const struct key *k)
{
	uint32_t mask, at;
	struct bucket *b;

	if (2 * (q->n + 1) > q->n_slot && !grow_places(q))
		return NULL;
	mask = q->n_slot - 1;
	for (at = k->hash & mask; q->slot[at].number; at = (at + 1) & mask)
		if (q->slot[at].hash == k->hash) {
			b = queues_bucket(q, q->slot[at].number);
			if (bucket_is(q, b, k, k->index))
				return b;
		}
	b = bucket_create(q);
	if (!b)
		return NULL;
	b->head = b->tail = NULL;
	b->n = 0;
	b->hash = k->hash;
	b->index = k->index;
	memcpy(b->part, k->part, sizeof(b->part)); /* what is behind the last part is not looked at */
	if (k->n > BUCKET_PARTS)
		memcpy(queues_more_parts(q, b->number), k->part + BUCKET_PARTS, (k->n - BUCKET_PARTS) * sizeof(*k->part));
	q->slot[at] = (struct place){.hash = k->hash, .number = b->number};
	q->n++;
	return b;
}

/* Those behind its place that belong before it move up. */
static inline __attribute__((always_inline)) void bucket_drop(struct queues *q, struct bucket *b)
{
	uint32_t mask = q->n_slot - 1, hole = b->hash & mask;

	while (q->slot[hole].number != b->number)
		hole = (hole + 1) & mask;
	for (uint32_t at = (hole + 1) & mask; q->slot[at].number; at = (at + 1) & mask) {
		uint32_t home = q->slot[at].hash & mask;

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		q->slot[hole] = q->slot[at];
		hole = at;
	}
	q->slot[hole].number = 0;
	b->hash = q->free;
	q->free = b->number;
	q->n--;
}

/* It is in that queue. */
static inline void take_out(struct queues *q, struct entry *x, uint32_t link, bool shared_table)
{
	struct link *l = entry_link(x, link);
	struct bucket *b = l->bucket;

	if (l->prev)
		entry_link(l->prev, link)->next = l->next;
	else
		b->head = l->next;
	if (l->next)
		entry_link(l->next, link)->prev = l->prev;
	else
		b->tail = l->prev;
	l->bucket = NULL;
	if (--b->n == 0 && shared_table)
		bucket_drop(q, b);
}

/* Inserts x in the order of seq. x was in a file, and is older than the entries that came meanwhile. */
static void bucket_insert(struct bucket *b, struct entry *x, uint32_t link)
{
	struct entry *after = b->head;
	struct link *l = entry_link(x, link), *a;

	while (after->seq < x->seq)
		after = entry_link(after, link)->next;
	a = entry_link(after, link);
	l->bucket = b;
	l->next = after;
	l->prev = a->prev;
	if (a->prev)
		entry_link(a->prev, link)->next = x;
	else
		b->head = x;
	a->prev = x;
	b->n++;
}

static inline __attribute__((always_inline)) int insert_at(struct engine *e, const struct plan_pattern *p, const struct plan_index *x,
							   struct entry *y, uint32_t n, const struct key *k)
{
	uint32_t at = p->first_link + x->first_link + n * (uint32_t)LINK_VALUES;
	struct bucket *b = entry_link(y, at)->bucket;

	if (b && b->n == 1 && b->hash == k->hash && bucket_is(&e->q, b, k, k->index))
		return 0;
	if (b)
		take_out(&e->q, y, at, true);
	b = find_or_make(&e->q, k);
	if (!b)
		return err_set(e->err, "no memory for what the rules remember");
	if (b->tail && b->tail->seq > y->seq)
		bucket_insert(b, y, at);
	else
		bucket_append(b, y, at);
	return 0;
}

/* Into the queues of those keys from which somebody who asked has left parts out. */
static __attribute__((noinline)) int insert_less(struct engine *e, const struct plan_pattern *p, const struct plan_index *x,
						 struct entry *y, const struct key *k, uint32_t asked)
{
	for (uint32_t n = 1; n < x->n_link; n++)
		if (asked & 1u << n) {
			struct key less = key_without(k, x, k->any | key_choice(x, n));

			if (insert_at(e, p, x, y, n, &less) < 0)
				return -1;
		}
	return 0;
}

static inline int enlist(struct engine *e, struct entry *x)
{
	if (x->n_linked++)
		return 0;
	x->refs++;
	e->pool[x->type].waiting++;
	if (++e->report.waiting > e->report.waiting_most)
		e->report.waiting_most = e->report.waiting;
	return ages_add(&e->ages, x) < 0 ? err_set(e->err, "no memory for what the rules remember") : 0;
}

int queues_enlist(struct engine *e, struct entry *x)
{
	return enlist(e, x);
}

static inline int insert_index(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y,
			       const struct key *k)
{
	uint32_t asked = e->q.asked[x->number];

	e->q.held[x->number] |= (uint8_t)(1u << k->any);
	if (insert_at(e, p, x, y, 0, k) < 0)
		return -1;
	return asked ? insert_less(e, p, x, y, k, asked) : 0;
}

int queues_insert_index(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y,
			const struct key *k)
{
	return insert_index(e, p, x, y, k);
}

int queues_insert_pair(struct engine *e, const struct plan_pattern *p, struct entry *x, const struct key *k)
{
	bool waits = queues_has(p, x); /* and was modified */

	if (insert_index(e, p, p->index, x, k) < 0)
		return -1;
	if (waits)
		return 0;
	e->q.n_waiting[p->number]++;
	return enlist(e, x);
}

static int insert_now(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	bool waits = queues_has(p, x); /* and was modified */

	if (p->scanned) {
		if (entry_link(x, p->last_link)->bucket)
			take_out(&e->q, x, p->last_link, false);
		bucket_append(&e->q.all[p->number], x, p->last_link);
	}
	e->q.n_waiting[p->number] += !waits;
	for (uint32_t i = 0; i < p->n_index; i++) {
		struct key k;

		stored_key(e, &p->index[i], p->pattern, x, &k);
		key_finish(&k, &p->index[i], k.any);
		if (insert_index(e, p, &p->index[i], x, &k) < 0)
			return -1;
	}
	return waits ? 0 : enlist(e, x);
}

/* ---- events of one cycle ---- */

int queues_let_pass(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	struct queues *q = &e->q;

	if (ARRAY_ROOM(q->passing, q->cap_passing, q->n_passing + 1) != 0)
		return err_set(e->err, "no memory for what the rules remember");
	q->passing[q->n_passing++] = (struct passing){.pattern = p, .entry = x};
	return 0;
}

/* Somebody asks for them. */
static int stop_passing(struct engine *e)
{
	struct queues *q = &e->q;

	q->asked_passing = true;
	for (uint32_t i = 0; i < q->n_passing; i++)
		if (insert_now(e, q->passing[i].pattern, q->passing[i].entry) < 0)
			return -1;
	q->n_passing = 0;
	return 0;
}

int queues_insert(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (p->alias)
		return 0;
	return p->passes ? queues_let_pass(e, p, x) : insert_now(e, p, x);
}

void queues_remove(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (!queues_has(p, x))
		return;
	for (uint32_t i = 0, at = p->first_link; i < p->n_link - p->scanned; i++, at += LINK_VALUES)
		if (entry_link(x, at)->bucket)
			take_out(&e->q, x, at, true);
	if (p->scanned)
		take_out(&e->q, x, p->last_link, false);
	e->q.n_waiting[p->number]--;
	if (--x->n_linked)
		return;
	ages_take(&e->ages, x);
	e->pool[x->type].waiting--;
	e->report.waiting--;
	entry_release(e, x);
}

struct bucket *queues_group(const struct plan_pattern *p, const struct entry *x)
{
	return entry_link(x, p->first_link + p->index[0].first_link)->bucket;
}

/* ---- asking ---- */

/* From now on there are queues for that choice of parts left out. */
static int start_asking(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, uint32_t n)
{
	e->q.asked[x->number] |= (uint8_t)(1u << n);
	for (uint64_t at = e->ages.head; at != e->ages.tail; at++) {
		struct entry *y = e->ages.slot[at & (e->ages.n_slot - 1)];
		struct key k;

		if (!y || y->type != p->type || !queues_has(p, y))
			continue;
		stored_key(e, x, p->pattern, y, &k);
		key_finish(&k, x, k.any | key_choice(x, n));
		if (insert_at(e, p, x, y, n, &k) < 0)
			return -1;
	}
	return 0;
}

/* Does y have that key in the index? */
static bool has_key(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y,
		    const struct key *k, uint32_t out)
{
	struct key own;

	stored_key(e, x, p->pattern, y, &own);
	for (uint32_t i = 0; i < x->n_key; i++)
		if (own.part[i] != k->part[i])
			return false;
	for (uint32_t i = 0; i < x->n_wild; i++)
		if (own.part[x->n_key + i] != k->part[x->n_key + i] && !((own.any | out) >> i & 1))
			return false;
	return true;
}

/* Of events that pass: as long as they are few they are looked through. x NULL: all. */
static void ask_passing(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_index *x,
			const struct key *k, uint32_t out)
{
	struct queues *q = &e->q;

	if (q->asked_passing || q->n_passing > CURSOR_FEW) {
		if (stop_passing(e) < 0)
			q->failed = true;
		return;
	}
	for (uint32_t i = 0; i < q->n_passing; i++)
		if (q->passing[i].pattern == p && (!x || has_key(e, p, x, q->passing[i].entry, k, out)))
			c->few[c->n_few++] = q->passing[i].entry;
}

void cursor_ask(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_index *x,
		const struct key *k, uint32_t out)
{
	uint32_t n = 0, held = e->q.held[x->number], link = p->first_link + x->first_link;

	for (uint32_t i = 0, bit = 0; out && i < x->n_wild; i++)
		if (!x->wild[i].stored)
			n |= (out >> i & 1) << bit++;
	if (p->passes && e->q.n_passing)
		ask_passing(e, c, p, x, k, out);
	if (n && !(e->q.asked[x->number] & 1u << n) && start_asking(e, p, x, n) < 0) {
		e->q.failed = true;
		return;
	}
	for (uint32_t any = 0; held >> any; any++)
		if (held >> any & 1) {
			struct key other = key_without(k, x, out | any);

			cursor_add(c, queues_find(&e->q, &other, other.index), link + n * (uint32_t)LINK_VALUES);
		}
}

/* As most are: by parameters as they are, of which none is any. False: there are too many events that pass. */
static bool open_plain(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_index *x,
		       const struct plan_step *s)
{
	const struct queues *q = &e->q;
	uint64_t h = x->begin;
	struct key *k = &e->key;

	if (p->passes && (q->asked_passing || q->n_passing > CURSOR_FEW))
		return false;
	for (uint32_t i = 0; i < x->n_key; i++) {
		k->part[i] = engine_value(e, &s->key[i], e->bound).i;
		h += key_mix(k->part[i], i);
	}
	for (uint32_t i = 0; p->passes && i < q->n_passing; i++) {
		struct entry *y = q->passing[i].entry;
		uint32_t n = 0;

		if (q->passing[i].pattern != p)
			continue;
		while (n < x->n_key && y->v[x->slot[n]].i == k->part[n])
			n++;
		if (n == x->n_key)
			c->few[c->n_few++] = y;
	}
	if (!q->n_waiting[p->number])
		return true;
	k->index = x->number << PLAN_MAX_WILDS;
	k->n = x->n_key;
	k->hash = key_end(h);
	cursor_add(c, queues_find(q, k, k->index), p->first_link + x->first_link);
	return true;
}

void cursor_open(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_step *s)
{
	const struct plan_index *x = s->index < 0 ? NULL : &p->index[s->index];
	uint32_t out = 0;
	struct key k;

	c->n = c->n_few = c->at = 0;
	if (queues_nothing(e, p))
		return;
	if (x && x->plain && !x->n_wild && open_plain(e, c, p, x, s))
		return;
	if (!x) {
		if (p->passes && e->q.n_passing)
			ask_passing(e, c, p, NULL, NULL, 0);
		cursor_add(c, &e->q.all[p->number], p->last_link);
		return;
	}
	k.any = 0;
	for (uint32_t i = 0; i < x->n_key; i++)
		k.part[i] = engine_value(e, &s->key[i], e->bound).i;
	for (uint32_t i = 0; i < x->n_wild; i++) {
		k.part[x->n_key + i] = engine_value(e, &s->wild[i], e->bound).i;
		if (!x->wild[i].stored && k.part[x->n_key + i] == x->wild[i].any)
			out |= 1u << i;
	}
	cursor_ask(e, c, p, x, &k, out);
}

struct entry *cursor_next(struct cursor *c)
{
	struct entry *best = NULL;
	uint32_t from = 0;

	if (c->at < c->n_few)
		return c->few[c->at++];

	for (uint32_t i = 0; i < c->n; i++) {
		while (c->next[i] && !entry_link(c->next[i], c->link[i])->bucket)
			c->next[i] = entry_link(c->next[i], c->link[i])->next; /* was taken out since */
		if (c->next[i] && (!best || c->next[i]->seq < best->seq)) {
			best = c->next[i];
			from = i;
		}
	}
	if (best)
		c->next[from] = entry_link(best, c->link[from])->next;
	return best;
}
