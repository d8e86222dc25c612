/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's hot path and pages: see record.h. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "spank/tracer/record.h"
#include "trace/format/defs_journal.h"
#include "trace/format/page.h"
#include "trace/functions.h"

#define SPARE_VALUES  64u
#define STRUCTURE_MIN (512ull << 20) /* limit for signatures and structure, or eight times the limit of times */
#define STRUCTURE_MOST (2ull * TRACE_PAGE_RAW_MAX) /* of a fold: its encoded form has less than half of these bytes */
#define SIGNATURE_KNOWN 40ull /* bytes: in the hash table, which is at most half full, in after.next and in the histograms */
#define SAMPLE_MASK   63u    /* the recorder's own cost is measured at every 64th event */

/* Used before and after there is a window in the spill file. */
static struct spill_live no_live;
static const uint64_t no_samples;
struct recorder rec = {.live = &no_live, .sample_head = &no_samples};
struct rec_polls rec_polls;
__thread struct rec_thread rec_self __attribute__((tls_model("initial-exec")));
bool clock_is_tsc;

#define THREADS 3 /* the MPI libraries' MPI_THREAD_MULTIPLE */

/* Guards `rec` and all recorded data if rec.locking is set. */
static int lock_word;

void rec_lock(void)
{
	while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	rec_self.holds_lock = true;
}

void rec_unlock(void)
{
	/* rec.locking may have been set since this thread passed the place where it would have locked. */
	if (!rec_self.holds_lock)
		return;
	rec_self.holds_lock = false;
	__atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
}

