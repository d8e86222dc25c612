/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of segments, and the weights of pieces. The tests add up all sums themselves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/pieces/weights.h"
#include "tests/unit/synthetic.h"

enum { SEGMENTS = 200, PIECES = 20 };

struct sums {
	double gap, mpi, waits, ns;
};

static double uniform(uint64_t *seed)
{
	return (double)(syn_random(seed) >> 11) * 0x1p-53;
}

static struct sums sums_of(const struct segment *at, const uint32_t *segment, uint32_t n, const double *weight)
{
	struct sums s = {0};

	for (uint32_t i = 0; i < n; i++) {
		const struct segment *g = &at[segment != NULL ? segment[i] : i];
		double w = weight != NULL ? weight[i] : 1;

		s.gap += w * g->gap_ns;
		s.mpi += w * (g->ns - g->gap_ns);
		for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
			s.waits += w * (double)g->waits[d];
		s.ns += w * g->ns;
	}
	return s;
}

static void assert_near(double a, double b, double relative)
{
	if (!(fabs(a - b) <= relative * fabs(b)))
		fail_msg("%.9g is not %.9g", a, b);
}

/* Segments of three characters in shares of 2, 2 and 1. The pieces have shares of 5, 12 and 3. */
static void mixture(struct segment *at, uint32_t *segment, uint64_t seed)
{
	static const double gap[] = {0.2, 0.2, 0.7, 0.7, 0.5}, calls[] = {5, 5, 1, 1, 12};

	for (uint32_t i = 0; i < SEGMENTS; i++) {
		double ns = 1e6 * (1 + uniform(&seed));

		at[i] = (struct segment){.ns = ns, .gap_ns = ns * gap[i % 5] * (0.9 + 0.2 * uniform(&seed)),
					 .waits = {(uint64_t)(ns * 1e-4 * calls[i % 5] * (0.9 + 0.2 * uniform(&seed)))}, .timed = true};
	}
	for (uint32_t k = 0; k < PIECES; k++)
		segment[k] = 10 * k + (k < 5 ? 0 : k < 17 ? 2 : 4);
}

/* After the calibration the pieces have about the sums of the run. */
static void test_sums_are_the_runs(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct segment at[SEGMENTS];
		uint32_t segment[PIECES];
		double weight[PIECES], first;
		struct segments s = {.n = SEGMENTS, .at = at};
		struct sums run, pieces;

		mixture(at, segment, seed);
		run = sums_of(at, NULL, SEGMENTS, NULL);
		s.ns = run.ns;
		first = run.ns / sums_of(at, segment, PIECES, NULL).ns;
		for (int i = 0; i < PIECES; i++)
			weight[i] = first;
		assert_true(sums_of(at, segment, PIECES, weight).waits < 0.9 * run.waits);
		weights_calibrate(&s, segment, PIECES, weight);
		pieces = sums_of(at, segment, PIECES, weight);
		assert_near(pieces.gap, run.gap, 0.002);
		assert_near(pieces.mpi, run.mpi, 0.002);
		assert_near(pieces.waits, run.waits, 0.02);
		assert_near(weights_balance_of(&s, segment, PIECES, weight).waits, pieces.waits / run.waits, 1e-9);
		for (int i = 0; i < PIECES; i++)
			assert_true(weight[i] >= first / WEIGHT_CHANGE && weight[i] <= first * WEIGHT_CHANGE && weight[i] >= 1);
	}
}

/* Half of the pieces have calls at site 1, half at site 2. The pieces stand for the calls of each site. */
static void test_sites(void **arg)
{
	struct segment at[SEGMENTS];
	uint32_t segment[PIECES];
	double weight[PIECES], of_site[3] = {0};
	struct segments s = {.n = SEGMENTS, .at = at, .ns = SEGMENTS * 1e6};

	(void)arg;
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		uint32_t site = i % 10 < 7 ? 1 : 2;

		at[i] = (struct segment){.ns = 1e6, .gap_ns = 4e5, .timed = true};
		at[i].waits[site] = 50;
		at[i].share[site] = 1;
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		segment[i] = 10 * i + (i % 2 == 0 ? 0 : 9);
		weight[i] = SEGMENTS / PIECES;
	}
	weights_calibrate(&s, segment, PIECES, weight);
	for (uint32_t i = 0; i < PIECES; i++)
		of_site[i % 2 + 1] += weight[i] * 50;
	assert_near(of_site[1], 0.7 * SEGMENTS * 50, 0.03);
	assert_near(of_site[2], 0.3 * SEGMENTS * 50, 0.03);
}

