/* SPDX-License-Identifier: GPL-2.0-or-later */
/* splitmix64, Marsaglia and Tsang's gamma (2000), the series of the incomplete gamma function. */
#include <math.h>

#include "tests/bench/backfill/random.h"

#define GOLDEN 0x9e3779b97f4a7c15ULL

uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->state += GOLDEN);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

struct rng rng_make(uint64_t seed, uint64_t tag)
{
	struct rng r = {seed};

	r.state = rng_next(&r) ^ tag * GOLDEN;
	r.state = rng_next(&r);
	return r;
}

double rng_uniform(struct rng *r)
{
	return ((double)(rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(rng_uniform(r) * (double)n);
}

double rng_normal(struct rng *r)
{
	double radius = sqrt(-2 * log(rng_uniform(r)));

	return radius * cos(2 * M_PI * rng_uniform(r));
}

double rng_gamma(struct rng *r, double shape, double scale)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = rng_normal(r), v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(rng_uniform(r)) < x * x / 2 + d - d * v + d * log(v))
			return d * v * scale;
	}
}

double gamma_cdf(double x, double shape, double scale)
{
	double term, sum;

	x /= scale;
	if (x <= 0)
		return 0;
	term = sum = exp(shape * log(x) - x - lgamma(shape + 1));
	for (int i = 1; i < 10000 && term > sum * 1e-15; i++) {
		term *= x / (shape + i);
		sum += term;
	}
	return sum < 1 ? sum : 1;
}
