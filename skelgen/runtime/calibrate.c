/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the kernels. Every point of a curve is measured in several rounds that run through all points, and its
 * median is taken, so that a disturbance of a few milliseconds spoils no point. Permanent disturbances, such as
 * ranks that share a core, do not count: time is time with a processor (own_clock.h). All that takes longer by the clock,
 * so that it has a limit: then what is known from the rounds so far must do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/own_clock.h"

#define ROUNDS        9
#define ROUNDS_LEAST  3
#define CLOCK_READS   100
#define LONGEST_NS    50e3 /* a curve is straight beyond */
#define TRIAL_NS      20e3
#define TRIALS        3
#define WINDOW_NS     50e3 /* of short blocks */
#define TURN_NS       100e3 /* a block that classes share */

#define SHARE_PARTS   10    /* of the long block, between which the time is looked at */

/* Once it is over, no more rounds begin. planned_ns, left_out_ns: of processor time. */
static struct {
	double end_ns, planned_ns, left_out_ns;
} limit = {.end_ns = INFINITY};

void calibrate_limit(double wall_ns)
{
	limit.end_ns = compute_clock_ns() + wall_ns;
	limit.planned_ns = limit.left_out_ns = 0;
}

double calibrate_undone(void)
{
	return limit.planned_ns > 0 ? limit.left_out_ns / limit.planned_ns : 0;
}

/* Does round `round` of `rounds` begin? The first always does. budget_ns: of all rounds. */
static int begins(int round, int rounds, double budget_ns)
{
	if (round == 0)
		limit.planned_ns += budget_ns;
	if (round == rounds)
		return 0;
	if (round == 0 || compute_clock_ns() <= limit.end_ns)
		return 1;
	limit.left_out_ns += budget_ns * (rounds - round) / rounds;
	return 0;
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

/* Mean time of one run of `units`, without the cost of reading the clock. */
static double time_units(int c, uint64_t units, uint64_t repeat, double clock_ns)
{
	struct kernel *k = compute_kernel();
	struct own_clock clock;

	own_clock_start(&clock);
	for (uint64_t i = 0; i < repeat; i++)
		kernel_run(k, c, units);
	return (own_clock_ns(&clock, NULL) - clock_ns) / (double)repeat;
}

/* The least of several rounds: a rank that has to wait for its core meanwhile would have every kernel take no time. */
double calibrate_clock(void)
{
	double least = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double start = compute_clock_ns(), end = start;

		for (int i = 0; i < CLOCK_READS; i++)
			end = compute_clock_ns();
		if (round == 0 || end - start < least)
			least = end - start;
	}
	return least / CLOCK_READS;
}

/* Of several: one from which the processor is taken meanwhile, or at a look at the clock, takes too long or no time. */
static double median_time(int c, uint64_t units, double clock_ns)
{
	double sample[TRIALS];

	for (int i = 0; i < TRIALS; i++)
		sample[i] = time_units(c, units, 1, clock_ns);
	return median(sample, TRIALS);
}

/* A first idea of a unit's time, in as many units as it takes to see it; data that fit a cache are in it afterwards. */
static double unit_time(int c, double clock_ns)
{
	uint64_t units = 16;
	double ns;

	if (c != CLASS_STREAM_MEM && c != CLASS_RANDOM_MEM && c != CLASS_STRIDE_MEM && c != CLASS_FILL_MEM && c != CLASS_COPY_MEM)
		kernel_run(compute_kernel(), c, kernel_round(compute_kernel(), c));
	do {
		units *= 2;
		ns = median_time(c, units, clock_ns);
	} while (ns < TRIAL_NS && units < (1u << 20));
	ns /= (double)units;
	return ns < 0.05 ? 0.05 : ns;
}

void calibrate_kernel(int c, double budget_ns, struct curve *out)
{
	double sample[CURVE_POINTS][ROUNDS], clock_ns = calibrate_clock(), unit_ns = unit_time(c, clock_ns), window;
	int points = CURVE_POINTS, round;

	while (points > 4 && unit_ns * (double)(1ull << (points - 1)) > LONGEST_NS)
		points--;
	window = budget_ns / (ROUNDS * points);
	for (round = 0; begins(round, ROUNDS, budget_ns); round++)
		for (int i = 0; i < points; i++) {
			uint64_t units = 1ull << i;
			double repeat = window / (unit_ns * (double)units + 2);

			sample[i][round] = time_units(c, units, repeat < 2 ? 2 : (uint64_t)repeat, clock_ns);
		}
	for (int i = 0; i < CURVE_POINTS; i++) {
		/* More work never takes less time: the inverse must exist. */
		double least = i > 0 ? out->ns[i - 1] * 1.01 : 0.1;

		out->ns[i] = i < points ? median(sample[i], round) : 3 * out->ns[i - 1] - 2 * out->ns[i - 2];
		if (out->ns[i] < least)
			out->ns[i] = least;
	}
}

