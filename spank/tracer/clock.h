/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's clock in ticks: the time-stamp counter where it is constant and never stops, else nanoseconds of
 * CLOCK_MONOTONIC.
 */
#ifndef PRECEDENT_SPANK_TRACER_CLOCK_H
#define PRECEDENT_SPANK_TRACER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern bool clock_is_tsc;

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(clock_is_tsc, 1))
		return __builtin_ia32_rdtsc();
#endif
	return clock_ns(CLOCK_MONOTONIC);
}

/* Invariant time-stamp counter: CPUID 0x80000007, EDX bit 8. */
static inline bool clock_has_tsc(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
#else
	return false;
#endif
}

#endif
