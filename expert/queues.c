/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues of what waits, found by key. All indexes share one hash table; a queue lives while something is in it. A key
 * with parts that may be left out makes one queue for each choice of parts: what waits and is `any` there lies in the
 * queue without that part; one that asks and is any looks into queues without that part, which are kept from the first
 * such question on.
 */
#include <stdlib.h>
#include <string.h>

#include "expert/engine_impl.h"

#define SLAB 256

int queues_init(struct queues *q, const struct plan *p)
{
	q->n_slot = 1024;
	q->slot = calloc(q->n_slot, sizeof(struct bucket *));
	q->all = calloc(p->n_pattern + 1ull, sizeof(*q->all));
	q->asked = calloc(p->n_index + 1ull, 1);
	q->held = calloc(p->n_index + 1ull, 1);
	return q->slot && q->all && q->asked && q->held ? 0 : -1;
}

void queues_free(struct queues *q)
{
	for (uint32_t i = 0; i < q->n_slab; i++)
		free(q->slab[i]);
	free(q->slab);
	free(q->slot);
	free(q->all);
	free(q->asked);
	free(q->held);
}

static struct bucket *bucket_create(struct queues *q)
{
	struct bucket *b = q->free;

	if (!b) {
		struct bucket **s = realloc(q->slab, (q->n_slab + 1) * sizeof(*s));

		if (!s)
			return NULL;
		q->slab = s;
		s[q->n_slab] = malloc(SLAB * sizeof(*b));
		if (!s[q->n_slab])
			return NULL;
		b = s[q->n_slab++];
		for (uint32_t i = SLAB; i-- > 1;) {
			b[i].chain = q->free;
			q->free = &b[i];
		}
		return b;
	}
	q->free = b->chain;
	return b;
}

static void grow(struct queues *q)
{
	struct bucket **slot = calloc(2ull * q->n_slot, sizeof(*slot));

	if (!slot)
		return; /* the chains get longer */
	for (uint32_t i = 0; i < q->n_slot; i++)
		for (struct bucket *b = q->slot[i], *next; b; b = next) {
			struct bucket **to = &slot[b->hash & (2 * q->n_slot - 1)];

			next = b->chain;
			b->chain = *to;
			*to = b;
		}
	free(q->slot);
	q->slot = slot;
	q->n_slot *= 2;
}

/* ---- keys ---- */

struct key {
	uint64_t hash;
	uint32_t index;
	uint32_t n;
	int64_t part[PLAN_MAX_KEYS + PLAN_MAX_WILDS];
};

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ (h >> 29);
}

/* Of the index, with the wild parts in `out` left out. */
static void key_make(struct key *k, const struct plan_index *x, uint32_t out, const int64_t *key, const int64_t *wild)
{
	uint64_t h;

	k->index = x->number << PLAN_MAX_WILDS | out;
	k->n = 0;
	h = mix(0x2545f4914f6cdd1dull, k->index);
	for (uint32_t i = 0; i < x->n_key; i++) {
		k->part[k->n++] = key[i];
		h = mix(h, (uint64_t)key[i]);
	}
	for (uint32_t i = 0; i < x->n_wild; i++) {
		k->part[k->n++] = out & 1u << i ? 0 : wild[i];
		h = mix(h, (uint64_t)k->part[k->n - 1]);
	}
	k->hash = h ^ (h >> 32);
}

static struct bucket *find(const struct queues *q, const struct key *k)
{
	struct bucket *b = q->slot[k->hash & (q->n_slot - 1)];

	for (; b; b = b->chain)
		if (b->hash == k->hash && b->index == k->index && !memcmp(b->key, k->part, k->n * sizeof(*k->part)))
			return b;
	return NULL;
}

static struct bucket *find_or_make(struct queues *q, const struct key *k, uint32_t link)
{
	struct bucket *b = find(q, k), **slot;