static double time_blocks(int mix, double ns, double window)
{
	int repeat = window / ns < 2 ? 2 : (int)(window / ns);
	struct own_clock clock;

	own_clock_start(&clock);
	for (int i = 0; i < repeat; i++)
		compute_block(mix, ns);
	return own_clock_ns(&clock, NULL) / repeat;
}

/* Blocks take what the curves say: the state before they are measured. */
static void blocks_trust_curves(struct calibration *c)
{
	for (int m = 0; m < c->n_mix; m++)
		for (int i = 0; i < BLOCK_POINTS; i++)
			c->block_ns[m][i] = BLOCK_LEAST_NS * (double)(1ull << i);
	c->call_ns = 0;
}

void calibrate_among(struct calibration *c, double budget_ns)
{
	double turn_ns = budget_ns / (ROUNDS * c->n_mix);
	static struct calibration plain;

	for (int m = 0; m < c->n_mix; m++)
		for (int k = 0; k < CLASS_N; k++)
			c->among[m][k] = 1;
	plain = *c;
	blocks_trust_curves(&plain);
	compute_use(&plain);
	for (int round = 0; begins(round, ROUNDS, budget_ns); round++) {
		compute_learn_slices(1); /* the rounds before were by worse times */
		for (int m = 0; m < c->n_mix; m++)
			for (double ns = 0; ns < turn_ns; ns += TURN_NS)
				compute_block(m, TURN_NS);
	}
	compute_learn_slices(0);
	compute_learnt(&plain);
	memcpy(c->among, plain.among, sizeof c->among);
}

void calibrate_mix(struct calibration *c, int mix, double budget_ns)
{
	double sample[BLOCK_POINTS][ROUNDS], longest = BLOCK_LEAST_NS * (double)(1ull << (BLOCK_POINTS - 1));
	double round_ns = 4 * longest + BLOCK_POINTS * WINDOW_NS;
	int rounds = (int)(budget_ns / round_ns), round;
	static struct calibration plain;

	rounds = rounds > ROUNDS ? ROUNDS : rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds;
	plain = *c;
	blocks_trust_curves(&plain);
	compute_use(&plain);
	compute_block(mix, longest);
	for (round = 0; begins(round, rounds, budget_ns); round++)
		for (int i = 0; i < BLOCK_POINTS; i++)
			sample[i][round] = time_blocks(mix, plain.block_ns[mix][i], WINDOW_NS);
	for (int i = 0; i < BLOCK_POINTS; i++) {
		double least = i > 0 ? c->block_ns[mix][i - 1] * 1.01 : 1;

		c->block_ns[mix][i] = median(sample[i], round);
		if (c->block_ns[mix][i] < least)
			c->block_ns[mix][i] = least;
	}
}

void calibrate_call(struct calibration *c)
{
	double call[ROUNDS];
	static struct calibration plain;

	int round;

	plain = *c;
	plain.call_ns = 0;
	compute_use(&plain);
	for (round = 0; begins(round, ROUNDS, 0); round++)
		call[round] = time_blocks(0, 1e-6, 1e-3);
	c->call_ns = median(call, round);
}

/* A mean, not a median: occasional disturbances were in the traced gaps as well, except for the loss of the processor. */
double calibrate_share(const struct calibration *c, double budget_ns, double *wall_share)
{
	struct own_clock clock;
	double share, ran_ns = 0;

	compute_use(c);
	own_clock_start(&clock);
	for (int part = 0; begins(part, SHARE_PARTS, budget_ns); part++) {
		compute_block(0, budget_ns / SHARE_PARTS);
		ran_ns += budget_ns / SHARE_PARTS;
	}
	share = own_clock_ns(&clock, wall_share) / ran_ns;
	*wall_share = fmax(0.5, *wall_share / ran_ns);
	return fmax(0.5, share);
}
