/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of a rank's computation. A sample tells where a thread was, with its general registers. Samples are taken
 * every few milliseconds of a thread's processor time. The page also holds the machine code at these places and the
 * time that threads slept. A rank has one page of type TPAGE_SAMPLES (see precedent-trace.5). The rest of a trace
 * can be read without this page.
 */
#ifndef PRECEDENT_TRACE_SAMPLES_H
#define PRECEDENT_TRACE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"

/* in the processor's encoding order: ax cx dx bx sp bp si di r8 .. r15 */
#define TSAMPLE_REGS        16
#define TSAMPLE_MAX         (1u << 13)  /* largest number of samples, places and code pieces that a reader accepts */
#define TSAMPLE_PLACES_MAX  (1u << 13)
#define TSAMPLE_CODE_MAX    (4u << 20)  /* bytes of code */
#define TSAMPLE_THREADS_MAX 1024
#define TSAMPLE_LEVELS      3

enum trace_sample_flag {
	TSAMPLE_IN_MPI = 1, /* inside a recorded call */
	TSAMPLE_BORDER = 2  /* begin or end of recording; has no program counter */
};

/* Hardware counters; a node may lack some of them. */
enum trace_counter { TCOUNTER_INSTRUCTIONS, TCOUNTER_CYCLES, TCOUNTER_CACHE_MISSES, TCOUNTER_BRANCH_MISSES, TCOUNTER_N };

struct trace_sample {
	/* number of events recorded before; the sample is in the gap before this event or inside the event */
	uint64_t event;
	uint64_t tick;       /* ticks since the recorder's start */
	uint32_t thread;     /* 0: the thread that initialised MPI */
	uint32_t place;      /* index in place[]; 0 for a border */
	uint8_t flags;
	uint64_t cpu_ns;     /* since the thread's previous sample: running, */
	uint64_t delayed_ns; /* ready to run while other threads ran, */
	uint64_t asleep_ns;  /* or sleeping */
	uint64_t reg[TSAMPLE_REGS];
	uint64_t counter[TCOUNTER_N]; /* since the thread's previous sample */
};

/* A program counter. */
struct trace_place {
	uint32_t module;     /* index in the rank's definitions */
	uint64_t offset;     /* offset in the module as mapped in memory */
};

/* Machine code as found in memory. */
struct trace_code {
	uint32_t module;
	uint64_t offset;
	uint32_t len;
	uint8_t *bytes;
};

struct trace_samples {
	uint32_t n, n_place, n_code, n_thread;
	uint64_t period_ns;  /* processor time between two samples that were kept */
	uint64_t cache[TSAMPLE_LEVELS]; /* bytes of the first, second and last level of cache; 0: unknown */
	uint32_t counters;   /* bit mask of enum trace_counter: available counters */
	struct trace_sample *sample; /* in order of ticks */
	struct trace_place *place;
	struct trace_code *code;     /* ordered by module and offset, without overlap */
};

void trace_samples_encode(const struct trace_samples *s, struct buf *out);
/* Decode and check. Returns 0 on success; -1 on bad input (err says why), with *out empty. */
int trace_samples_decode(const uint8_t *raw, size_t len, struct trace_samples *out, struct errbuf *err);
void trace_samples_free(struct trace_samples *s);

#endif