	if (b)
		return b;
	if (q->n >= q->n_slot)
		grow(q);
	b = bucket_create(q);
	if (!b)
		return NULL;
	b->head = b->tail = NULL;
	b->n = 0;
	b->hash = k->hash;
	b->index = k->index;
	b->link = link;
	memcpy(b->key, k->part, k->n * sizeof(*k->part));
	slot = &q->slot[k->hash & (q->n_slot - 1)];
	b->chain = *slot;
	*slot = b;
	q->n++;
	return b;
}

static void bucket_drop(struct queues *q, struct bucket *b)
{
	struct bucket **at = &q->slot[b->hash & (q->n_slot - 1)];

	while (*at != b)
		at = &(*at)->chain;
	*at = b->chain;
	b->chain = q->free;
	q->free = b;
	q->n--;
}

/* ---- in and out ---- */

static void append(struct bucket *b, struct entry *x, uint32_t link)
{
	struct link *l = &x->link[link];

	l->bucket = b;
	l->next = NULL;
	l->prev = b->tail;
	if (b->tail)
		b->tail->link[link].next = x;
	else
		b->head = x;
	b->tail = x;
	b->n++;
}

static void take_out(struct queues *q, struct entry *x, uint32_t link, bool shared_table)
{
	struct link *l = &x->link[link];
	struct bucket *b = l->bucket;

	if (!b)
		return;
	if (l->prev)
		l->prev->link[link].next = l->next;
	else
		b->head = l->next;
	if (l->next)
		l->next->link[link].prev = l->prev;
	else
		b->tail = l->prev;
	l->bucket = NULL;
	if (--b->n == 0 && shared_table)
		bucket_drop(q, b);
}

static int insert_at(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y, uint32_t out,
		     uint32_t link, const int64_t *key, const int64_t *wild)
{
	uint32_t at = p->first_link + x->first_link + link;
	struct bucket *b;
	struct key k;

	key_make(&k, x, out, key, wild);
	b = find_or_make(&e->q, &k, at);
	if (!b)
		return err_set(e->err, "no memory for what the rules remember");
	append(b, y, at);
	return 0;
}

/* Values of the stored side; which parts are any. */
static uint32_t stored_key(struct engine *e, const struct plan_index *x, uint8_t pattern, struct entry *y, int64_t *key,
			   int64_t *wild)
{
	struct entry *bound[RULES_MAX_PATTERNS];
	uint32_t any = 0;

	bound[pattern] = y;
	for (uint32_t i = 0; i < x->n_key; i++)
		key[i] = engine_value(e, &x->key[i], bound).i;
	for (uint32_t i = 0; i < x->n_wild; i++) {
		wild[i] = engine_value(e, &x->wild[i].here, bound).i;
		if (x->wild[i].stored && wild[i] == x->wild[i].any)
			any |= 1u << i;
	}
	return any;
}

/* The n-th choice among the parts that those who ask may leave out. */
static uint32_t choice(const struct plan_index *x, uint32_t n)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < x->n_wild; i++)
		if (!x->wild[i].stored) {
			out |= (n & 1) << i;
			n >>= 1;
		}
	return out;
}

static int insert_index(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, struct entry *y)
{
	int64_t key[PLAN_MAX_KEYS], wild[PLAN_MAX_WILDS];
	uint32_t any = stored_key(e, x, p->pattern, y, key, wild);

	e->q.held[x->number] |= (uint8_t)(1u << any);
	for (uint32_t n = 0; n < x->n_link; n++)
		if ((n == 0 || e->q.asked[x->number] & 1u << n) &&
		    insert_at(e, p, x, y, any | choice(x, n), n, key, wild) < 0)
			return -1;
	return 0;
}

int queues_insert(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (p->scanned)
		append(&e->q.all[p->number], x, p->first_link + p->n_link - 1);
	else
		e->q.all[p->number].n++;
	for (uint32_t i = 0; i < p->n_index; i++)
		if (insert_index(e, p, &p->index[i], x) < 0)
			return -1;
	if (x->n_linked++ == 0) {
		x->refs++;
		x->older = e->youngest;
		x->younger = NULL;
		if (e->youngest)
			e->youngest->younger = x;
		else
			e->oldest = x;
		e->youngest = x;
		e->pool[x->type].waiting++;
		if (++e->report.waiting > e->report.waiting_most)
			e->report.waiting_most = e->report.waiting;
	}
	return 0;
}

