/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples by perf_event_open. After a period of processor time, the kernel interrupts the thread and writes its program
 * counter and registers into a ring in memory. The recorder empties the rings in the first call that it records after a
 * sample. So every sample lies in the gap before that call or inside the call.
 *
 * RATIONALE: a program can handle, block, count or wait for any signal, so no signal is used. The descriptor of an event
 * is closed as soon as its ring is mapped, and the mapping keeps the event. So a program that closes or counts all
 * descriptors finds none of the tracer. A child of fork does not have the mapping.
 *
 * While a thread computes for long, no call empties its ring, and a full ring takes no more samples. So the thread that
 * makes the calls has several rings, with longer periods for longer gaps. Threads are found when rings are emptied. If a
 * thread begins and ends between two calls, only its processor time is known. It is assigned to the places of thread 0
 * at that time.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/record.h"
#include "spank/tracer/sample_impl.h"

#if ARCH_SAMPLES

#include <asm/perf_regs.h>

/*
 * Pages for samples of 160 bytes, and factor of the period. At 256 samples per second, the rings of thread 0 hold
 * 3.2 s, 51 s and 55 minutes. All rings together have less than 129 pages. Any user may lock 129 pages per
 * processor for such rings (kernel.perf_event_mlock_kb), so RLIMIT_MEMLOCK is not touched.
 */
static const struct {
	uint32_t pages;
	uint32_t factor;
} level_of[] = {{32, 1}, {8, 64}, {8, 4096}};
#define LEVELS       (sizeof(level_of) / sizeof(*level_of))
#define THREAD_PAGES 8 /* pages of any other thread, which has one ring */

/*
 * An event stops and starts with its thread. On a virtual machine that takes up to 17 us, most of it if the event's timer
 * is the next one of the processor. Four ranks that took turns on two processors ran 38 % longer with 256 samples per
 * second, and 5 % longer with 16 and one ring. So all threads have that if thread 0 takes turns often.
 * The default rate alone is lowered. In a gap of more than 51 s no sample is taken then, since the ring is full.
 */
#define TURNS_MOST  1000.0 /* per second of processor time; a machine's own services take some hundreds */
#define TURNS_AFTER 250000000u /* ns of its processor time: 64 samples, which tell a share of a tenth by 0.04 */
#define TURNS_HZ    16

/* The cost of a sample is measured at the start: so many in a row, which takes 3 ms. After 6 ms, as on a processor with
 * other work, fewer samples are enough. */
#define COST_SAMPLES   15
#define COST_LEAST     4
#define COST_PERIOD_NS 200000

/* least share of thread 0's time for unknown threads, since clocks are read one after the other */
#define OTHERS_LEAST 0.1

struct ring {
	struct perf_event_mmap_page *page; /* NULL: no ring */
	const uint8_t *data;
	uint64_t size;   /* bytes of data, a power of two */
	uint64_t cpu_ns; /* processor time of the thread at the start of the event */
};

static struct ring ring[SAMPLE_THREADS][LEVELS];
static uint64_t delay_seen_ns[SAMPLE_THREADS]; /* the kernel's count, as far as looks have used it */
/* seen so far: of each thread, of the process; not yet used: of SAMPLE_OTHERS */
static uint64_t cpu_seen_ns[SAMPLE_THREADS], all_cpu_seen_ns, others_ns;
static struct clock_pair {
	uint64_t mono_ns, tick;
} begun;
static struct {
	bool often;
	uint64_t begun, begun_cpu_ns;
} turns; /* of thread 0 */

/* Position of a trace's register i among the registers that the kernel stores. */
static const uint8_t place_of[TSAMPLE_REGS] = ARCH_PERF_REGS;

/* PERF_RECORD_SAMPLE with the fields that ring_open asks for. */
struct record {
	struct perf_event_header header;
	uint64_t pc, mono_ns, cpu_ns, abi, reg[TSAMPLE_REGS];
};

/* ---- rings ---- */

