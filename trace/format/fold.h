/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Online folding of a symbol stream into nested loops, with bounded work per symbol. Folding is an exact and fast
 * codec. The loops of the final program structure are found by skelgen. Every fold is verified item by item.
 */
#ifndef PRECEDENT_TRACE_FOLD_H
#define PRECEDENT_TRACE_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"

/* An item repeats `key` `count` times. A key is a symbol, or FOLD_BODY | index of a body. A body is a sequence of
 * items. */
#define FOLD_BODY 0x80000000u
#define FOLD_MAX_DEPTH 200

struct fold_item {
	uint32_t key;
	uint64_t count;
} __attribute__((packed, aligned(4))); /* runs that do not fold have 10^7 of them */

struct fold;

struct fold *fold_create(void); /* NULL if memory runs out */
void fold_destroy(struct fold *f);
/* Append a symbol below FOLD_BODY. If memory runs out, the fold is marked as failed and ignores further symbols. */
void fold_push(struct fold *f, uint32_t sym);
uint64_t fold_length(const struct fold *f); /* symbols pushed */
uint64_t fold_hash(const struct fold *f);   /* trace_hash_step over the symbols */
uint64_t fold_items(const struct fold *f);  /* items held: the size of the folded form */
/* Memory in bytes, with that for writing and compressing the folded form. */
uint64_t fold_bytes(const struct fold *f);
int fold_failed(const struct fold *f);
/* Write the folded form. The fold can still be appended to. */
int fold_encode(struct fold *f, struct buf *out);

/* A place in a sequence of items, for seeking. */
struct folded_mark {
	uint64_t at;     /* byte of the item */
	uint64_t before; /* symbols of the sequence before it */
};

/* The folded form, checked, and still encoded: a run may have 10^8 items, of which most take one or two bytes. */
struct folded {
	uint8_t *coded; /* the items of body 0, 1, ..., then those of the top sequence */
	uint64_t n_coded, n_item;
	uint64_t *body; /* first byte of each body, then of the top sequence */
	uint32_t n_body;
	uint64_t length, hash;
	uint64_t *body_length;    /* symbols in one pass through each body */
	struct folded_mark *mark; /* every FOLDED_MARK-th item of each sequence but its first */
	uint64_t n_mark, cap_mark;
};

#define FOLDED_MARK 64

/* Decode and check: bodies refer to earlier bodies, depth and length are bounded, symbols are below n_symbols,
 * and the stored length is right. Returns 0 on success, -1 on bad input (err says why). */
int folded_decode(struct rdbuf *in, uint32_t n_symbols, struct folded *out, struct errbuf *err);
void folded_free(struct folded *f);
/* Create a fold that continues a folded form. Returns NULL if memory runs out. */
struct fold *fold_load(const struct folded *from);

/* The items of a sequence, one after the other. */
struct folded_items {
	const uint8_t *at, *end;
};

/* b: a body, or n_body for the top sequence. */
static inline struct folded_items folded_items(const struct folded *f, uint32_t b)
{
	return (struct folded_items){f->coded + f->body[b], f->coded + (b < f->n_body ? f->body[b + 1] : f->n_coded)};
}

/* LEB128 that was checked. */
static inline uint64_t folded_uv(const uint8_t **at)
{
	uint64_t v = *(*at)++;

	if (v < 0x80)
		return v;
	v &= 0x7f;
	for (unsigned shift = 7;; shift += 7) {
		uint64_t byte = *(*at)++;

		v |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

/* Returns false at the end. */
static inline bool folded_items_next(struct folded_items *s, struct fold_item *item)
{
	uint64_t v;

	if (s->at == s->end)
		return false;
	v = folded_uv(&s->at);
	item->key = (uint32_t)(v >> 2) | (v & 2 ? FOLD_BODY : 0);
	item->count = v & 1 ? folded_uv(&s->at) : 1;
	return true;
}

struct folded_iter {
	const struct folded *f;
	int depth;
	uint32_t sym;
	uint64_t run; /* further repetitions of the symbol */
	struct {
		struct folded_items s;
		const uint8_t *begin;
		uint64_t left; /* further repetitions of this sequence */
	} level[FOLD_MAX_DEPTH + 1];
};

void folded_begin(struct folded_iter *it, const struct folded *f);
/* Returns true and the next symbol, or false at the end. */
int folded_next(struct folded_iter *it, uint32_t *sym);
/* Continue with symbol number `index`, or at the end if there are fewer symbols. O(depth * log items). */
void folded_seek(struct folded_iter *it, const struct folded *f, uint64_t index);

#endif
