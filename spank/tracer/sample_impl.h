/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of samples share: see sample.h. */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"
#include "spank/tracer/counters.h"
#include "trace/format/samples.h"

#define SAMPLE_THREADS 64
#define SAMPLE_OTHERS  SAMPLE_THREADS /* index of all threads together that came and went before they were found */

struct sample_kept {
	struct trace_sample s;
	uint64_t pc;
	bool drop;
};

struct sample_state {
	struct sample_kept *kept; /* `room` of them; NULL: nothing is sampled */
	uint32_t n, room, n_thread;
	uint32_t rank;
	uint64_t period_ns;       /* of processor time between two samples of a thread */
	struct counters counters; /* of thread 0 */
	uint32_t counted;         /* a bit for each enum trace_counter that the node has */
	struct errbuf none;       /* why nothing is sampled */
};
extern struct sample_state sampling;

/* One look at a thread. */
struct sample_look {
	uint64_t event, tick;
	uint64_t cpu_ns, wall_ns; /* the thread's processor time in all; CLOCK_MONOTONIC */
	uint64_t delayed_ns;      /* since the look before: ready to run, but without a processor; at most the time off it */
	uint8_t flags;            /* enum trace_sample_flag */
	uint64_t pc, reg[TSAMPLE_REGS];
	uint64_t counter[TCOUNTER_N];
};

/*
 * Keeps a look at a thread. Returns true when there were too many samples, so that every second one was dropped and
 * sampling.period_ns doubled. One caller at a time.
 */
bool sample_keep(uint32_t index, const struct sample_look *look);
/* Time off the processor between the thread's last kept look and (cpu_ns, wall_ns), 0 below SAMPLE_LATE_NS. */
uint64_t sample_off_ns(uint32_t index, uint64_t cpu_ns, uint64_t wall_ns);
/* Drops every second sample of each thread; the next one that stays stands for its time as well. */
void sample_thin(struct sample_kept *kept, uint32_t *n);

#define SAMPLE_LATE_NS 1000000 /* shorter times off the processor are not told apart into delay and sleep */

/* A source of samples. */
struct sample_source {
	const char *name;
	/* Begins with the calling thread. Returns 0, or -1 when the node does not offer it (err says why). */
	int (*begin)(struct errbuf *err);
	/* Thread `index` was found, or has ended. */
	void (*thread_begin)(uint32_t index, pid_t id);
	void (*thread_end)(uint32_t index);
	void (*end)(void);
};
extern const struct sample_source sample_ring, sample_timer;

/* ---- sample_threads.c: system calls alone, as signal handlers may make them ---- */

/* Looks for threads that have begun or ended, unless it has done so a moment ago. now_ns: CLOCK_MONOTONIC. */
void sample_threads_look(const struct sample_source *source, uint64_t now_ns);
/* Thread 0 is the calling one. Returns its id. */
pid_t sample_threads_begin(void);
/* The id of a thread, 0 when it has ended. */
pid_t sample_thread_id(uint32_t index);
/* How long a thread has waited for a processor in all; UINT64_MAX where the kernel does not say. */
uint64_t sample_delay_ns(pid_t id);
/* The first bytes of a file, ended by a zero byte. Returns their number, or -1. */
long sample_read_file(const char *path, char *text, long size);

#endif
