/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of a rank's computation: where each thread was every few milliseconds of its time on the processor, with its
 * general registers; what the machine code there is; and how much of the time between was spent asleep. A page of type
 * TPAGE_SAMPLES per rank, see precedent-trace.5. Nothing of it is needed to read the rest of a trace.
 */
#ifndef PRECEDENT_TRACE_SAMPLES_H
#define PRECEDENT_TRACE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"

#define TSAMPLE_REGS        16          /* in the order of the processor's encoding: ax cx dx bx sp bp si di r8 .. r15 */
#define TSAMPLE_MAX         (1u << 13)  /* a reader takes no more of each */
#define TSAMPLE_PLACES_MAX  (1u << 13)
#define TSAMPLE_CODE_MAX    (4u << 20)  /* bytes of code */
#define TSAMPLE_THREADS_MAX 1024
#define TSAMPLE_LEVELS      3

enum trace_sample_flag {
	TSAMPLE_IN_MPI = 1, /* inside a recorded call */
	TSAMPLE_BORDER = 2  /* the begin or the end of recording: no program counter */
};

/* Hardware counters, as far as the node had them. */
enum trace_counter { TCOUNTER_INSTRUCTIONS, TCOUNTER_CYCLES, TCOUNTER_CACHE_MISSES, TCOUNTER_BRANCH_MISSES, TCOUNTER_N };

struct trace_sample {
	uint64_t event;      /* recorded before it: it lies in the gap before this event or inside it */
	uint64_t tick;       /* since the recorder's start */
	uint32_t thread;     /* 0: the one that initialised MPI */
	uint32_t place;      /* index in place[]; 0 of a border */
	uint8_t flags;
	uint64_t cpu_ns;     /* since the thread's sample before: on the processor, */
	uint64_t delayed_ns; /* ready, but others had the processor, */
	uint64_t asleep_ns;  /* neither */
	uint64_t reg[TSAMPLE_REGS];
	uint64_t counter[TCOUNTER_N]; /* since the thread's sample before */
};

/* A program counter. */
struct trace_place {
	uint32_t module;     /* index in the rank's definitions */
	uint64_t offset;     /* in the module as it is in memory */
};

/* Machine code as it was in memory. */
struct trace_code {
	uint32_t module;
	uint64_t offset;
	uint32_t len;
	uint8_t *bytes;
};

struct trace_samples {
	uint32_t n, n_place, n_code, n_thread;
	uint64_t period_ns;  /* on the processor, between two of the samples that were kept */
	uint64_t cache[TSAMPLE_LEVELS]; /* bytes of the first, second and last level; 0: unknown */
	uint32_t counters;   /* a bit for each enum trace_counter that was there */
	struct trace_sample *sample; /* in the order of their ticks */
	struct trace_place *place;
	struct trace_code *code;     /* ordered by module and offset, apart from each other */
};

void trace_samples_encode(const struct trace_samples *s, struct buf *out);
/* -1 with the reason for what is not sound; *out is then empty. */
int trace_samples_decode(const uint8_t *raw, size_t len, struct trace_samples *out, struct errbuf *err);
void trace_samples_free(struct trace_samples *s);

#endif
