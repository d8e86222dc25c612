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

/* Sums over a table, none of which waits for another: as many instructions as the processor starts, with a branch after every
 * few of them, as programs have, which it foretells. */
__attribute__((noinline)) void kernel_integer(struct kernel *k, uint64_t units)
{
	uint64_t a = k->integer[0], b = k->integer[1], c = k->integer[2];
	uint32_t at = k->table_at, each = 4;

	HIDE_INTEGER(each);
	for (uint64_t u = 0; u < units; u++)
		for (uint32_t i = 0; i < each; i++) {
			uint64_t v = k->table[at];

			a += v;
			b ^= v >> 3;
			c += v & 0xffff;
			k->sum[at] = c;
			at = (at + 1) & (TABLE_WORDS - 1);
			HIDE_INTEGER(a);
			HIDE_INTEGER(b);
			HIDE_INTEGER(c);
		}
	k->integer[0] = a;
	k->integer[1] = b;
	k->integer[2] = c;
	k->table_at = at;
}

/* A chain of a product, shifts and a look-up. */
__attribute__((noinline)) void kernel_integer_chain(struct kernel *k, uint64_t units)
{
	uint64_t x = k->hash;

	for (uint64_t u = 0; u < units; u++) {
		x = (x ^ x >> 29) * 0x9e3779b97f4a7c15ull;
		x += k->table[x >> 54];
		HIDE_INTEGER(x);
	}
	k->hash = x;
}

/* Two branches a unit, each taken every other time, in an order that never returns. */
__attribute__((noinline)) void kernel_branch(struct kernel *k, uint64_t units)
{
	uint64_t x = k->branch, a = k->side[0], b = k->side[1];

	for (uint64_t u = 0; u < units; u++) {
		x = x * BRANCH_FACTOR + BRANCH_ADD;
		if (x >> 63) {
			a += 3;
			HIDE_INTEGER(a);
		} else {
			b ^= 5;
			HIDE_INTEGER(b);
		}
		if ((x >> 61) & 1) {
			b += 7;
			HIDE_INTEGER(b);
		} else {
			a ^= 9;
			HIDE_INTEGER(a);
		}
	}
	k->branch = x;
	k->side[0] = a;
	k->side[1] = b;
}

/* Sums of which none waits for another, number by number over arrays in the first-level cache, as most programs have it. They
 * never settle, since what is added moves on. */
__attribute__((noinline)) void kernel_scalar(struct kernel *k, uint64_t units)
{
	double fade = 0.999;
	uint32_t at = k->number_at, each = LINE_DOUBLES;

	HIDE_DOUBLE(fade);
	HIDE_INTEGER(each);
	for (uint64_t u = 0; u < units; u++) {
		const double *t = k->number + at;
		double *sum = k->sums + at;

		for (uint32_t i = 0; i < each; i++) {
			double x = sum[i] * fade + t[i];

			HIDE_DOUBLE(x);
			sum[i] = x;
		}
		at = (at + LINE_DOUBLES) & (NUMBERS - 1);
	}
	k->number_at = at;
}

/* The logistic map: a chain of dependent operations that never settles, within (0, 1). */
__attribute__((noinline)) void kernel_scalar_chain(struct kernel *k, uint64_t units)
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
