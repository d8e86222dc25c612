/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the kernels. Every point of a curve is measured in several rounds that run through all points, and its
 * median is taken, so that a disturbance of a few milliseconds spoils no point. What disturbs all the time, such as
 * ranks that share a core, is found by one long block (calibrate_share).
 */
#include <stdlib.h>
#include <time.h>

#include "skelgen/runtime/compute.h"

#define ROUNDS 9

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare_double);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Mean time of one run of `units`, repeated for about window_ns, without the cost of reading the clock. */
static double time_units(int k, uint64_t units, uint64_t repeat, double clock_ns)
{
	double start = now_ns();

	for (uint64_t i = 0; i < repeat; i++)
		kernel_run(k, units);
	return (now_ns() - start - clock_ns) / (double)repeat;
}

static double clock_cost_ns(void)
{
	double start = now_ns(), end = start;

	for (int i = 0; i < 1000; i++)
		end = now_ns();
	return (end - start) / 1000;
}

void calibrate_kernel(int k, double budget_ns, struct curve *out)
{
	double sample[CURVE_POINTS][ROUNDS], window = budget_ns / (ROUNDS * CURVE_POINTS);
	double clock_ns = clock_cost_ns(), unit_ns;

	time_units(k, 4096, 4, clock_ns);
	unit_ns = time_units(k, 4096, 4, clock_ns) / 4096;
	if (unit_ns < 0.1)
		unit_ns = 0.1;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CURVE_POINTS; i++) {
			uint64_t units = 1ull << i;
			double repeat = window / (unit_ns * (double)units + 2);

			sample[i][round] = time_units(k, units, repeat < 2 ? 2 : (uint64_t)repeat, clock_ns);
		}
	for (int i = 0; i < CURVE_POINTS; i++) {
		out->ns[i] = median(sample[i], ROUNDS);
		/* More work never takes less time: the inverse must exist. */
		double least = i > 0 ? out->ns[i - 1] * 1.01 : 0.1;

		if (out->ns[i] < least)
			out->ns[i] = least;
	}
}

/* Blocks take what the curves say: the state before calibrate_blocks. */
static void blocks_trust_curves(struct calibration *c)
{
	for (int i = 0; i < BLOCK_POINTS; i++)
		c->block_ns[i] = BLOCK_LEAST_NS * (double)(1ull << i);
	c->call_ns = 0;
}

static double time_blocks(double ns, double window)
{
	int repeat = window / ns < 4 ? 4 : (int)(window / ns);
	double start = now_ns();

	for (int i = 0; i < repeat; i++)
		compute_block(ns);
	return (now_ns() - start) / repeat;
}

void calibrate_blocks(struct calibration *c, double budget_ns)
{
	double sample[BLOCK_POINTS][ROUNDS], call[ROUNDS], window = budget_ns / (ROUNDS * BLOCK_POINTS);

	blocks_trust_curves(c);
	compute_open(c);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCK_POINTS; i++)
			sample[i][round] = time_blocks(c->block_ns[i], window);
		call[round] = time_blocks(1e-6, 1e-3);
	}
	for (int i = 0; i < BLOCK_POINTS; i++) {
		double least = i > 0 ? c->block_ns[i - 1] * 1.01 : 1;

		c->block_ns[i] = median(sample[i], ROUNDS);
		if (c->block_ns[i] < least)
			c->block_ns[i] = least;
	}
	c->call_ns = median(call, ROUNDS);
}

/* A mean, not a median: what takes the core away now and then is in the traced gaps as well. */
double calibrate_share(const struct calibration *c, double budget_ns)
{
	double start, share;

	compute_open(c);
	start = now_ns();
	compute_block(budget_ns);
	share = (now_ns() - start) / budget_ns;
	return share < 0.5 ? 0.5 : share;
}
