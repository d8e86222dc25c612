/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernels that the processor's core limits: integers, branches, scalar floating point, divisions, functions. */
#include <math.h>

#include "skelgen/runtime/kernel_work.h"

/* A counter in memory, which no compiler takes away. */
__attribute__((noinline)) void kernel_nothing(uint64_t units)
{
	for (volatile uint64_t u = 0; u < units; u++)
		;
}

/* Three chains of additions, shifts and logic, with look-ups; one of them stores. */
__attribute__((noinline)) void kernel_integer(struct kernel *k, uint64_t units)
{
	uint64_t a = k->integer[0], b = k->integer[1], c = k->integer[2];
	uint64_t *out = k->coin;

	for (uint64_t u = 0; u < units; u++) {
		uint64_t v = k->table[a & (TABLE_WORDS - 1)], w = k->table[(b >> 7) & (TABLE_WORDS - 1)];

		a = (a << 5) + (a >> 3) + v;
		b = (b ^ w) + (b >> 11);
		c += (c << 7 | c >> 57) ^ 0x9e3779b97f4a7c15ull;
		out[c >> 54] ^= v + w;
		out[(c >> 40) & (TABLE_WORDS - 1)] += c;
		HIDE_INTEGER(a);
		HIDE_INTEGER(b);
		HIDE_INTEGER(c);
	}
	k->integer[0] = a;
	k->integer[1] = b;
	k->integer[2] = c;
}

/* Two branches a unit, each taken every other time: the words that decide are drawn in an order that never returns. */
__attribute__((noinline)) void kernel_branch(struct kernel *k, uint64_t units)
{
	uint64_t x = k->branch;

	for (uint64_t u = 0; u < units; u++) {
		x = x * 6364136223846793005ull + k->coin[(x >> 32) & (TABLE_WORDS - 1)];
		if (x >> 63) {
			x ^= x >> 31;
			HIDE_INTEGER(x);
		} else {
			x += 0x9e3779b97f4a7c15ull;
			HIDE_INTEGER(x);
		}
		if ((x >> 61) & 1) {
			x += x << 9;
			HIDE_INTEGER(x);
		} else {
			x ^= 0x2545f4914f6cdd1dull;
			HIDE_INTEGER(x);
		}
	}
	k->branch = x;
}

/* The logistic map: a chain of dependent operations that never settles, within (0, 1). */
__attribute__((noinline)) void kernel_scalar(struct kernel *k, uint64_t units)
{
	double x = k->scalar;

	for (uint64_t u = 0; u < units; u++) {
		double t = 3.99 * x;

		x = t - t * x;
		HIDE_DOUBLE(x);
	}
	k->scalar = x;
}

static inline double square_root(double x)
{
#if defined(__x86_64__)
	__asm__ volatile("sqrtsd %0, %0" : "+x"(x));
	return x;
#else
	return __builtin_sqrt(x);
#endif
}

/* Two chains of a square root and a division, of numbers within (0, 1) that never settle either. */
__attribute__((noinline)) void kernel_divide(struct kernel *k, uint64_t units)
{
	double x = k->divide[0], z = k->divide[1], quarter = 0.2501;

	HIDE_DOUBLE(quarter);
	for (uint64_t u = 0; u < units; u++) {
		double y = square_root(x), w = square_root(z);

		x = y * (1.0 - y) / quarter;
		z = w * (1.0 - w) / quarter;
		HIDE_DOUBLE(x);
		HIDE_DOUBLE(z);
	}
	k->divide[0] = x;
	k->divide[1] = z;
}

/* An exponential, a sine and a logarithm a unit, of numbers within (0, 3). */
__attribute__((noinline)) void kernel_libm(struct kernel *k, uint64_t units)
{
	double x = k->libm;

	for (uint64_t u = 0; u < units; u++) {
		x = 1.5 + sin(37.0 * exp(-x));
		x = log(1.1 + x * x);
		HIDE_DOUBLE(x);
	}
	k->libm = x;
}
