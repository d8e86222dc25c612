/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of times and structure: see pages.h. */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/pages.h"
#include "trace/format/times.h"
#include "trace/functions.h"

#define RAW_MAX     (256u << 10)
#define RAW_ALL     (64u << 20) /* total size of one raw page of every rank */
#define RAW_MIN     4096u
#define LEAVE_MAX   4u     /* pages that are dropped per flush */
#define LOOSE_MAX   512u   /* pages of symbols before structure is written */
#define LOOSE_BYTES (1u << 20)
#define FIRST_SHIFT 14u    /* initial step of the time line: 1 << FIRST_SHIFT ticks */

int pages_begin(struct pages *p, const char *local, const char *id, uint32_t rank, uint32_t n_ranks, uint64_t bytes_max,
		struct fold *fold, const struct sigtable *sigs, struct errbuf *err)
{
	uint64_t raw = RAW_ALL / (n_ranks ? n_ranks : 1);

	*p = (struct pages){.rank = rank, .bytes_max = bytes_max, .fold = fold, .sigs = sigs, .hist_entry = -1,
			    .levels_entry = -1, .struct_entry = -1};
	if (raw > bytes_max / 16)
		raw = bytes_max / 16;
	p->raw_max = raw > RAW_MAX ? RAW_MAX : raw < RAW_MIN ? RAW_MIN : (uint32_t)raw;
	hist_table_init(&p->hist, TRACE_FN_N);
	if (spill_open(&p->spill, local, id, rank, (struct spill_size){n_ranks, p->raw_max}, err) < 0)
		return -1;
	if (levels_init(&p->levels, FIRST_SHIFT) < 0 || buf_reserve(&p->times, p->raw_max + 4096u) < 0 ||
	    buf_reserve(&p->symbols, p->raw_max + 4096u) < 0)
		return err_set(err, "no memory");
	return 0;
}

static enum trace_state state_of(const struct pages *p, uint32_t symbol)
{
	return trace_class_state((enum trace_class)trace_fn[p->sigs->sig[symbol].fn].cls);
}

/* ---- taking the stream apart ---- */

static inline uint64_t get_uv(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (**p & 0x80) {
		v |= (uint64_t)(*(*p)++ & 0x7f) << shift;
		shift += 7;
	}
	return v | (uint64_t)*(*p)++ << shift;
}

static inline void put_uv(struct buf *b, uint64_t v)
{
	uint8_t *p = b->data + b->len;

	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	b->len = (size_t)(p - b->data);
}

/* Add an event's times to the time line. at: end of the event before. Returns the event's end. */
static uint64_t lay_event_times(struct levels *l, uint64_t sum[TSTATE_N], uint64_t at, const struct times_one *t, enum trace_state s)
{
	if (t->poll)
		levels_add(l, at, at + t->poll, TSTATE_WAITING);
	at += t->poll + t->own;
	levels_add(l, at, at + t->gap, TSTATE_WORKING);
	at += t->gap;
	levels_add(l, at, at + t->duration, s);
	sum[TSTATE_WAITING] += t->poll;
	sum[TSTATE_WORKING] += t->gap;
	sum[s] += t->duration;
	return at + t->duration;
}

/* Split the stream into symbols, times and idle times. Returns the number of events. */
static uint64_t take_apart(struct pages *p, uint64_t sum[TSTATE_N])
{
	const struct spill_live *live = p->spill.live;
	const uint8_t *in = p->spill.stream, *end = in + live->stream_len;
	struct times_one t = {0};
	uint64_t n = 0, last_idle = 0, at = live->stream_tick;

	buf_reset(&p->times);
	buf_reset(&p->symbols);
	buf_reset(&p->idle);
	while (in < end) {
		uint64_t tag = get_uv(&in);

		if (!tag) {
			t.poll = get_uv(&in);
			t.own = get_uv(&in);
			buf_put_uv(&p->idle, n - last_idle);
			buf_put_uv(&p->idle, t.poll);
			buf_put_uv(&p->idle, t.own);
			last_idle = n;
			continue;
		}
		t.gap = get_uv(&in);
		t.duration = get_uv(&in);
		fold_push(p->fold, (uint32_t)(tag - 1));
		if (fold_failed(p->fold))
			break;
		put_uv(&p->symbols, tag - 1);
		put_uv(&p->times, t.gap);
		put_uv(&p->times, t.duration);
		at = lay_event_times(&p->levels, sum, at, &t, state_of(p, (uint32_t)(tag - 1)));
		t = (struct times_one){0};
		n++;
	}
	if (!p->idle.failed)
		buf_put(&p->times, p->idle.data, p->idle.len);
	for (int s = 0; s < TSTATE_N; s++)
		p->state[s] += sum[s];
	return n;
}

