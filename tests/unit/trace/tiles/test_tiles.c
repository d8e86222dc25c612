/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tiled store against a full matrix and a list of messages in memory: the seven rules of tiles.h by their
 * numbers, random shapes and windows, and damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/tiles/tiles.h"
#include "trace/tiles/tiles_page.h"
#include "trace/tiles/tiles_read.h"
#include "trace/tiles/tiles_write.h"

static char dir[] = "/tmp/precedent-test-XXXXXX";
static char path[64];

static uint64_t seed;
static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* The oracle. */
struct world {
	uint32_t n_ranks;
	uint64_t first, n; /* marks */
	uint8_t *state;    /* [rank * n + mark - first] */
	struct exchange *m;
	uint32_t n_m;
	struct trace *t;
	struct tiles *tiles;
};

static uint8_t at(const struct world *w, uint32_t rank, uint64_t mark)
{
	return w->state[rank * w->n + mark - w->first];
}

static int by_arrival(const void *va, const void *vb)
{
	const struct exchange *a = va, *b = vb;

	return a->t1 < b->t1 ? -1 : a->t1 > b->t1;
}

static void fill_messages(struct world *w, uint32_t n)
{
	w->m = calloc(n + 1, sizeof(*w->m));
	for (uint32_t i = 0; i < n; i++) {
		struct exchange *m = &w->m[i];

		*m = (struct exchange){.src = (uint32_t)rnd(w->n_ranks), .dst = (uint32_t)rnd(w->n_ranks),
				       .bytes = rnd(1000000) << rnd(20), .tag = (int32_t)rnd(9) - 3, .received = rnd(50) > 0};
		m->t0 = m->t1 = w->first + rnd(w->n);
		if (m->received)
			m->t1 += rnd(i % 97 ? 40 : w->n);
		if (m->t1 >= w->first + w->n)
			m->t1 = w->first + w->n - 1;
		m->tag += (int32_t)i << 4; /* makes each message unique */
	}
	w->n_m = n;
	qsort(w->m, n, sizeof(*w->m), by_arrival);
}

/* Make a matrix in which about one cell in `every` differs from the one before, write its tiles, and open the
 * file. */
static void build(struct world *w, uint32_t n_ranks, uint64_t first, uint64_t n, uint32_t every, uint64_t tile_bytes,
		  uint32_t n_messages)
{
	struct tiles_extent x = {.n_ranks = n_ranks, .first = first, .last = first + n - 1, .tile_bytes = tile_bytes,
				 .exchanges_per_page = 50, .exchanges_waiting = 120};
	struct errbuf err = {{0}};
	struct trace_writer *out = trace_writer_create(path, n_ranks, &err);
	struct tiles_writer *tw = tiles_writer_create(out, &x, &err);
	struct buf job = {0}, page = {0};
	struct trace_page head = {.type = TPAGE_JOB};
	uint32_t next = 0;

	*w = (struct world){.n_ranks = n_ranks, .first = first, .n = n, .state = calloc(n_ranks, n)};
	assert_non_null(tw);
	fill_messages(w, n_messages);
	for (uint64_t k = 0; k < n; k++) {
		for (uint32_t r = 0; r < n_ranks; r++) {
			uint8_t *s = &w->state[r * n + k];

			*s = k ? s[-1] : 0;
			if (rnd(every))
				continue;
			*s = (uint8_t)rnd(4);
			if (!rnd(5)) { /* two changes at one mark: the last one counts */
				struct tile_change wrong = {.t = first + k, .rank = r, .state = (uint8_t)rnd(4)};

				assert_int_equal(tiles_writer_put(tw, &wrong, 1, &err), 0);
			}
			assert_int_equal(tiles_writer_put(tw, &(struct tile_change){first + k, r, *s}, 1, &err), 0);
		}
		for (; next < n_messages && w->m[next].t1 == first + k; next++)
			assert_int_equal(tiles_writer_exchange(tw, &w->m[next], &err), 0);
	}
	assert_int_equal(tiles_writer_finish(tw, &err), 0);
	tiles_writer_destroy(tw);
	buf_put(&job, "program=test\nmark_ns=2500\n", 26);
	assert_int_equal(trace_page_encode(&head, job.data, job.len, &page), 0);
	assert_int_equal(trace_writer_pages(out, page.data, page.len, &err), 0);
	assert_int_equal(trace_writer_close(out, false, &err), 0);
	buf_free(&job);
	buf_free(&page);
	w->t = trace_open(path, &err);
	if (!w->t)
		fail_msg("%s", err.text);
	w->tiles = tiles_open(w->t, &err);
	assert_non_null(w->tiles);
}

