/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Online folding of a symbol stream into nested loops, with bounded work per symbol. It is a codec: exact,
 * fast, good on loops, not the final structure (that is skelgen's). Every fold is verified exactly.
 * Source: algorithms, section A, "Online folder".
 */
#ifndef PRECEDENT_TRACE_FOLD_H
#define PRECEDENT_TRACE_FOLD_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"

/* An item is `count` repetitions of `key`: a symbol, or (FOLD_BODY | index) a body, a sequence of items. */
#define FOLD_BODY 0x80000000u
#define FOLD_MAX_DEPTH 200

struct fold_item {
	uint32_t key;
	uint64_t count;
};

struct fold;

struct fold *fold_create(void); /* NULL without memory */
void fold_destroy(struct fold *f);
/* Append a symbol (< FOLD_BODY). Without memory the fold is marked failed and ignores the rest. */
void fold_push(struct fold *f, uint32_t sym);
uint64_t fold_length(const struct fold *f); /* symbols pushed */
uint64_t fold_hash(const struct fold *f);   /* trace_hash_step over them */
uint64_t fold_items(const struct fold *f);  /* items held: the size of the folded form */
int fold_failed(const struct fold *f);
/* Write the folded form; the fold may go on being used. */
int fold_encode(struct fold *f, struct buf *out);

/* The folded form, read back. Body b holds item[body[b]] .. item[body[b + 1]]; the top sequence follows them. */
struct folded {
	struct fold_item *item;
	uint64_t n_item;
	uint64_t *body; /* n_body + 1 offsets into item */
	uint32_t n_body;
	uint64_t top;   /* first item of the top sequence, which ends at n_item */
	uint64_t length, hash;
	uint64_t *body_length; /* symbols of one pass through each body */
	uint64_t *mark;        /* symbols of all items before item FOLDED_MARK * i, modulo 2^64 */
};

#define FOLDED_MARK 16

/* Decode and check: bodies refer backwards only, depth and length bounded, symbols < n_symbols, and the length
 * equals the stored one. -1 on bad input. */
int folded_decode(struct rdbuf *in, uint32_t n_symbols, struct folded *out, struct errbuf *err);
void folded_free(struct folded *f);
/* Go on where a folded form ends. NULL without memory. */
struct fold *fold_load(const struct folded *from);

struct folded_iter {
	const struct folded *f;
	int depth;
	struct {
		uint64_t pos, begin, end, left; /* left: further repetitions of this sequence */
		uint64_t run;                   /* further repetitions of the symbol at pos */
	} level[FOLD_MAX_DEPTH + 1];
};

void folded_begin(struct folded_iter *it, const struct folded *f);
/* 1 and the next symbol, or 0 at the end. */
int folded_next(struct folded_iter *it, uint32_t *sym);
/* Continue with symbol `index` (the end when there are no more): O(depth * log items). */
void folded_seek(struct folded_iter *it, const struct folded *f, uint64_t index);

#endif