/* ---- giving times up ---- */

static int give_up(struct pages *p, const struct buf *times, const struct buf *symbols, uint64_t n, uint64_t t0)
{
	struct rdbuf in = {.data = symbols->data, .len = symbols->len};
	struct times_walk w;
	struct times_one t;
	uint64_t at = t0;

	p->given_up += n;
	if (!p->given_up_levels.step && levels_init(&p->given_up_levels, p->levels.shift) < 0)
		return -1;
	if (times_begin(&w, times->data, times->len, n) < 0)
		return -1;
	while (times_next(&w, &t)) {
		uint64_t symbol = rdbuf_uv(&in);

		if (in.failed || symbol >= p->sigs->n)
			return -1;
		at = lay_event_times(&p->given_up_levels, p->given_up_state, at, &t, state_of(p, (uint32_t)symbol));
		if (hist_table_add(&p->hist, (uint32_t)symbol, p->sigs->sig[symbol].fn, t.gap, t.duration) < 0)
			return -1;
	}
	return 0;
}

/* Decode a page of the spill. The result is in p->raw, valid until the next call. */
static int load_spilled(struct pages *p, int32_t entry, struct buf *raw)
{
	struct trace_page m;
	struct errbuf err;

	*raw = (struct buf){0};
	buf_reset(&p->page);
	if (entry < 0 || spill_get(&p->spill, entry, &p->page) < 0 || trace_page_header(p->page.data, &m) < 0 ||
	    trace_page_payload(&m, p->page.data, p->page.data + TRACE_PAGE_HEADER, &raw->data, &err) < 0)
		return -1;
	raw->len = raw->cap = m.raw_len;
	return 0;
}

static void give_up_kept(struct pages *p, struct page_kept *k)
{
	struct buf times, symbols = {0};

	if (load_spilled(p, k->times, &times) == 0 && load_spilled(p, k->symbols, &symbols) == 0)
		give_up(p, &times, &symbols, k->n, k->t0);
	else
		p->given_up += k->n;
	buf_free(&times);
	buf_free(&symbols);
	k->leaving = true;
	p->spill.entry[k->times].epoch = p->epoch + 1;
}

static bool too_many(const struct pages *p)
{
	return p->n_kept > 2 && (p->bytes > p->bytes_max || p->n_kept > p->spill.n_entry / 4);
}

/* Drop a few pages if there are too many; further ones are dropped in the next calls. */
static bool thin_out(struct pages *p)
{
	unsigned n = 0;

	while (n < LEAVE_MAX && too_many(p)) {
		uint64_t mask = (1ull << p->sampling) - 1;
		uint32_t i = 0;

		while (i < p->n_kept && (p->kept[i].leaving || !(p->kept[i].number & mask)))
			i++;
		if (i < p->n_kept) {
			give_up_kept(p, &p->kept[i]);
			n++;
		} else if (n) {
			break;
		} else {
			p->sampling++;
		}
	}
	return n > 0;
}

/* ---- in the file ---- */

static int put_page(struct pages *p, struct trace_page *m, uint64_t epoch, const struct buf *raw, bool must)
{
	bool quickly = m->type == (enum trace_page_type)SPAGE_SYMBOLS ||
		       (m->type == TPAGE_TIMES && m->t1 - m->t0 < p->dense_ticks * m->n);

	m->rank = p->rank;
	buf_reset(&p->page);
	if (raw->failed || (quickly ? trace_page_encode_passing : trace_page_encode)(m, raw->data, raw->len, &p->page) < 0)
		return -1;
	return spill_put(&p->spill, m, epoch, &p->page, must);
}

