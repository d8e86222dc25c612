/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control points, from the program's side: the only code that its time is spent in. A thread writes into its own ring,
 * which it found in thread-local storage; nobody else writes there, and nobody is waited for. Beginnings and ends of runs
 * always leave room for the end, so that a run whose points were dropped is known as such.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/api/session.h"
#include "model/api/ticks.h"

#define SLOTS	   8 /* sessions of a thread at a time */
#define RESERVE	   RECORD_WORDS
#define EXACT_INTS (INT64_C(1) << 53)

struct slot {
	const struct precedent_model *m;
	uint64_t serial;
	struct ring *ring;
};
static __thread struct slot slots[SLOTS];
static __thread unsigned next_slot;

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static bool thread_key_there;

static void ring_free(struct ring *r)
{
	if (r->word)
		munmap(r->word, (r->mask + 1) * sizeof(*r->word));
	run_log_free(r->log);
	free(r->input);
	free(r);
}

void ring_unref(struct ring *r)
{
	if (r && atomic_fetch_sub(&r->refs, 1) == 1)
		ring_free(r);
}

static void slot_leave(struct slot *s)
{
	if (!s->ring)
		return;
	atomic_store_explicit(&s->ring->orphan, true, memory_order_release);
	ring_unref(s->ring);
	*s = (struct slot){0};
}

static void thread_end(void *arg)
{
	(void)arg;
	for (int i = 0; i < SLOTS; i++)
		slot_leave(&slots[i]);
}

static void thread_key_make(void)
{
	thread_key_there = pthread_key_create(&thread_key, thread_end) == 0;
}

/* The memory of the ring is there from the beginning: no page is first touched while the program works. Without memory
 * there is a ring into which nothing fits. */
static struct ring *ring_create(const struct precedent_model *m)
{
	struct ring *r = aligned_alloc(RING_ALIGN, (sizeof(*r) + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN);

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->last_point = -1;
	r->refs = 2;
	r->input = calloc(m->n_inputs + 1u, sizeof(*r->input));
	if (!r->input) {
		free(r);
		return NULL;
	}
	r->word = mmap(NULL, m->ring_words * sizeof(*r->word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		       0);
	if (r->word == MAP_FAILED)
		r->word = NULL;
	else
		r->mask = m->ring_words - 1;
	return r;
}

static struct ring *ring_attach(struct precedent_model *m)
{
	struct slot *s = &slots[next_slot++ % SLOTS];
	struct ring *r, *first;

	pthread_once(&thread_once, thread_key_make);
	if (!thread_key_there || pthread_setspecific(thread_key, slots))
		return NULL;
	slot_leave(s);
	r = ring_create(m);
	if (!r)
		return NULL;
	if (atomic_fetch_add(&m->n_rings, 1) >= SESSION_THREADS_MAX) {
		atomic_fetch_sub(&m->n_rings, 1);
		ring_free(r);
		return NULL;
	}
	first = atomic_load(&m->rings);
	do {
		atomic_store(&r->next, first);
	} while (!atomic_compare_exchange_weak(&m->rings, &first, r));
	*s = (struct slot){m, m->serial, r};
	return r;
}

struct ring *ring_mine(const struct precedent_model *m)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].m == m && slots[i].serial == m->serial)
			return slots[i].ring;
	return NULL;
}

static inline struct ring *ring_of(const struct precedent_model *m)
{
	const struct slot *s = &slots[0];

	if (__builtin_expect(s->m == m && s->serial == m->serial, 1))
		return s->ring;
	return ring_mine(m);
}

static inline bool is_on(const struct precedent_model *m)
{
	return m && atomic_load_explicit(&m->state, memory_order_relaxed) == PRECEDENT_MODEL_STATE_ON;
}

/* Only the owner writes these counts. */
static inline void count_one(_Atomic uint64_t *n)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline bool ring_fits(struct ring *r, uint64_t head, uint32_t words)
{
	if (__builtin_expect(head + words - r->seen_tail <= r->mask, 1))
		return true;
	r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	return head + words - r->seen_tail <= r->mask;
}

static inline uint64_t record_head(const struct ring *r, enum record_kind kind, uint32_t point, uint32_t n)
{
	return (uint64_t)kind << 60 | (uint64_t)n << 48 | (uint64_t)point << 32 | r->run;
}

static inline uint64_t word_of(double x)
{
	uint64_t w;

	memcpy(&w, &x, sizeof(w));
	return w;
}

