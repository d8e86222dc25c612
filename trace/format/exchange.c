/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of messages and their carry lists: see exchange.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/exchange.h"
#include "common/array.h"

#define PER_PAGE    16384
#define WAITING_MAX 131072

/* ---- payload ---- */

static uint8_t *put_uv(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

void exchange_encode(const struct exchange *m, uint32_t n, struct buf *raw)
{
	uint64_t last = 0;

	buf_put_uv(raw, n);
	for (uint32_t i = 0; i < n; i++, m++) {
		uint8_t *p;

		if (buf_reserve(raw, 6 * 10) < 0)
			return;
		p = raw->data + raw->len;
		p = put_uv(p, zigzag((int64_t)(m->t1 - last)));
		p = put_uv(p, (m->t1 - m->t0) << 1 | m->received);
		p = put_uv(p, m->src);
		p = put_uv(p, m->dst);
		p = put_uv(p, zigzag(m->tag));
		p = put_uv(p, m->bytes);
		raw->len = (size_t)(p - raw->data);
		last = m->t1;
	}
}

int exchange_decode(const uint8_t *raw, size_t len, uint32_t n_ranks, struct exchange **out, uint32_t *n,
		    struct errbuf *err)
{
	struct rdbuf r = {.data = raw, .len = len};
	uint64_t count = rdbuf_uv(&r), last = 0;
	struct exchange *m;

	*out = NULL;
	*n = 0;
	if (r.failed || count > len / 6)
		return err_set(err, "claims more messages than it has bytes");
	m = malloc((count ? count : 1) * sizeof(*m));
	if (!m)
		return err_set(err, "no memory for %llu messages", (unsigned long long)count);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t flight, src, dst;
		int64_t tag;

		last += (uint64_t)rdbuf_sv(&r);
		flight = rdbuf_uv(&r);
		src = rdbuf_uv(&r);
		dst = rdbuf_uv(&r);
		tag = rdbuf_sv(&r);
		if (src >= n_ranks || dst >= n_ranks || flight >> 1 > last || tag != (int32_t)tag)
			r.failed = true;
		m[i] = (struct exchange){.src = (uint32_t)src, .dst = (uint32_t)dst, .t1 = last,
					 .t0 = last - (flight >> 1), .received = flight & 1, .tag = (int32_t)tag,
					 .bytes = rdbuf_uv(&r)};
	}
	if (r.failed || r.pos != len) {
		free(m);
		return err_set(err, "malformed list of messages");
	}
	*out = m;
	*n = (uint32_t)count;
	return 0;
}

/* ---- writing ---- */

struct list {
	struct exchange *m;
	uint32_t n, cap;
	uint64_t t; /* border (of a carry list) */
};

struct exchange_writer {
	exchange_sink *sink;
	void *arg;
	uint32_t per_page, waiting_max;
	uint64_t t0;      /* start time of the page that is being filled */
	uint64_t last_t1; /* return time of its latest message */
	struct list own, far; /* far: the long list */
	struct list *border;  /* carry lists that wait for messages, oldest first */
	uint32_t n_border, cap_border;
	uint32_t waiting;     /* messages in all carry lists */
	/* latest border whose list is written; messages that cross it from now on go to the long list */
	uint64_t closed;
	struct buf raw;
};

struct exchange_writer *exchange_writer_create(uint32_t per_page, uint32_t waiting_max, uint64_t first,
					       exchange_sink *sink, void *arg)
{
	struct exchange_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->sink = sink;
	w->arg = arg;
	w->per_page = per_page ? per_page : PER_PAGE;
	w->waiting_max = waiting_max ? waiting_max : WAITING_MAX;
	w->t0 = w->last_t1 = first;
	return w;
}

void exchange_writer_destroy(struct exchange_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n_border; i++)
		free(w->border[i].m);
	free(w->border);
	free(w->own.m);
	free(w->far.m);
	buf_free(&w->raw);
	free(w);
}

static int list_add(struct list *l, const struct exchange *m, struct errbuf *err)
{
	if (ARRAY_ROOM(l->m, l->cap, l->n + 1) != 0)
		return err_set(err, "no memory for %u messages", l->n);
	l->m[l->n++] = *m;
	return 0;
}

