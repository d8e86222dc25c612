/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer and a bounded reader, with the variable-length integers of the trace format. If a writer
 * runs out of memory, it sets `failed` and ignores later writes. If a reader runs past its end, it sets `failed`
 * and returns zeros. So callers check `failed` once, at the end.
 */
#ifndef PRECEDENT_COMMON_BUF_H
#define PRECEDENT_COMMON_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

void buf_free(struct buf *b);
void buf_reset(struct buf *b); /* keeps the memory */
/* Make room for n more bytes. Returns 0; -1 with `failed` set if memory runs out. */
int buf_reserve(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u32(struct buf *b, uint32_t v); /* little endian */
void buf_put_u64(struct buf *b, uint64_t v); /* little endian */
void buf_put_uv(struct buf *b, uint64_t v);  /* LEB128, 1 to 10 bytes */
void buf_put_sv(struct buf *b, int64_t v);   /* zigzag, then LEB128 */
void buf_put_str(struct buf *b, const char *s); /* length as LEB128, then the bytes; NULL is "" */

struct rdbuf {
	const uint8_t *data;
	size_t len, pos;
	bool failed;
};

uint8_t rdbuf_u8(struct rdbuf *r);
uint32_t rdbuf_u32(struct rdbuf *r);
uint64_t rdbuf_u64(struct rdbuf *r);
uint64_t rdbuf_uv(struct rdbuf *r);
int64_t rdbuf_sv(struct rdbuf *r);
/* Borrow n bytes. Returns NULL with `failed` set if there are fewer. */
const void *rdbuf_bytes(struct rdbuf *r, size_t n);
/* Copy a string of at most max bytes; the caller frees it. Returns NULL with `failed` set on error. */
char *rdbuf_str(struct rdbuf *r, size_t max);
static inline size_t rdbuf_left(const struct rdbuf *r)
{
	return r->failed ? 0 : r->len - r->pos;
}

#endif
