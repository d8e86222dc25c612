/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace of a run: even paces, even changes, noise of a known size, bounds, and runs that tell nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "trace/cpu_time/pace.h"

#define CALLS	16000
#define WALL_NS 16e9 /* a millisecond a call */

static const struct trace_rank of_kinds = {
	.defs = {.sigs = {.n = 3}, .proc = {.end_ticks = 16000000000, .ns_per_tick = 1}}};

/* Adds a rank whose computation before call i takes gap(i) ns. kind(i): its call, of 3. */
static void add_rank(struct pace *p, double (*gap)(int i), uint32_t (*kind)(int i))
{
	pace_begin(p, &of_kinds);
	for (int i = 0; i < CALLS; i++)
		pace_add(p, kind(i), i * 1e6, gap(i));
	pace_end(p);
}

static double half_width(double (*gap)(int i), uint32_t (*kind)(int i))
{
	struct pace p = {0};

	add_rank(&p, gap, kind);
	return pace_half_width(&p);
}

static uint32_t one(int i)
{
	(void)i;
	return 0;
}

/* The share of the kinds differs from slice to slice. */
static uint32_t changing(int i)
{
	return i % 10 < 3 + i / 1000 % 5 ? 1 : 2;
}

static double by_kind(int i)
{
	return 1e5 * (1 + 3 * changing(i));
}

static double growing(int i)
{
	return 1e5 + 50.0 * i;
}

/* Normal numbers of slices of 1,000 calls, by the sum of twelve uniform numbers. */
static double noise_of(int slice)
{
	uint32_t x = (uint32_t)slice * 2654435761u + 12345;
	double sum = -6;

	for (int k = 0; k < 12; k++) {
		x = x * 1664525u + 1013904223u;
		sum += x / 4294967296.0;
	}
	return sum;
}

static int seed;

static double noisy(int i)
{
	return 5e5 * (1 + 0.02 * noise_of(1000 * seed + i / 1000));
}

static double wild(int i)
{
	return 5e5 * (1 + 0.9 * (i / 1000 % 2));
}

static double little(int i)
{
	return 5e4 * (1 + i / 1000 % 2); /* at most a tenth of the time */
}

static void test_even(void **state)
{
	(void)state;
	assert_true(half_width(by_kind, changing) < 1e-9);
	assert_true(half_width(growing, one) < 1e-9);
}

/* Slices that differ by 2 % are runs that differ by 1 %, and the difference of two of them is within 2 sqrt(2) %. */
static void test_noise(void **state)
{
	struct pace p = {0};

	(void)state;
	for (seed = 0; seed < 100; seed++)
		add_rank(&p, noisy, changing);
	assert_true(fabs(pace_half_width(&p) - 0.02 * M_SQRT2) < 0.002);
}

/* A symbol that comes in one slice only counts as even. */
static void test_new_symbols(void **state)
{
	struct trace_rank many = {.defs = {.sigs = {.n = CALLS / 1000}, .proc = of_kinds.defs.proc}};
	struct pace p = {0};

	(void)state;
	pace_begin(&p, &many);
	for (int i = 0; i < CALLS; i++)
		pace_add(&p, (uint32_t)i / 1000, i * 1e6, noisy(i));
	pace_end(&p);
	assert_true(p.differences == 14 && pace_half_width(&p) < 1e-9);
}

static void test_bounds(void **state)
{
	struct trace_rank other = of_kinds;
	struct pace p = {0}, late = {0};

	(void)state;
	assert_true(half_width(wild, one) == 0.1);
	assert_true(half_width(little, one) == 0);
	assert_true(pace_half_width(&p) == 0);
	other.defs.proc.end_ticks = 0;
	pace_begin(&p, &other);
	assert_null(p.sum);
	pace_add(&p, 0, 0, 1e6);
	pace_end(&p);
	other = of_kinds;
	other.defs.sigs.n = 1 << 20;
	pace_begin(&p, &other);
	assert_null(p.sum);

	pace_begin(&late, &of_kinds); /* calls behind the end, by another clock: of the last slice */
	for (int i = 0; i < CALLS; i++)
		pace_add(&late, 0, i < CALLS - 1000 ? i * 1e6 : 2 * WALL_NS, noisy(i));
	pace_add(&late, 7, 0, 1e6); /* no call of the rank */
	pace_end(&late);
	assert_true(pace_half_width(&late) == half_width(noisy, one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_new_symbols),
		cmocka_unit_test(test_bounds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
