/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock for tests, which shows the time that the test spends, independent of other load. The recorder's ticks are
 * ns then. It replaces the C library's clock in the whole program. So it is included once, and is in no library of
 * tests.
 */
#ifndef PRECEDENT_TESTS_OWN_CLOCK_H
#define PRECEDENT_TESTS_OWN_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "spank/tracer/clock.h"

#define US   1000 /* ticks */
#define LOOK 40	  /* ticks per reading of the clock by the recorder */

static uint64_t own_clock = 1000000000; /* ns, of every clock */

/* A wrong clock (clock_skew) reads twice. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	own_clock += LOOK / 2;
	*t = (struct timespec){.tv_sec = (time_t)(own_clock / 1000000000), .tv_nsec = (long)(own_clock % 1000000000)};
	return 0;
}

int nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	own_clock += (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
	return 0;
}

/* Call before the recorder begins. */
static void own_clock_begin(void)
{
	clock_skew.on = true; /* offset 0: ticks are those of clock_gettime */
}

static void spend(uint64_t ticks)
{
	own_clock += ticks;
}

#endif