static void drop(struct world *w)
{
	tiles_close(w->tiles);
	trace_close(w->t);
	free(w->state);
	free(w->m);
}

/* ---- comparing ---- */

static struct tile_totals naive_totals(const struct world *w, uint32_t rank, uint64_t t0, uint64_t t1)
{
	struct tile_totals sum = {0};

	for (uint64_t t = t0; t < t1; t++) {
		sum.marks[at(w, rank, t)]++;
		sum.spans[at(w, rank, t)] += t == w->first || at(w, rank, t) != at(w, rank, t - 1);
	}
	return sum;
}

static void check_totals(const struct world *w)
{
	struct tile_totals *sum = calloc(w->n_ranks, sizeof(*sum));
	struct errbuf err;

	assert_int_equal(tiles_totals(w->tiles, 0, w->n_ranks, sum, &err), 0);
	for (uint32_t r = 0; r < w->n_ranks; r++) {
		struct tile_totals want = naive_totals(w, r, w->first, w->first + w->n);

		assert_memory_equal(&sum[r], &want, sizeof(want));
	}
	free(sum);
}

static void check_counts(const struct world *w, uint32_t level, uint32_t r0, uint32_t r1, uint64_t s0, uint64_t s1)
{
	uint32_t (*c)[TSTATE_N] = calloc((r1 - r0) * (s1 - s0) + 1, sizeof(*c));
	uint64_t step = tiles_level_step(level);
	struct errbuf err;

	assert_int_equal(tiles_counts(w->tiles, level, r0, r1, s0, s1, c, &err), 0);
	for (uint32_t r = r0; r < r1; r++)
		for (uint64_t s = s0; s < s1; s++) {
			uint64_t a = w->first + s * step, b = a + step < w->first + w->n ? a + step : w->first + w->n;
			struct tile_totals want = naive_totals(w, r, a, b);

			for (int k = 0; k < TSTATE_N; k++)
				assert_int_equal(c[(r - r0) * (s1 - s0) + s - s0][k], want.marks[k]);
		}
	free(c);
}

struct spans_seen {
	const struct world *w;
	uint64_t t0, t1, cells;
	struct tile_span last;
	uint32_t n, stop_at;
};

static int see_span(const struct tile_span *s, void *arg)
{
	struct spans_seen *v = arg;

	assert_true(s->t0 < s->t1 && s->t0 >= v->t0 && s->t1 <= v->t1);
	if (v->n && s->rank == v->last.rank) {
		assert_int_equal(s->t0, v->last.t1);
		/* spans are complete, also over the borders of tiles */
		assert_int_not_equal(s->state, v->last.state);
	} else {
		assert_int_equal(s->t0, v->t0);
		assert_true(!v->n || s->rank == v->last.rank + 1);
	}
	for (uint64_t t = s->t0; t < s->t1; t++)
		assert_int_equal(s->state, at(v->w, s->rank, t));
	v->cells += s->t1 - s->t0;
	v->last = *s;
	return ++v->n == v->stop_at;
}

