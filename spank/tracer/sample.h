/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of the process's computation: program counter and registers of each thread, some hundred times per second of
 * its processor time.
 *
 * There are two sources. The first one that works on the node is used:
 *   ring    the kernel writes samples into memory that it shares with the tracer (perf_event_open). The program gets no
 *           descriptor and no thread, and signal 32 every two seconds (sample_watch_begin).
 *   timer   a timer per thread and signal 32, which the C library reserves for itself (sample_timer.c).
 * If neither works, there are no samples, and the trace says why.
 *
 * PRECEDENT_TRACE_SAMPLE: samples per second of a thread's processor time; 0: none.
 */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_H

#include <stdint.h>

#include "common/buf.h"

/* Begin with the calling thread, which is thread 0. Call when recording has begun. */
void sample_begin(uint32_t rank, uint32_t n_ranks);
/* End sampling; the samples stay. */
void sample_end(void);
/* Append a page of samples to out, if there are samples. Call after sample_end and before site_define. */
void sample_encode(struct buf *out);
/* The source of the samples ("ring", "timer"), or "none: REASON". Valid from sample_begin to sample_free. */
const char *sample_source(void);
void sample_free(void);

#endif
