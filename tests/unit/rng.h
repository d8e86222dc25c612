/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same in every run of a test: George Marsaglia's xorshift of 64 bits. */
#ifndef PRECEDENT_TESTS_UNIT_RNG_H
#define PRECEDENT_TESTS_UNIT_RNG_H

#include <stdint.h>

static inline uint64_t rng64(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline uint32_t rng(void)
{
	return (uint32_t)(rng64() >> 32);
}

static inline uint32_t rng_below(uint32_t n)
{
	return rng() % n;
}

#endif
