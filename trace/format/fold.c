/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Online folding of symbols into loops. A stack holds items (key, count). Bodies of loops are interned: two loops
 * are equal if their keys and counts are. Each push reduces the top of the stack: the top is absorbed by a loop
 * just below it or folded with an equal window before it. Prefix hashes preselect windows, and every fold is
 * verified item by item.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "trace/format/event.h"
#include "trace/format/fold.h"

#define ABSORB_TRIES 8
#define FOLD_TRIES   16
/* hash table of the last stack position of an item; power of two */
#define PREV_SLOTS   65536u
#define STACK_CAP    (1u << 20)
#define POWERS       1024u      /* stored powers of the prefix hash's base */
/* symbols after which fold_push decides whether to search for windows in the next block */
#define BLOCK        4096u
/* items that a poor block adds; such a block is hardly smaller folded than unfolded */
#define POOR         (BLOCK / 4)
/* a pause is at most this part of the stream, so a loop that is found late adds little to the file */
#define PAUSE_SHARE  8u
/* longest pause in blocks: it saves most of the cost, and a loop is still found in time */
#define PAUSE_MAX    15u
#define NONE         UINT32_MAX
#define BODY_KNOWN   32            /* bytes: an entry of the hash table that is half empty, and the depth */

struct entry {
	struct fold_item it;
	uint64_t prefix; /* hash of this item and all items below */
	uint32_t prev;   /* previous stack position with the same slot, or NONE */
	uint32_t loop;   /* nearest stack position at or below this one that holds a loop, or NONE */
};

struct fold {
	struct entry *st;
	uint32_t n, cap;
	uint32_t prev[PREV_SLOTS];
	/* interned bodies */
	struct fold_item *item;
	uint64_t n_item, cap_item;
	uint64_t *body; /* n_body + 1 offsets into item */
	uint8_t *depth;
	uint32_t n_body, cap_body, cap_depth;
	struct hash_table known_body;
	/* encoded items that were flushed from the bottom of a full stack */
	struct buf done;
	uint64_t n_done;
	uint64_t length, hash;
	/* Streams that do not fold, such as random places in windows, cost most: each search misses the cache.
	 * After a poor block, the search pauses for some blocks. The pause doubles with each further poor block. */
	uint64_t items_before; /* items at the start of the block */
	uint32_t pause, pause_left;
	bool failed;
	uint64_t power[POWERS];
};

static uint64_t mix_bits(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x;
}

static uint64_t item_hash(const struct fold_item *it)
{
	return mix_bits(((uint64_t)it->key << 20) ^ it->count * 0x9e3779b97f4a7c15ull);
}

static bool item_eq(const struct fold_item *a, const struct fold_item *b)
{
	return a->key == b->key && a->count == b->count;
}

#define PREFIX_BASE 0x9e3779b97f4a7c15ull

static uint64_t prefix_at(const struct fold *f, uint32_t n)
{
	return n ? f->st[n - 1].prefix : 0;
}

static uint64_t power(const struct fold *f, unsigned e)
{
	uint64_t r = 1, b = PREFIX_BASE;

	if (e < POWERS)
		return f->power[e];

	for (; e; e >>= 1, b *= b)
		if (e & 1)
			r *= b;
	return r;
}

static uint64_t window_hash(const struct fold *f, uint32_t from, uint32_t to, uint64_t pw)
{
	return prefix_at(f, to) - prefix_at(f, from) * pw;
}

struct fold *fold_create(void)
{
	struct fold *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	memset(f->prev, 0xff, sizeof(f->prev));
	f->power[0] = 1;
	for (unsigned i = 1; i < POWERS; i++)
		f->power[i] = f->power[i - 1] * PREFIX_BASE;
	if (ARRAY_ROOM_ZEROED(f->body, f->cap_body, 256) != 0 || ARRAY_ROOM(f->st, f->cap, 4096) != 0) {
		fold_destroy(f);
		return NULL;
	}
	return f;
}

void fold_destroy(struct fold *f)
{
	if (!f)
		return;
	free(f->st);
	free(f->item);
	free(f->body);
	free(f->depth);
	hash_table_free(&f->known_body);
	buf_free(&f->done);
	free(f);
}

static uint32_t body_len(const struct fold *f, uint32_t b)
{
	return (uint32_t)(f->body[b + 1] - f->body[b]);
}

static uint64_t items_hash(const struct fold_item *it, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = h * PREFIX_BASE + item_hash(&it[i]);
	return mix_bits(h);
}

static int grow_bodies(struct fold *f, uint32_t n)
{
	return ARRAY_ROOM(f->body, f->cap_body, f->n_body + 2) | ARRAY_ROOM(f->depth, f->cap_depth, f->n_body + 1) |
	       ARRAY_ROOM(f->item, f->cap_item, f->n_item + n);
}

/* Index of the body that equals the items on the stack from `from` on. Returns NONE if memory runs out or the
 * loops nest too deep. */
