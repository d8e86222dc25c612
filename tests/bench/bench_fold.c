/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Speed of the online folder on a loopy stream and on random text; one line each. */
#include <stdio.h>
#include <time.h>

#include "trace/format/fold.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void run(const char *what, uint64_t n, uint32_t (*sym)(uint64_t))
{
	struct fold *f = fold_create();
	double t = now();

	for (uint64_t i = 0; f && i < n; i++)
		fold_push(f, sym(i));
	t = now() - t;
	printf("%-28s %11llu symbols  %7.1f M symbols/s  %9llu items\n", what, (unsigned long long)n,
	       (double)n / t * 1e-6, (unsigned long long)(f ? fold_items(f) : 0));
	fold_destroy(f);
}

static uint32_t loopy(uint64_t i)
{
	uint64_t k = i % 7007; /* a wavefront: 1000 times 7 calls, then 7 others */

	return k < 7000 ? (uint32_t)(k % 7) : (uint32_t)(k - 7000 + 7);
}

static uint32_t random4(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	i ^= i >> 29;
	i *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(i >> 60) & 3;
}

/* Of a program that goes to random places, where a fold finds nothing. */
static uint32_t random2048(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15ull;
	i ^= i >> 29;
	i *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(i >> 53);
}

int main(void)
{
	run("nested loops", 100000000, loopy);
	run("random, 4 letters", 10000000, random4);
	run("random, 2048 letters", 10000000, random2048);
	return 0;
}
