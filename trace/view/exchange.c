/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages as packs. The server gets the messages of one window. The page gets the first messages of the run, as
 * many as its budget allows, and sums over all messages per pair of ranks. If there are too many pairs, ranks are
 * joined to blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/view/pack.h"

#define BYTES_PER_MESSAGE 12
#define PAIRS_MAX         100000u

struct pair {
	uint64_t key; /* (src << 32 | dst) + 1; 0: free */
	uint64_t n, bytes;
};

struct pairs {
	struct pair *pair;
	uint32_t n, size, shift;
};

struct collect {
	struct view *v;
	struct pairs pairs;
	struct timeline_message *m;
	uint64_t n, cap, max, end_ns, all, bytes;
	bool failed;
};

static struct pair *find_pair(struct pair *list, uint32_t size, uint64_t key)
{
	uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (size - 1);

	while (list[i].key && list[i].key != key)
		i = (i + 1) & (size - 1);
	return &list[i];
}

/* Move the pairs to a table of that size. coarser: blocks get twice as many ranks. */
static int rehash(struct pairs *p, uint32_t size, bool coarser)
{
	struct pair *list = calloc(size, sizeof(*list));
	uint32_t n = 0;

	if (!list)
		return -1;
	for (uint32_t i = 0; i < p->size; i++) {
		uint64_t key = p->pair[i].key - 1;
		struct pair *q;

		if (!p->pair[i].key)
			continue;
		if (coarser)
			key = (key >> 33) << 32 | (uint32_t)key >> 1;
		q = find_pair(list, size, key + 1);
		n += !q->key;
		q->key = key + 1;
		q->n += p->pair[i].n;
		q->bytes += p->pair[i].bytes;
	}
	free(p->pair);
	*p = (struct pairs){list, n, size, p->shift + coarser};
	return 0;
}

static int add_pair(struct pairs *p, const struct timeline_message *m)
{
	uint64_t key;
	struct pair *q;

	if (p->n >= PAIRS_MAX && rehash(p, p->size, true) < 0)
		return -1;
	if (p->n >= p->size / 2 && rehash(p, p->size ? p->size * 2 : 1024, false) < 0)
		return -1;
	key = ((uint64_t)(m->src >> p->shift) << 32 | m->dst >> p->shift) + 1;
	q = find_pair(p->pair, p->size, key);
	p->n += !q->key;
	q->key = key;
	q->n++;
	q->bytes += m->bytes;
	return 0;
}

static int by_sent(const void *a, const void *b)
{
	const struct timeline_message *x = a, *y = b;

	return (x->t0_ns > y->t0_ns) - (x->t0_ns < y->t0_ns);
}

/* There are twice as many messages as allowed: keep the earlier half. */
static void drop_later(struct collect *c)
{
	qsort(c->m, c->n, sizeof(*c->m), by_sent);
	c->n = c->max;
	c->end_ns = c->m[c->max].t0_ns;
	while (c->n && c->m[c->n - 1].t0_ns >= c->end_ns)
		c->n--;
}

static int keep_message(const struct timeline_message *m, void *arg)
{
	struct collect *c = arg;

	c->all++;
	c->bytes += m->bytes;
	if (add_pair(&c->pairs, m) < 0)
		return c->failed = true;
	if (m->t0_ns >= c->end_ns)
		return 0;
	if (ARRAY_ROOM(c->m, c->cap, c->n + 1) != 0)
		return c->failed = true;
	c->m[c->n++] = *m;
	if (c->n >= 2 * c->max + 2)
		drop_later(c);
	return 0;
}

static void put_messages(struct timeline_message *m, uint64_t n, uint64_t t0, struct buf *out)
{
	uint64_t prev = t0;

	if (n)
		qsort(m, n, sizeof(*m), by_sent);
	for (uint64_t i = 0; i < n; i++) {
		buf_put_uv(out, m[i].src);
		buf_put_uv(out, m[i].dst);
		buf_put_sv(out, (int64_t)(m[i].t0_ns - prev));
		buf_put_sv(out, (int64_t)(m[i].t1_ns - m[i].t0_ns));
		buf_put_uv(out, m[i].bytes);
		buf_put_sv(out, m[i].tag);
		prev = m[i].t0_ns;
	}
}

int view_exchange_build(struct view *v, uint64_t budget, struct view_exchange *x, struct errbuf *err)
{
	struct collect c = {.v = v, .max = budget / BYTES_PER_MESSAGE + 1, .end_ns = UINT64_MAX};
	int rv;

	*x = (struct view_exchange){0};
	view_progress(v, "messages", 0, 1);
	rv = timeline_messages(v->in->timeline, 0, UINT64_MAX, keep_message, &c, err);
	if (rv >= 0 && c.failed)
		rv = err_set(err, "no memory");
	if (rv >= 0 && c.n > c.max)
		drop_later(&c);
	if (rv >= 0) {
		put_messages(c.m, c.n, 0, &x->messages);
		for (uint32_t i = 0; i < c.pairs.size; i++) {
			if (!c.pairs.pair[i].key)
				continue;
			buf_put_uv(&x->pairs, (c.pairs.pair[i].key - 1) >> 32);
			buf_put_uv(&x->pairs, (uint32_t)(c.pairs.pair[i].key - 1));
			buf_put_uv(&x->pairs, c.pairs.pair[i].n);
			buf_put_uv(&x->pairs, c.pairs.pair[i].bytes);
		}
		x->n = c.all;
		x->bytes = c.bytes;
		x->n_kept = c.n;
		x->end_ns = c.end_ns < v->end_ns ? c.end_ns : v->end_ns;
		x->shift = c.pairs.shift;
	}
	free(c.m);
	free(c.pairs.pair);
	return rv < 0 ? -1 : 0;
}

void view_exchange_free(struct view_exchange *x)
{
	buf_free(&x->messages);
	buf_free(&x->pairs);
}

/* ---- one window ---- */

struct some {
	struct timeline_message *m;
	uint64_t n, cap, max;
	bool failed;
};

static int add_some(const struct timeline_message *m, void *arg)
{
	struct some *s = arg;

	if (s->n == s->max) {
		s->n++;
		return 1;
	}
	if (ARRAY_ROOM(s->m, s->cap, s->n + 1) != 0)
		return s->failed = true;
	s->m[s->n++] = *m;
	return 0;
}

int view_messages(struct view *v, uint64_t t0, uint64_t t1, uint64_t max, bool *cut, struct buf *out,
		  struct errbuf *err)
{
	struct some s = {.max = max};
	int rv = timeline_messages(v->in->timeline, t0, t1, add_some, &s, err);

	*cut = s.n > max;
	if (rv >= 0 && s.failed)
		rv = err_set(err, "no memory");
	if (rv >= 0 && !*cut)
		put_messages(s.m, s.n, t0, out);
	free(s.m);
	return rv < 0 ? -1 : 0;
}
