/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows that go along with a loop: addresses drawn in one of known size, against what is found; and such that go along with nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/profile/sliding_window.h"
#include "tests/unit/rng.h"

#define TABLE  (16u << 20)
#define PASS   1000000 /* of the counter, in steps of 4 */
#define PAIRS  400
#define ROUNDS 200

static double drawn(void)
{
	return (double)(rng64() >> 11) / 0x1p53;
}

/* n samples, at any place of any pass; keys that gather in the middle where `middle`. */
static void meet(struct mix_pair *p, uint32_t n, double window, bool back, bool middle)
{
	for (uint32_t i = 0; i < n; i++) {
		double part = drawn(), where = middle ? part - sin(2 * M_PI * part) / 10 : part;

		p[i].counter = 4 * (int64_t)(part * PASS) + 0x7000;
		p[i].address = 0x7f0000000000 + (uint64_t)((back ? 1 - where : where) * TABLE + drawn() * window);
	}
}

static void test_windows(void **state)
{
	static const double windows[] = {TABLE / 64.0, TABLE / 256.0, TABLE / 1000.0};
	struct mix_pair p[PAIRS];
	struct mix_followed f;

	(void)state;
	for (int way = 0; way < 4; way++)
		for (int w = 0; w < 3; w++) {
			double window = 0, slope = 0;

			for (int round = 0; round < ROUNDS; round++) {
				meet(p, PAIRS, windows[w], way & 1, way & 2);
				assert_true(mix_follow(p, PAIRS, &f));
				window += f.window / ROUNDS;
				slope += f.slope / ROUNDS;
			}
			/* where it goes along slowly more is met at a time */
			if (window < 0.75 * windows[w] || window > (way & 2 ? 1.75 : 1.25) * windows[w])
				fail_msg("way %d: %g for %g", way, window, windows[w]);
			assert_true(fabs(slope / (TABLE / 4.0 / PASS) - 1) < 0.05);
		}
}

/* What n samples cannot tell is not said to be small. */
static void test_few(void **state)
{
	struct mix_pair p[PAIRS];
	struct mix_followed f;
	double most = TABLE;

	(void)state;
	for (uint32_t n = 0; n <= PAIRS; n = n ? 2 * n : 1) {
		meet(p, n, 0, false, false);
		assert_int_equal(mix_follow(p, n, &f), n >= 8);
		if (n < 8)
			continue;
		assert_true(f.window > 0 && f.window < most);
		most = f.window;
	}
}

static void test_no_window(void **state)
{
	struct mix_pair p[PAIRS];
	struct mix_followed f;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t n = 8; n < PAIRS; n += 97) {
			for (uint32_t i = 0; i < n; i++)
				p[i] = (struct mix_pair){(int64_t)(drawn() * PASS), (uint64_t)(drawn() * TABLE)};
			if (n > 8)
				assert_false(mix_follow(p, n, &f));
		}
		meet(p, PAIRS, TABLE, false, false); /* half of it at a time */
		assert_false(mix_follow(p, PAIRS, &f));
	}
	for (uint32_t i = 0; i < PAIRS; i++) /* a counter that stands still; an address that does */
		p[i] = (struct mix_pair){7, i * 64u};
	assert_false(mix_follow(p, PAIRS, &f));
	for (uint32_t i = 0; i < PAIRS; i++)
		p[i] = (struct mix_pair){i, 4096};
	assert_false(mix_follow(p, PAIRS, &f));
	for (uint32_t i = 0; i < PAIRS; i++) /* registers may hold anything */
		p[i] = (struct mix_pair){i % 2 ? INT64_MAX - i : INT64_MIN + i, i % 2 ? UINT64_MAX - i : i};
	if (mix_follow(p, PAIRS, &f))
		assert_true(isfinite(f.window) && isfinite(f.slope));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_no_window),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