static void check_spans(const struct world *w, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1)
{
	struct spans_seen v = {.w = w, .t0 = t0, .t1 = t1};
	struct errbuf err;

	assert_int_equal(tiles_spans(w->tiles, r0, r1, t0, t1, see_span, &v, &err), 0);
	assert_int_equal(v.cells, (r1 - r0) * (t1 - t0));
}

struct messages_seen {
	const struct world *w;
	uint8_t *seen;
};

static int see_message(const struct exchange *m, void *arg)
{
	struct messages_seen *v = arg;

	for (uint32_t i = 0; i < v->w->n_m; i++)
		if (v->w->m[i].tag == m->tag) {
			const struct exchange *want = &v->w->m[i];

			assert_int_equal(m->t0, want->t0);
			assert_int_equal(m->t1, want->t1);
			assert_int_equal(m->bytes, want->bytes);
			assert_true(m->src == want->src && m->dst == want->dst && m->received == want->received);
			v->seen[i]++;
			return 0;
		}
	fail_msg("no such message");
	return 1;
}

static void check_messages(const struct world *w, uint64_t t0, uint64_t t1)
{
	struct messages_seen v = {.w = w, .seen = calloc(w->n_m + 1, 1)};
	struct errbuf err;

	assert_int_equal(tiles_exchanges(w->tiles, t0, t1, see_message, &v, &err), 0);
	for (uint32_t i = 0; i < w->n_m; i++)
		assert_int_equal(v.seen[i], w->m[i].t0 < t1 && w->m[i].t1 >= t0);
	free(v.seen);
}

static void check_windows(const struct world *w, int n)
{
	for (int i = 0; i < n; i++) {
		uint32_t r0 = (uint32_t)rnd(w->n_ranks), r1 = r0 + 1 + (uint32_t)rnd(w->n_ranks - r0);
		uint64_t t0 = rnd(w->n), t1 = t0 + 1 + rnd(rnd(2) ? w->n - t0 : 1 + (w->n - t0) / 50);
		uint32_t level = (uint32_t)rnd(tiles_n_levels(w->tiles));
		uint64_t steps = tiles_level_steps(w->tiles, level), s0 = rnd(steps), s1 = s0 + 1 + rnd(steps - s0);

		check_spans(w, r0, r1, w->first + t0, w->first + t1);
		check_counts(w, level, r0, r1, s0, s1);
		check_messages(w, w->first + t0, w->first + t1);
	}
}

/* ---- round trips ---- */

static void test_round_trips(void **state)
{
	static const struct {
		uint32_t ranks;
		uint64_t first, marks;
		uint32_t every;
		uint64_t bytes;
	} shape[] = {
		{1, 0, 1, 1, 0},	 {1, 7, 63, 2, 64},	 {3, 0, 64, 3, 64},	{5, 1, 65, 2, 64},
		{7, 100, 1000, 1, 256},	 {7, 0, 1000, 300, 256}, {64, 5, 640, 9, 1024}, {33, 12, 5000, 9, 2048},
		{2, 3, 70000, 20, 4096}, {150, 0, 300, 4, 512},	 {9, 0, 20000, 2, 0},	{300, 1, 64, 3, 64},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shape) / sizeof(*shape); i++) {
		struct world w;

		seed = 77 + i;
		build(&w, shape[i].ranks, shape[i].first, shape[i].marks, shape[i].every, shape[i].bytes, 700);
		assert_int_equal(tiles_first(w.tiles), w.first);
		assert_int_equal(tiles_end(w.tiles), w.first + w.n);
		assert_true(tiles_mark_ns(w.tiles) == 2500);
		check_totals(&w);
		check_spans(&w, 0, w.n_ranks, w.first, w.first + w.n);
		for (uint32_t l = 0; l < tiles_n_levels(w.tiles); l++)
			check_counts(&w, l, 0, w.n_ranks, 0, tiles_level_steps(w.tiles, l));
		check_messages(&w, w.first, w.first + w.n);
		check_windows(&w, 40);
		assert_int_equal(tiles_n_damage(w.tiles), 0);
		assert_int_equal(trace_n_damage(w.t), 0);
		drop(&w);
	}
}