static uint32_t intern_body(struct fold *f, uint32_t from, uint32_t n)
{
	uint64_t h = n;
	uint8_t depth = 0;
	uint32_t at, b;

	for (uint32_t k = 0; k < n; k++) {
		const struct fold_item *it = &f->st[from + k].it;

		h = h * PREFIX_BASE + item_hash(it);
		if ((it->key & FOLD_BODY) && f->depth[it->key & ~FOLD_BODY] > depth)
			depth = f->depth[it->key & ~FOLD_BODY];
	}
	if (depth + 1 >= FOLD_MAX_DEPTH - 2 || grow_bodies(f, n) < 0)
		return NONE;
	h = mix_bits(h);
	HASH_TABLE_FOR_EACH(&f->known_body, h, at, b) {
		uint32_t k = 0;

		if (body_len(f, b) != n)
			continue;
		while (k < n && item_eq(&f->item[f->body[b] + k], &f->st[from + k].it))
			k++;
		if (k == n)
			return b;
	}
	if (hash_table_add(&f->known_body, h, f->n_body) < 0)
		return NONE;
	for (uint32_t k = 0; k < n; k++)
		f->item[f->n_item++] = f->st[from + k].it;
	f->depth[f->n_body++] = (uint8_t)(depth + 1);
	f->body[f->n_body] = f->n_item;
	return f->n_body - 1;
}

static uint32_t prev_slot(const struct fold_item *it)
{
	return (uint32_t)(item_hash(it) >> 40) & (PREV_SLOTS - 1);
}

/* Remove the top item and restore the chain of previous positions. */
static void drop_top(struct fold *f)
{
	struct entry *e = &f->st[--f->n];

	f->prev[prev_slot(&e->it)] = e->prev;
}

static void put_top(struct fold *f, struct fold_item it)
{
	struct entry *e = &f->st[f->n];
	uint32_t s = prev_slot(&it);

	e->it = it;
	e->prefix = prefix_at(f, f->n) * PREFIX_BASE + item_hash(&it);
	e->prev = f->prev[s];
	e->loop = (it.key & FOLD_BODY) ? f->n : f->n ? f->st[f->n - 1].loop : NONE;
	f->prev[s] = f->n++;
}

/* If the items above a loop at position j equal its body, count one more repetition. */
static bool absorb(struct fold *f)
{
	uint32_t j = f->n > 1 ? f->st[f->n - 2].loop : NONE;

	for (int t = 0; t < ABSORB_TRIES && j != NONE; t++) {
		struct fold_item loop = f->st[j].it;
		uint32_t b = loop.key & ~FOLD_BODY, p = f->n - 1 - j, k = 0;

		if (body_len(f, b) == p) {
			const struct fold_item *body = f->item + f->body[b];

			while (k < p && item_eq(&body[p - 1 - k], &f->st[f->n - 1 - k].it))
				k++;
			if (k == p) {
				while (f->n > j)
					drop_top(f);
				loop.count++;
				put_top(f, loop);
				return true;
			}
		}
		j = j ? f->st[j - 1].loop : NONE;
	}
	return false;
}

/* If the last p items equal the p items before them, both become a loop with count 2. */
static bool fold_window(struct fold *f)
{
	uint32_t top = f->n - 1, j = f->st[top].prev;

	for (int t = 0; t < FOLD_TRIES && j != NONE; t++, j = f->st[j].prev) {
		uint32_t p = top - j, k = 0, b;
		uint64_t pw;

		if (p > j + 1)
			break;
		if (!item_eq(&f->st[j].it, &f->st[top].it))
			continue;
		pw = power(f, p);
		if (window_hash(f, f->n - p, f->n, pw) != window_hash(f, f->n - 2 * p, f->n - p, pw))
			continue;
		while (k < p && item_eq(&f->st[top - k].it, &f->st[j - k].it))
			k++;
		if (k < p)
			continue;
		b = intern_body(f, f->n - p, p);
		if (b == NONE)
			return false;
		for (k = 0; k < 2 * p; k++)
			drop_top(f);
		put_top(f, (struct fold_item){.key = FOLD_BODY | b, .count = 2});
		return true;
	}
	return false;
}

/* Equal neighbours at the top become one item with the sum of their counts. */
static bool join_equal(struct fold *f)
{
	struct fold_item a, b;

	if (f->n < 2 || f->st[f->n - 1].it.key != f->st[f->n - 2].it.key)
		return false;
	a = f->st[f->n - 1].it;
	b = f->st[f->n - 2].it;
	drop_top(f);
	drop_top(f);
	b.count += a.count;
	put_top(f, b);
	return true;
}

static void encode_item(struct buf *b, const struct fold_item *it)
{
	/* Most counts are 1, so the low bit tells whether a count follows. */
	uint64_t key = (uint64_t)(it->key & ~FOLD_BODY) << 1 | (it->key & FOLD_BODY ? 1 : 0);

	buf_put_uv(b, key << 1 | (it->count != 1));
	if (it->count != 1)
		buf_put_uv(b, it->count);
}

