/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights of pieces in a skeleton's data, and the interval that pieces give. The runtime is a library of its own, so its source is
 * taken in here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skelgen/runtime/piece_interval.c"

/* Two pieces of 1 ms, which took 0.9 and 1.1 ms, and `alone` pieces that stand for themselves. */
static double half_ns(int alone)
{
	struct piece p[8] = {{0, 1000, 10, 0.9e6}, {0, 1000, 10, 1.1e6}};

	for (int i = 2; i < 2 + alone; i++)
		p[i] = (struct piece){1, 5000, 1, 5e6 + 1e4 * i};
	return pieces_half_ns(p, 2 + alone, 0);
}

/* Two pieces of a kind have one degree of freedom, however many pieces stand for themselves. */
static void test_pieces_alone_narrow_nothing(void **arg)
{
	const double expected = 12.706 * sqrt(2 * 10 * 9 * 2 * 1e10); /* Student's t; weights, variance of both times */

	(void)arg;
	for (int alone = 0; alone <= 6; alone++)
		assert_true(fabs(half_ns(alone) - expected) < 1e-9 * expected);
}

/* All pieces of sampled kinds count, less one for each kind. */
static void test_degrees(void **arg)
{
	struct piece p[] = {{0, 1000, 3, 0.9e6}, {0, 1000, 3, 1.1e6}, {0, 1000, 1, 1e6}, {1, 1000, 2, 1e6}, {1, 1000, 2, 1e6}};
	const double expected = 3.182 * sqrt(2 * 3 * 2 * 1e10); /* three degrees; the variance of the first kind is 2e10 / 2 */

	(void)arg;
	assert_true(fabs(pieces_half_ns(p, 5, 0) - expected) < 1e-9 * expected);
}

/* One piece says nothing of the others. */
static void test_single_piece(void **arg)
{
	const struct piece p[] = {{0, 1000, 10, 0.9e6}, {0, 1000, 10, -1}};

	(void)arg;
	assert_true(fabs(pieces_half_ns(p, 1, 0) - 9 * 0.9e6) < 1);
	assert_true(fabs(pieces_half_ns(p, 2, 0) - 9 * 0.9e6) < 1); /* the second one has not run */
	assert_true(pieces_half_ns(&(struct piece){0, 1000, 1, 0.9e6}, 1, 0) == 0);
}

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) * 0x1p-53;
}

/* Sum of three: near a normal distribution, with a standard deviation of 0.1. */
static double deviation(uint64_t *seed)
{
	return 0.2 * (uniform(seed) + uniform(seed) + uniform(seed) - 1.5);
}

/* A run has 100 segments of 1 ms, of which 20 run, and one of `left` ms. This one is left out, or it has parts of 5 ms,
 * of which one runs. Each segment and part has a speed of its own. Does the interval hold the time of the run? */
static bool holds(double left, bool parts, uint64_t *seed)
{
	struct piece p[21];
	double all = parts ? 0 : left * 1e6 * (1 + deviation(seed)), told = 0, half;

	for (int i = 0; i < 100; i++) {
		double took = 1e6 * (1 + deviation(seed));

		all += took;
		if (i % 5 == 0)
			p[i / 5] = (struct piece){0, 1000, (100 + (parts ? 0 : left)) / 20, took};
	}
	for (double ms = 0; parts && ms < left; ms += 5) {
		p[20] = (struct piece){1, 5000, left / 5, 5e6 * (1 + deviation(seed))};
		all += p[20].took_ns;
	}
	for (int i = 0; i < 20 + parts; i++)
		told += p[i].weight * p[i].took_ns;
	half = pieces_half_ns(p, 20 + parts, parts ? 0 : left * 1e6);
	return fabs(told - all) <= half;
}

/* Intervals hold as often as they should, however long a segment is that is left out, or of which a part runs. */
static void test_left_out(void **arg)
{
	(void)arg;
	for (int left = 0; left <= 100; left += 25)
		for (int parts = 0; parts <= (left > 0); parts++) {
			uint64_t seed = (uint64_t)left + 1;
			int n = 0;

			for (int run = 0; run < 2000; run++)
				n += holds(left, parts, &seed);
			assert_in_range(n, 1860, 1980);
		}
}

/* A run of a month may have pieces of a millisecond. */
static void test_weights_in_data(void **arg)
{
	(void)arg;
	for (double w = 1; w < 1e10; w *= 1.37)
		assert_true(fabs(piece_weight(piece_weight_bits(w)) - w) < 1e-6 * w);
	assert_true(piece_weight(piece_weight_bits(1)) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_alone_narrow_nothing),
		cmocka_unit_test(test_degrees),
		cmocka_unit_test(test_single_piece),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_weights_in_data),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
