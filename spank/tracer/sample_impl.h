/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the sources of samples share: see sample.h. */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"
#include "spank/tracer/counters.h"
#include "trace/format/samples.h"

#define SAMPLE_THREADS 64
#define SAMPLE_OTHERS  SAMPLE_THREADS /* index of all threads together that ended before they were found */

struct sample_kept {
	struct trace_sample s;
	uint64_t pc;
	bool drop;
};

struct sample_state {
	struct sample_kept *kept; /* `room` samples; NULL: sampling is off */
	uint32_t n, room, n_thread;
	uint32_t rank;
	uint64_t period_ns;       /* of processor time between two samples of a thread */
	bool is_default;          /* the user has asked for no other */
	struct counters counters; /* counters of thread 0 */
	uint32_t counted;         /* bit mask of enum trace_counter: counters of this node */
	struct errbuf none;       /* why sampling is off */
};
extern struct sample_state sampling;

/* One look at a thread. */
struct sample_look {
	uint64_t event, tick;
	uint64_t cpu_ns, wall_ns; /* total processor time of the thread; CLOCK_MONOTONIC */
	/* since the last look: ready to run without a processor; at most the time off the processor */
	uint64_t delayed_ns;
	uint8_t flags;            /* enum trace_sample_flag */
	uint64_t pc, reg[TSAMPLE_REGS];
	uint64_t counter[TCOUNTER_N];
};

/*
 * Store a look at a thread. Returns true if there were too many samples: then every second one was dropped and
 * sampling.period_ns was doubled. Not thread-safe.
 */
bool sample_keep(uint32_t index, const struct sample_look *look);
/* Time off the processor between the thread's last stored look and (cpu_ns, wall_ns); 0 up to SAMPLE_OFF_NS. */
uint64_t sample_off_ns(uint32_t index, uint64_t cpu_ns, uint64_t wall_ns);
/* Drop every second sample of each thread. The next sample that stays covers its time as well. */
void sample_thin(struct sample_kept *kept, uint32_t *n);

/*
 * Shorter times off the processor are not looked into: reading the kernel's count of delays takes 8 us, and 20 us are
 * half a per cent of a period at 256 Hz. Delays must not add up unseen, or the next sleep is taken for them.
 */
#define SAMPLE_OFF_NS    20000
/* Time that is no delay may be the host's or an interrupt's. A shorter one is not called sleep. */
#define SAMPLE_ASLEEP_NS 1000000

/* A source of samples. */
struct sample_source {
	const char *name;
	/* Start with the calling thread. Returns 0, or -1 if the node does not support this source (err says why). */
	int (*begin)(struct errbuf *err);
	/* Thread `index` was found, or has ended. */
	void (*thread_begin)(uint32_t index, pid_t id);
	void (*thread_end)(uint32_t index);
	/* Time that a thread waited for a processor since its last look, of off_ns off the processor. Also after end(). */
	uint64_t (*delayed)(uint32_t index, uint64_t off_ns);
	void (*end)(void);
};
extern const struct sample_source sample_ring, sample_timer;

/*
 * Measures for some ms how long the kernel takes for a sample of sample_ring: 1 to 2 us, but 20 to 50 us on a virtual
 * machine, where the host programs the timer. Returns rec.sample_cost; 0: not known.
 */
double sample_ring_cost(void);

/*
 * Watch where the calling thread computes, and store it in the spill file, which survives the process: for a source
 * whose samples are read at the next call. The timer expires every few seconds of the thread's time in user mode.
 * Nothing is done if the node has no such timers.
 */
void sample_watch_begin(void);
void sample_watch_end(void);

/* ---- sample_threads.c: system calls alone, as signal handlers may make them ---- */

/* Look for threads that have begun or ended, unless the last look was a moment ago. now_ns: CLOCK_MONOTONIC. */
void sample_threads_look(const struct sample_source *source, uint64_t now_ns);
/* Start with the calling thread as thread 0. Returns its id. */
pid_t sample_threads_begin(void);
/* The id of a thread; 0 if it has ended. */
pid_t sample_thread_id(uint32_t index);
/* Total time that a thread has waited for a processor; UINT64_MAX if the kernel does not tell. */
uint64_t sample_delay_ns(pid_t id);
/* Read the first bytes of a file, with a NUL at the end. Returns their number, or -1. */
long sample_read_file(const char *path, char *text, long size);

#endif