void rec_threads_meet(void)
{
	rec.locking = true;
	rec.pages.spill.header->thread_level = THREADS;
	spill_start(&rec.pages.spill); /* the header's hash covers the level */
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
		rec_stop("out of memory");
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
		rec_stop("out of memory");
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

/* ---- once in a while ---- */

static struct journal journal; /* guarded by the recorder's lock */
static struct buf tail;        /* final pages of levels and histograms */

void rec_stop(const char *why)
{
	rec.on = false;
	rec_polls.max = 0;
	if (rec.ended)
		return;
	rec.ended = why;
	snprintf(rec.live->ended, sizeof(rec.live->ended), "%s", why);
}

/* Calls that never repeat would fill the memory, so recording stops; earlier calls are kept. */
static bool structure_too_large(void)
{
	uint64_t bytes = rec.sigs.n_pool * sizeof(*rec.sigs.pool) + rec.sigs.n * (sizeof(*rec.sigs.sig) + SIGNATURE_KNOWN);
	uint64_t structure = fold_bytes(rec.fold);

	return bytes + structure > rec.structure_max || structure > STRUCTURE_MOST;
}

/* Definitions go to the file before the first call that refers to them. */
static void journal_new(void)
{
	struct trace_defs d = {0};
	struct buf b = {0};

	rec.n_journaled = rec.sigs.n;
	if (structure_too_large())
		rec_stop("structure too large");
	if (!spill_protects(&rec.pages.spill))
		return;
	if (rec.define)
		rec.define(&d);
	d.sigs = rec.sigs;
	journal_put(&journal, &d, site_address, &b);
	if (b.failed || spill_journal(&rec.pages.spill, b.data, b.len) < 0)
		rec.pages.spill.file_failed = true;
	buf_free(&b);
}

double rec_overhead(void)
{
	double looks = rec.overhead_n ? rec.overhead_sum / (double)rec.overhead_n : 0.0;

	return rec.cost_factor > 0 ? looks * rec.cost_factor : looks;
}

static void flush_stream(void)
{
	struct spill_live *l = rec.live;
	uint64_t first = l->stream_first, other = !l->clock, n;

	if (rec.watch) {
		pages_forget(&rec.pages, rec.n_events, rec.event_end - rec.start);
		return;
	}
	n = pages_flush(&rec.pages, rec.event_end - rec.start);
	if (first + n != rec.n_events || fold_failed(rec.fold)) {
		rec.n_events = first + n;
		rec_stop("out of memory");
	}
	if (structure_too_large())
		rec_stop("structure too large");
	l->overhead_ticks = rec_overhead();
	l->clock_mono_ns[other] = clock_ns(CLOCK_MONOTONIC);
	l->clock_ticks[other] = clock_ticks();
	__atomic_store_n(&l->clock, other, __ATOMIC_RELEASE);
}

/* ---- naps: polls with sleeps between them ---- */

#define NAP_MIN 25u /* tiny gaps: 50 us, by which the kernel lets any sleep last longer */

/* The thread at its last look. Threads that call at once are not looked at. */
static struct nap {
	bool known;    /* in this wait */
	bool expected; /* in the next wait: a look takes 1 us, a nap 50 or more */
	uint64_t tick, cpu_us;
	long sleeps;
	const struct rec_thread *thread; /* threads may poll in turn */
} naps;

static void nap_look(void)
{
	struct rusage u;

	naps.known = !rec.locking && !getrusage(RUSAGE_THREAD, &u);
	if (!naps.known)
		return;
	naps.tick = clock_ticks();
	naps.cpu_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
		     (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	naps.sleeps = u.ru_nvcsw;
	naps.thread = &rec_self;
}

/* Take the time asleep out of a gap behind an unsuccessful poll: it waits as the poll did. Returns the rest. */
static uint64_t without_nap(uint64_t gap)
{
	struct nap before = naps;
	uint64_t wall, cpu, asleep;

	if (gap < NAP_MIN * rec.tiny_gap)
		return gap;
	nap_look();
	if (!naps.known || !before.known || naps.thread != before.thread ||
	    naps.sleeps == before.sleeps) /* others had its processor */
		goto out;
	wall = naps.tick - before.tick;
	cpu = (naps.cpu_us - before.cpu_us) * rec.tiny_gap / 2; /* 2 us */
	asleep = wall > cpu ? wall - cpu : 0;
	asleep = asleep < gap ? asleep : gap;
	rec.live->poll_ticks += asleep;
	gap -= asleep;
out:
	naps.expected = naps.known;
	return gap;
}

/* ---- polls ---- */

#define STREAK_MIN   8u /* successive polls before the first untimed poll */
/* after each timed poll, as many untimed polls as were timed in a row, up to this number, plus 0 to 7 */
#define UNTIMED_MAX 100u

/* Add the polls that were only counted to the number in the spill file. Returns how many. */
static uint64_t count_polls(void)
{
	uint32_t n = rec_polls.n % REC_POLL_INSIDE;

	rec.live->polls += n;
	rec_polls.n -= n;
	return n;
}

void rec_poll_settle(struct rec_call *c)
{
	uint64_t n = count_polls(), mean = rec.poll_mean, end = c->t0 ? c->t0 : c->t1 - mean, all, polls, rest;

	if ((int64_t)(end - rec.last_end) < 0)
		end = rec.last_end;
	c->t0 = end;
	all = end - rec.last_end;
	polls = n * mean < all ? n * mean : all;
	rest = all - polls;
	if (rest > (n + 1) * rec.tiny_gap) {
		uint64_t awake = without_nap(rest);

		polls += rest - awake;
		rec.live->poll_ticks -= rest - awake; /* added below */
		rest = awake;
	}
	if (rest > (n + 1) * rec.tiny_gap) {
		uint64_t seen = rec.long_gap + rec.long_poll;
		uint64_t gap = seen ? (uint64_t)((double)rest * ((double)rec.long_gap / (double)seen)) : rest;

		rec.held_gap += gap;
		polls += rest - gap;
		rest = 0;
		rec.poll_streak = 0;
		rec_polls.max = 0;
	}
	rec.live->poll_ticks += polls;
	rec.last_end = end - rest / (n + 1);
}

void rec_poll_timed(struct rec_call *c)
{
	uint64_t gap, took = c->t1 - c->t0, most = rec.poll_mean ? 2 * rec.poll_mean : rec.tiny_gap;
	uint64_t usual = took < most ? took : most;

	if (rec_polls.n)
		rec_poll_settle(c);
	gap = c->t0 - rec.last_end;
	if (!rec.poll_streak)
		naps.known = false;
	if ((int64_t)gap > (int64_t)rec.tiny_gap) {
		if (rec.poll_streak)
			gap = without_nap(gap);
		rec.held_gap += gap;
		/* time before the first poll of a streak tells nothing about time between polls */
		if (rec.poll_streak)
			rec.long_gap += gap;
		rec.poll_streak = 0;
	}
	/* An interrupted poll moves the mean by little. If each poll yields the processor to others, the mean
	 * follows. */
	rec.poll_mean = rec.poll_mean ? (15 * rec.poll_mean + usual) / 16 : usual;
	rec.long_poll += took - usual;
	rec.live->poll_ticks += took;
	rec.last_end = c->t1;
	rec.live->polls++;
	if (naps.expected && !naps.known) {
		naps.expected = false;
		nap_look();
	}
	if (naps.known && naps.tick > c->t1)
		rec.last_end = naps.tick; /* the look is no computation */
	if (++rec.poll_streak >= STREAK_MIN && !rec.locking)
		rec_polls.max = (rec.poll_streak < UNTIMED_MAX ? rec.poll_streak : UNTIMED_MAX) + (rec.live->polls & 7);
}

/* ---- events ---- */

/* The encoding of buf_put_uv, without a check for room. */
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

	if (d < rec.tiny_gap / 2 * 3) { /* a longer one was interrupted */
		rec.overhead_sum += (double)d;
		rec.overhead_n++;
	}
}

/* For each symbol, the symbol recorded next at the same call site. Guarded by the recorder's lock. */
static struct {
	uint32_t *next;
	uint32_t n;
} after;

static __attribute__((noinline)) void after_set(uint32_t sym, uint32_t next)
{
	if (sym >= after.n) {
		uint32_t n = 2 * sym + 256;
		uint32_t *p = realloc(after.next, n * sizeof(*p));

		if (!p)
			return; /* works without it, but slower */
		for (uint32_t i = after.n; i < n; i++)
			p[i] = i; /* initially, the same call again */
		after.next = p;
		after.n = n;
	}
	after.next[sym] = next;
}

/* Compares two values at a time with one branch, since a message has five to seven values. */
static inline bool same_values(const int64_t *a, const int64_t *b, uint32_t n)
{
	typedef int64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	pair differ = {0, 0};

	for (uint32_t i = 0; i + 1 < n; i += 2)
		differ |= *(const pair *)(a + i) ^ *(const pair *)(b + i);
	return !(differ[0] | differ[1] | (n & 1 ? a[n - 1] ^ b[n - 1] : 0));
}

static inline bool is_call(uint32_t sym, const struct rec_call *c, uint16_t fn, uint32_t n)
{
	const struct trace_sig *g = &rec.sigs.sig[sym];

	return sym < rec.sigs.n && g->fn == fn && g->site == c->site && g->n_interned == n &&
	       same_values(&rec.sigs.pool[g->off], c->self->v, n);
}

/* Symbol of the call. The prediction is the symbol that followed last time at this call site, since call sites
 * cycle through the same few parameters. */
static inline uint32_t symbol_of(struct rec_call *c, uint16_t fn, uint32_t n)
{
	struct site_cached *at = c->at;
	uint32_t last = at ? at->last_sym : UINT32_MAX, sym;

	if (last < after.n && is_call(after.next[last], c, fn, n)) {
		sym = after.next[last];
	} else {
		sym = sigtable_intern(&rec.sigs, fn, c->site, c->self->v, n);
		if (last != UINT32_MAX && sym != UINT32_MAX)
			after_set(last, sym);
	}
	if (at)
		at->last_sym = sym;
	return sym;
}

/* A successful poll ends the nap before it. */
static __attribute__((noinline)) void end_naps(struct rec_call *c, uint16_t fn)
{
	int64_t gap = (int64_t)(c->t0 - rec.last_end);
	const struct trace_fn_info *f = &trace_fn[fn];

	if (gap > 0 && (f->cls == TC_PROBE || (f->cls == TC_WAIT && !strncmp(f->name, "MPI_Test", 8))))
		rec.last_end += (uint64_t)gap - without_nap((uint64_t)gap);
	c->slow |= naps.known && naps.tick > c->t1;
	rec.poll_streak = 0;
}

/* Write the time since the last recorded call that belongs to no gap and no call. */
static uint8_t *put_idle(uint8_t *p, const struct rec_call *c, uint64_t gap)
{
	int64_t all = (int64_t)(c->t0 - rec.event_end) - (int64_t)gap, own = (int64_t)rec.own_ticks;

	rec.own_ticks = 0;
	if (all <= 0)
		return p;
	own = own < all ? own : all;
	*p++ = 0;
	p = put_uv(p, (uint64_t)(all - own));
	return put_uv(p, (uint64_t)own);
}

/* The gap without the interrupts by samples, as far as these were not in the call. head: *rec.sample_head. */
static __attribute__((noinline)) int64_t without_samples(int64_t gap, int64_t dur, uint64_t head)
{
	double share = gap > 0 ? (double)gap / (double)(gap + dur) : 0;
	int64_t cost = (int64_t)((double)(head - rec.sample_seen) * rec.sample_cost * share);

	cost = cost < gap ? cost : gap;
	rec.own_ticks += (uint64_t)cost;
	return gap - cost;
}

/* End of an event on the slow path: the stream may be full. */
static __attribute__((noinline)) bool end_of_event(const struct rec_call *c, uint32_t sym, uint64_t gap)
{
	if (rec.watch)
		rec.watch(sym, gap, c->t1);
	return rec.live->stream_len >= rec.pages.raw_max;
}

void rec_event(struct rec_call *c, uint16_t fn, uint32_t n)
{
	int64_t gap, dur;
	struct spill_live *live = rec.live;
	uint64_t len = live->stream_len, head = __atomic_load_n(rec.sample_head, __ATOMIC_RELAXED);
	uint8_t *p = rec.stream + len;
	uint32_t sym;

	if (__builtin_expect(!rec.on, 0))
		goto out; /* recording stopped while the parameters were collected */
	sym = symbol_of(c, fn, n);
	if (__builtin_expect(sym >= rec.n_journaled, 0)) {
		if (sym == UINT32_MAX) {
			rec_stop("out of memory");
			goto out;
		}
		journal_new();
		c->slow = 1;
	}
	if (__builtin_expect(rec_polls.n || !c->t0, 0))
		rec_poll_settle(c);
	if (__builtin_expect(rec.poll_streak, 0))
		end_naps(c, fn);
	rec_polls.max = 0;
	gap = (int64_t)(c->t0 - rec.last_end);
	dur = (int64_t)(c->t1 - c->t0);
	/* Calls of several threads overlap, and time-stamp counters of two processors may differ slightly. */
	gap = (gap > 0 ? gap : 0) + (int64_t)rec.held_gap;
	dur = dur > 0 ? dur : 0;
	rec.held_gap = 0;
	if (__builtin_expect(head != rec.sample_seen, 0))
		gap = without_samples(gap, dur, head);
	if (__builtin_expect(rec.last_end != rec.event_end || rec.own_ticks, 0))
		p = put_idle(p, c, (uint64_t)gap);
	p = put_uv(p, sym + 1ull);
	p = put_uv(p, (uint64_t)gap);
	p = put_uv(p, (uint64_t)dur);
	len = (uint64_t)(p - rec.stream);
	__atomic_store_n(&live->stream_len, len, __ATOMIC_RELEASE);
	rec.n_events++;
	rec.last_end = rec.event_end = c->t1;
	if (__builtin_expect(head != rec.sample_seen, 0)) {
		rec.sample_take(c->t0, c->t1);
		c->slow = 1;
	}
	if (__builtin_expect(len >= rec.stream_full, 0) && end_of_event(c, sym, (uint64_t)gap)) {
		flush_stream();
		c->slow = 1;
	}
	if (__builtin_expect(c->slow, 0)) {
		rec.last_end = clock_ticks();
		rec.own_ticks = rec.last_end - c->t1;
	} else if (__builtin_expect(!(rec.n_events & SAMPLE_MASK), 0)) {
		sample_overhead(c);
	}
out:
	if (rec.locking)
		rec_unlock();
}

/* ---- begin and end ---- */

int rec_begin(const struct rec_options *o, struct errbuf *err)
{
	struct timespec nap = {.tv_nsec = 200000};
	uint64_t ns, ticks, structure = 8 * o->memory;

	rec_polls = (struct rec_polls){0};
	naps = (struct nap){0};
	rec = (struct recorder){.locking = o->locking, .live = &no_live, .define = o->define, .sample_head = &no_samples};
	if (structure < STRUCTURE_MIN)
		structure = STRUCTURE_MIN;
	rec.structure_max = o->structure ? o->structure : structure;
	clock_is_tsc = clock_has_tsc();
	rec.fold = fold_create();
	if (!rec.fold || journal_init(&journal) < 0 ||
	    pthread_key_create(&at_thread_end, thread_end))
		return err_set(err, "no memory");
	if (pages_begin(&rec.pages, o->local, o->id ? o->id : "", o->rank, o->n_ranks, o->memory, rec.fold, &rec.sigs,
			err) < 0)
		return -1;
	rec.live = rec.pages.spill.live;
	rec.stream = rec.pages.spill.stream;
	rec.stream_full = rec.pages.raw_max;
	ns = clock_ns(CLOCK_MONOTONIC);
	ticks = clock_ticks();
	nanosleep(&nap, NULL);
	ns = clock_ns(CLOCK_MONOTONIC) - ns;
	ticks = clock_ticks() - ticks;
	rec.tiny_gap = ns ? ticks * 2000 / ns : 2000;
	rec.pages.dense_ticks = rec.tiny_gap;
	return 0;
}

void rec_watch(void (*f)(uint32_t sym, uint64_t gap, uint64_t tick))
{
	rec.watch = f;
	rec.stream_full = 0; /* makes every event take the slow path */
}

void rec_go(const struct spill_header *facts)
{
	struct spill_header *h = rec.pages.spill.header;

	if (facts) {
		h->thread_level = facts->thread_level;
		h->start_real_ns = facts->start_real_ns;
		h->init_ticks = facts->init_ticks;
		h->init_mono_ns = facts->init_mono_ns;
		h->init_ns = facts->init_ns;
		h->before_ns = facts->before_ns;
		memcpy(h->host, facts->host, sizeof(h->host));
		memcpy(h->program, facts->program, sizeof(h->program));
		memcpy(h->facts, facts->facts, sizeof(h->facts));
	}
	h->pid = (uint32_t)getpid();
	h->functions = trace_fn_hash();
	h->start_mono_ns = rec.live->clock_mono_ns[0] = clock_ns(CLOCK_MONOTONIC);
	rec.start = rec.last_end = rec.event_end = clock_ticks();
	h->start_ticks = rec.live->clock_ticks[0] = rec.start;
	spill_start(&rec.pages.spill);
	rec_skip();
	rec.on = true;
}

void rec_skip(void)
{
	uint64_t now = clock_ticks();

	rec.own_ticks += now - rec.last_end;
	rec.last_end = now;
}

static void encode_tail(void)
{
	buf_reset(&tail);
	if (pages_tail(&rec.pages, &tail) < 0)
		buf_free(&tail);
}

void rec_end(void)
{
	rec.on = false;
	rec_polls.max = 0;
	if (rec.broken || !rec.fold)
		return;
	if (rec.live->stream_len)
		flush_stream();
	encode_tail();
}

uint64_t rec_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rec_n_pages(); i++)
		sum += rec_page_size(i);
	return sum;
}