static void replace_page(struct pages *p, int32_t *entry, int32_t by)
{
	if (*entry >= 0)
		spill_drop(&p->spill, *entry);
	*entry = by;
}

/* Write a version of the dropped times. It is valid once its HIST page is in the file together with the LEVELS
 * page of the same number. */
static void write_given_up(struct pages *p, uint64_t events)
{
	struct trace_page h = {.type = TPAGE_HIST, .first = events, .n = p->given_up}, l = {.type = TPAGE_LEVELS};
	int32_t levels, hist;

	if (!spill_protects(&p->spill))
		return;
	buf_reset(&p->raw);
	levels_encode(&p->given_up_levels, &p->raw);
	levels = put_page(p, &l, p->epoch + 1, &p->raw, false);
	if (levels < 0)
		return;
	memcpy(h.state, p->given_up_state, sizeof(h.state));
	buf_reset(&p->raw);
	hist_table_encode(&p->hist, &p->raw);
	hist = put_page(p, &h, p->epoch + 1, &p->raw, false);
	if (hist < 0)
		return;
	replace_page(p, &p->hist_entry, hist);
	replace_page(p, &p->levels_entry, levels);
}

/* Symbols of dropped times stay in the file until structure covers them. */
static void loosen(struct pages *p, int32_t entry)
{
	const struct spill_entry *e = entry < 0 ? NULL : &p->spill.entry[entry];

	if (!e)
		return;
	if (p->spill.memory[entry].data || e->first + e->n <= p->struct_events) {
		spill_drop(&p->spill, entry);
		return;
	}
	if (p->n_loose == p->cap_loose) {
		uint32_t cap = p->cap_loose ? p->cap_loose * 2 : 64;
		int32_t *l = realloc(p->loose, cap * sizeof(*l));

		if (!l)
			return; /* only this entry's room is lost */
		p->loose = l;
		p->cap_loose = cap;
	}
	p->loose[p->n_loose++] = entry;
	p->loose_bytes += e->len;
}

/* Remove the dropped pages from the file: their times are in histograms. */
static void remove_left(struct pages *p)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < p->n_kept; i++) {
		struct page_kept *k = &p->kept[i];

		if (!k->leaving) {
			p->kept[to++] = *k;
			continue;
		}
		p->bytes -= k->bytes;
		spill_drop(&p->spill, k->times);
		loosen(p, k->symbols);
	}
	p->n_kept = to;
}

/* When pages of symbols get larger than the structure, write the structure up to here in one page instead. */
static void write_structure(struct pages *p, uint64_t events)
{
	struct trace_page m = {.type = TPAGE_STRUCT, .n = events};
	int32_t e;

	if (!spill_protects(&p->spill) ||
	    (p->n_loose < LOOSE_MAX && p->loose_bytes < LOOSE_BYTES + 2 * p->struct_bytes))
		return;
	buf_reset(&p->raw);
	if (fold_encode(p->fold, &p->raw) < 0)
		return;
	e = put_page(p, &m, 0, &p->raw, false);
	if (p->raw.cap > 4u << 20)
		buf_free(&p->raw);
	if (e < 0)
		return;
	replace_page(p, &p->struct_entry, e);
	p->struct_events = events;
	p->struct_bytes = p->spill.entry[e].len;
	for (uint32_t i = 0; i < p->n_loose; i++)
		spill_drop(&p->spill, p->loose[i]);
	p->n_loose = 0;
	p->loose_bytes = 0;
}

static struct page_kept *new_kept(struct pages *p)
{
	if (p->n_kept == p->cap_kept) {
		uint32_t cap = p->cap_kept ? p->cap_kept * 2 : 64;
		struct page_kept *k = realloc(p->kept, cap * sizeof(*k));

		if (!k)
			return NULL;
		p->kept = k;
		p->cap_kept = cap;
	}
	return &p->kept[p->n_kept];
}

