/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects records, then lays them out. Offsets are kept per record and turned into tables at the end, because the
 * numbers of gaps and varying calls are not known before. */
#include "skelgen/emit/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/runtime/data.h"

struct placed {
	uint32_t number, rank;
	uint64_t at; /* in the pool */
};

struct placed_list {
	struct placed *p;
	size_t n, cap;
};

struct emit_data {
	uint32_t n_ranks, n_gap, n_vary;
	uint64_t *pool;
	size_t n_pool, cap_pool;
	struct placed_list gap, vary, array;
	struct hash_table known_array, known_gap, known_vary; /* places of records */
	uint64_t gap_words;
	double *mix; /* DATA_MIX numbers each */
	uint32_t n_mix;
	uint64_t *window; /* loops with windows, one after the other */
	size_t n_window;
	uint32_t n_loop;
	bool failed;
};

struct emit_data *emit_data_create(uint32_t n_ranks)
{
	struct emit_data *d = calloc(1, sizeof *d);

	if (d != NULL)
		d->n_ranks = n_ranks;
	return d;
}

void emit_data_destroy(struct emit_data *d)
{
	if (d == NULL)
		return;
	free(d->pool);
	free(d->gap.p);
	free(d->vary.p);
	free(d->array.p);
	hash_table_free(&d->known_array);
	hash_table_free(&d->known_gap);
	hash_table_free(&d->known_vary);
	free(d->mix);
	free(d->window);
	free(d);
}

uint32_t emit_data_new_gap(struct emit_data *d)
{
	return d->n_gap++;
}

uint32_t emit_data_new_vary(struct emit_data *d)
{
	return d->n_vary++;
}

/* Room for n words, or NULL. */
static uint64_t *pool_take(struct emit_data *d, size_t n)
{
	uint64_t *at;

	d->failed = d->failed || ARRAY_ROOM(d->pool, d->cap_pool, d->n_pool + n) != 0;
	if (d->failed)
		return NULL;
	at = d->pool + d->n_pool;
	memset(at, 0, n * sizeof *at);
	d->n_pool += n;
	return at;
}

static void placed_add(struct emit_data *d, struct placed_list *l, uint32_t number, uint32_t rank, uint64_t at)
{
	if (ARRAY_ROOM(l->p, l->cap, l->n + 1) != 0) {
		d->failed = true;
		return;
	}
	l->p[l->n++] = (struct placed){number, rank, at};
}

static size_t array_words(uint32_t n)
{
	return 1 + ((size_t)n + 1) / 2;
}

/* Places the last record of the pool, which begins at `at`. A record with the same words takes its place. Returns the
 * place of either in the list. */
static uint32_t record_place(struct emit_data *d, struct placed_list *l, struct hash_table *known, uint32_t number,
			     uint32_t rank, uint64_t at)
{
	size_t bytes = (d->n_pool - at) * sizeof *d->pool;
	uint64_t hash = XXH3_64bits(d->pool + at, bytes);
	uint32_t s, i;

	HASH_TABLE_FOR_EACH(known, hash, s, i) {
		if (memcmp(d->pool + l->p[i].at, d->pool + at, bytes) == 0) {
			d->n_pool = at;
			return i;
		}
	}
	d->failed = d->failed || hash_table_add(known, hash, (uint32_t)l->n) != 0;
	placed_add(d, l, number, rank, at);
	return (uint32_t)l->n - 1;
}

/* The same, for a rank of which the list has a place in any case. */
static void record_place_rank(struct emit_data *d, struct placed_list *l, struct hash_table *known, uint32_t number,
			      uint32_t rank, uint64_t at)
{
	uint32_t i, n = (uint32_t)l->n;

	i = record_place(d, l, known, number, rank, at);
	if (!d->failed && i < n)
		placed_add(d, l, number, rank, l->p[i].at);
}