static int write_list(struct exchange_writer *w, struct list *l, enum exchange_list kind, uint64_t t0, uint64_t t1,
		      struct errbuf *err)
{
	struct trace_page head = {.type = TPAGE_EXCHANGE, .rank = kind, .n = l->n, .t0 = t0, .t1 = t1};

	for (uint32_t i = 0; i < l->n; i++)
		head.first += l->m[i].bytes;
	buf_reset(&w->raw);
	exchange_encode(l->m, l->n, &w->raw);
	l->n = 0;
	if (w->raw.failed)
		return err_set(err, "no memory for a page of messages");
	return w->sink(w->arg, &head, &w->raw, err);
}

/* Write the oldest carry list. Messages that arrive later and cross its border go to the long list. */
static int write_border(struct exchange_writer *w, struct errbuf *err)
{
	struct list l = w->border[0];
	int rv = 0;

	w->closed = l.t;
	w->waiting -= l.n;
	memmove(w->border, w->border + 1, --w->n_border * sizeof(*w->border));
	if (l.n) {
		uint64_t t1 = l.m[l.n - 1].t1;

		rv = write_list(w, &l, EXCHANGE_CARRIED, l.t, t1, err);
	}
	free(l.m);
	return rv;
}

/* Close the page at time t, which lies behind all its messages. */
static int close_page(struct exchange_writer *w, uint64_t t, struct errbuf *err)
{
	if (write_list(w, &w->own, EXCHANGE_OWN, w->t0, t, err) < 0)
		return -1;
	if (ARRAY_ROOM(w->border, w->cap_border, w->n_border + 1) != 0)
		return err_set(err, "no memory for %u carry lists", w->n_border);
	w->border[w->n_border++] = (struct list){.t = t};
	w->t0 = t;
	/* A list without messages is small, but it also counts against the limit. */
	return w->n_border > w->waiting_max ? write_border(w, err) : 0;
}

static int write_long(struct exchange_writer *w, struct errbuf *err)
{
	uint64_t t0 = UINT64_MAX, t1 = 0;

	for (uint32_t i = 0; i < w->far.n; i++) {
		t0 = w->far.m[i].t0 < t0 ? w->far.m[i].t0 : t0;
		t1 = w->far.m[i].t1 > t1 ? w->far.m[i].t1 : t1;
	}
	return w->far.n ? write_list(w, &w->far, EXCHANGE_LONG, t0, t1, err) : 0;
}

static int add_long(struct exchange_writer *w, const struct exchange *m, struct errbuf *err)
{
	if (list_add(&w->far, m, err) < 0)
		return -1;
	return w->far.n >= w->per_page ? write_long(w, err) : 0;
}

int exchange_writer_add(struct exchange_writer *w, const struct exchange *m, struct errbuf *err)
{
	if (!m->received)
		return add_long(w, m, err);
	if (m->t1 < w->last_t1 || m->t0 > m->t1)
		return err_set(err, "messages are not in order of their arrival");
	if (w->own.n >= w->per_page && m->t1 > w->last_t1 && close_page(w, m->t1, err) < 0)
		return -1;
	w->last_t1 = m->t1;
	if (m->t0 >= w->t0)
		return list_add(&w->own, m, err);
	if (m->t0 < w->closed)
		return add_long(w, m, err);
	for (uint32_t b = w->n_border; b && w->border[b - 1].t > m->t0; b--) {
		if (list_add(&w->border[b - 1], m, err) < 0)
			return -1;
		w->waiting++;
	}
	while (w->waiting > w->waiting_max)
		if (write_border(w, err) < 0)
			return -1;
	return 0;
}

int exchange_writer_finish(struct exchange_writer *w, uint64_t end, struct errbuf *err)
{
	while (w->n_border)
		if (write_border(w, err) < 0)
			return -1;
	if (w->own.n && write_list(w, &w->own, EXCHANGE_OWN, w->t0, end, err) < 0)
		return -1;
	return write_long(w, err);
}
