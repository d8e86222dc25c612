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

/* Sums over a table: a look-up, two operations and a store, with a branch that is foretold after every few instructions, as
 * programs have them. No look-up waits for another. */
__attribute__((noinline)) void kernel_integer(struct kernel *k, uint64_t units)
{
	uint64_t a = k->integer[0], b = k->integer[1], each = INTEGER_WORDS;
	uint32_t at = k->table_at;

	HIDE_INTEGER(each);
	for (uint64_t u = 0; u < units; u++) {
		const uint64_t *v = k->table + at;
		uint64_t *sum = k->sum + at;

		for (uint64_t i = 0; i < each; i++) {
			a += v[i];
			b ^= a;
			HIDE_INTEGER(a);
			HIDE_INTEGER(b);
			sum[i] = b;
		}
		at = (at + INTEGER_WORDS) & (TABLE_WORDS - 1);
	}
	k->integer[0] = a;
	k->integer[1] = b;
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

static inline double stencil_part(const double *t, const double *sum, double part)
{
	return part * (t[0] + t[2] + *sum);
}

static inline double stencil_point(const double *t, const double *sum, double part)
{
	return t[1] + stencil_part(t, sum, part);
}

/* A stencil and a faded sum of its results, number by number over arrays in the first-level cache, as in loops of solvers:
 * several operations for each load, and a branch after a dozen of them. The sum is a dependency chain, so that a processor
 * has no more operations under way than in such loops: about half of its throughput. */
__attribute__((noinline)) void kernel_scalar(struct kernel *k, uint64_t units)
{
	double part = 0.2, fade = 0.999, all = k->scalar_sum;
	uint64_t each = SCALAR_POINTS;
	uint32_t at = k->number_at;

	HIDE_DOUBLE(part);
	HIDE_DOUBLE(fade);
	HIDE_INTEGER(each);
	for (uint64_t u = 0; u < units; u++) {
		const double *t = k->number + at;
		double *sum = k->sums + at;

		for (uint64_t i = 0; i < each; i += 2) {
			double x = stencil_point(t + i, sum + i, part), y;

			sum[i] = x;
			HIDE_MEMORY(sum);
			y = stencil_point(t + i + 1, sum + i + 1, part);
			sum[i + 1] = y;
			HIDE_MEMORY(sum);
			all = all * fade + (x + y);
		}
		at = (at + SCALAR_POINTS) & (NUMBERS - 1);
	}
	k->number_at = at;
	k->scalar_sum = all;
}

/* Scaled sums over the same arrays, two operations for each number that is loaded and stored and for each branch. They
 * never settle at once, since what is added moves on. */
__attribute__((noinline)) void kernel_scalar_short(struct kernel *k, uint64_t units)
{
	double fade = 0.999;
	uint32_t at = k->short_at, each = SCALAR_POINTS;

	HIDE_DOUBLE(fade);
	HIDE_INTEGER(each);
	for (uint64_t u = 0; u < units; u++) {
		const double *t = k->number + at;
		double *sum = k->shorts + at;

		for (uint32_t i = 0; i < each; i++) {
			double x = sum[i] * fade + t[i];

			HIDE_DOUBLE(x);
			sum[i] = x;
		}
		at = (at + SCALAR_POINTS) & (NUMBERS - 1);
	}
	k->short_at = at;
}

/* A sweep of which each value depends on the one before, as in solvers of lines: a product and three sums in the chain,
 * and beside them little more than a load and a store. Other work of a program has classes of its own. Each row begins from
 * its own value: a processor enters the next row before this one has ended. Values stay where they are from. */
__attribute__((noinline)) void kernel_scalar_chain(struct kernel *k, uint64_t units)
{
	double part = 0.2, keep = 0.3, x = k->scalar;
	uint64_t at = k->chain_at, n;

	HIDE_DOUBLE(part);
	HIDE_DOUBLE(keep);
	for (uint64_t left = units; left; left -= n) {
		uint64_t in_row = k->row - (at & (k->row - 1)), end;

		n = in_row < left ? in_row : left;
		end = at + n;
		if (in_row == k->row)
			x = k->number[at + 1];
		for (; at < end; at++) {
			const double *t = k->number + at;

			x = keep * t[2] + part * (x + t[0] + k->sweep[at]);
			k->sweep[at] = x;
			HIDE_MEMORY(k);
		}
		at &= NUMBERS - 1;
	}
	k->scalar = x;
	k->chain_at = (uint32_t)at;
}

/* Two chains of a square root and a division, of numbers within (0, 1) that never settle either. */
__attribute__((noinline)) void kernel_divide(struct kernel *k, uint64_t units)
{
	double x = k->divide[0], z = k->divide[1], quarter = 0.2501;

	HIDE_DOUBLE(quarter);
	for (uint64_t u = 0; u < units; u++) {
		double y = arch_square_root(x), w = arch_square_root(z);

		x = y * (1.0 - y) / quarter;
		z = w * (1.0 - w) / quarter;
		HIDE_DOUBLE(x);
		HIDE_DOUBLE(z);
	}
	k->divide[0] = x;
	k->divide[1] = z;
}

/* An exponential, a sine and a logarithm a unit, of numbers of a table: none waits for another. */
__attribute__((noinline)) void kernel_libm(struct kernel *k, uint64_t units)
{
	uint32_t at = k->libm_at;
	double all = k->libm;

	for (uint64_t u = 0; u < units; u++) {
		double x = k->number[at];

		HIDE_DOUBLE(x);
		all = all * 0.5 + (exp(-x) + sin(20.0 * x) + log(x));
		at = (at + 1) & (NUMBERS - 1);
	}
	k->libm = all;
	k->libm_at = at;
}
