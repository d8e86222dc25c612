/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing byte buffer, bounded reader, variable-length integers: see buf.h. */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *p;

	if (b->failed)
		return -1;
	if (n <= b->cap - b->len)
		return 0;
	if (n > SIZE_MAX / 2 - b->len) {
		b->failed = true;
		return -1;
	}
	while (cap < b->len + n)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return -1;
	}
	b->data = p;
	b->cap = cap;
	return 0;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (!n || buf_reserve(b, n) < 0)
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void buf_put_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

static void put_le(struct buf *b, uint64_t v, unsigned n)
{
	uint8_t t[8];

	for (unsigned i = 0; i < n; i++)
		t[i] = (uint8_t)(v >> (8 * i));
	buf_put(b, t, n);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
	put_le(b, v, 4);
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	put_le(b, v, 8);
}

void buf_put_uv(struct buf *b, uint64_t v)
{
	uint8_t t[10];
	unsigned n = 0;

	while (v >= 0x80) {
		t[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	t[n++] = (uint8_t)v;
	buf_put(b, t, n);
}

void buf_put_sv(struct buf *b, int64_t v)
{
	buf_put_uv(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void buf_put_str(struct buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	buf_put_uv(b, n);
	buf_put(b, s, n);
}

const void *rdbuf_bytes(struct rdbuf *r, size_t n)
{
	const void *p;

	if (r->failed || n > r->len - r->pos) {
		r->failed = true;
		return NULL;
	}
	p = r->data + r->pos;
	r->pos += n;
	return p;
}

static uint64_t get_le(struct rdbuf *r, unsigned n)
{
	const uint8_t *p = rdbuf_bytes(r, n);
	uint64_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t rdbuf_u8(struct rdbuf *r)
{
	return (uint8_t)get_le(r, 1);
}

uint32_t rdbuf_u32(struct rdbuf *r)
{
	return (uint32_t)get_le(r, 4);
}

uint64_t rdbuf_u64(struct rdbuf *r)
{
	return get_le(r, 8);
}

uint64_t rdbuf_uv(struct rdbuf *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t c;

		if (r->failed || r->pos >= r->len)
			break;
		c = r->data[r->pos++];
		if (shift == 63 && c > 1)
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	r->failed = true;
	return 0;
}

int64_t rdbuf_sv(struct rdbuf *r)
{
	uint64_t v = rdbuf_uv(r);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

char *rdbuf_str(struct rdbuf *r, size_t max)
{
	uint64_t n = rdbuf_uv(r);
	const void *p;
	char *s;

	if (n > max) {
		r->failed = true;
		return NULL;
	}
	p = rdbuf_bytes(r, n);
	if (!p)
		return NULL;
	s = malloc(n + 1);
	if (!s) {
		r->failed = true;
		return NULL;
	}
	memcpy(s, p, n);
	s[n] = '\0';
	return s;
}
