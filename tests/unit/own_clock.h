/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock for a test, which shows what it spends: other load on the machine changes nothing. Ticks of the recorder are ns then.
 * It takes the place of the C library's in the whole program, so that it is in no library of tests but included, once.
 */
#ifndef PRECEDENT_TESTS_OWN_CLOCK_H
#define PRECEDENT_TESTS_OWN_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "spank/tracer/clock.h"

#define US   1000 /* ticks */
#define LOOK 40	  /* ticks that each look of the recorder at the clock takes */

static uint64_t own_clock = 1000000000; /* ns, of every clock */

/* A wrong clock (clock_skew) asks twice. */
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

/* Before the recorder begins. */
static void own_clock_begin(void)
{
	clock_skew.on = true; /* by nothing: ticks are those of clock_gettime */
}

static void spend(uint64_t ticks)
{
	own_clock += ticks;
}

#endif