void queues_remove(struct engine *e, const struct plan_pattern *p, struct entry *x)
{
	if (!queues_has(p, x))
		return;
	for (uint32_t i = 0; i < p->n_link - p->scanned; i++)
		take_out(&e->q, x, p->first_link + i, true);
	if (p->scanned)
		take_out(&e->q, x, p->first_link + p->n_link - 1, false);
	else
		e->q.all[p->number].n--;
	if (--x->n_linked)
		return;
	if (x->older)
		x->older->younger = x->younger;
	else
		e->oldest = x->younger;
	if (x->younger)
		x->younger->older = x->older;
	else
		e->youngest = x->older;
	e->pool[x->type].waiting--;
	e->report.waiting--;
	entry_release(e, x);
}

struct bucket *queues_group(const struct plan_pattern *p, const struct entry *x)
{
	return x->link[p->first_link + p->index[0].first_link].bucket;
}

/* ---- asking ---- */

/* From now on there are queues for that choice of parts left out. */
static int start_asking(struct engine *e, const struct plan_pattern *p, const struct plan_index *x, uint32_t n)
{
	int64_t key[PLAN_MAX_KEYS], wild[PLAN_MAX_WILDS];

	e->q.asked[x->number] |= (uint8_t)(1u << n);
	for (struct entry *y = e->oldest; y; y = y->younger) {
		uint32_t any;

		if (y->type != p->type || !queues_has(p, y))
			continue;
		any = stored_key(e, x, p->pattern, y, key, wild);
		if (insert_at(e, p, x, y, any | choice(x, n), n, key, wild) < 0)
			return -1;
	}
	return 0;
}

static void add_queue(struct cursor *c, const struct bucket *b, uint32_t link)
{
	if (!b || !b->head)
		return;
	c->next[c->n] = b->head;
	c->link[c->n++] = link;
}

void cursor_open(struct engine *e, struct cursor *c, const struct plan_pattern *p, const struct plan_step *s)
{
	const struct plan_index *x = s->index < 0 ? NULL : &p->index[s->index];
	int64_t key[PLAN_MAX_KEYS], wild[PLAN_MAX_WILDS];
	uint32_t out = 0, n = 0, bit = 0;
	struct key k;

	c->n = 0;
	if (!e->q.all[p->number].n)
		return;
	if (!x) {
		add_queue(c, &e->q.all[p->number], p->first_link + p->n_link - 1);
		return;
	}
	for (uint32_t i = 0; i < x->n_key; i++)
		key[i] = engine_value(e, &s->key[i], e->bound).i;
	for (uint32_t i = 0; i < x->n_wild; i++) {
		wild[i] = engine_value(e, &s->wild[i], e->bound).i;
		if (x->wild[i].stored)
			continue;
		if (wild[i] == x->wild[i].any) {
			out |= 1u << i;
			n |= 1u << bit;
		}
		bit++;
	}
	if (n && !(e->q.asked[x->number] & 1u << n) && start_asking(e, p, x, n) < 0) {
		e->q.failed = true;
		return;
	}
	for (uint32_t any = 0; any < 1u << x->n_wild; any++) {
		if (!(e->q.held[x->number] & 1u << any))
			continue;
		key_make(&k, x, out | any, key, wild);
		add_queue(c, find(&e->q, &k), p->first_link + x->first_link + n);
	}
}

struct entry *cursor_next(struct cursor *c)
{
	struct entry *best = NULL;
	uint32_t from = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		while (c->next[i] && !c->next[i]->link[c->link[i]].bucket)
			c->next[i] = c->next[i]->link[c->link[i]].next; /* was taken out since */
		if (c->next[i] && (!best || c->next[i]->seq < best->seq)) {
			best = c->next[i];
			from = i;
		}
	}
	if (best)
		c->next[from] = best->link[c->link[from]].next;
	return best;
}