static void test_empty_and_wrong_windows(void **state)
{
	struct tile_totals sum[5];
	struct spans_seen v = {0};
	struct errbuf err;
	struct world w;
	uint32_t c[1][TSTATE_N];

	(void)state;
	seed = 4;
	build(&w, 4, 10, 100, 5, 0, 0);
	v = (struct spans_seen){.w = &w, .t0 = 0, .t1 = 1000};
	assert_int_equal(tiles_spans(w.tiles, 2, 2, 10, 20, see_span, &v, &err), 0);
	assert_int_equal(tiles_spans(w.tiles, 0, 4, 0, 10, see_span, &v, &err), 0);
	assert_int_equal(tiles_spans(w.tiles, 0, 4, 110, 200, see_span, &v, &err), 0);
	assert_int_equal(tiles_spans(w.tiles, 0, 4, 50, 50, see_span, &v, &err), 0);
	assert_int_equal(v.n, 0);
	v = (struct spans_seen){.w = &w, .t0 = 10, .t1 = 110, .stop_at = 2};
	assert_int_equal(tiles_spans(w.tiles, 0, 4, 0, 1000, see_span, &v, &err), 1);
	assert_int_equal(v.n, 2);
	assert_int_equal(tiles_spans(w.tiles, 0, 5, 10, 20, see_span, &v, &err), -1);
	assert_int_equal(tiles_totals(w.tiles, 0, 5, sum, &err), -1);
	assert_int_equal(tiles_counts(w.tiles, 0, 0, 4, 0, 3, c, &err), -1);
	assert_int_equal(tiles_counts(w.tiles, 9, 0, 1, 0, 1, c, &err), -1);
	assert_int_equal(tiles_exchanges(w.tiles, 0, 1000, see_message, NULL, &err), 0);
	drop(&w);
}

/* ---- the seven rules ---- */

static void test_rule_1_maximum_per_tile(void **state)
{
	struct world w;
	uint32_t ranks;
	uint64_t marks;

	(void)state;
	tiles_shape_choose(20, 2463, TILES_BYTES, &ranks, &marks);
	assert_int_equal(ranks, 20);
	assert_int_equal(marks, 2463);
	tiles_shape_choose(20, 893716, TILES_BYTES, &ranks, &marks); /* 2^21 cells: marks are halved, to 64s */
	assert_int_equal(ranks, 20);
	assert_int_equal(marks, 55808);
	tiles_shape_choose(2000, 89209, TILES_BYTES, &ranks, &marks);
	assert_int_equal(ranks, 1000);
	assert_int_equal(marks, 1344);
	tiles_shape_choose(1u << 20, 64, TILES_BYTES, &ranks, &marks);
	assert_int_equal(ranks, 1u << 15);
	assert_int_equal(marks, 64);
	for (uint32_t r = 1; r < 3000; r = r * 3 + 1)
		for (uint64_t m = 1; m < 1000000; m = m * 7 + 5) {
			tiles_shape_choose(r, m, 4096, &ranks, &marks);
			assert_true(ranks >= 1 && ranks <= r && marks >= 1 && marks <= m);
			assert_true(ranks * marks <= 4 * 4096 && (marks == m || marks % 64 == 0));
		}
	seed = 11;
	build(&w, 40, 3, 900, 5, 1024, 0);
	for (uint32_t i = 0; i < trace_n_pages(w.t); i++) {
		const struct trace_page *p = trace_page_at(w.t, i);

		if (p->type == TPAGE_TILE || p->type == TPAGE_STATES)
			assert_true((p->first - p->rank) * p->n <= 4 * 1024);
	}
	drop(&w);
}