/* Keep a page of times. Returns 0; -1 if there is no room, and its times go to histograms. */
static int keep_page(struct pages *p, struct trace_page *m, int32_t symbols)
{
	struct page_kept *k = new_kept(p);

	if (!k)
		return -1;
	*k = (struct page_kept){.number = p->number, .first = m->first, .n = m->n, .t0 = m->t0, .t1 = m->t1,
				.symbols = symbols};
	m->type = TPAGE_TIMES;
	k->times = put_page(p, m, 0, &p->times, true);
	if (k->times < 0)
		return -1;
	k->bytes = p->spill.entry[k->times].len + (symbols >= 0 ? p->spill.entry[symbols].len : 0);
	p->bytes += k->bytes;
	p->n_kept++;
	return 0;
}

uint64_t pages_flush(struct pages *p, uint64_t end)
{
	struct spill_live *live = p->spill.live;
	struct trace_page m = {.type = (enum trace_page_type)SPAGE_SYMBOLS, .first = live->stream_first,
			       .t0 = live->stream_tick, .t1 = end};
	bool wanted = !(p->number & ((1ull << p->sampling) - 1)), gave_up = false;
	int32_t symbols = -1;
	uint64_t sum[TSTATE_N] = {0};

	m.n = take_apart(p, sum);
	memcpy(m.state, sum, sizeof(m.state));
	if (m.n && (wanted || spill_protects(&p->spill)))
		symbols = put_page(p, &m, 0, &p->symbols, wanted);
	if (m.n && (!wanted || keep_page(p, &m, symbols) < 0)) {
		give_up(p, &p->times, &p->symbols, m.n, m.t0);
		gave_up = true;
		loosen(p, symbols);
	}
	gave_up |= thin_out(p);
	if (gave_up) {
		write_given_up(p, m.first + m.n);
		p->epoch++;
		remove_left(p);
	}
	write_structure(p, m.first + m.n);
	p->number++;
	pages_forget(p, m.first + m.n, end);
	return m.n;
}

void pages_forget(struct pages *p, uint64_t first, uint64_t end)
{
	struct spill_live *live = p->spill.live;

	__atomic_store_n(&live->stream_len, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&live->stream_first, first, __ATOMIC_RELEASE);
	__atomic_store_n(&live->stream_tick, end, __ATOMIC_RELEASE);
}

bool pages_thin(struct pages *p)
{
	if (!p->n_kept)
		return p->hist.n_own && hist_table_share(&p->hist, p->sigs) == 0;
	for (uint32_t i = p->n_kept > 1; i < p->n_kept; i += 2)
		give_up_kept(p, &p->kept[i]);
	remove_left(p);
	return true;
}

int pages_tail(struct pages *p, struct buf *out)
{
	struct trace_page h = {.type = TPAGE_HIST, .rank = p->rank, .n = p->given_up}, l = {.type = TPAGE_LEVELS, .rank = p->rank};

	buf_reset(&p->raw);
	levels_limit(&p->levels, LEVELS_LEAST + fold_length(p->fold) / LEVELS_CALLS);
	levels_encode(&p->levels, &p->raw);
	if (p->raw.failed || trace_page_encode(&l, p->raw.data, p->raw.len, out) < 0)
		return -1;
	if (!p->given_up)
		return 0;
	memcpy(h.state, p->given_up_state, sizeof(h.state));
	buf_reset(&p->raw);
	hist_table_encode(&p->hist, &p->raw);
	return p->raw.failed ? -1 : trace_page_encode(&h, p->raw.data, p->raw.len, out);
}

void pages_free(struct pages *p)
{
	struct buf *all[] = {&p->times, &p->idle, &p->symbols, &p->page, &p->raw};

	spill_remove(&p->spill);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		buf_free(all[i]);
	levels_free(&p->levels);
	levels_free(&p->given_up_levels);
	hist_table_free(&p->hist);
	free(p->kept);
	free(p->loose);
	p->kept = NULL;
	p->loose = NULL;
	p->n_kept = p->cap_kept = p->n_loose = p->cap_loose = 0;
}
