/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of the process's computation: program counter and registers of each thread, some hundred times per second of
 * its processor time.
 *
 * Two sources, the first that the node offers:
 *   ring    the kernel writes samples into memory that the tracer shares with it (perf_event_open). No signal, no
 *           descriptor and no thread of ours exists in the program.
 *   timer   a timer per thread and signal 32, which the C library keeps for itself (sample_timer.c).
 * Without either nothing is sampled, and the trace says why.
 *
 * PRECEDENT_TRACE_SAMPLE: samples per second of a thread's processor time; 0: none.
 */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_H

#include <stdint.h>

#include "common/buf.h"

/* Begins with the calling thread, which is thread 0. Call when recording has begun. */
void sample_begin(uint32_t rank, uint32_t n_ranks);
/* Ends sampling; the samples stay. */
void sample_end(void);
/* Appends a page of samples to out; nothing when there are none. Call after sample_end and before site_define. */
void sample_encode(struct buf *out);
/* The source of the samples ("ring", "timer"), or "none: REASON". Valid from sample_begin to sample_free. */
const char *sample_source(void);
void sample_free(void);

#endif