bool rec_fit(uint64_t bytes)
{
	while (rec_bytes() > bytes && pages_thin(&rec.pages))
		encode_tail();
	return rec_bytes() <= bytes;
}

void rec_facts(struct trace_proc *p)
{
	count_polls();
	p->end_ticks = (rec.ended ? rec.event_end : rec.last_end) - rec.start;
	p->polls = rec.live->polls;
	p->poll_ticks = rec.live->poll_ticks;
	p->overhead_ticks = rec_overhead();
	memcpy(p->state_ticks, rec.pages.state, sizeof(p->state_ticks));
	p->dropped_events = rec.pages.given_up;
	p->ended = (char *)(rec.ended ? rec.ended : "");
	p->finalized = !rec.ended;
}

uint32_t rec_n_pages(void)
{
	return rec.pages.n_kept + (tail.len > 0);
}

size_t rec_page_size(uint32_t i)
{
	return i < rec.pages.n_kept ? rec.pages.spill.entry[rec.pages.kept[i].times].len : tail.len;
}

int rec_page_take(uint32_t i, struct buf *out)
{
	size_t len = out->len;

	if (i >= rec.pages.n_kept) {
		buf_put(out, tail.data, tail.len);
		buf_free(&tail);
		return out->failed ? -1 : 0;
	}
	if (spill_get(&rec.pages.spill, rec.pages.kept[i].times, out) < 0) {
		if (out->failed)
			return -1;
		out->len = len; /* the page cannot be read back: the trace lacks these times */
	}
	buf_free(&rec.pages.spill.memory[rec.pages.kept[i].times]);
	return 0;
}

void rec_close(void)
{
	rec.on = false;
	rec.live = &no_live;
	pages_free(&rec.pages);
	fold_destroy(rec.fold);
	rec.fold = NULL;
	sigtable_free(&rec.sigs);
	free(after.next);
	after.next = NULL;
	after.n = 0;
	journal_free(&journal);
}

void rec_keep(const char *why)
{
	rec_stop(why);
	rec.live = &no_live;
	spill_forget(&rec.pages.spill);
}

void rec_forget(void)
{
	rec.on = false;
	rec_polls.max = 0;
	rec.live = &no_live;
	spill_forget(&rec.pages.spill);
}
