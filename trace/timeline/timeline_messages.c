/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of windows. Matching reports messages in no order of time. They are sorted into a binary tree of
 * intervals: the whole run, its halves, their halves and so on. A message belongs to the smallest interval that
 * contains it. Messages are stored as exchange pages (exchange.h) in an unlinked temporary file. A query reads the
 * pages of all intervals that overlap its window. See timeline.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "trace/format/exchange.h"
#include "trace/timeline/timeline_impl.h"

#define BUFFERED_MAX (24u << 20) /* bytes of messages that wait for their page */
#define PER_LEAF     4096        /* aim for the number of messages in one interval */
#define LEVELS_MAX   12

struct block {
	uint64_t offset, t0, t1; /* position of the page; times of its messages */
};

struct node {
	struct exchange *m;
	uint32_t n;
	struct block *block;
	uint32_t n_block, cap_block;
};

struct timeline_spool {
	int fd;
	uint64_t size;
	uint32_t n_ranks;
	unsigned levels;   /* there are 1 << (levels - 1) intervals at the finest level */
	unsigned shift;    /* width of the finest intervals: 1 << shift ns */
	uint32_t n_node, per_page;
	struct node *node; /* the intervals: whole run, its halves, their halves ... */
	struct buf raw, page;
};

/* ---- where a message goes ---- */

static void shape_tree(struct timeline_spool *s, uint64_t end_ns, uint64_t n_messages)
{
	uint32_t leaves;

	s->levels = 1;
	while (s->levels < LEVELS_MAX && n_messages >> (s->levels - 1) > PER_LEAF)
		s->levels++;
	leaves = 1u << (s->levels - 1);
	while (end_ns >> s->shift >= leaves)
		s->shift++;
	s->n_node = 2 * leaves - 1;
	s->per_page = BUFFERED_MAX / sizeof(struct exchange) / s->n_node;
}

/* Index of the finest interval that contains t. */
static uint64_t leaf_of(const struct timeline_spool *s, uint64_t t)
{
	uint64_t last = (1ull << (s->levels - 1)) - 1;

	return t >> s->shift < last ? t >> s->shift : last;
}

static struct node *node_at(const struct timeline_spool *s, unsigned level, uint64_t i)
{
	return &s->node[(1ull << level) - 1 + i];
}

static struct node *node_of(const struct timeline_spool *s, uint64_t t0, uint64_t t1)
{
	uint64_t a = leaf_of(s, t0), b = leaf_of(s, t1);
	unsigned level = s->levels - 1;

	for (; a != b; level--) {
		a >>= 1;
		b >>= 1;
	}
	return node_at(s, level, a);
}

/* ---- the file ---- */

static int by_sent(const void *a, const void *b)
{
	const struct exchange *x = a, *y = b;

	return (x->t0 > y->t0) - (x->t0 < y->t0);
}

static int write_all(struct timeline_spool *s, const uint8_t *p, size_t n, struct errbuf *err)
{
	while (n) {
		ssize_t k = pwrite(s->fd, p, n, (off_t)s->size);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_set(err, "the temporary file for messages cannot be written: %s",
				       strerror(k < 0 ? errno : ENOSPC));
		p += k;
		n -= (size_t)k;
		s->size += (uint64_t)k;
	}
	return 0;
}

static int write_node(struct timeline_spool *s, struct node *k, struct errbuf *err)
{
	struct trace_page head = {.type = TPAGE_EXCHANGE, .n = k->n, .t0 = UINT64_MAX};

	if (!k->n)
		return 0;
	qsort(k->m, k->n, sizeof(*k->m), by_sent);
	head.t0 = k->m[0].t0;
	for (uint32_t i = 0; i < k->n; i++)
		head.t1 = k->m[i].t1 > head.t1 ? k->m[i].t1 : head.t1;
	buf_reset(&s->raw);
	buf_reset(&s->page);
	exchange_encode(k->m, k->n, &s->raw);
	if (ARRAY_ROOM(k->block, k->cap_block, k->n_block + 1) != 0)
		return err_set(err, "no memory for messages");
	if (s->raw.failed || trace_page_encode(&head, s->raw.data, s->raw.len, &s->page) < 0)
		return err_set(err, "no memory for messages");
	k->block[k->n_block++] = (struct block){s->size, head.t0, head.t1};
	k->n = 0;
	return write_all(s, s->page.data, s->page.len, err);
}

static int add_message(struct timeline_spool *s, const struct exchange *m, struct errbuf *err)
{
	struct node *k = node_of(s, m->t0, m->t1);

	if (!k->m) {
		k->m = malloc(s->per_page * sizeof(*k->m));
		if (!k->m)
			return err_set(err, "no memory for messages");
	}
	k->m[k->n++] = *m;
	return k->n == s->per_page ? write_node(s, k, err) : 0;
}

