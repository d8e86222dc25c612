/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folded form of a symbol stream, read back and expanded: see fold.h. */
#include <stdlib.h>

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

static int decode_items(struct rdbuf *in, struct limits *lim, struct folded *f, uint64_t n, uint32_t n_body,
			uint64_t *sum, uint8_t *depth)
{
	struct fold_item *item;

	/* An item takes at least one byte of input, which bounds the allocation. */
	if (in->failed || n > rdbuf_left(in))
		return -1;
	item = realloc(f->item, (f->n_item + n + 1) * sizeof(*item));
	if (!item)
		return -1;
	f->item = item;
	for (uint64_t i = 0; i < n; i++)
		if (decode_item(in, lim, n_body, &f->item[f->n_item++], sum, depth) < 0)
			return -1;
	return 0;
}

static uint64_t item_length(const struct folded *f, uint64_t i)
{
	uint32_t key = f->item[i].key;

	return f->item[i].count * (key & FOLD_BODY ? f->body_length[key & ~FOLD_BODY] : 1);
}

/* Symbol counts before every FOLDED_MARK-th item, for the bisection in folded_seek. Counts of unused bodies may
 * wrap. */
static int mark_items(struct folded *f)
{
	uint64_t sum = 0;

	f->mark = malloc((f->n_item / FOLDED_MARK + 1) * sizeof(*f->mark));
	if (!f->mark)
		return -1;
	f->mark[0] = 0;
	for (uint64_t i = 0; i < f->n_item; i++) {
		sum += item_length(f, i);
		if ((i + 1) % FOLDED_MARK == 0)
			f->mark[(i + 1) / FOLDED_MARK] = sum;
	}
	return 0;
}

static int decode_folded(struct rdbuf *in, struct limits *lim, struct folded *f)
{
	uint64_t n, sum = 0;
	uint8_t depth = 0;

	f->length = rdbuf_u64(in);
	f->hash = rdbuf_u64(in);
	n = rdbuf_uv(in);
	if (in->failed || n > rdbuf_left(in) || n >= FOLD_BODY)
		return -1;
	f->body = calloc(n + 1, sizeof(*f->body));
	lim->depth = calloc(n + 1, 1);
	lim->length = calloc(n + 1, sizeof(*lim->length));
	if (!f->body || !lim->depth || !lim->length)
		return -1;
	for (uint32_t b = 0; b < n; b++) {
		uint64_t len = rdbuf_uv(in);

		f->body[b] = f->n_item;
		if (!len || decode_items(in, lim, f, len, b, &lim->length[b], &lim->depth[b]) < 0)
			return -1;
		f->n_body = b + 1;
		f->body[b + 1] = f->n_item;
	}
	f->top = f->n_item;
	n = rdbuf_uv(in);
	if (decode_items(in, lim, f, n, f->n_body, &sum, &depth) < 0)
		return -1;
	f->body_length = lim->length;
	lim->length = NULL;
	return sum == f->length ? mark_items(f) : -1;
}

int folded_decode(struct rdbuf *in, uint32_t n_symbols, struct folded *out, struct errbuf *err)
{
	struct limits lim = {.n_symbols = n_symbols};
	int rv;

	*out = (struct folded){0};
	rv = decode_folded(in, &lim, out);
	free(lim.depth);
	free(lim.length);
	if (rv < 0) {
		folded_free(out);
		return err_set(err, "the folded structure is malformed");
	}
	return 0;
}

void folded_free(struct folded *f)
{
	free(f->item);
	free(f->body);
	free(f->body_length);
	free(f->mark);
	*f = (struct folded){0};
}

static void enter(struct folded_iter *it, uint64_t begin, uint64_t end, uint64_t times)
{
	it->level[it->depth].pos = it->level[it->depth].begin = begin;
	it->level[it->depth].end = end;
	it->level[it->depth].left = times - 1;
	it->level[it->depth].run = 0;
	it->depth++;
}

void folded_begin(struct folded_iter *it, const struct folded *f)
{
	it->f = f;
	it->depth = 0;
	if (f->n_item > f->top)
		enter(it, f->top, f->n_item, 1);
}

int folded_next(struct folded_iter *it, uint32_t *sym)
{
	while (it->depth) {
		int d = it->depth - 1;
		const struct fold_item *item;

		if (it->level[d].pos == it->level[d].end) {
			if (!it->level[d].left) {
				it->depth--;
				continue;
			}
			it->level[d].left--;
			it->level[d].pos = it->level[d].begin;
		}
		item = &it->f->item[it->level[d].pos];
		if (item->key & FOLD_BODY) {
			uint32_t b = item->key & ~FOLD_BODY;

			it->level[d].pos++;
			enter(it, it->f->body[b], it->f->body[b + 1], item->count);
			continue;
		}
		*sym = item->key;
		if (it->level[d].run == 0)
			it->level[d].run = item->count;
		if (--it->level[d].run == 0)
			it->level[d].pos++;
		return 1;
	}
	return 0;
}

/* Number of symbols in all items before item i. */
static uint64_t length_before(const struct folded *f, uint64_t i)
{
	uint64_t at = i / FOLDED_MARK * FOLDED_MARK, sum = f->mark[i / FOLDED_MARK];

	for (; at < i; at++)
		sum += item_length(f, at);
	return sum;
}

/* The item in [begin, end) that holds symbol number *offset of that sequence. *offset becomes the number within
 * the item. */
static uint64_t find_item(const struct folded *f, uint64_t begin, uint64_t end, uint64_t *offset)
{
	uint64_t base = length_before(f, begin), at = begin;
	/* invariant: mark lo is at or before the symbol, mark hi + 1 is behind it */
	uint64_t lo = begin / FOLDED_MARK, hi = (end - 1) / FOLDED_MARK;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo + 1) / 2;

		if (f->mark[mid] - base <= *offset)
			lo = mid;
		else
			hi = mid - 1;
	}
	if (lo * FOLDED_MARK > begin) {
		at = lo * FOLDED_MARK;
		*offset -= f->mark[lo] - base;
	}
	for (; at + 1 < end; at++) {
		uint64_t len = item_length(f, at);

		if (*offset < len)
			break;
		*offset -= len;
	}
	return at;
}

void folded_seek(struct folded_iter *it, const struct folded *f, uint64_t index)
{
	it->f = f;
	it->depth = 0;
	if (index >= f->length)
		return;
	enter(it, f->top, f->n_item, 1);
	for (;;) {
		int d = it->depth - 1;
		uint64_t i = find_item(f, it->level[d].begin, it->level[d].end, &index);
		const struct fold_item *item = &f->item[i];
		uint32_t b = item->key & ~FOLD_BODY;

		it->level[d].pos = i;
		if (!(item->key & FOLD_BODY)) {
			it->level[d].run = item->count - index;
			return;
		}
		it->level[d].pos++;
		enter(it, f->body[b], f->body[b + 1], item->count - index / f->body_length[b]);
		index %= f->body_length[b];
	}
}