/* Processor time of a thread of this process. */
static uint64_t thread_cpu_ns(pid_t id)
{
	return clock_true_ns((clockid_t)(~(unsigned)id << 3 | 6u)); /* CPUCLOCK_SCHED, CPUCLOCK_PERTHREAD */
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int ring_open(struct ring *r, pid_t id, uint32_t pages, uint64_t period_ns)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_TASK_CLOCK,
				    .sample_period = period_ns, .sample_regs_user = ARCH_PERF_MASK, .exclude_kernel = 1,
				    .exclude_hv = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
				    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_REGS_USER};
	size_t size = pages * page_size();
	void *p;
	int fd;

	*r = (struct ring){.cpu_ns = thread_cpu_ns(id)};
	fd = (int)syscall(SYS_perf_event_open, &a, id, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	p = mmap(NULL, size + page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (p == MAP_FAILED)
		return -1;
	r->page = p;
	r->data = (const uint8_t *)p + page_size();
	r->size = size;
	return 0;
}

static void ring_close(struct ring *r)
{
	if (r->page)
		munmap(r->page, r->size + page_size());
	r->page = NULL;
}

static uint64_t ring_head(const struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* Keep the longest values, in falling order. */
static void keep_longest(uint64_t longest[COST_SAMPLES], uint64_t v)
{
	for (int i = 0; i < COST_SAMPLES; i++)
		if (v > longest[i]) {
			uint64_t next = longest[i];

			longest[i] = v;
			v = next;
		}
}

/* A loop reads the clock. Its longest turns are the samples, but waits for the processor may be among them. So the
 * value counts that three quarters of these turns exceed. */
double sample_ring_cost(void)
{
	uint64_t longest[COST_SAMPLES] = {0}, begin = clock_true_ns(CLOCK_MONOTONIC), before = clock_ticks(), now, n;
	struct ring r;

	if (ring_open(&r, 0, 1, COST_PERIOD_NS) < 0)
		return 0;
	do {
		now = clock_ticks();
		keep_longest(longest, now - before);
		before = now;
		n = ring_head(&r) / sizeof(struct record);
	} while (n < COST_SAMPLES && clock_true_ns(CLOCK_MONOTONIC) - begin < 2 * COST_SAMPLES * COST_PERIOD_NS);
	ring_close(&r);
	n = n < COST_SAMPLES ? n : COST_SAMPLES;
	return n < COST_LEAST ? 0 : (double)longest[3 * n / 4] / sizeof(struct record);
}

static int thread_open(uint32_t index, pid_t id)
{
	uint32_t levels = index || turns.often ? 1 : LEVELS;

	delay_seen_ns[index] = sample_delay_ns(id);
	cpu_seen_ns[index] = thread_cpu_ns(id);
	for (uint32_t i = 0; i < levels; i++)
		if (ring_open(&ring[index][i], id, index ? THREAD_PAGES : level_of[i].pages,
			      sampling.period_ns * level_of[i].factor) < 0)
			return -1;
	return 0;
}

static void thread_close(uint32_t index)
{
	for (uint32_t i = 0; i < LEVELS; i++)
		ring_close(&ring[index][i]);
}

static void thread_begin(uint32_t index, pid_t id)
{
	if (thread_open(index, id) < 0)
		thread_close(index);
}

/* ---- reading ---- */

/* A walk over the samples of one thread: the first ring, then the part of each next ring that reaches further. */
struct walk {
	const struct ring *r;
	uint32_t level;
	uint64_t at, head;
	uint64_t until_ns; /* time of the last sample given */
};

static bool walk_level(struct walk *w, uint32_t index, uint32_t level)
{
	if (level >= LEVELS || !ring[index][level].page)
		return false;
	w->level = level;
	w->r = &ring[index][level];
	w->at = w->r->page->data_tail;
	w->head = ring_head(w->r);
	return true;
}

static void copy_out(const struct ring *r, uint64_t at, void *to, size_t n)
{
	uint64_t from = at & (r->size - 1), first = r->size - from < n ? r->size - from : n;

	memcpy(to, r->data + from, first);
	memcpy((uint8_t *)to + first, r->data, n - first);
}

/* Had a ring no room for another sample? */
static bool was_full(const struct walk *w)
{
	return w->r->size - (w->head - w->r->page->data_tail) < sizeof(struct record);
}

/* The next sample of thread `index`. Returns false at the end. */
static bool walk_next(struct walk *w, uint32_t index, struct record *out)
{
	for (;;) {
		if (w->head - w->at < sizeof(out->header)) {
			if (!was_full(w) || !walk_level(w, index, w->level + 1))
				return false;
			continue;
		}
		copy_out(w->r, w->at, &out->header, sizeof(out->header));
		if (out->header.size < sizeof(out->header) || out->header.size > w->head - w->at) {
			w->at = w->head;
			continue;
		}
		if (out->header.type == PERF_RECORD_SAMPLE && out->header.size == sizeof(*out)) {
			copy_out(w->r, w->at, out, sizeof(*out));
			w->at += sizeof(*out);
			out->cpu_ns += w->r->cpu_ns;
			if (out->mono_ns > w->until_ns) {
				w->until_ns = out->mono_ns;
				return true;
			}
			continue;
		}
		w->at += out->header.size; /* PERF_RECORD_LOST, or a sample without registers */
	}
}

/* Common data of a thread's samples that were read in one call. */
struct batch {
	uint64_t t0, t1;         /* ticks of the call */
	double ticks_per_ns;
	struct clock_pair now;
	double delayed_share;    /* share of the time off the processor */
	double others;           /* processor time of unknown threads per ns of thread 0's */
	uint64_t counter[TCOUNTER_N];
	double counted_per_ns;   /* share of `counter` per ns of processor time */
};

static uint64_t tick_of(const struct batch *b, uint64_t mono_ns)
{
	return b->now.tick - (uint64_t)(int64_t)((double)(int64_t)(b->now.mono_ns - mono_ns) * b->ticks_per_ns);
}

/* The part of the time off the processor in which the thread waited for a processor. The rest of the wait is for later looks. */
static uint64_t delay_part_ns(uint32_t index, uint64_t off)
{
	uint64_t delay = sample_delay_ns(sample_thread_id(index));

	if (delay == UINT64_MAX || delay <= delay_seen_ns[index])
		return 0;
	delay -= delay_seen_ns[index];
	delay = delay < off ? delay : off;
	delay_seen_ns[index] += delay;
	return delay;
}

/* First pass: time off the processor, and the part in which the thread waited for a processor. */
static void batch_measure(struct batch *b, uint32_t index)
{
	uint64_t off = 0, first = 0, before_cpu = 0, before_wall = 0;
	struct walk w = {0};
	struct record s;

	if (!walk_level(&w, index, 0))
		return;
	while (walk_next(&w, index, &s)) {
		if (!before_wall) {
			off = sample_off_ns(index, s.cpu_ns, s.mono_ns);
			first = s.cpu_ns;
		} else if ((int64_t)(s.mono_ns - before_wall - (s.cpu_ns - before_cpu)) > SAMPLE_OFF_NS) {
			off += s.mono_ns - before_wall - (s.cpu_ns - before_cpu);
		}
		before_wall = s.mono_ns;
		before_cpu = s.cpu_ns;
	}
	b->counted_per_ns = 1.0 / (double)(before_cpu - first + sampling.period_ns);
	b->delayed_share = 0;
	if (!off)
		return;
	b->delayed_share = (double)delay_part_ns(index, off) / (double)off;
}

/* Processor time of unknown threads since the rings were last emptied, as a share of thread 0's. */
static double find_others(void)
{
	uint64_t all = clock_true_ns(CLOCK_PROCESS_CPUTIME_ID), before = all_cpu_seen_ns, known = 0, first = 0;

	for (uint32_t i = 0; i < sampling.n_thread; i++) {
		uint64_t now = sample_thread_id(i) ? thread_cpu_ns(sample_thread_id(i)) : 0;

		if (now <= cpu_seen_ns[i])
			continue;
		known += now - cpu_seen_ns[i];
		first = i ? first : known;
		cpu_seen_ns[i] = now;
	}
	all_cpu_seen_ns = all;
	if (!first || !before || all - before < known + (uint64_t)(OTHERS_LEAST * (double)first))
		return 0;
	return (double)(all - before - known) / (double)first;
}

/* Store a sample for the unknown threads. */
static bool keep_others(const struct sample_look *of, uint64_t cpu_ns)
{
	struct sample_look look = *of;

	others_ns += cpu_ns;
	look.cpu_ns = others_ns;
	look.delayed_ns = 0;
	memset(look.counter, 0, sizeof(look.counter));
	return sample_keep(SAMPLE_OTHERS, &look);
}

/* Store a sample. cpu_ns: processor time of the thread since the sample before. */
static bool keep_sample(const struct batch *b, uint32_t index, const struct record *s, uint64_t cpu_ns)
{
	struct sample_look look = {.tick = tick_of(b, s->mono_ns), .cpu_ns = s->cpu_ns, .wall_ns = s->mono_ns, .pc = s->pc};
	bool thinned = false;

	look.event = rec.n_events - (look.tick <= b->t1);
	if (look.tick >= b->t0 && look.tick <= b->t1)
		look.flags = TSAMPLE_IN_MPI;
	look.tick -= rec.start;
	look.delayed_ns = (uint64_t)((double)sample_off_ns(index, s->cpu_ns, s->mono_ns) * b->delayed_share);
	for (int i = 0; i < TSAMPLE_REGS; i++)
		look.reg[i] = s->reg[place_of[i]];
	for (int i = 0; index == 0 && i < TCOUNTER_N; i++)
		look.counter[i] = (uint64_t)((double)b->counter[i] * ((double)cpu_ns * b->counted_per_ns));
	if (index == 0 && b->others > 0 && !look.flags)
		thinned = keep_others(&look, (uint64_t)((double)cpu_ns * b->others));
	return sample_keep(index, &look) || thinned;
}

static bool empty_thread(struct batch *b, uint32_t index)
{
	uint64_t before = 0;
	struct walk w = {0};
	struct record s;
	bool thinned = false;

	if (!ring[index][0].page || ring_head(&ring[index][0]) == ring[index][0].page->data_tail)
		return false;
	batch_measure(b, index);
	walk_level(&w, index, 0);
	while (walk_next(&w, index, &s)) {
		thinned |= keep_sample(b, index, &s, before ? s.cpu_ns - before : sampling.period_ns);
		before = s.cpu_ns;
	}
	for (uint32_t i = 0; i < LEVELS; i++)
		if (ring[index][i].page)
			__atomic_store_n(&ring[index][i].page->data_tail, ring_head(&ring[index][i]), __ATOMIC_RELEASE);
	return thinned;
}

/* Set the address where the recorder looks for new samples. */
static void watch_head(void)
{
	static const uint64_t nothing;
	const struct perf_event_mmap_page *page = ring[0][0].page;

	rec.sample_head = page ? (const uint64_t *)&page->data_head : &nothing;
	rec.sample_seen = page ? page->data_tail : 0;
}

/* Open the rings again with the new period. */
static void open_again(void)
{
	for (uint32_t i = 0; i < sampling.n_thread; i++) {
		if (!sample_thread_id(i) || !ring[i][0].page)
			continue;
		thread_close(i);
		thread_begin(i, sample_thread_id(i));
	}
}

/* How often the calling thread left its processor. */
static uint64_t turns_taken(void)
{
	struct rusage u = {0};

	syscall(SYS_getrusage, RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}

/* Does thread 0 take turns so often that it is sampled less from now on? */
static bool takes_turns(void)
{
	uint64_t cpu_ns = cpu_seen_ns[0] - turns.begun_cpu_ns;

	if (turns.often || !sampling.is_default || cpu_ns < TURNS_AFTER || syscall(SYS_gettid) != sample_thread_id(0))
		return false;
	turns.often = (double)(turns_taken() - turns.begun) > TURNS_MOST * (double)cpu_ns * 1e-9;
	if (turns.often && sampling.period_ns < 1000000000 / TURNS_HZ)
		sampling.period_ns = 1000000000 / TURNS_HZ;
	return turns.often;
}

static void ring_empty(uint64_t t0, uint64_t t1)
{
	struct batch b = {.t0 = t0, .t1 = t1, .now = {clock_true_ns(CLOCK_MONOTONIC), clock_ticks()}};
	bool thinned = false;

	b.ticks_per_ns = (double)(b.now.tick - begun.tick) / (double)(b.now.mono_ns - begun.mono_ns);
	b.others = find_others();
	counters_take(&sampling.counters, b.counter);
	for (uint32_t i = 0; i < sampling.n_thread; i++)
		thinned |= empty_thread(&b, i);
	if (takes_turns() || thinned)
		open_again();
	sample_threads_look(&sample_ring, b.now.mono_ns);
	watch_head();
}

/* ---- begin and end ---- */

static int ring_begin(struct errbuf *err)
{
	char text[16];

	begun = (struct clock_pair){clock_true_ns(CLOCK_MONOTONIC), clock_ticks()};
	turns.often = false;
	all_cpu_seen_ns = 0; /* set at the first look: until then, no thread is known */
	others_ns = 0;
	if (thread_open(0, sample_threads_begin()) < 0) {
		int why = errno;

		thread_close(0);
		if (sample_read_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0) {
			text[strcspn(text, "\n")] = '\0';
			return err_set(err, "perf_event_open: %s (kernel.perf_event_paranoid is %s)", strerror(why), text);
		}
		return err_set(err, "perf_event_open: %s", strerror(why));
	}
	turns.begun = turns_taken();
	turns.begun_cpu_ns = cpu_seen_ns[0];
	rec.sample_take = ring_empty;
	watch_head();
	return 0;
}

static void ring_end(void)
{
	uint64_t now = clock_ticks();

	ring_empty(now, now);
	for (uint32_t i = 0; i < SAMPLE_THREADS; i++)
		thread_close(i);
	watch_head();
}

const struct sample_source sample_ring = {"ring", ring_begin, thread_begin, thread_close, delay_part_ns, ring_end};

#endif