static int read_all(const struct timeline_spool *s, uint64_t offset, uint8_t *p, size_t n, struct errbuf *err)
{
	while (n) {
		ssize_t k = pread(s->fd, p, n, (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return err_set(err, "the temporary file for messages cannot be read: %s",
				       k < 0 ? strerror(errno) : "it is cut off");
		p += k;
		n -= (size_t)k;
		offset += (uint64_t)k;
	}
	return 0;
}

static struct exchange *read_block(struct timeline_spool *s, const struct block *b, uint32_t *n, struct errbuf *err)
{
	uint8_t hdr[TRACE_PAGE_HEADER], *raw = NULL;
	struct exchange *m = NULL;
	struct trace_page p;

	if (read_all(s, b->offset, hdr, sizeof(hdr), err) < 0)
		return NULL;
	if (trace_page_header(hdr, &p) < 0 || p.comp_len > s->size) {
		err_set(err, "the temporary file for messages is damaged");
		return NULL;
	}
	buf_reset(&s->page);
	if (buf_reserve(&s->page, p.comp_len) < 0)
		err_set(err, "no memory for messages");
	else if (read_all(s, b->offset + sizeof(hdr), s->page.data, p.comp_len, err) == 0 &&
		 trace_page_payload(&p, hdr, s->page.data, &raw, err) == 0)
		exchange_decode(raw, p.raw_len, s->n_ranks, &m, n, err);
	free(raw);
	return m;
}

static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/precedent-messages-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* ---- filling it ---- */

struct fill {
	struct timeline *tl;
	struct timeline_spool *s;
	struct errbuf *err;
};

static int take_message(const struct trace_message *m, void *arg)
{
	struct fill *f = arg;
	struct exchange x = {.src = m->src, .dst = m->dst, .bytes = m->bytes, .tag = m->tag, .received = true};

	x.t0 = timeline_of_local(f->tl, m->src, m->send_ns);
	x.t1 = timeline_of_local(f->tl, m->dst, m->recv_ns);
	if (x.t1 < x.t0)
		x.t1 = x.t0;
	if (timeline_late_add(f->tl, m, x.t0) < 0)
		return err_set(f->err, "no memory for messages"), 1;
	return add_message(f->s, &x, f->err) < 0;
}

static uint64_t count_sends(const struct timeline *tl)
{
	uint64_t n = 0;

	for (uint32_t r = 0; r < tl->n_ranks; r++)
		/* estimate: a send, a receive and a wait per message */
		n += trace_get_rank(tl->t, r)->events.length / 3;
	return n;
}

static int fill_spool(struct timeline *tl, struct timeline_spool *s, struct errbuf *err)
{
	struct trace_messages_report report;
	struct fill f = {tl, s, err};

	if (trace_messages(tl->t, take_message, &f, &report, err))
		return -1;
	for (uint32_t i = 0; i < s->n_node; i++) {
		if (write_node(s, &s->node[i], err) < 0)
			return -1;
		free(s->node[i].m);
		s->node[i].m = NULL;
	}
	timeline_late_sort(tl);
	return 0;
}

void timeline_spool_destroy(struct timeline_spool *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->node && i < s->n_node; i++) {
		free(s->node[i].m);
		free(s->node[i].block);
	}
	if (s->fd >= 0)
		close(s->fd);
	buf_free(&s->raw);
	buf_free(&s->page);
	free(s->node);
	free(s);
}

static struct timeline_spool *spool_create(struct timeline *tl, struct errbuf *err)
{
	struct timeline_spool *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, "no memory for messages");
		return NULL;
	}
	shape_tree(s, tl->end_ns, count_sends(tl));
	s->n_ranks = tl->n_ranks;
	s->node = calloc(s->n_node, sizeof(*s->node));
	s->fd = open_file();
	if (!s->node)
		err_set(err, "no memory for messages");
	else if (s->fd < 0)
		err_set(err, "no temporary file for messages: %s; set TMPDIR", strerror(errno));
	else if (fill_spool(tl, s, err) == 0)
		return s;
	timeline_spool_destroy(s);
	return NULL;
}

/* ---- windows ---- */

struct window {
	uint64_t t0, t1;
	int (*f)(const struct timeline_message *m, void *arg);
	void *arg;
};

static int give_block(struct timeline_spool *s, const struct block *b, const struct window *w, struct errbuf *err)
{
	struct exchange *m;
	uint32_t n = 0;
	int rv = 0;

	if (b->t0 >= w->t1 || b->t1 < w->t0)
		return 0;
	m = read_block(s, b, &n, err);
	if (!m)
		return -1;
	for (uint32_t i = 0; i < n && rv == 0 && m[i].t0 < w->t1; i++) {
		struct timeline_message out = {m[i].src, m[i].dst, m[i].t0, m[i].t1, m[i].bytes, m[i].tag};

		if (m[i].t1 >= w->t0)
			rv = w->f(&out, w->arg) ? 1 : 0;
	}
	free(m);
	return rv;
}

int timeline_messages(struct timeline *tl, uint64_t t0_ns, uint64_t t1_ns,
		      int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err)
{
	struct window w = {t0_ns, t1_ns, f, arg};
	struct timeline_spool *s;
	int rv = 0;

	if (tl->tiles)
		return timeline_tiles_messages(tl->tiles, t0_ns, t1_ns, f, arg, err);
	if (!tl->spool) {
		if (timeline_control(tl, err) < 0)
			return -1;
		tl->spool = spool_create(tl, err);
		if (!tl->spool)
			return -1;
	}
	s = tl->spool;
	for (unsigned level = 0; level < s->levels && t0_ns < t1_ns; level++) {
		unsigned up = s->levels - 1 - level;

		for (uint64_t i = leaf_of(s, t0_ns) >> up; i <= leaf_of(s, t1_ns - 1) >> up && rv == 0; i++) {
			const struct node *k = node_at(s, level, i);

			for (uint32_t b = 0; b < k->n_block && rv == 0; b++)
				rv = give_block(s, &k->block[b], &w, err);
		}
	}
	return rv;
}