/* The stack is full: encode its lower half, which can then no longer be folded. */
static void flush_half(struct fold *f)
{
	uint32_t half = f->n / 2, n = f->n;

	for (uint32_t i = 0; i < half; i++)
		encode_item(&f->done, &f->st[i].it);
	f->n_done += half;
	f->failed |= f->done.failed;
	memset(f->prev, 0xff, sizeof(f->prev));
	f->n = 0;
	for (uint32_t i = half; i < n; i++)
		put_top(f, f->st[i].it);
}

/* Make room for one more item. Returns 0 on success, -1 on error. */
static int grow_stack(struct fold *f)
{
	if (f->cap >= STACK_CAP) {
		flush_half(f);
		return f->failed ? -1 : 0;
	}
	return ARRAY_ROOM(f->st, f->cap, f->cap + 1);
}

/* After each block, decide whether the next blocks are searched for windows. */
static __attribute__((noinline)) void judge_block(struct fold *f)
{
	uint64_t now = fold_items(f);

	if (f->pause_left) {
		f->pause_left--;
	} else if (now > f->items_before + POOR) {
		f->pause = 2 * f->pause + 1 < PAUSE_MAX ? 2 * f->pause + 1 : PAUSE_MAX;
		if (f->pause > f->length / BLOCK / PAUSE_SHARE)
			f->pause = (uint32_t)(f->length / BLOCK / PAUSE_SHARE);
		f->pause_left = f->pause;
	} else {
		f->pause = 0;
	}
	f->items_before = now;
}

void fold_push(struct fold *f, uint32_t sym)
{
	if (f->failed || (f->n >= f->cap && grow_stack(f) < 0)) {
		f->failed = true;
		return;
	}
	f->length++;
	f->hash = trace_hash_step(f->hash, sym);
	put_top(f, (struct fold_item){.key = sym, .count = 1});
	while (join_equal(f) || absorb(f) || (!f->pause_left && fold_window(f)))
		;
	if (f->length % BLOCK == 0)
		judge_block(f);
}

/* Restore a body under the index that it had. */
static int load_body(struct fold *f, struct folded_items s)
{
	struct fold_item item;
	uint8_t depth = 0;
	uint32_t n = 0;

	while (folded_items_next(&s, &item)) {
		if (n == UINT32_MAX || grow_bodies(f, n + 1) < 0)
			return -1;
		if ((item.key & FOLD_BODY) && f->depth[item.key & ~FOLD_BODY] > depth)
			depth = f->depth[item.key & ~FOLD_BODY];
		f->item[f->n_item + n++] = item;
	}
	if (hash_table_add(&f->known_body, items_hash(f->item + f->n_item, n), f->n_body) < 0)
		return -1;
	f->n_item += n;
	f->depth[f->n_body++] = (uint8_t)(depth + 1);
	f->body[f->n_body] = f->n_item;
	return 0;
}

struct fold *fold_load(const struct folded *from)
{
	struct fold *f = fold_create();
	struct folded_items top = folded_items(from, from->n_body);
	struct fold_item item;

	for (uint32_t b = 0; f && b < from->n_body; b++)
		if (load_body(f, folded_items(from, b)) < 0)
			goto fail;
	while (f && folded_items_next(&top, &item)) {
		if (f->n >= f->cap && grow_stack(f) < 0)
			goto fail;
		put_top(f, item);
	}
	if (f) {
		f->length = from->length;
		f->hash = from->hash;
	}
	return f;
fail:
	fold_destroy(f);
	return NULL;
}

uint64_t fold_length(const struct fold *f)
{
	return f->length;
}

uint64_t fold_hash(const struct fold *f)
{
	return f->hash;
}

uint64_t fold_items(const struct fold *f)
{
	return f->n + f->n_item + f->n_done;
}

uint64_t fold_bytes(const struct fold *f)
{
	/* What was flushed is held, written with the rest, and compressed. */
	return f->n * sizeof(*f->st) + f->n_item * sizeof(*f->item) + f->n_body * (sizeof(*f->body) + BODY_KNOWN) +
	       3 * f->done.len;
}

int fold_failed(const struct fold *f)
{
	return f->failed;
}

int fold_encode(struct fold *f, struct buf *out)
{
	buf_put_u64(out, f->length);
	buf_put_u64(out, f->hash);
	buf_put_uv(out, f->n_body);
	for (uint32_t b = 0; b < f->n_body; b++) {
		buf_put_uv(out, body_len(f, b));
		for (uint64_t i = f->body[b]; i < f->body[b + 1]; i++)
			encode_item(out, &f->item[i]);
	}
	buf_put_uv(out, f->n_done + f->n);
	buf_put(out, f->done.data, f->done.len);
	for (uint32_t i = 0; i < f->n; i++)
		encode_item(out, &f->st[i].it);
	/* A failed fold still holds the symbols that were pushed before the failure. */
	return f->done.failed || out->failed ? -1 : 0;
}