/* Weights of pieces that are alike have nothing to change. */
static void test_alike_pieces_keep_weights(void **arg)
{
	struct segment at[SEGMENTS];
	uint32_t segment[PIECES];
	double weight[PIECES];
	struct segments s = {.n = SEGMENTS, .at = at, .ns = SEGMENTS * 1e6};

	(void)arg;
	for (uint32_t i = 0; i < SEGMENTS; i++)
		at[i] = (struct segment){.ns = 1e6, .gap_ns = 4e5, .waits = {50}, .timed = true};
	for (uint32_t i = 0; i < PIECES; i++) {
		segment[i] = 10 * i;
		weight[i] = SEGMENTS / PIECES;
	}
	weights_calibrate(&s, segment, PIECES, weight);
	for (uint32_t i = 0; i < PIECES; i++)
		assert_near(weight[i], SEGMENTS / PIECES, 1e-9);
}

/* The time is the run's and no weight is below 1, also if the pieces cannot have the sums of the run. */
static void test_time_is_kept(void **arg)
{
	uint64_t seed = 3;

	(void)arg;
	for (int round = 0; round < 300; round++) {
		struct segment at[SEGMENTS];
		uint32_t segment[PIECES], n = 1 + (uint32_t)(syn_random(&seed) % PIECES), alone = 0;
		double weight[PIECES], fixed = 0, sum = 0, all = 0;
		struct segments s = {.n = SEGMENTS, .at = at};

		for (uint32_t i = 0; i < SEGMENTS; i++) {
			double ns = 1e5 * exp(4 * uniform(&seed));

			at[i] = (struct segment){.ns = ns, .gap_ns = ns * uniform(&seed), .waits = {1 + syn_random(&seed) % 5000}, .timed = true};
			all += ns;
		}
		s.ns = all;
		for (uint32_t i = 0; i < n; i++) {
			segment[i] = i * (SEGMENTS / PIECES) + (uint32_t)(syn_random(&seed) % (SEGMENTS / PIECES));
			at[segment[i]].alone = i > 0 && syn_random(&seed) % 8 == 0;
			alone += at[segment[i]].alone;
			*(at[segment[i]].alone ? &fixed : &sum) += at[segment[i]].ns;
		}
		for (uint32_t i = 0; i < n; i++)
			weight[i] = at[segment[i]].alone ? 1 : (all - fixed) / sum;
		weights_calibrate(&s, segment, n, weight);
		assert_near(sums_of(at, segment, n, weight).ns, all, 1e-9);
		for (uint32_t i = 0; i < n; i++)
			assert_true(at[segment[i]].alone ? weight[i] == 1 : weight[i] >= 1);
	}
}

/* ---- long segments ---- */

static void short_ones(struct segment *at)
{
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		at[i] = (struct segment){.ns = 1e7, .gap_ns = 5e6, .events = 100, .timed = true};
		at[i].share[i % 2] = 1;
	}
}

static double chosen_ns(const struct segment *at, const bool *chosen, uint32_t *n)
{
	double sum = 0;

	*n = 0;
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		sum += chosen[i] ? at[i].ns : 0;
		*n += chosen[i];
	}
	return sum;
}

/* A segment that is longer than the budget takes no room from others. One that fits in half of the budget runs for itself. */
static void test_long_segments(void **arg)
{
	struct segment at[SEGMENTS];
	bool chosen[SEGMENTS];
	struct segments s = {.n = SEGMENTS, .at = at, .joined = true}; /* kinds are found */
	uint32_t n;
	double ns;

	(void)arg;
	short_ones(at);
	at[40].ns = 2e9;
	at[99].ns = 1.5e9;
	at[100].ns = 0.4e9;
	at[160].events = 1u << 20;
	assert_int_equal(segments_choose(&s, 1, 1u << 18, chosen), 61);
	ns = chosen_ns(at, chosen, &n);
	assert_true(ns > 0.9e9 && ns <= 1e9);
	assert_int_equal(n, 61);
	assert_true(chosen[100] && at[100].alone);
	assert_false(chosen[40] || chosen[99] || chosen[160]);

	/* With more time the long ones run as well. */
	segments_choose(&s, 5, 1u << 24, chosen);
	assert_true(chosen[40] && at[40].alone);
	chosen_ns(at, chosen, &n);
	assert_true(n > 80);
}

/* Where nearly all segments are long, they are pieces like others. */
static void test_all_segments_long(void **arg)
{
	struct segment at[SEGMENTS];
	bool chosen[SEGMENTS];
	struct segments s = {.n = SEGMENTS, .at = at, .joined = true}; /* kinds are found */
	uint32_t n;

	(void)arg;
	short_ones(at);
	assert_in_range(segments_choose(&s, 0.03, UINT64_MAX, chosen), 2, 3);
	assert_true(chosen_ns(at, chosen, &n) <= 0.03e9);
	assert_in_range(n, 2, 3);
	for (uint32_t i = 0; i < SEGMENTS; i++)
		assert_false(at[i].alone || at[i].left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_are_the_runs),
		cmocka_unit_test(test_sites),
		cmocka_unit_test(test_alike_pieces_keep_weights),
		cmocka_unit_test(test_time_is_kept),
		cmocka_unit_test(test_long_segments),
		cmocka_unit_test(test_all_segments_long),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