static void test_rule_2_least_and_greatest(void **state)
{
	struct world w;
	uint8_t *covered;

	(void)state;
	seed = 12;
	build(&w, 40, 3, 900, 5, 1024, 0);
	covered = calloc(w.n_ranks, w.n);
	for (uint32_t i = 0; i < w.tiles->tile.n; i++) {
		const struct tile_ref *e = &w.tiles->tile.ref[i];
		const struct trace_page *p = trace_page_at(w.t, e->content);

		/* The index alone tells processors and marks. */
		assert_int_equal(p->rank, e->p0);
		assert_int_equal(p->first, e->p1);
		for (uint32_t r = e->p0; r < e->p1; r++)
			for (uint64_t t = e->own; t <= e->t1; t++)
				covered[r * w.n + t - w.first]++;
	}
	for (uint64_t c = 0; c < w.n_ranks * w.n; c++)
		assert_int_equal(covered[c], 1);
	free(covered);
	drop(&w);
}

static void test_rule_3_begins_at_the_last_mark_before(void **state)
{
	struct tile_totals sum[40];
	uint8_t carry[40];
	struct errbuf err;
	struct world w;
	uint32_t later = 0, len;

	(void)state;
	seed = 13;
	build(&w, 40, 3, 900, 5, 1024, 0);
	for (uint32_t i = 0; i < w.tiles->tile.n; i++) {
		const struct tile_ref *e = &w.tiles->tile.ref[i], *before = i ? e - 1 : NULL;
		uint8_t *raw = trace_page_read(w.t, e->summary, &len, &err);
		bool carries = before && before->p0 == e->p0;

		memset(sum, 0, sizeof(sum));
		assert_int_equal(tile_summary_decode(raw, len, e->p1 - e->p0, carries, e->n, 0, e->p1 - e->p0, sum, carry,
						     &err), 0);
		free(raw);
		assert_int_equal(e->t0, carries ? before->t1 : w.first);
		for (uint32_t r = e->p0; r < e->p1; r++)
			assert_int_equal(carry[r - e->p0], carries ? at(&w, r, e->t0) : TILES_NO_CARRY);
		later += carries;
	}
	assert_true(later > 3);
	drop(&w);
}

static void test_rule_4_summary_and_content(void **state)
{
	struct world w;

	(void)state;
	seed = 14;
	build(&w, 40, 3, 900, 5, 1024, 0);
	assert_true(w.tiles->tile.n > 4);
	for (uint32_t i = 0; i < w.tiles->tile.n; i++) {
		const struct tile_ref *e = &w.tiles->tile.ref[i];

		assert_int_not_equal(e->summary, TILES_NO_PAGE);
		assert_int_equal(e->content, e->summary + 1); /* directly behind */
	}
	drop(&w);
}

static void test_rule_5_states_of_each_mark(void **state)
{
	static const uint32_t every[] = {1, 2, 1000};
	bool dense = false, runs = false;

	(void)state;
	for (int d = 0; d < 3; d++) {
		struct errbuf err;
		struct world w;

		seed = 15;
		build(&w, 40, 3, 900, every[d], 1024, 0);
		for (uint32_t i = 0; i < w.tiles->tile.n; i++) {
			const struct tile_ref *e = &w.tiles->tile.ref[i];
			struct rdbuf r = {0};
			uint32_t len;

			r.data = trace_page_read(w.t, e->content, &len, &err);
			r.len = len;
			for (uint32_t p = e->p0; p < e->p1; p++) {
				struct tile_row row = tile_row_next(&r);
				uint64_t start, n, next = 0, cells = e->t1 - e->t0 + 1;
				struct tile_runs it;
				uint8_t s;

				assert_false(r.failed);
				assert_true(row.len <= (cells + 63) / 64 * 16);
				*(row.dense ? &dense : &runs) = true;
				tile_runs_begin(&it, &row, cells);
				while (tile_runs_next(&it, &start, &n, &s) > 0) {
					assert_int_equal(start, next);
					for (next = start; next < start + n; next++)
						/* also the shared mark */
						assert_int_equal(s, at(&w, p, e->t0 + next));
				}
				assert_int_equal(next, cells);
			}
			assert_int_equal(r.pos, len);
			free((void *)r.data);
		}
		drop(&w);
	}
	assert_true(dense && runs); /* both forms occurred */
}