uint32_t emit_data_array(struct emit_data *d, const int64_t *v, uint32_t n)
{
	size_t words = array_words(n), at = d->n_pool;
	uint64_t *w = pool_take(d, words);

	if (w == NULL)
		return 0;
	w[0] = n;
	for (uint32_t i = 0; i < n; i++)
		((int32_t *)(w + 1))[i] = (int32_t)v[i];
	return record_place(d, &d->array, &d->known_array, (uint32_t)d->array.n, 0, at);
}

void emit_data_gap(struct emit_data *d, uint32_t gap, uint32_t rank, const struct emit_gap_values *v)
{
	size_t at = d->n_pool, n = (size_t)v->n_stratum * v->n_slot, n_entry = (size_t)v->entry_stratum * v->entry_slot;
	uint64_t *w = pool_take(d, DATA_GAP + n + n_entry);

	if (w == NULL)
		return;
	w[0] = v->n_occ;
	w[1] = v->n_stratum | (uint64_t)v->n_slot << 32;
	w[2] = v->mix;
	w[3] = v->period;
	w[4] = v->entry_stratum | (uint64_t)v->entry_slot << 32;
	memcpy(w + DATA_GAP, v->ns, (n + n_entry) * sizeof *v->ns);
	record_place_rank(d, &d->gap, &d->known_gap, gap, rank, at);
	d->gap_words += d->n_pool - at;
}

uint64_t emit_data_gap_bytes(const struct emit_data *d)
{
	return (d->gap_words + data_table((uint64_t)d->n_ranks * d->n_gap)) * sizeof *d->pool;
}

/* Streams are worked on as the rest of the floating point is: of 16 lines those in packed form. */
static double packed_lines(const struct compute_profile *m)
{
	const double *share = m->mix[0].share;
	double both = share[CLASS_VECTOR] + share[CLASS_SCALAR] + share[CLASS_SCALAR_SHORT] + share[CLASS_SCALAR_CHAIN];
	return both > 0 ? floor(16 * share[CLASS_VECTOR] / both + 0.5) : 8;
}

void emit_data_mixes(struct emit_data *d, const struct compute_profile *m)
{
	double packed = packed_lines(m);
	uint32_t n = m->n_mix;

	free(d->mix);
	d->n_mix = n;
	d->mix = calloc((size_t)n * DATA_MIX + 1, sizeof *d->mix);
	if (d->mix == NULL) {
		d->failed = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		double *w = d->mix + (size_t)i * DATA_MIX;

		memcpy(w, m->mix[i].share, sizeof m->mix[i].share);
		w[DATA_MIX_OFF_CPU] = m->mix[i].off_cpu;
		w[DATA_MIX_THREADS] = m->mix[i].threads;
		w[DATA_MIX_VECTOR_BITS] = m->vector_bits;
		w[DATA_MIX_ROW] = m->row;
		w[DATA_MIX_PACKED] = packed;
		memcpy(w + DATA_MIX_BYTES, m->bytes, sizeof m->bytes);
	}
}

void emit_data_vary(struct emit_data *d, uint32_t vary, uint32_t rank, const uint64_t *run_end,
		    const uint32_t *run_row, uint32_t n_run, const int64_t *rows, uint32_t n_row, uint32_t n_col)
{
	size_t at = d->n_pool;
	uint64_t *w = pool_take(d, 3 + 2 * (size_t)n_run + (size_t)n_row * n_col);

	if (w == NULL)
		return;
	w[0] = n_run;
	w[1] = n_col;
	w[2] = n_row;
	for (uint32_t i = 0; i < n_run; i++) {
		w[3 + 2 * (size_t)i] = run_end[i];
		w[4 + 2 * (size_t)i] = run_row[i];
	}
	memcpy(w + 3 + 2 * (size_t)n_run, rows, (size_t)n_row * n_col * sizeof *rows);
	record_place_rank(d, &d->vary, &d->known_vary, vary, rank, at);
}

