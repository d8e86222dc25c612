/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Storage of samples, and choice of their source: see sample.h. */
#include "spank/tracer/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/arch/arch.h"
#include "spank/tracer/clock.h"
#include "spank/tracer/record.h"
#include "spank/tracer/sample_impl.h"

#define HZ_DEFAULT 256
#define HZ_MAX     1000
#define ALL_RANKS  (1u << 18) /* samples of a run; many ranks get fewer each, */
#define RANK_LEAST 256        /* at least this many, */
#define RANK_MOST  4096       /* and at most this many */

struct sample_state sampling;

static const struct sample_source *source; /* NULL: sampling is off */

/* The last stored look at each thread. */
static struct {
	uint64_t cpu_ns, wall_ns;
} last[SAMPLE_THREADS + 1];

uint64_t sample_off_ns(uint32_t index, uint64_t cpu_ns, uint64_t wall_ns)
{
	uint64_t wall = wall_ns - last[index].wall_ns, cpu = cpu_ns - last[index].cpu_ns;

	if (!last[index].wall_ns || (int64_t)(wall - cpu) <= SAMPLE_OFF_NS)
		return 0;
	return wall - cpu;
}

bool sample_keep(uint32_t index, const struct sample_look *look)
{
	uint64_t off = sample_off_ns(index, look->cpu_ns, look->wall_ns);
	bool thinned = sampling.n == sampling.room;
	struct sample_kept *k;
	struct trace_sample *s;

	if (thinned) {
		sample_thin(sampling.kept, &sampling.n);
		sampling.period_ns *= 2;
	}
	k = &sampling.kept[sampling.n++];
	*k = (struct sample_kept){.s = {.event = look->event, .tick = look->tick, .thread = index, .flags = look->flags},
				  .pc = look->pc};
	s = &k->s;
	if (last[index].wall_ns && look->cpu_ns > last[index].cpu_ns)
		s->cpu_ns = look->cpu_ns - last[index].cpu_ns;
	s->delayed_ns = look->delayed_ns < off ? look->delayed_ns : off;
	s->asleep_ns = off - s->delayed_ns > SAMPLE_ASLEEP_NS ? off - s->delayed_ns : 0;
	memcpy(s->reg, look->reg, sizeof(s->reg));
	memcpy(s->counter, look->counter, sizeof(s->counter));
	last[index].cpu_ns = look->cpu_ns;
	last[index].wall_ns = look->wall_ns;
	return thinned;
}

/* Store a look of thread 0 at the begin or end of recording. */
static void keep_border(void)
{
	struct sample_look look = {.event = rec.n_events, .tick = clock_ticks() - rec.start, .flags = TSAMPLE_BORDER,
				   .cpu_ns = clock_true_ns(CLOCK_THREAD_CPUTIME_ID),
				   .wall_ns = clock_true_ns(CLOCK_MONOTONIC)};

	counters_take(&sampling.counters, look.counter);
	if (source)
		look.delayed_ns = source->delayed(0, sample_off_ns(0, look.cpu_ns, look.wall_ns));
	sample_keep(0, &look);
}

static uint64_t wanted_hz(void)
{
	const char *s = getenv("PRECEDENT_TRACE_SAMPLE");
	char *end;
	unsigned long v = s ? strtoul(s, &end, 10) : 0;

	sampling.is_default = !s || end == s || *end;
	if (sampling.is_default)
		return HZ_DEFAULT;
	return v < HZ_MAX ? v : HZ_MAX;
}

static uint32_t room_of(uint32_t n_ranks)
{
	uint32_t n = ALL_RANKS / (n_ranks ? n_ranks : 1);

	return n < RANK_LEAST ? RANK_LEAST : n > RANK_MOST ? RANK_MOST : n;
}

/* The first source that works on this node. NULL: none; sampling.none says why. */
static const struct sample_source *choose_source(void)
{
#if ARCH_SAMPLES
	struct errbuf ring = {""}, timer = {""};

	if (sample_ring.begin(&ring) == 0) {
		sample_watch_begin();
		return &sample_ring;
	}
	if (sample_timer.begin(&timer) == 0)
		return &sample_timer;
	err_set(&sampling.none, "%.150s; %.150s", ring.text, timer.text);
#else
	err_set(&sampling.none, ARCH_NO_SAMPLES);
#endif
	return NULL;
}

void sample_begin(uint32_t rank, uint32_t n_ranks)
{
	uint32_t room = room_of(n_ranks);
	uint64_t hz;
	void *p;

	sampling = (struct sample_state){.rank = rank, .room = room, .n_thread = 1};
	hz = wanted_hz();
	source = NULL;
	memset(last, 0, sizeof(last));
	if (!hz) {
		err_set(&sampling.none, "PRECEDENT_TRACE_SAMPLE is 0");
		return;
	}
	p = mmap(NULL, room * sizeof(struct sample_kept), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		err_set(&sampling.none, "no memory");
		return;
	}
	sampling.kept = p;
	sampling.period_ns = 1000000000ull / hz;
#if ARCH_SAMPLES
	rec.sample_cost = sample_ring_cost(); /* before the first look, since it is no work of the program */
#endif
	counters_open(&sampling.counters);
	sampling.counted = sampling.counters.have;
	keep_border();
	source = choose_source();
	if (!source) {
		counters_close(&sampling.counters);
		munmap(sampling.kept, room * sizeof(*sampling.kept));
		sampling.kept = NULL;
	}
	rec_skip();
}

static int by_tick(const void *a, const void *b)
{
	const struct trace_sample *x = &((const struct sample_kept *)a)->s, *y = &((const struct sample_kept *)b)->s;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

void sample_end(void)
{
	if (!source)
		return;
	source->end();
#if ARCH_SAMPLES
	if (source == &sample_ring)
		sample_watch_end();
#endif
	keep_border();
	counters_close(&sampling.counters);
	/* Threads were looked at one after the other, so samples are sorted by time. */
	qsort(sampling.kept, sampling.n, sizeof(*sampling.kept), by_tick);
	for (uint32_t i = 0; i < sampling.n; i++) {
		struct trace_sample *s = &sampling.kept[i].s;

		if (i && s->event < sampling.kept[i - 1].s.event)
			s->event = sampling.kept[i - 1].s.event;
		if (s->thread == SAMPLE_OTHERS)
			s->thread = sampling.n_thread;
	}
	sampling.n_thread++; /* SAMPLE_OTHERS */
}

const char *sample_source(void)
{
	static char text[sizeof(sampling.none.text) + 8];

	if (source)
		return source->name;
	snprintf(text, sizeof(text), "none: %s", sampling.none.text);
	return text;
}

void sample_free(void)
{
	if (sampling.kept)
		munmap(sampling.kept, sampling.room * sizeof(*sampling.kept));
	sampling.kept = NULL;
}