static void test_rule_6_states(void **state)
{
	static const uint8_t want[] = {0, 0, 1, 1, 1, 2, 3, 3, 0};
	struct tiles_extent x = {.n_ranks = 1, .first = 0, .last = 8};
	struct tile_change c[] = {{2, 0, TSTATE_WORKING}, {5, 0, TSTATE_SENDING}, {6, 0, TSTATE_RECEIVING},
				  {8, 0, TSTATE_WAITING}};
	struct errbuf err;
	struct trace_writer *out = trace_writer_create(path, 1, &err);
	struct tiles_writer *tw = tiles_writer_create(out, &x, &err);
	struct spans_seen v;
	struct world w = {.n_ranks = 1, .n = 9, .state = (uint8_t *)want};

	(void)state;
	assert_int_equal(TSTATE_WAITING, 0);
	assert_int_equal(TSTATE_WORKING, 1);
	assert_int_equal(TSTATE_SENDING, 2);
	assert_int_equal(TSTATE_RECEIVING, 3);
	assert_int_equal(tiles_writer_put(tw, c, 4, &err), 0);
	assert_int_equal(tiles_writer_finish(tw, &err), 0);
	tiles_writer_destroy(tw);
	assert_int_equal(trace_writer_close(out, false, &err), 0);
	w.t = trace_open(path, &err);
	w.tiles = tiles_open(w.t, &err);
	v = (struct spans_seen){.w = &w, .t1 = 9};
	assert_int_equal(tiles_spans(w.tiles, 0, 1, 0, 9, see_span, &v, &err), 0);
	assert_int_equal(v.n, 5);
	tiles_close(w.tiles);
	trace_close(w.t);
}

static void test_rule_7_statistics_from_summaries(void **state)
{
	struct world w;
	struct errbuf err;

	(void)state;
	seed = 17;
	build(&w, 40, 3, 900, 5, 1024, 0);
	check_totals(&w);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_TILE), w.tiles->tile.n);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_STATES), 0); /* no content */
	for (uint32_t i = 0; i < w.tiles->tile.n; i++) { /* and within the marks of one tile */
		const struct tile_ref *e = &w.tiles->tile.ref[i];
		struct tile_totals sum[40] = {{{0}, {0}}};
		uint32_t len;
		uint8_t *raw = trace_page_read(w.t, e->summary, &len, &err);

		assert_int_equal(tile_summary_decode(raw, len, e->p1 - e->p0, e->n == e->t1 - e->t0, e->n, 0, e->p1 - e->p0,
						     sum, NULL, &err), 0);
		free(raw);
		for (uint32_t r = e->p0; r < e->p1; r++) {
			struct tile_totals want = naive_totals(&w, r, e->own, e->t1 + 1);

			assert_memory_equal(&sum[r - e->p0], &want, sizeof(want));
		}
	}
	drop(&w);
}

/* ---- what a query costs ---- */

static void test_a_window_reads_its_tiles_only(void **state)
{
	struct world w;

	(void)state;
	seed = 18;
	build(&w, 40, 3, 9000, 5, 1024, 3000);
	check_spans(&w, 30, 31, 4000, 4001);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_STATES), 1);
	check_spans(&w, 0, 40, 4000, 4001);
	assert_true(tiles_pages_read(w.tiles, TPAGE_STATES) <= 1 + 4);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_EXCHANGE), 0);
	check_messages(&w, 4000, 4010);
	assert_true(tiles_pages_read(w.tiles, TPAGE_EXCHANGE) * 5 < 3000 / 50);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_TILE), 0);
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_PYRAMID), 0);
	check_counts(&w, 1, 0, 1, 0, tiles_level_steps(w.tiles, 1));
	assert_true(tiles_pages_read(w.tiles, TPAGE_PYRAMID) <= 2);
	drop(&w);
}

