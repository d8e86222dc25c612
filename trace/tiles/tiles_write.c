/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writer of the tiled store: see tiles_write.h. The caller's thread fills a strip of bit planes. A full strip goes
 * to the encoder thread, which writes its rows, summaries and pyramid while the next strip is filled.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tiles/tiles_page.h"
#include "trace/tiles/tiles_write.h"

#define STRIP_BYTES (16ull << 20) /* size of a strip; there are two */
#define LEVEL_BYTES (2ull << 20)  /* memory for the pending steps of a level */

struct strip {
	uint64_t first, n; /* marks of the strip */
	uint8_t *carry;    /* states at the mark before; none for the first strip */
	uint64_t *plane;   /* row by row */
};

/* A level of the pyramid from the second on, filled step by step. */
struct level {
	uint64_t base;    /* step of the first column */
	uint32_t cap;
	uint32_t *count;  /* [(rank * 3 + state - 1) * cap + step - base] */
};

struct tiles_writer {
	struct trace_writer *out;
	struct tiles_extent x;
	uint64_t n_marks, tile_marks;
	uint32_t tile_ranks, n_levels;
	uint64_t row_words;

	/* used by the caller's thread */
	struct strip strip[2];
	unsigned int filling;
	uint8_t *state;
	uint32_t *since; /* start of the current state, from the strip's first mark */
	struct exchange_writer *exchanges;
	struct buf exchange_page;

	/* used by the encoder's thread */
	struct level level[TILES_LEVELS_MAX];
	struct tile_totals *totals;
	uint8_t *steps;
	struct buf rows, raw, scratch, pages;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* guards the members below, and `out` */
	pthread_cond_t changed;
	struct strip *job;    /* strip to be encoded */
	bool quit, failed;
	struct errbuf err;
};

