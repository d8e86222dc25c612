/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows, summaries and counts of the tiled store: see tiles_page.h. */
#include <endian.h>
#include <string.h>

#include "trace/tiles/tiles_page.h"

/* ---- rows ---- */

static uint64_t dense_bytes(uint64_t cells)
{
	return (cells + 63) / 64 * 16;
}

static inline uint8_t *put_run(uint8_t *p, uint64_t cells, unsigned int state)
{
	uint64_t v = (cells - 1) << 2 | state;

	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* Write the bit planes with the carried cell in front: all bits move up by one. */
static void put_dense(const uint64_t *row, uint64_t n, uint8_t carry, struct buf *out)
{
	uint64_t lo = carry & 1, hi = carry >> 1 & 1, words = (n + 63) / 64;

	if (carry == TILES_NO_CARRY) {
		for (uint64_t w = 0; w < 2 * words; w++)
			buf_put_u64(out, row[w]);
		return;
	}
	for (uint64_t w = 0; w < words; w++) {
		buf_put_u64(out, row[2 * w] << 1 | lo);
		buf_put_u64(out, row[2 * w + 1] << 1 | hi);
		lo = row[2 * w] >> 63;
		hi = row[2 * w + 1] >> 63;
	}
	if (n % 64 == 0) {
		buf_put_u64(out, lo);
		buf_put_u64(out, hi);
	}
}

/* Count 64 marks by state, and the entries into each state (bits of d). */
static inline void count_word(uint64_t lo, uint64_t hi, uint64_t valid, uint64_t d, struct tile_totals *t,
			      uint8_t step[TSTATE_N - 1])
{
	unsigned int n1 = (unsigned int)__builtin_popcountll(lo & ~hi);
	unsigned int n2 = (unsigned int)__builtin_popcountll(hi & ~lo);
	unsigned int n3 = (unsigned int)__builtin_popcountll(lo & hi);
	unsigned int e1 = (unsigned int)__builtin_popcountll(d & lo & ~hi);
	unsigned int e2 = (unsigned int)__builtin_popcountll(d & hi & ~lo);
	unsigned int e3 = (unsigned int)__builtin_popcountll(d & lo & hi);

	step[0] = (uint8_t)n1;
	step[1] = (uint8_t)n2;
	step[2] = (uint8_t)n3;
	t->marks[0] += (unsigned int)__builtin_popcountll(valid) - n1 - n2 - n3;
	t->marks[1] += n1;
	t->marks[2] += n2;
	t->marks[3] += n3;
	t->spans[0] += (unsigned int)__builtin_popcountll(d) - e1 - e2 - e3;
	t->spans[1] += e1;
	t->spans[2] += e2;
	t->spans[3] += e3;
}

void tile_row_encode(const uint64_t *row, uint64_t n, uint8_t carry, struct tile_totals *totals,
		     uint8_t *const steps[TSTATE_N - 1], struct buf *scratch, struct buf *out)
{
	uint64_t shift = carry != TILES_NO_CARRY; /* the carried cell adds one cell at the front */
	uint64_t cells = n + shift, dense = dense_bytes(cells), start = 0, words = (n + 63) / 64;
	unsigned int state = shift ? carry : (unsigned int)((row[0] & 1) | (row[1] & 1) << 1);
	uint64_t plo = state & 1, phi = state >> 1;
	struct tile_totals sum = *totals;
	uint8_t *p, *limit;

	buf_reset(scratch);
	if (buf_reserve(scratch, dense + 32) < 0)
		return;
	p = scratch->data;
	limit = p + dense; /* beyond this size the dense form is shorter */
	for (uint64_t w = 0; w < words; w++) {
		uint64_t valid = n - w * 64 >= 64 ? ~0ull : (1ull << (n - w * 64)) - 1;
		uint64_t lo = row[2 * w] & valid, hi = row[2 * w + 1] & valid;
		uint64_t d = ((lo ^ (lo << 1 | plo)) | (hi ^ (hi << 1 | phi))) & valid;
		uint8_t step[TSTATE_N - 1];

		count_word(lo, hi, valid, d | (!shift && !w), &sum, step);
		for (int k = 0; k < TSTATE_N - 1; k++)
			steps[k][w] = step[k];
		for (; d && p < limit; d &= d - 1) {
			unsigned int b = (unsigned int)__builtin_ctzll(d);

			p = put_run(p, w * 64 + b + shift - start, state);
			start = w * 64 + b + shift;
			state = (unsigned int)((lo >> b & 1) | (hi >> b & 1) << 1);
		}
		plo = lo >> 63;
		phi = hi >> 63;
	}
	p = put_run(p, cells - start, state);
	*totals = sum;
	scratch->len = (size_t)(p - scratch->data);
	if (scratch->len < dense) {
		buf_put_uv(out, scratch->len << 1);
		buf_put(out, scratch->data, scratch->len);
	} else {
		buf_put_uv(out, dense << 1 | 1);
		put_dense(row, n, carry, out);
	}
}

struct tile_row tile_row_next(struct rdbuf *r)
{
	uint64_t head = rdbuf_uv(r);
	struct tile_row row = {.len = (uint32_t)(head >> 1), .dense = head & 1};

	if (head >> 1 > UINT32_MAX)
		r->failed = true;
	else
		row.data = rdbuf_bytes(r, row.len);
	return row;
}

void tile_runs_begin(struct tile_runs *it, const struct tile_row *row, uint64_t cells)
{
	*it = (struct tile_runs){.in = {.data = row->data, .len = row->len}, .dense = row->dense, .cells = cells};
	if (row->dense && row->len != dense_bytes(cells))
		it->in.failed = true;
}

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

static uint64_t dense_run(const struct tile_runs *it, uint8_t *state)
{
	uint64_t w = it->at / 64, b = it->at % 64;
	uint64_t lo = word_at(it->in.data + 16 * w), hi = word_at(it->in.data + 16 * w + 8);
	uint64_t ml, mh, differ, end;

	*state = (uint8_t)((lo >> b & 1) | (hi >> b & 1) << 1);
	ml = *state & 1 ? ~0ull : 0;
	mh = *state & 2 ? ~0ull : 0;
	differ = ((lo ^ ml) | (hi ^ mh)) & ~0ull << b;
	while (!differ && ++w * 64 < it->cells) {
		lo = word_at(it->in.data + 16 * w);
		hi = word_at(it->in.data + 16 * w + 8);
		differ = (lo ^ ml) | (hi ^ mh);
	}
	end = differ ? w * 64 + (uint64_t)__builtin_ctzll(differ) : it->cells;
	return (end < it->cells ? end : it->cells) - it->at;
}

int tile_runs_next(struct tile_runs *it, uint64_t *start, uint64_t *len, uint8_t *state)
{
	uint64_t v;

	if (it->in.failed)
		return -1;
	if (it->at == it->cells)
		return it->dense || it->in.pos == it->in.len ? 0 : -1;
	*start = it->at;
	if (it->dense) {
		*len = dense_run(it, state);
	} else {
		v = rdbuf_uv(&it->in);
		*state = v & 3;
		*len = (v >> 2) + 1;
		if (it->in.failed || *len > it->cells - it->at)
			return -1;
	}
	it->at += *len;
	return 1;
}

/* ---- summaries ---- */

static void put_width(struct buf *out, uint64_t v, uint32_t width)
{
	uint8_t b[8];

	for (uint32_t i = 0; i < width; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	buf_put(out, b, width);
}

static inline uint64_t get_width(const uint8_t *p, uint32_t width)
{
	uint64_t v = 0;

	switch (width) {
	case 1:
		return *p;
	case 2:
		return (uint64_t)p[0] | (uint64_t)p[1] << 8;
	default:
		memcpy(&v, p, width);
		return le64toh(v);
	}
}

void tile_summary_encode(const uint8_t *carry, const struct tile_totals *totals, uint32_t n, struct buf *out)
{
	uint64_t most = 0;
	uint32_t width;

	for (uint32_t p = 0; p < n; p++)
		for (int s = 0; s < TSTATE_N; s++) {
			most = totals[p].marks[s] > most ? totals[p].marks[s] : most;
			most = totals[p].spans[s] > most ? totals[p].spans[s] : most;
		}
	width = most < 1u << 8 ? 1 : most < 1u << 16 ? 2 : most < 1ull << 32 ? 4 : 8;
	buf_put_u8(out, (uint8_t)width);
	for (uint32_t p = 0; carry && p < n; p += 4) {
		uint8_t four = 0;

		for (uint32_t k = 0; k < 4 && p + k < n; k++)
			four |= (uint8_t)(carry[p + k] << (2 * k));
		buf_put_u8(out, four);
	}
	for (int s = 0; s < TSTATE_N; s++)
		for (uint32_t p = 0; p < n; p++)
			put_width(out, totals[p].marks[s], width);
	for (int s = 0; s < TSTATE_N; s++)
		for (uint32_t p = 0; p < n; p++)
			put_width(out, totals[p].spans[s], width);
}

/* Check that the counts of each processor's states add up to the tile's own marks. */
static int check_marks(const uint8_t *planes, uint32_t n, uint32_t width, uint64_t n_marks, uint32_t p)
{
	uint64_t sum = 0;

	for (int s = 0; s < TSTATE_N; s++) {
		uint64_t v = get_width(planes + ((uint64_t)s * n + p) * width, width);

		if (v > n_marks - sum)
			return -1;
		sum += v;
	}
	return sum == n_marks ? 0 : -1;
}

int tile_summary_decode(const uint8_t *raw, size_t len, uint32_t n, bool carries, uint64_t n_marks, uint32_t r0,
			uint32_t r1, struct tile_totals *totals, uint8_t *carry, struct errbuf *err)
{
	uint64_t carried = carries ? ((uint64_t)n + 3) / 4 : 0;
	uint32_t width = len ? raw[0] : 0;
	const uint8_t *planes = raw + 1 + carried;

	if ((width != 1 && width != 2 && width != 4 && width != 8) ||
	    len != 1 + carried + 2ull * TSTATE_N * n * width)
		return err_set(err, "summary of the wrong size");
	for (uint32_t p = r0; p < r1; p++)
		if (check_marks(planes, n, width, n_marks, p) < 0)
			return err_set(err, "summary does not add up");
	for (uint32_t p = r0; carry && p < r1; p++)
		carry[p - r0] = carries ? raw[1 + p / 4] >> (2 * (p % 4)) & 3 : TILES_NO_CARRY;
	for (int s = 0; s < TSTATE_N; s++) {
		const uint8_t *m = planes + (uint64_t)s * n * width, *e = m + (uint64_t)TSTATE_N * n * width;

		for (uint32_t p = r0; p < r1; p++) {
			totals[p - r0].marks[s] += get_width(m + (uint64_t)p * width, width);
			totals[p - r0].spans[s] += get_width(e + (uint64_t)p * width, width);
		}
	}
	return 0;
}

uint32_t tile_count_width(uint32_t level)
{
	uint64_t step = tiles_level_step(level);

	return step < 1u << 8 ? 1 : step < 1u << 16 ? 2 : 4;
}