static uint64_t as_word(double v)
{
	uint64_t w;

	memcpy(&w, &v, sizeof w);
	return w;
}

void emit_data_windows(struct emit_data *d, uint32_t loop, const struct sampled_plan *p)
{
	size_t words = DATA_LOOP + (size_t)p->n * DATA_WINDOW;
	uint64_t *w = realloc(d->window, (d->n_window + words) * sizeof *w);

	if (w == NULL) {
		d->failed = true;
		return;
	}
	d->window = w;
	w += d->n_window;
	d->n_window += words;
	d->n_loop++;
	w[DATA_LOOP_NUMBER] = loop;
	w[DATA_LOOP_WINDOWS] = (uint64_t)p->n;
	w[DATA_LOOP_TREND] = p->trend != 0;
	w[DATA_LOOP_KNOWN] = p->spikes.known;
	w[DATA_LOOP_RATE] = as_word(p->spikes.rate);
	w[DATA_LOOP_EXCESS] = as_word(p->spikes.excess);
	w[DATA_LOOP_SQUARE] = as_word(p->spikes.square);
	w[DATA_LOOP_TRACED] = as_word(p->traced_ns);
	for (int i = 0; i < p->n; i++) {
		const struct sampled_window *s = &p->w[i];

		memcpy(w + DATA_LOOP + i * DATA_WINDOW,
		       (uint64_t[DATA_WINDOW]){s->first, s->warm, s->run, s->stands, s->segment, as_word(s->traced_ns)},
		       DATA_WINDOW * sizeof *w);
	}
}

/* The offsets of a list, n of each rank. */
static void table_fill(uint64_t *table, const struct placed_list *l, uint32_t n, size_t head)
{
	uint32_t *offset = (uint32_t *)table;

	for (size_t i = 0; i < l->n; i++)
		offset[(size_t)l->p[i].rank * n + l->p[i].number] = (uint32_t)(head + l->p[i].at);
}

uint64_t *emit_data_finish(struct emit_data *d, size_t *n_words)
{
	static const struct compute_profile equal = {
		.n_mix = 1, .mix = {{.share = {[0 ... CLASS_N - 1] = 1.0 / CLASS_N}, .threads = 1}}};
	size_t gaps = DATA_HEADER, varies = gaps + data_table((uint64_t)d->n_ranks * d->n_gap), head, windows;
	size_t arrays = varies + data_table((uint64_t)d->n_ranks * d->n_vary), mixes = arrays + data_table(d->array.n);
	uint64_t *w;

	if (d->mix == NULL)
		emit_data_mixes(d, &equal);
	head = mixes + (size_t)d->n_mix * DATA_MIX;
	windows = d->n_loop > 0 ? 1 + d->n_window : 0;
	*n_words = head + d->n_pool + windows;
	w = d->failed || *n_words > UINT32_MAX ? NULL : calloc(*n_words, sizeof *w);
	if (w == NULL)
		return NULL;
	w[0] = DATA_MAGIC;
	w[1] = DATA_VERSION;
	w[2] = d->n_ranks;
	w[3] = d->n_gap;
	w[4] = d->n_vary;
	w[5] = d->array.n;
	w[6] = *n_words;
	w[8] = d->n_mix;
	if (windows > 0) {
		w[9] = head + d->n_pool;
		w[w[9]] = d->n_loop;
		memcpy(w + w[9] + 1, d->window, d->n_window * sizeof *w);
	}
	table_fill(w + gaps, &d->gap, d->n_gap, head);
	table_fill(w + varies, &d->vary, d->n_vary, head);
	table_fill(w + arrays, &d->array, 0, head);
	memcpy(w + mixes, d->mix, (size_t)d->n_mix * DATA_MIX * sizeof *d->mix);
	if (d->n_pool > 0)
		memcpy(w + head, d->pool, d->n_pool * sizeof *w);
	w[7] = XXH3_64bits(w, *n_words * sizeof *w);
	return w;
}
