/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of times: see hist.h. Functions that only readers need are in hist_stats.c. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/hist.h"
#include "common/array.h"

unsigned hist_bin(uint64_t v)
{
	unsigned e;

	if (!v)
		return 0;
	e = 63u - (unsigned)__builtin_clzll(v);
	if (e >= HIST_OCTAVES)
		return HIST_BINS - 1;
	return 1 + 4 * e + (unsigned)((e >= 2 ? v >> (e - 2) : v << (2 - e)) & 3);
}

static void add_time(struct hist *h, uint64_t v)
{
	h->n++;
	h->sum += (double)v;
	h->sum_squares += (double)v * (double)v;
	h->bin[hist_bin(v)]++;
}

void hist_table_init(struct hist_table *t, uint32_t n_fn)
{
	*t = (struct hist_table){.n_fn = n_fn};
}

void hist_table_free(struct hist_table *t)
{
	free(t->entry);
	free(t->of_symbol);
	free(t->of_fn);
	*t = (struct hist_table){0};
}

/* Add an entry for the symbol. Returns its number + 1, or 0 if memory runs out. */
static uint32_t new_entry(struct hist_table *t, uint32_t symbol, uint16_t fn, bool shared)
{
	if (ARRAY_ROOM(t->entry, t->cap, t->n + 1) != 0)
		return 0;
	if (shared && !t->of_fn && !(t->of_fn = calloc(t->n_fn, sizeof(*t->of_fn))))
		return 0;
	if (!shared && ARRAY_ROOM_ZEROED(t->of_symbol, t->cap_symbol, (size_t)symbol + 1) != 0)
		return 0;
	memset(&t->entry[t->n], 0, sizeof(t->entry[t->n]));
	t->entry[t->n].symbol = symbol;
	t->entry[t->n].shared = shared;
	t->n++;
	if (shared)
		t->of_fn[fn] = t->n;
	else
		t->of_symbol[symbol] = t->n;
	t->n_own += !shared;
	return t->n;
}

static uint32_t find_entry(const struct hist_table *t, uint32_t symbol, uint16_t fn)
{
	uint32_t e = symbol < t->cap_symbol ? t->of_symbol[symbol] : 0;

	return e || !t->of_fn || fn >= t->n_fn ? e : t->of_fn[fn];
}

int hist_table_add(struct hist_table *t, uint32_t symbol, uint16_t fn, uint64_t gap, uint64_t duration)
{
	uint32_t e = symbol < t->cap_symbol ? t->of_symbol[symbol] : 0;

	if (__builtin_expect(!e, 0)) {
		bool shared = t->n_own >= HIST_SYMBOLS;

		e = shared && t->of_fn ? t->of_fn[fn] : 0;
		if (!e && !(e = new_entry(t, symbol, fn, shared)))
			return -1;
	}
	add_time(&t->entry[e - 1].gap, gap);
	add_time(&t->entry[e - 1].duration, duration);
	t->events++;
	return 0;
}

void hist_join(struct hist *into, const struct hist *h)
{
	into->n += h->n;
	into->sum += h->sum;
	into->sum_squares += h->sum_squares;
	for (unsigned b = 0; b < HIST_BINS; b++)
		into->bin[b] += h->bin[b];
}

int hist_table_share(struct hist_table *t, const struct sigtable *sigs)
{
	struct hist_table all;

	hist_table_init(&all, t->n_fn);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct hist_entry *from = &t->entry[i];
		uint16_t fn = sigs->sig[from->symbol].fn;
		uint32_t e = all.of_fn ? all.of_fn[fn] : 0;

		if (!e && !(e = new_entry(&all, from->symbol, fn, true))) {
			hist_table_free(&all);
			return -1;
		}
		hist_join(&all.entry[e - 1].gap, &from->gap);
		hist_join(&all.entry[e - 1].duration, &from->duration);
	}
	all.events = t->events;
	hist_table_free(t);
	*t = all;
	return 0;
}

const struct hist_entry *hist_table_find(const struct hist_table *t, uint32_t symbol, uint16_t fn)
{
	uint32_t e = find_entry(t, symbol, fn);

	return e ? &t->entry[e - 1] : NULL;
}

/* ---- encoding ---- */

static void put_double(struct buf *b, double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	buf_put_u64(b, u);
}

static double get_double(struct rdbuf *in)
{
	uint64_t u = rdbuf_u64(in);
	double v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

static void encode_hist(const struct hist *h, struct buf *out)
{
	unsigned bins = 0;

	for (unsigned b = 0; b < HIST_BINS; b++)
		bins += h->bin[b] != 0;
	buf_put_uv(out, h->n);
	put_double(out, h->sum);
	put_double(out, h->sum_squares);
	buf_put_uv(out, bins);
	for (unsigned b = 0; b < HIST_BINS; b++) {
		if (!h->bin[b])
			continue;
		buf_put_uv(out, b);
		buf_put_uv(out, h->bin[b]);
	}
}

void hist_table_encode(const struct hist_table *t, struct buf *out)
{
	buf_put_uv(out, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		buf_put_uv(out, (uint64_t)t->entry[i].symbol << 1 | t->entry[i].shared);
		encode_hist(&t->entry[i].gap, out);
		encode_hist(&t->entry[i].duration, out);
	}
}

static int decode_hist(struct rdbuf *in, struct hist *h)
{
	uint64_t bins, sum = 0;

	h->n = rdbuf_uv(in);
	h->sum = get_double(in);
	h->sum_squares = get_double(in);
	bins = rdbuf_uv(in);
	if (in->failed || !(h->sum >= 0 && h->sum < 1e30) || !(h->sum_squares >= 0 && h->sum_squares < 1e60) ||
	    bins > HIST_BINS)
		return -1;
	for (uint64_t i = 0; i < bins; i++) {
		uint64_t b = rdbuf_uv(in), n = rdbuf_uv(in);

		if (in->failed || b >= HIST_BINS || h->bin[b] || n > h->n - sum)
			return -1;
		h->bin[b] = n;
		sum += n;
	}
	return sum == h->n ? 0 : -1;
}

int hist_table_decode(struct rdbuf *in, const struct sigtable *sigs, uint32_t n_fn, struct hist_table *t,
		      struct errbuf *err)
{
	uint64_t n = rdbuf_uv(in);

	hist_table_init(t, n_fn);
	/* An entry takes at least 37 bytes of input, which bounds the allocation. */
	if (in->failed || n > rdbuf_left(in) / 37 || n > HIST_SYMBOLS + n_fn)
		goto bad;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = rdbuf_uv(in), symbol = key >> 1;
		uint16_t fn;
		uint32_t e;

		if (in->failed || symbol >= sigs->n)
			goto bad;
		fn = sigs->sig[symbol].fn;
		if (key & 1 ? t->of_fn && t->of_fn[fn] : symbol < t->cap_symbol && t->of_symbol[symbol])
			goto bad;
		e = new_entry(t, (uint32_t)symbol, fn, key & 1);
		if (!e || decode_hist(in, &t->entry[e - 1].gap) < 0 || decode_hist(in, &t->entry[e - 1].duration) < 0 ||
		    t->entry[e - 1].gap.n != t->entry[e - 1].duration.n ||
		    __builtin_add_overflow(t->events, t->entry[e - 1].gap.n, &t->events))
			goto bad;
	}
	return 0;
bad:
	hist_table_free(t);
	return err_set(err, "malformed histograms");
}
