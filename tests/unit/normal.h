/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers for tests, the same in every run: splitmix64, and normal deviates from it. */
#ifndef PRECEDENT_TESTS_NORMAL_H
#define PRECEDENT_TESTS_NORMAL_H

#include <math.h>
#include <stdint.h>

static uint64_t state64 = 1; /* the seed */

static inline double uniform(void)
{
	state64 += 0x9e3779b97f4a7c15ull;
	uint64_t z = state64;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

#endif