/* ---- damage ---- */

static void flip_byte(uint64_t offset)
{
	FILE *f = fopen(path, "r+");
	int c;

	assert_non_null(f);
	fseek(f, (long)offset, SEEK_SET);
	c = fgetc(f);
	fseek(f, (long)offset, SEEK_SET);
	fputc(c ^ 0x10, f);
	fclose(f);
}

static void reopen(struct world *w)
{
	struct errbuf err;

	tiles_close(w->tiles);
	trace_close(w->t);
	w->t = trace_open(path, &err);
	assert_non_null(w->t);
	w->tiles = tiles_open(w->t, &err);
	assert_non_null(w->tiles);
}

static int count_cells(const struct tile_span *s, void *arg)
{
	struct spans_seen *v = arg;

	for (uint64_t t = s->t0; t < s->t1; t++)
		assert_int_equal(s->state, at(v->w, s->rank, t));
	v->cells += s->t1 - s->t0;
	return 0;
}

static void test_damaged_summary_is_counted_from_content(void **state)
{
	struct world w;
	char text[64];

	(void)state;
	seed = 21;
	build(&w, 20, 0, 900, 5, 1024, 0);
	snprintf(text, sizeof(text), "page %u (summary of processors", w.tiles->tile.ref[3].summary);
	flip_byte(trace_page_at(w.t, w.tiles->tile.ref[3].summary)->offset + TRACE_PAGE_HEADER + 5);
	reopen(&w);
	check_totals(&w);
	assert_int_equal(tiles_n_damage(w.tiles), 1);
	assert_non_null(strstr(tiles_damage(w.tiles, 0), text));
	assert_non_null(strstr(tiles_damage(w.tiles, 0), "bad checksum"));
	assert_int_equal(tiles_pages_read(w.tiles, TPAGE_STATES), 1);
	drop(&w);
}

static void test_damaged_content_is_named_and_the_rest_read(void **state)
{
	struct spans_seen v;
	struct tile_ref hit;
	struct errbuf err;
	struct world w;

	(void)state;
	seed = 22;
	build(&w, 20, 0, 900, 5, 1024, 0);
	hit = w.tiles->tile.ref[2];
	flip_byte(trace_page_at(w.t, hit.content)->offset + TRACE_PAGE_HEADER + 9);
	reopen(&w);
	check_totals(&w);
	assert_int_equal(tiles_n_damage(w.tiles), 0); /* totals did not need it */
	v = (struct spans_seen){.w = &w};
	assert_int_equal(tiles_spans(w.tiles, 0, w.n_ranks, 0, w.n, count_cells, &v, &err), 0);
	/* All but the tile's own marks; the last one of those is carried by the next tile. */
	assert_int_equal(v.cells, w.n_ranks * w.n - (hit.p1 - hit.p0) * (hit.n - 1));
	assert_int_equal(tiles_n_damage(w.tiles), 1);
	assert_non_null(strstr(tiles_damage(w.tiles, 0), "(content of processors"));
	tiles_spans(w.tiles, 0, w.n_ranks, 0, w.n, count_cells, &v, &err);
	assert_int_equal(tiles_n_damage(w.tiles), 1); /* reported once */
	drop(&w);
}

