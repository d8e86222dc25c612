/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the pages of imported traces and their index. The input is a list of pages (8 bytes of small header
 * fields, u8 length, payload), from which a valid trace file is made, since checksums would reject other inputs.
 * Every query must then stay within the matrix.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format/writer.h"
#include "trace/tiles/tiles.h"
#include "trace/tiles/tiles_page.h"

#define RANKS 12u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t t0, t1, end;
	uint32_t rank;
	bool any;
};

static int see_span(const struct tile_span *s, void *arg)
{
	struct seen *v = arg;

	if (s->rank >= RANKS || s->state >= TSTATE_N || s->t0 >= s->t1 || s->t0 < v->t0 || s->t1 > v->t1)
		__builtin_trap();
	if (v->any && (s->rank < v->rank || (s->rank == v->rank && s->t0 < v->end)))
		__builtin_trap();
	*v = (struct seen){.t0 = v->t0, .t1 = v->t1, .end = s->t1, .rank = s->rank, .any = true};
	return 0;
}

static int see_message(const struct exchange *m, void *arg)
{
	struct seen *v = arg;

	if (m->src >= RANKS || m->dst >= RANKS || m->t1 < m->t0 || m->t0 >= v->t1 || m->t1 < v->t0)
		__builtin_trap();
	return 0;
}

static void query(struct tiles *t)
{
	struct tile_totals sum[RANKS];
	uint64_t first = tiles_first(t), end = tiles_end(t), marks = end - first;
	uint64_t windows[][2] = {{0, UINT64_MAX}, {first, end}, {first + marks / 3, first + marks / 2 + 1}, {end - 1, end}};
	struct errbuf err;

	if (tiles_totals(t, 0, RANKS, sum, &err) < 0)
		__builtin_trap();
	for (uint32_t r = 0; r < RANKS; r++)
		for (int k = 0; k < TSTATE_N; k++)
			if (sum[r].marks[k] > marks)
				__builtin_trap();
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		struct seen v = {.t0 = windows[i][0], .t1 = windows[i][1]};

		if (tiles_spans(t, i % 3, RANKS - (i & 1), v.t0, v.t1, see_span, &v, &err) != 0 ||
		    tiles_exchanges(t, v.t0, v.t1, see_message, &v, &err) != 0)
			__builtin_trap();
	}
	for (uint32_t l = 0; l < tiles_n_levels(t); l++) {
		uint64_t n = tiles_level_steps(t, l) < 100 ? tiles_level_steps(t, l) : 100;
		uint32_t (*c)[TSTATE_N] = calloc(RANKS * n, sizeof(*c));

		if (!c || tiles_counts(t, l, 0, RANKS, 0, n, c, &err) < 0)
			__builtin_trap();
		for (uint64_t i = 0; i < RANKS * n; i++)
			if ((uint64_t)c[i][0] + c[i][1] + c[i][2] + c[i][3] > tiles_level_step(l))
				__builtin_trap();
		free(c);
	}
}

/* A small number, sometimes a huge one. */
static uint64_t field(uint8_t v)
{
	return v < 250 ? v : v == 250 ? UINT64_MAX : v == 251 ? 1ull << 32 : v == 252 ? 1ull << 40 : 1ull << 20;
}

static size_t put_page(struct trace_writer *w, const uint8_t *p, size_t size)
{
	size_t len = size > 9 ? p[8] : 0;
	struct trace_page head = {0};
	struct buf page = {0};
	struct errbuf err;
	uint8_t *raw;

	if (size < 9)
		return size;
	if (len > size - 9)
		len = size - 9;
	head.type = TPAGE_TILE + p[0] % 4;
	head.rank = (uint32_t)field(p[1]);
	head.first = field(p[2]) | (uint64_t)(p[0] >> 4) << 32;
	head.t0 = field(p[3]);
	head.t1 = field(p[4]) + ((uint64_t)p[5] << 6);
	head.n = field(p[6]) + ((uint64_t)p[7] << 6);
	raw = malloc(len + 1);
	memcpy(raw, p + 9, len);
	if (tiles_page_check(&head, raw, len, RANKS, &err) < 0 && !*err.text)
		__builtin_trap();
	if (trace_page_encode(&head, raw, len, &page) < 0 || trace_writer_pages(w, page.data, page.len, &err) < 0)
		abort();
	buf_free(&page);
	free(raw);
	return 9 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	struct errbuf err = {{0}};
	struct trace_writer *w;
	struct tiles *tiles;
	struct trace *t;

	if (!*path)
		snprintf(path, sizeof(path), "/dev/shm/fuzz-tiles-%ld", (long)getpid());
	w = trace_writer_create(path, RANKS, &err);
	if (!w)
		abort();
	for (size_t at = 0; at < size;)
		at += put_page(w, data + at, size - at);
	if (trace_writer_close(w, false, &err) < 0)
		abort();
	t = trace_open(path, &err);
	tiles = t ? tiles_open(t, &err) : NULL;
	if (tiles)
		query(tiles);
	else if (!*err.text)
		__builtin_trap();
	tiles_close(tiles);
	trace_close(t);
	unlink(path);
	return 0;
}
