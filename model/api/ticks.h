/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of control points: the time-stamp counter where it is constant and the kernel itself trusts it (12 ns, against
 * 36 ns of clock_gettime), else nanoseconds of CLOCK_MONOTONIC, which takes no system call either.
 */
#ifndef PRECEDENT_MODEL_API_TICKS_H
#define PRECEDENT_MODEL_API_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern bool ticks_are_tsc;

static inline uint64_t ticks_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(ticks_are_tsc, 1))
		return __builtin_ia32_rdtsc();
#endif
	return ticks_mono_ns();
}

/* Once, before the first look at the clock. */
void ticks_start(void);
/* Seconds of a tick, as measured since the start: the longer ago, the more exact. Waits until that was 1 ms ago. */
double ticks_second(void);

#endif
