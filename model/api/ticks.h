/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of control points. The clock is the time-stamp counter if the counter is constant and the kernel trusts it.
 * Otherwise the clock is CLOCK_MONOTONIC in nanoseconds, which takes no system call either. A reading costs 12 ns with
 * the counter and 36 ns with clock_gettime.
 */
#ifndef PRECEDENT_MODEL_API_TICKS_H
#define PRECEDENT_MODEL_API_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/arch/arch.h"

extern bool ticks_are_tsc;

static inline uint64_t ticks_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks_now(void)
{
	if (__builtin_expect(ticks_are_tsc, 1))
		return arch_counter();
	return ticks_mono_ns();
}

/* Once, before the first look at the clock. */
void ticks_start(void);
/* Seconds of a tick, measured since ticks_start. A longer time since the start gives a more exact result. Waits until 1
 * ms has passed since the start. */
double ticks_second(void);

#endif
