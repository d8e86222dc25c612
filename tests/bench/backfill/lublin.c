/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model of Lublin and Feitelson (JPDC 2003), batch jobs: how many nodes, how long, when. Parameters as published; the
 * largest size is the machine's, the middle one of the two-stage uniform distribution 2.5 below it in the logarithm.
 */
#include <math.h>

#include "tests/bench/backfill/random.h"
#include "tests/bench/backfill/workload.h"

/* Sizes. */
#define SERIAL	     0.2927
#define POWER_OF_TWO 0.6686
#define SIZE_LOW     1.2   /* log2 of the smallest parallel job, a little below it the less of them */
#define SIZE_MIDDLE  2.5   /* below the log2 of the machine */
#define SIZE_PROB    0.875 /* of the lower stage */
/* Logarithm of the run time: two gamma distributions (shape, scale), and how likely the first is. */
#define SHORT_SHAPE 6.57
#define SHORT_SCALE 0.823
#define LONG_SHAPE  639.1
#define LONG_SCALE  0.0156
#define SHORT_PER_NODE -0.003
#define SHORT_AT_0  0.6986
#define LOG_RUN_MAX 12.0 /* some 45 hours */
/* Logarithm of the gap between arrivals, in seconds of rush hour; longer in the mean over the day. */
#define GAP_SHAPE   6.0415
#define GAP_SCALE   0.8531
#define GAP_ALL_DAY 1.0519
#define LOG_GAP_MAX 13.0
/* How many arrive in each half hour of the day. */
#define DAY_SHAPE 6.1271
#define DAY_SCALE 5.2740
#define SLOTS	  48
#define SLOT_S	  1800
#define DAY_BEGIN 11 /* the slot at which the distribution begins: half past five in the morning */

uint32_t lublin_nodes(struct rng *r, uint32_t machine)
{
	double u = rng_uniform(r), high = log2(machine), middle = high - SIZE_MIDDLE, log_size;

	if (u <= SERIAL || machine < 2)
		return 1;
	if (middle < SIZE_LOW)
		middle = SIZE_LOW;
	if (rng_uniform(r) <= SIZE_PROB)
		log_size = SIZE_LOW + rng_uniform(r) * (middle - SIZE_LOW);
	else
		log_size = middle + rng_uniform(r) * (high - middle);
	if (u <= SERIAL + POWER_OF_TWO)
		log_size = floor(log_size + 0.5);
	double size = floor(pow(2, log_size) + 0.5);
	return size < machine ? (uint32_t)size : machine;
}

int64_t lublin_run_s(struct rng *r, uint32_t nodes)
{
	double p = SHORT_PER_NODE * nodes + SHORT_AT_0, log_run;

	do {
		log_run = rng_uniform(r) <= p ? rng_gamma(r, SHORT_SHAPE, SHORT_SCALE) : rng_gamma(r, LONG_SHAPE, LONG_SCALE);
	} while (log_run > LOG_RUN_MAX);
	return (int64_t)exp(log_run) + 1;
}

void lublin_gaps(struct rng *r, double *gaps_s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double log_gap;

		do {
			log_gap = rng_gamma(r, GAP_SHAPE * GAP_ALL_DAY, GAP_SCALE);
		} while (log_gap > LOG_GAP_MAX);
		gaps_s[i] = exp(log_gap);
	}
}

/* How much more than in the mean arrives in each half hour, the first after midnight. */
static void day_weights(double weight[SLOTS])
{
	double sum = 0;

	for (int i = DAY_BEGIN; i < SLOTS + DAY_BEGIN; i++) {
		double w = gamma_cdf(i + 0.5, DAY_SHAPE, DAY_SCALE) - gamma_cdf(i - 0.5, DAY_SHAPE, DAY_SCALE);

		weight[(i - 1) % SLOTS] = w;
		sum += w;
	}
	for (int i = 0; i < SLOTS; i++)
		weight[i] *= SLOTS / sum;
}

void lublin_arrivals(const double *gaps_s, size_t n, double scale, int64_t *out_s)
{
	double weight[SLOTS], left, slot_end = SLOT_S;
	int slot = 0;

	day_weights(weight);
	left = weight[0] * SLOT_S;
	for (size_t i = 0; i < n; i++) {
		double gap = gaps_s[i] * scale;

		while (gap > left) {
			gap -= left;
			slot = (slot + 1) % SLOTS;
			left = weight[slot] * SLOT_S;
			slot_end += SLOT_S;
		}
		left -= gap;
		out_s[i] = (int64_t)(slot_end - left / weight[slot]);
	}
}
