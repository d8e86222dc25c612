/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's clock in ticks. It is the time-stamp counter if that is constant and never stops, otherwise
 * CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef PRECEDENT_SPANK_TRACER_CLOCK_H
#define PRECEDENT_SPANK_TRACER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/arch/arch.h"

extern bool clock_is_tsc;

/* A wrong clock for tests (clock_skew_read): the process appears to run on another node. Ticks are then ns. */
struct clock_skew {
	bool on;
	int64_t offset_ns;
	double drift;
	uint64_t since_ns; /* CLOCK_MONOTONIC at the start of the drift */
};
extern struct clock_skew clock_skew;

/* 0 if the clock does not exist: the clock of a thread ends with the thread. */
static inline uint64_t clock_true_ns(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t clock_skewed_ns(clockid_t id);

static inline uint64_t clock_ns(clockid_t id)
{
	return __builtin_expect(clock_skew.on, 0) ? clock_skewed_ns(id) : clock_true_ns(id);
}

/* Readings of several clocks, each together with the ticks at the same time. */
struct clock_moment {
	uint64_t real_ns, real_tick, mono_ns, mono_tick;
};
void clock_moment_read(struct clock_moment *m);

/* Set the clock error for this rank from PRECEDENT_TEST_SKEW=rank:offset_us:ppm[,rank:offset_us:ppm]... */
void clock_skew_read(int rank);

static inline uint64_t clock_ticks(void)
{
	if (__builtin_expect(clock_is_tsc, 1))
		return arch_counter();
	return clock_ns(CLOCK_MONOTONIC);
}

/* May ticks be those of the processor's counter? */
static inline bool clock_has_tsc(void)
{
	return !clock_skew.on && arch_has_counter();
}

#endif
