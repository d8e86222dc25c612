/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's hot path and its pages of times: see record.h. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/record.h"
#include "trace/functions.h"
#include "trace/page.h"

#define PAGE_RAW      (256u << 10)
#define SPARE_VALUES  64u
#define STRUCTURE_MIN (512ull << 20) /* signatures and structure may take this much, or eight times the times */
#define SAMPLE_MASK   63u    /* the recorder's own cost is measured at every 64th event */

struct recorder rec;
__thread struct rec_thread rec_self __attribute__((tls_model("initial-exec")));
bool clock_is_tsc;

/* Guards `rec` and everything that is recorded, when rec.locking. */
static int lock_word;

void rec_lock(void)
{
	while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

void rec_unlock(void)
{
	__atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
}

static pthread_key_t at_thread_end;

static void thread_end(void *thread)
{
	struct rec_thread *t = thread;

	free(t->v);
	free(t->scratch[0]);
	free(t->scratch[1]);
	*t = (struct rec_thread){0};
}

void rec_thread_begin(struct rec_thread *t)
{
	static int64_t nowhere[REC_VALUES];
	pthread_attr_t a;
	void *lo;
	size_t size;

	t->v = malloc(REC_VALUES * sizeof(*t->v));
	t->cap = REC_VALUES;
	if (!t->v) {
		rec.broken = true;
		rec.on = false;
		t->v = nowhere;
		return;
	}
	pthread_setspecific(at_thread_end, t);
	if (pthread_getattr_np(pthread_self(), &a))
		return;
	if (!pthread_attr_getstack(&a, &lo, &size)) {
		t->stack_lo = (uintptr_t)lo;
		t->stack_hi = (uintptr_t)lo + size;
	}
	pthread_attr_destroy(&a);
}

int64_t *rec_room(struct rec_thread *t, uint32_t used, uint64_t n)
{
	uint64_t need = used + n + SPARE_VALUES, cap = t->cap;
	int64_t *v;

	if (need <= cap)
		return t->v;
	while (cap < need)
		cap *= 2;
	v = cap < UINT32_MAX ? malloc(cap * sizeof(*v)) : NULL;
	if (!v) {
		rec.broken = true;
		rec.on = false;
		return NULL;
	}
	memcpy(v, t->v, used * sizeof(*v));
	free(t->v);
	t->v = v;
	t->cap = (uint32_t)cap;
	return v;
}

void *rec_scratch(struct rec_thread *t, int slot, size_t size)
{
	void *p;

	if (size <= t->scratch_cap[slot])
		return t->scratch[slot];
	p = realloc(t->scratch[slot], size * 2);
	if (!p)
		return NULL;
	t->scratch[slot] = p;
	t->scratch_cap[slot] = size * 2;
	return p;
}

/* ---- pages ---- */

static void fail(void)
{
	rec.broken = true;
	rec.on = false;
}

/* A program whose calls never repeat would fill the memory: better no trace than no program. */
static bool structure_too_large(void)
{
	uint64_t bytes = rec.sigs.n_pool * sizeof(*rec.sigs.pool) + rec.sigs.n * (sizeof(*rec.sigs.sig) + 16ull) +
			 fold_items(rec.fold) * 32;
	uint64_t limit = 8ull * rec.page_bytes_max;

	return bytes > (limit > STRUCTURE_MIN ? limit : STRUCTURE_MIN);
}

static void flush_times(uint64_t t1)
{
	struct trace_page m = {.type = TPAGE_TIMES, .rank = rec.rank, .first = rec.page_first,
			       .n = rec.n_events - rec.page_first, .t0 = rec.page_t0 - rec.start,
			       .t1 = t1 - rec.start};
	struct buf *b;

	if (rec.page_bytes >= rec.page_bytes_max) {
		rec.dropped_pages++;
		goto out;
	}
	if (rec.n_page == rec.cap_page) {
		uint32_t cap = rec.cap_page ? rec.cap_page * 2 : 64;
		struct buf *p = realloc(rec.page, cap * sizeof(*p));

		if (!p)
			goto drop;
		rec.page = p;
		rec.cap_page = cap;
	}
	b = &rec.page[rec.n_page];
	*b = (struct buf){0};
	if (trace_page_encode(&m, rec.times.data, rec.times.len, b) < 0) {
		buf_free(b);
		goto drop;
	}
	if (b->len < b->cap) { /* the encoder reserves for the worst case */
		uint8_t *p = realloc(b->data, b->len);

		if (p) {
			b->data = p;
			b->cap = b->len;
		}
	}
	rec.n_page++;
	rec.page_bytes += b->len;
	goto out;
drop:
	rec.dropped_pages++;
out:
	rec.times.len = 0;
	rec.page_first = rec.n_events;
	rec.page_t0 = t1;
}

/* ---- events ---- */

/* The same encoding as buf_put_uv, into room that is known to be there. */
static inline uint8_t *put_uv(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static void sample_overhead(const struct rec_call *c)
{
	uint64_t d = clock_ticks() - c->t1;

	if (d < rec.tiny_gap / 2 * 3) { /* a longer one was an interruption */
		rec.overhead_sum += (double)d;
		rec.overhead_n++;
	}
}

static inline uint32_t symbol_of(struct rec_call *c, uint16_t fn, uint32_t n)
{
	struct site_cached *at = c->at;
	const int64_t *v = c->self->v;
	uint32_t sym;

	if (at && at->memo_n == n && at->memo_fn == fn) {
		int64_t differ = 0;

		for (uint32_t i = 0; i < n; i++)
			differ |= at->memo[i] ^ v[i];
		if (!differ)
			return at->memo_sym;
	}
	sym = sigtable_intern(&rec.sigs, fn, c->site, v, n);
	if (at && n <= SITE_MEMO && sym != UINT32_MAX) {
		at->memo_n = n;
		at->memo_fn = fn;
		at->memo_sym = sym;
		memcpy(at->memo, v, n * sizeof(*v));
	}
	return sym;
}

void rec_event(struct rec_call *c, uint16_t fn, uint32_t n)
{
	int64_t gap = (int64_t)(c->t0 - rec.last_end), dur = (int64_t)(c->t1 - c->t0);
	uint32_t sym = symbol_of(c, fn, n);
	uint8_t *p = rec.times.data + rec.times.len;

	/* Threads overlap, and counters of two processors may differ by a little. */
	gap = (gap > 0 ? gap : 0) + (int64_t)rec.held_gap;
	dur = dur > 0 ? dur : 0;
	rec.held_gap = 0;
	if (sym == UINT32_MAX) {
		fail();
		goto out;
	}
	fold_push(rec.fold, sym);
	p = put_uv(p, (uint64_t)gap);
	p = put_uv(p, (uint64_t)dur);
	rec.times.len = (size_t)(p - rec.times.data);
	rec.n_events++;
	rec.last_end = c->t1;
	if (__builtin_expect(rec.times.len > PAGE_RAW, 0)) {
		flush_times(c->t1);
		c->slow = 1;
		if (structure_too_large())
			fail();
	}
	if (__builtin_expect(c->slow, 0))
		rec.last_end = clock_ticks();
	else if (__builtin_expect(!(rec.n_events & SAMPLE_MASK), 0))
		sample_overhead(c);
	if (__builtin_expect(fold_failed(rec.fold), 0))
		fail();
out:
	if (rec.locking)
		rec_unlock();
}

/* ---- begin and end ---- */

int rec_begin(uint32_t rank, bool locking, size_t memory)
{
	struct timespec nap = {.tv_nsec = 200000};
	uint64_t ns, ticks;

	rec = (struct recorder){.rank = rank, .locking = locking, .page_bytes_max = memory};
	clock_is_tsc = clock_has_tsc();
	rec.fold = fold_create();
	if (!rec.fold || sigtable_init(&rec.sigs) < 0 || buf_reserve(&rec.times, PAGE_RAW + 64) < 0 ||
	    pthread_key_create(&at_thread_end, thread_end))
		return -1;
	ns = clock_ns(CLOCK_MONOTONIC);
	ticks = clock_ticks();
	nanosleep(&nap, NULL);
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	ticks = clock_ticks() - ticks;
	rec.tiny_gap = ns ? ticks * 2000 / ns : 2000;
	rec.start = rec.last_end = rec.page_t0 = clock_ticks();
	return 0;
}

void rec_end(void)
{
	rec.on = false;
	if (rec.n_events > rec.page_first)
		flush_times(rec.last_end);
}

uint32_t rec_n_pages(void)
{
	return rec.n_page;
}

size_t rec_page_size(uint32_t i)
{
	return rec.page[i].len;
}

int rec_page_take(uint32_t i, struct buf *out)
{
	buf_put(out, rec.page[i].data, rec.page[i].len);
	buf_free(&rec.page[i]);
	return out->failed ? -1 : 0;
}
