/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of a trace file, with compression and checksums: see page.h. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/format/page.h"

#define LEVEL_KEPT    3
#define LEVEL_PASSING 1 /* half the time of level 3, a fifth more bytes */
/* zstd reaches about 1:16000 on constant input. A larger ratio means a decompression bomb. */
#define RATIO_MAX 20000u

static int encode_page(const struct trace_page *m, const void *raw, size_t raw_len, int level, struct buf *out)
{
	size_t at = out->len, bound = ZSTD_compressBound(raw_len), n;
	struct buf hdr = {0};

	if (raw_len > TRACE_PAGE_RAW_MAX || buf_reserve(out, TRACE_PAGE_HEADER + bound) < 0)
		return -1;
	n = ZSTD_compress(out->data + at + TRACE_PAGE_HEADER, bound, raw, raw_len, level);
	if (ZSTD_isError(n))
		return -1;
	buf_put_u32(&hdr, TRACE_PAGE_MAGIC);
	buf_put_u32(&hdr, m->type);
	buf_put_u32(&hdr, m->rank);
	buf_put_u32(&hdr, (uint32_t)raw_len);
	buf_put_u32(&hdr, (uint32_t)n);
	buf_put_u32(&hdr, 0);
	buf_put_u64(&hdr, m->first);
	buf_put_u64(&hdr, m->n);
	buf_put_u64(&hdr, m->t0);
	buf_put_u64(&hdr, m->t1);
	for (int s = 0; s < TSTATE_N; s++)
		buf_put_u64(&hdr, m->state[s]);
	buf_put_u64(&hdr, XXH3_64bits(out->data + at + TRACE_PAGE_HEADER, n));
	buf_put_u64(&hdr, XXH3_64bits(hdr.data, hdr.len));
	if (hdr.failed || hdr.len != TRACE_PAGE_HEADER) {
		buf_free(&hdr);
		return -1;
	}
	memcpy(out->data + at, hdr.data, TRACE_PAGE_HEADER);
	out->len += TRACE_PAGE_HEADER + n;
	buf_free(&hdr);
	return 0;
}

int trace_page_encode(const struct trace_page *m, const void *raw, size_t raw_len, struct buf *out)
{
	return encode_page(m, raw, raw_len, LEVEL_KEPT, out);
}

int trace_page_encode_passing(const struct trace_page *m, const void *raw, size_t raw_len, struct buf *out)
{
	return encode_page(m, raw, raw_len, LEVEL_PASSING, out);
}

int trace_page_header(const uint8_t *hdr, struct trace_page *out)
{
	struct rdbuf r = {.data = hdr, .len = TRACE_PAGE_HEADER};

	if (rdbuf_u32(&r) != TRACE_PAGE_MAGIC)
		return -1;
	out->type = rdbuf_u32(&r);
	out->rank = rdbuf_u32(&r);
	out->raw_len = rdbuf_u32(&r);
	out->comp_len = rdbuf_u32(&r);
	rdbuf_u32(&r);
	out->first = rdbuf_u64(&r);
	out->n = rdbuf_u64(&r);
	out->t0 = rdbuf_u64(&r);
	out->t1 = rdbuf_u64(&r);
	for (int s = 0; s < TSTATE_N; s++)
		out->state[s] = rdbuf_u64(&r);
	rdbuf_u64(&r); /* of the payload; checked when the payload is read */
	out->hash = rdbuf_u64(&r);
	if (out->hash != XXH3_64bits(hdr, TRACE_PAGE_HEADER - 8))
		return -1;
	if (out->raw_len > TRACE_PAGE_RAW_MAX || out->raw_len / RATIO_MAX > out->comp_len)
		return -1;
	return 0;
}

int trace_page_payload(const struct trace_page *p, const uint8_t *hdr, const uint8_t *comp, uint8_t **raw,
		       struct errbuf *err)
{
	struct rdbuf r = {.data = hdr + TRACE_PAGE_HEADER - 16, .len = 8};
	size_t n;

	if (rdbuf_u64(&r) != XXH3_64bits(comp, p->comp_len))
		return err_set(err, "bad checksum");
	*raw = malloc(p->raw_len ? p->raw_len : 1);
	if (!*raw)
		return err_set(err, "no memory for %u bytes", p->raw_len);
	n = ZSTD_decompress(*raw, p->raw_len, comp, p->comp_len);
	if (ZSTD_isError(n) || n != p->raw_len) {
		free(*raw);
		*raw = NULL;
		return err_set(err, "does not decompress: %s",
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "wrong length");
	}
	return 0;
}
