/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folded form of a symbol stream, read back and expanded: see fold.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/format/event.h"
#include "trace/format/fold.h"

struct limits {
	uint32_t n_symbols;
	uint8_t *depth;    /* nesting depth of each body */
	uint64_t *length;  /* symbols in one pass through each body */
};

static int decode_item(struct rdbuf *in, const struct limits *lim, uint32_t n_body, struct fold_item *it,
		       uint64_t *sum, uint8_t *depth)
{
	uint64_t v = rdbuf_uv(in), key = v >> 2, len = 1, part;

	it->count = (v & 1) ? rdbuf_uv(in) : 1;
	if (in->failed || !it->count)
		return -1;
	if (v & 2) {
		if (key >= n_body)
			return -1;
		it->key = FOLD_BODY | (uint32_t)key;
		len = lim->length[key];
		if (lim->depth[key] + 1 > *depth)
			*depth = (uint8_t)(lim->depth[key] + 1);
	} else {
		if (key >= lim->n_symbols)
			return -1;
		it->key = (uint32_t)key;
	}
	if (__builtin_mul_overflow(len, it->count, &part) || __builtin_add_overflow(*sum, part, sum))
		return -1;
	return *depth > FOLD_MAX_DEPTH - 1 ? -1 : 0;
}

static int add_mark(struct folded *f, uint64_t at, uint64_t before)
{
	if (ARRAY_ROOM(f->mark, f->cap_mark, f->n_mark + 1) != 0)
		return -1;
	f->mark[f->n_mark++] = (struct folded_mark){at, before};
	return 0;
}

/* The sequence of n items, with *sum symbols. */
static int decode_items(struct rdbuf *in, struct limits *lim, struct folded *f, uint64_t n, uint64_t *sum,
			uint8_t *depth)
{
	size_t from = in->pos;
	struct fold_item item;

	if (in->failed || n > rdbuf_left(in))
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		if (i > 0 && i % FOLDED_MARK == 0 && add_mark(f, f->n_coded + in->pos - from, *sum) != 0)
			return -1;
		if (decode_item(in, lim, f->n_body, &item, sum, depth) < 0)
			return -1;
	}
	memcpy(f->coded + f->n_coded, in->data + from, in->pos - from);
	f->n_coded += in->pos - from;
	f->n_item += n;
	return 0;
}

static int decode_folded(struct rdbuf *in, struct limits *lim, struct folded *f)
{
	uint64_t n, sum = 0;
	uint8_t depth = 0, *coded;

	f->length = rdbuf_u64(in);
	f->hash = rdbuf_u64(in);
	n = rdbuf_uv(in);
	if (in->failed || n > rdbuf_left(in) || n >= FOLD_BODY)
		return -1;
	f->coded = malloc(rdbuf_left(in) + 1);
	f->body = calloc(n + 1, sizeof(*f->body));
	lim->depth = calloc(n + 1, 1);
	f->body_length = lim->length = calloc(n + 1, sizeof(*lim->length));
	if (!f->coded || !f->body || !lim->depth || !lim->length)
		return -1;
	for (; f->n_body < n; f->body[++f->n_body] = f->n_coded) {
		uint32_t b = f->n_body;
		uint64_t len = rdbuf_uv(in);

		if (!len || decode_items(in, lim, f, len, &lim->length[b], &lim->depth[b]) < 0)
			return -1;
	}
	n = rdbuf_uv(in);
	if (decode_items(in, lim, f, n, &sum, &depth) < 0 || sum != f->length)
		return -1;
	coded = realloc(f->coded, f->n_coded + 1);
	f->coded = coded ? coded : f->coded;
	return 0;
}

int folded_decode(struct rdbuf *in, uint32_t n_symbols, struct folded *out, struct errbuf *err)
{
	struct limits lim = {.n_symbols = n_symbols};
	int rv;

	*out = (struct folded){0};
	rv = decode_folded(in, &lim, out);
	free(lim.depth);
	if (rv < 0) {
		folded_free(out);
		return err_set(err, "the folded structure is malformed");
	}
	return 0;
}

void folded_free(struct folded *f)
{
	free(f->coded);
	free(f->body);
	free(f->body_length);
	free(f->mark);
	*f = (struct folded){0};
}

static void enter(struct folded_iter *it, uint32_t b, uint64_t times)
{
	struct folded_items s = folded_items(it->f, b);

	it->level[it->depth].s = s;
	it->level[it->depth].begin = s.at;
	it->level[it->depth].left = times - 1;
	it->depth++;
}

void folded_begin(struct folded_iter *it, const struct folded *f)
{
	it->f = f;
	it->depth = 0;
	it->run = 0;
	if (f->length > 0)
		enter(it, f->n_body, 1);
}

int folded_next(struct folded_iter *it, uint32_t *sym)
{
	if (it->run > 0) {
		it->run--;
		*sym = it->sym;
		return 1;
	}
	while (it->depth) {
		int d = it->depth - 1;
		struct fold_item item;

		if (!folded_items_next(&it->level[d].s, &item)) {
			if (it->level[d].left) {
				it->level[d].left--;
				it->level[d].s.at = it->level[d].begin;
			} else {
				it->depth--;
			}
		} else if (item.key & FOLD_BODY) {
			enter(it, item.key & ~FOLD_BODY, item.count);
		} else {
			it->run = item.count - 1;
			*sym = it->sym = item.key;
			return 1;
		}
	}
	return 0;
}

/* The first mark in [lo, hi) that is behind the byte or, with marks of one sequence, behind its symbol. */
static uint64_t mark_behind(const struct folded *f, uint64_t lo, uint64_t hi, uint64_t at, uint64_t symbol)
{
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (f->mark[mid].at > at || f->mark[mid].before > symbol)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Passes the item that holds symbol number *offset of the sequence, which becomes the number within the item. */
static struct fold_item find_item(const struct folded *f, struct folded_items *s, uint64_t *offset)
{
	uint64_t at = (uint64_t)(s->at - f->coded), end = (uint64_t)(s->end - f->coded);
	uint64_t first = mark_behind(f, 0, f->n_mark, at, UINT64_MAX);
	uint64_t last = mark_behind(f, first, f->n_mark, end - 1, UINT64_MAX);
	uint64_t k = mark_behind(f, first, last, UINT64_MAX, *offset);
	struct fold_item item = {0};

	if (k > first) {
		s->at = f->coded + f->mark[k - 1].at;
		*offset -= f->mark[k - 1].before;
	}
	while (folded_items_next(s, &item)) {
		uint64_t n = item.count * (item.key & FOLD_BODY ? f->body_length[item.key & ~FOLD_BODY] : 1);

		if (*offset < n)
			break;
		*offset -= n;
	}
	return item;
}

void folded_seek(struct folded_iter *it, const struct folded *f, uint64_t index)
{
	uint32_t b = f->n_body;
	uint64_t times = 1;

	it->f = f;
	it->depth = 0;
	it->run = 0;
	if (index >= f->length)
		return;
	for (;;) {
		struct fold_item item;

		enter(it, b, times);
		item = find_item(f, &it->level[it->depth - 1].s, &index);
		b = item.key & ~FOLD_BODY;
		if (!(item.key & FOLD_BODY)) {
			it->sym = item.key;
			it->run = item.count - index;
			return;
		}
		times = item.count - index / f->body_length[b];
		index %= f->body_length[b];
	}
}