void tiles_shape_choose(uint32_t n_ranks, uint64_t n_marks, uint64_t bytes, uint32_t *ranks, uint64_t *marks)
{
	uint64_t r = n_ranks, m = n_marks, cells = bytes * 4;

	while (r * m > cells && (r > 1 || m > 64)) {
		if (m >= r && m > 64) {
			m = (m + 1) / 2;
			m = m <= 64 ? 64 : m / 64 * 64;
		} else {
			r = (r + 1) / 2;
			if (r == 1 && m <= 64)
				break;
		}
	}
	*ranks = (uint32_t)r;
	*marks = m;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t n_levels(uint64_t n_marks)
{
	uint32_t n = 1;

	while (n < TILES_LEVELS_MAX && n_marks > TILES_STEP_FACTOR * tiles_level_step(n - 1))
		n++;
	return n;
}

/* ---- the encoder's thread ---- */

static int encode_page(const struct trace_page *head, const struct buf *raw, struct buf *pages, struct errbuf *err)
{
	if (raw->failed || trace_page_encode(head, raw->data, raw->len, pages) < 0)
		return err_set(err, "no memory for a page of %zu bytes", raw->len);
	return 0;
}

/* Write pages in one call, so that they stay together: both threads write. */
static int write_pages(struct tiles_writer *w, struct buf *pages, struct errbuf *err)
{
	int rv;

	pthread_mutex_lock(&w->lock);
	rv = trace_writer_pages(w->out, pages->data, pages->len, err);
	pthread_mutex_unlock(&w->lock);
	buf_reset(pages);
	return rv;
}

static void put_counts(struct buf *out, const uint32_t *v, uint64_t n, uint32_t width)
{
	if (buf_reserve(out, n * width) < 0)
		return;
	for (uint64_t i = 0; i < n; i++)
		for (uint32_t b = 0; b < width; b++)
			out->data[out->len++] = (uint8_t)(v[i] >> (8 * b));
}

/* Write n steps of a level, one page per group of processors. */
static int write_steps(struct tiles_writer *w, uint32_t l, uint32_t n, struct errbuf *err)
{
	struct level *v = &w->level[l];
	uint64_t step = tiles_level_step(l);

	for (uint32_t p0 = 0; p0 < w->x.n_ranks; p0 += w->tile_ranks) {
		uint32_t p1 = (uint32_t)min_u64(p0 + (uint64_t)w->tile_ranks, w->x.n_ranks);
		struct trace_page head = {.type = TPAGE_PYRAMID, .rank = p0, .first = (uint64_t)l << 32 | p1, .n = n};

		head.t0 = w->x.first + v->base * step;
		head.t1 = min_u64(w->x.last, head.t0 + n * step - 1);
		buf_reset(&w->raw);
		for (int k = 0; k < TSTATE_N - 1; k++)
			for (uint32_t p = p0; p < p1; p++) {
				const uint32_t *c = v->count + ((uint64_t)p * 3 + (uint32_t)k) * v->cap;

				put_counts(&w->raw, c, n, tile_count_width(l));
				for (uint32_t s = 0; s < n; s++)
					head.state[k + 1] += c[s];
			}
		head.state[0] = (head.t1 - head.t0 + 1) * (p1 - p0) - head.state[1] - head.state[2] - head.state[3];
		if (encode_page(&head, &w->raw, &w->pages, err) < 0 || write_pages(w, &w->pages, err) < 0)
			return -1;
	}
	return 0;
}

/* Make room in a level for the steps [i0, i1]. Step i0 may hold counts from the strip before. */
static int advance_level(struct tiles_writer *w, uint32_t l, uint64_t i0, uint64_t i1, struct errbuf *err)
{
	struct level *v = &w->level[l];
	uint32_t n = (uint32_t)(i0 - v->base);

	if (i1 - v->base < v->cap)
		return 0;
	if (write_steps(w, l, n, err) < 0)
		return -1;
	for (uint64_t row = 0; row < 3ull * w->x.n_ranks; row++) {
		uint32_t *c = v->count + row * v->cap;

		memmove(c, c + n, (v->cap - n) * sizeof(*c));
		memset(c + v->cap - n, 0, n * sizeof(*c));
	}
	v->base = i0;
	return 0;
}

/* Add the first-level steps of a row to the higher levels. steps[k * stride + s] is step g0 + s. */
static void add_to_levels(struct tiles_writer *w, uint32_t rank, const uint8_t *steps, uint64_t stride, uint64_t g0,
			  uint64_t n)
{
	for (uint64_t s = 0, end; s < n; s = end) {
		uint64_t g = g0 + s;
		uint32_t sum[TSTATE_N - 1] = {0};

		end = min_u64(n, s + 16 - g % 16); /* up to the end of a step of the second level */
		for (uint32_t k = 0; k < TSTATE_N - 1; k++)
			for (uint64_t i = s; i < end; i++)
				sum[k] += steps[k * stride + i];
		for (uint32_t l = 1; l < w->n_levels; l++) {
			const struct level *v = &w->level[l];

			for (uint32_t k = 0; k < TSTATE_N - 1; k++)
				v->count[((uint64_t)rank * 3 + k) * v->cap + (g >> (4 * l)) - v->base] += sum[k];
		}
	}
}

/* Write the tile of processors [p0, p1): summary, content, first level of the pyramid. */
static int write_tile(struct tiles_writer *w, const struct strip *s, uint32_t p0, uint32_t p1, struct errbuf *err)
{
	bool carries = s->first > w->x.first;
	uint64_t n_steps = (s->n + 63) / 64, stride = (uint64_t)(p1 - p0) * n_steps, g0 = (s->first - w->x.first) / 64;
	struct trace_page head = {.type = TPAGE_TILE, .rank = p0, .first = p1, .n = s->n, .t0 = s->first - carries,
				  .t1 = s->first + s->n - 1};
	struct buf steps = {.data = w->steps, .len = 3 * stride};

	buf_reset(&w->rows);
	memset(w->totals, 0, (p1 - p0) * sizeof(*w->totals));
	for (uint32_t p = p0; p < p1; p++) {
		uint8_t *at = w->steps + (p - p0) * n_steps, *const k[] = {at, at + stride, at + 2 * stride};

		tile_row_encode(s->plane + p * w->row_words, s->n, carries ? s->carry[p] : TILES_NO_CARRY,
				&w->totals[p - p0], k, &w->scratch, &w->rows);
		add_to_levels(w, p, at, stride, g0, n_steps);
		for (int i = 0; i < TSTATE_N; i++)
			head.state[i] += w->totals[p - p0].marks[i];
	}
	if (w->scratch.failed)
		return err_set(err, "no memory for a row of states");
	buf_reset(&w->raw);
	tile_summary_encode(carries ? s->carry + p0 : NULL, w->totals, p1 - p0, &w->raw);
	if (encode_page(&head, &w->raw, &w->pages, err) < 0)
		return -1;
	head.type = TPAGE_STATES;
	if (encode_page(&head, &w->rows, &w->pages, err) < 0)
		return -1;
	head.type = TPAGE_PYRAMID;
	head.t0 = s->first;
	head.n = n_steps;
	return encode_page(&head, &steps, &w->pages, err) < 0 ? -1 : write_pages(w, &w->pages, err);
}

static int write_strip(struct tiles_writer *w, const struct strip *s, struct errbuf *err)
{
	uint64_t g0 = (s->first - w->x.first) / 64, g1 = (s->first + s->n - 1 - w->x.first) / 64;

	for (uint32_t l = 1; l < w->n_levels; l++)
		if (advance_level(w, l, g0 >> (4 * l), g1 >> (4 * l), err) < 0)
			return -1;
	for (uint32_t p0 = 0; p0 < w->x.n_ranks; p0 += w->tile_ranks)
		if (write_tile(w, s, p0, (uint32_t)min_u64(p0 + (uint64_t)w->tile_ranks, w->x.n_ranks), err) < 0)
			return -1;
	return 0;
}

static void *encoder(void *arg)
{
	struct tiles_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct strip *s;
		struct errbuf err;
		int rv;

		while (!w->job && !w->quit)
			pthread_cond_wait(&w->changed, &w->lock);
		s = w->job;
		if (!s)
			break;
		pthread_mutex_unlock(&w->lock);
		rv = write_strip(w, s, &err);
		memset(s->plane, 0, w->x.n_ranks * w->row_words * 8);
		pthread_mutex_lock(&w->lock);
		if (rv < 0 && !w->failed) {
			w->failed = true;
			w->err = err;
		}
		w->job = NULL;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Wait until the encoder is idle, then hand it a strip or NULL. */
static int hand_over(struct tiles_writer *w, struct strip *s, struct errbuf *err)
{
	int rv = 0;

	pthread_mutex_lock(&w->lock);
	while (w->job)
		pthread_cond_wait(&w->changed, &w->lock);
	if (w->failed)
		rv = err_set(err, "%s", w->err.text);
	else
		w->job = s;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return rv;
}

/* ---- the caller's thread ---- */

static int sink(void *arg, const struct trace_page *head, const struct buf *raw, struct errbuf *err)
{
	struct tiles_writer *w = arg;

	return encode_page(head, raw, &w->exchange_page, err) < 0 ? -1 : write_pages(w, &w->exchange_page, err);
}

static int allocate_strips(struct tiles_writer *w)
{
	uint64_t n = w->x.n_ranks, steps = (w->tile_marks + 63) / 64;

	w->row_words = 2 * steps;
	for (int i = 0; i < 2; i++) {
		w->strip[i].plane = calloc(n * w->row_words, 8);
		w->strip[i].carry = calloc(n, 1);
		if (!w->strip[i].plane || !w->strip[i].carry)
			return -1;
	}
	for (uint32_t l = 1; l < w->n_levels; l++) {
		uint64_t need = (steps >> (4 * l)) + 2, cap = min_u64(64, LEVEL_BYTES / (12 * n));

		w->level[l].cap = (uint32_t)(cap > need ? cap : need);
		w->level[l].count = calloc(3 * n * w->level[l].cap, sizeof(*w->level[l].count));
		if (!w->level[l].count)
			return -1;
	}
	w->state = calloc(n, 1);
	w->since = calloc(n, sizeof(*w->since));
	w->totals = calloc(w->tile_ranks, sizeof(*w->totals));
	w->steps = malloc(3 * w->tile_ranks * steps);
	w->exchanges = exchange_writer_create(w->x.exchanges_per_page, w->x.exchanges_waiting, w->x.first, sink, w);
	return w->state && w->since && w->totals && w->steps && w->exchanges ? 0 : -1;
}

static void set_strip(struct tiles_writer *w, uint64_t first)
{
	struct strip *s = &w->strip[w->filling];

	s->first = first;
	s->n = min_u64(w->tile_marks, w->x.last + 1 - first);
}

struct tiles_writer *tiles_writer_create(struct trace_writer *out, const struct tiles_extent *extent, struct errbuf *err)
{
	struct tiles_writer *w;
	uint64_t bytes = extent->tile_bytes ? extent->tile_bytes : TILES_BYTES;

	if (!extent->n_ranks || extent->n_ranks > TRACE_MAX_RANKS || extent->last < extent->first ||
	    extent->last - extent->first >= TILES_MARKS_MAX || bytes < 64 || bytes > 16 * TILES_BYTES) {
		err_set(err, "a matrix of %u processors x marks %llu to %llu cannot be tiled", extent->n_ranks,
			(unsigned long long)extent->first, (unsigned long long)extent->last);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		err_set(err, "no memory");
		return NULL;
	}
	w->out = out;
	w->x = *extent;
	w->n_marks = extent->last - extent->first + 1;
	w->n_levels = n_levels(w->n_marks);
	tiles_shape_choose(extent->n_ranks, w->n_marks, bytes, &w->tile_ranks, &w->tile_marks);
	while (extent->n_ranks * (w->tile_marks / 4) > STRIP_BYTES && w->tile_marks > 64)
		w->tile_marks = w->tile_marks / 2 <= 64 ? 64 : w->tile_marks / 2 / 64 * 64;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (allocate_strips(w) < 0 || pthread_create(&w->thread, NULL, encoder, w)) {
		err_set(err, "no memory for tiles of %u processors x %llu marks", w->tile_ranks,
			(unsigned long long)w->tile_marks);
		tiles_writer_destroy(w);
		return NULL;
	}
	w->running = true;
	set_strip(w, extent->first);
	return w;
}

/* The strip is full: fill up the current states, and carry them into the next strip. */
static int next_strip(struct tiles_writer *w, struct errbuf *err)
{
	struct strip *s = &w->strip[w->filling];

	for (uint32_t r = 0; r < w->x.n_ranks; r++)
		tile_row_fill(s->plane + r * w->row_words, w->since[r], s->n, w->state[r]);
	memset(w->since, 0, w->x.n_ranks * sizeof(*w->since));
	if (hand_over(w, s, err) < 0)
		return -1;
	w->filling ^= 1;
	memcpy(w->strip[w->filling].carry, w->state, w->x.n_ranks);
	set_strip(w, s->first + s->n);
	return 0;
}

static int wrong_order(const struct tiles_writer *w, const struct tile_change *c, struct errbuf *err)
{
	return err_set(err, "a change of processor %u at mark %llu is out of order, or outside of %u processors x marks %llu to %llu",
		       c->rank, (unsigned long long)c->t, w->x.n_ranks, (unsigned long long)w->x.first,
		       (unsigned long long)w->x.last);
}

int tiles_writer_put(struct tiles_writer *w, const struct tile_change *c, uint32_t n, struct errbuf *err)
{
	const struct strip *s = &w->strip[w->filling];

	for (const struct tile_change *end = c + n; c < end; c++) {
		uint64_t at = c->t - s->first;

		if (c->rank >= w->x.n_ranks || c->t < s->first || c->t > w->x.last)
			return wrong_order(w, c, err);
		while (at >= s->n) {
			if (next_strip(w, err) < 0)
				return -1;
			s = &w->strip[w->filling];
			at = c->t - s->first;
		}
		if (at < w->since[c->rank])
			return wrong_order(w, c, err);
		tile_row_fill(s->plane + c->rank * w->row_words, w->since[c->rank], at, w->state[c->rank]);
		w->since[c->rank] = (uint32_t)at;
		w->state[c->rank] = c->state & 3;
	}
	return 0;
}

int tiles_writer_exchange(struct tiles_writer *w, const struct exchange *m, struct errbuf *err)
{
	return exchange_writer_add(w->exchanges, m, err);
}

int tiles_writer_finish(struct tiles_writer *w, struct errbuf *err)
{
	uint64_t end;

	do {
		end = w->strip[w->filling].first + w->strip[w->filling].n;
		if (next_strip(w, err) < 0)
			return -1;
	} while (end <= w->x.last);
	if (hand_over(w, NULL, err) < 0)
		return -1;
	for (uint32_t l = 1; l < w->n_levels; l++) {
		uint64_t steps = (w->n_marks - 1) / tiles_level_step(l) + 1;

		if (write_steps(w, l, (uint32_t)(steps - w->level[l].base), err) < 0)
			return -1;
	}
	return exchange_writer_finish(w->exchanges, w->x.last + 1, err);
}

void tiles_writer_destroy(struct tiles_writer *w)
{
	if (!w)
		return;
	if (w->running) {
		pthread_mutex_lock(&w->lock);
		w->quit = true;
		pthread_cond_broadcast(&w->changed);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	exchange_writer_destroy(w->exchanges);
	for (int i = 0; i < 2; i++) {
		free(w->strip[i].plane);
		free(w->strip[i].carry);
	}
	for (uint32_t l = 0; l < TILES_LEVELS_MAX; l++)
		free(w->level[l].count);
	free(w->state);
	free(w->since);
	free(w->totals);
	free(w->steps);
	buf_free(&w->rows);
	buf_free(&w->raw);
	buf_free(&w->scratch);
	buf_free(&w->pages);
	buf_free(&w->exchange_page);
	free(w);
}
