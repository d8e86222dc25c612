/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers for the simulation: the same on every machine for the same seed, and streams that do not disturb each
 * other, so that what is compared differs in what is compared alone.
 */
#ifndef PRECEDENT_TESTS_BENCH_BACKFILL_RANDOM_H
#define PRECEDENT_TESTS_BENCH_BACKFILL_RANDOM_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

/* A stream of its own for every pair of seed and tag. */
struct rng rng_make(uint64_t seed, uint64_t tag);
uint64_t rng_next(struct rng *r);
double rng_uniform(struct rng *r); /* above 0, below 1 */
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 .. n - 1; n > 0 */
double rng_normal(struct rng *r);
double rng_gamma(struct rng *r, double shape, double scale); /* shape >= 1 */

/* P(X <= x) of that gamma distribution. */
double gamma_cdf(double x, double shape, double scale);

#endif
