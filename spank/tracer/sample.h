/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of what the process computes: a timer per thread, a handler that stores program counter and registers.
 *
 * RATIONALE: the timers count time in user mode only. With accounting by ticks, which kernels have unless told otherwise
 * (nohz_full), they expire only where a tick found the thread in user mode, so that their signal never meets a system
 * call: no EINTR that the program would not see without us. Where that does not hold, nothing is sampled.
 * A timer is armed again by its handler, if that is still ours: a program that takes the signal over gets one at most,
 * and one that resets it none, because SIGURG is ignored by default.
 * Threads are found in /proc/self/task now and then, from within the handler; nothing of the thread library is touched.
 *
 * PRECEDENT_TRACE_SAMPLE: samples per second of a thread's time; 0: none.
 */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_H

#include <stdint.h>

#include "common/buf.h"

/* The recorder records: begin with the calling thread. Fails silently: then there are no samples. */
void sample_begin(uint32_t rank, uint32_t n_ranks);
/* No more signals from here on. */
void sample_end(void);
/* The content of a page of samples, after sample_end and before site_define; nothing when there are none. */
void sample_encode(struct buf *out);
/* Of the process's memory, then given back. */
void sample_free(void);

#endif