static void test_any_flipped_byte(void **state)
{
	struct world w;
	uint64_t size;

	(void)state;
	seed = 23;
	build(&w, 9, 0, 300, 5, 256, 200);
	size = trace_file_size(w.t);
	for (uint64_t i = TRACE_FILE_HEADER; i < size; i += 1 + rnd(9)) {
		struct tile_totals sum[9], want;
		struct errbuf err;
		struct trace *t;
		struct tiles *tiles;
		uint32_t (*c)[TSTATE_N] = calloc(9 * tiles_level_steps(w.tiles, 0), sizeof(*c));
		struct spans_seen v = {.w = &w};
		struct messages_seen m = {.w = &w, .seen = calloc(w.n_m, 1)};

		flip_byte(i);
		t = trace_open(path, &err);
		tiles = t ? tiles_open(t, &err) : NULL;
		assert_non_null(tiles);
		assert_int_equal(tiles_totals(tiles, 0, 9, sum, &err), 0);
		for (uint32_t r = 0; r < 9; r++) {
			want = naive_totals(&w, r, 0, 300);
			for (int s = 0; s < TSTATE_N; s++)
				assert_true(sum[r].marks[s] <= want.marks[s]);
		}
		assert_int_equal(tiles_counts(tiles, 0, 0, 9, 0, tiles_level_steps(tiles, 0), c, &err), 0);
		assert_int_equal(tiles_spans(tiles, 0, 9, 0, 300, count_cells, &v, &err), 0);
		assert_int_equal(tiles_exchanges(tiles, 0, 300, see_message, &m, &err), 0);
		assert_true(tiles_n_damage(tiles) + trace_n_damage(t) > 0);
		assert_true(v.cells > 0); /* some cells are left */
		tiles_close(tiles);
		trace_close(t);
		free(c);
		free(m.seen);
		flip_byte(i);
	}
	drop(&w);
}

static void test_traced_files_have_no_tiles(void **state)
{
	struct errbuf err;
	struct world w;

	(void)state;
	seed = 24;
	build(&w, 2, 0, 10, 2, 0, 0);
	assert_true(trace_is_imported(w.t));
	assert_null(tiles_writer_create(NULL, &(struct tiles_extent){.n_ranks = 0, .last = 3}, &err));
	assert_null(tiles_writer_create(NULL, &(struct tiles_extent){.n_ranks = 1, .first = 3, .last = 2}, &err));
	assert_null(tiles_writer_create(NULL, &(struct tiles_extent){.n_ranks = 1, .last = TILES_MARKS_MAX}, &err));
	drop(&w);
}

static void test_changes_out_of_order_are_refused(void **state)
{
	struct tiles_extent x = {.n_ranks = 2, .first = 5, .last = 500, .tile_bytes = 64};
	struct tile_change bad[] = {{4, 0, 1}, {501, 0, 1}, {100, 2, 1}, {90, 0, 1}};
	struct errbuf err;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct trace_writer *out = trace_writer_create(path, 2, &err);
		struct tiles_writer *tw = tiles_writer_create(out, &x, &err);

		assert_int_equal(tiles_writer_put(tw, &(struct tile_change){100, 0, 1}, 1, &err), 0);
		assert_int_equal(tiles_writer_put(tw, &bad[i], 1, &err), -1);
		assert_non_null(strstr(err.text, "out of order, or outside"));
		tiles_writer_destroy(tw);
		trace_writer_abort(out);
	}
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.ptrace", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_empty_and_wrong_windows),
		cmocka_unit_test(test_rule_1_maximum_per_tile),
		cmocka_unit_test(test_rule_2_least_and_greatest),
		cmocka_unit_test(test_rule_3_begins_at_the_last_mark_before),
		cmocka_unit_test(test_rule_4_summary_and_content),
		cmocka_unit_test(test_rule_5_states_of_each_mark),
		cmocka_unit_test(test_rule_6_states),
		cmocka_unit_test(test_rule_7_statistics_from_summaries),
		cmocka_unit_test(test_a_window_reads_its_tiles_only),
		cmocka_unit_test(test_damaged_summary_is_counted_from_content),
		cmocka_unit_test(test_damaged_content_is_named_and_the_rest_read),
		cmocka_unit_test(test_any_flipped_byte),
		cmocka_unit_test(test_traced_files_have_no_tiles),
		cmocka_unit_test(test_changes_out_of_order_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