/* The ring with room for the record, or NULL when this point does not count. */
static inline struct ring *mark_ring(precedent_model *m, int32_t point, const void *values, uint32_t n)
{
	struct ring *r = ring_of(m);

	if (__builtin_expect(!r, 0)) {
		atomic_fetch_add_explicit(&m->outside_anywhere, 1, memory_order_relaxed);
		return NULL;
	}
	if (__builtin_expect(!r->in_run || point <= 0 || point >= PRECEDENT_MODEL_POINTS_MAX || (n && !values), 0)) {
		count_one(&r->outside);
		return NULL;
	}
	if (__builtin_expect(r->spoilt || n > PRECEDENT_MODEL_VALUES_MAX ||
			     !ring_fits(r, atomic_load_explicit(&r->head, memory_order_relaxed), RECORD_WORDS + n + RESERVE), 0)) {
		r->spoilt = true;
		count_one(&r->dropped);
		return NULL;
	}
	return r;
}

static inline void mark_done(struct ring *r, uint64_t head, int32_t point, uint32_t n)
{
	atomic_store_explicit(&r->head, head + RECORD_WORDS + n, memory_order_release);
	r->last_point = point;
	r->rows++;
}

/* A whole number that a double cannot hold is no number. */
static inline uint64_t word_of_int(int64_t x)
{
	return word_of(x >= -EXACT_INTS && x <= EXACT_INTS ? (double)x : NAN);
}

/* Inlined, so that neither kind of values asks for each which it is. */
static inline __attribute__((always_inline)) void mark(precedent_model *m, int32_t point, const void *values, uint32_t n, bool ints)
{
	uint64_t now, head;
	struct ring *r;

	if (!is_on(m))
		return;
	now = ticks_now();
	r = mark_ring(m, point, values, n);
	if (!r)
		return;
	head = atomic_load_explicit(&r->head, memory_order_relaxed);
	r->word[head & r->mask] = record_head(r, RECORD_MARK, (uint32_t)point, n);
	r->word[(head + 1) & r->mask] = now;
	for (uint32_t i = 0; i < n; i++)
		r->word[(head + RECORD_WORDS + i) & r->mask] =
			ints ? word_of_int(((const int64_t *)values)[i]) : word_of(((const double *)values)[i]);
	mark_done(r, head, point, n);
}

void precedent_model_mark(precedent_model *m, int32_t point, const double *values, uint32_t n)
{
	mark(m, point, values, n, false);
}

void precedent_model_mark_ints(precedent_model *m, int32_t point, const int64_t *values, uint32_t n)
{
	mark(m, point, values, n, true);
}

/* A run that does not fit, or has not its inputs, is spoilt from the beginning. */
void precedent_model_begin(precedent_model *m, const double *inputs, uint32_t n)
{
	struct ring *r;
	uint64_t head;

	if (!is_on(m))
		return;
	r = ring_of(m);
	if (!r)
		r = ring_attach(m);
	if (!r) {
		atomic_fetch_add_explicit(&m->outside_anywhere, 1, memory_order_relaxed);
		return;
	}
	head = atomic_load_explicit(&r->head, memory_order_relaxed);
	r->run++;
	r->rows = 0;
	r->last_point = -1;
	r->in_run = true;
	r->begun = n == m->n_inputs && (inputs || !n) && ring_fits(r, head, RECORD_WORDS + n + RESERVE);
	r->spoilt = !r->begun;
	if (!r->begun) {
		count_one(&r->dropped);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		r->input[i] = inputs[i];
		r->word[(head + RECORD_WORDS + i) & r->mask] = word_of(inputs[i]);
	}
	r->word[head & r->mask] = record_head(r, RECORD_BEGIN, 0, n);
	r->word[(head + 1) & r->mask] = ticks_now();
	atomic_store_explicit(&r->head, head + RECORD_WORDS + n, memory_order_release);
}

void precedent_model_end(precedent_model *m)
{
	uint64_t now, head;
	struct ring *r;

	if (!is_on(m))
		return;
	now = ticks_now();
	r = ring_of(m);
	if (!r || !r->in_run) {
		atomic_fetch_add_explicit(&m->outside_anywhere, 1, memory_order_relaxed);
		return;
	}
	r->in_run = false;
	head = atomic_load_explicit(&r->head, memory_order_relaxed);
	if (!r->begun)
		return;
	/* The room was kept free. */
	r->word[head & r->mask] = record_head(r, RECORD_END, r->spoilt, 0);
	r->word[(head + 1) & r->mask] = now;
	atomic_store_explicit(&r->head, head + RECORD_WORDS, memory_order_release);
}
