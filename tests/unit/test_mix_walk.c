/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Areas that a loop goes through: accesses of made-up loops, whose arrays are known, against the areas that are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/profile/stream_areas.h"
#include "tests/unit/rng.h"

#define ACCESSES 12
#define BYTES    (4u << 20)

static struct mix_body body;
static struct mix_spots spots[ACCESSES];
static struct mix_walk walk[ACCESSES];
static struct mix_area area[OWN_WALKS];

/* An access by a register of its own, at some of the samples; front: of each sample, where the loop is. */
static void put(uint32_t i, uint8_t base, int64_t disp, int64_t step, uint64_t begin, const uint64_t *front, uint32_t every)
{
	body.op[i] = (struct mix_op){.base = base, .index = MIX_NO_REG, .disp = disp, .bytes = 8, .load = true};
	spots[i] = (struct mix_spots){.bytes = BYTES, .step = step};
	for (uint32_t s = 0; s < 40 && spots[i].n < MIX_SPOTS; s += every) {
		spots[i].sample[spots[i].n] = s;
		spots[i].address[spots[i].n++] = begin + front[s] + (uint64_t)disp;
	}
	body.n = i + 1;
}

/* Where the loop is at each of 40 samples. */
static const uint64_t *drawn(void)
{
	static uint64_t front[40];

	for (int s = 0; s < 40; s++)
		front[s] = rng64() % (BYTES / 32) * 32;
	return front;
}

/* Three rows of one array and one of another, by four registers, one of them met at every third sample only. */
static void test_rows(void **state)
{
	const uint64_t *front = drawn(), a = 0x7f0000001000, b = 0x7f1000002020;

	(void)state;
	put(0, 0, 0, 8, a, front, 1);
	put(1, 0, -8, 8, a, front, 1);
	put(2, 1, 8, 8, a + 5600, front, 2);
	put(3, 2, 0, 8, a - 5600, front, 3);
	put(4, 3, 0, 8, b, front, 1);
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 2);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(walk[i].area, 0);
		assert_int_equal((int64_t)walk[i].at - walk[0].at, (int64_t)(spots[i].address[0] - spots[0].address[0]));
	}
	assert_int_equal(walk[4].area, 1);
	for (uint32_t i = 0; i < 5; i++) { /* lines begin where they did */
		assert_int_equal(walk[i].at % 64, spots[i].address[0] % 64);
		assert_true(walk[i].at + 8 <= area[walk[i].area].span);
	}
	assert_int_equal(area[0].step, 8);
	assert_true(area[0].bytes == BYTES);
	assert_true(area[0].span < 2 * 5600 + 4 * 64);
	/* Downwards it is the same in a mirror. */
	for (uint32_t i = 0; i < 5; i++)
		spots[i].step = -8;
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 2);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal((int64_t)walk[0].at - walk[i].at, (int64_t)(spots[i].address[0] - spots[0].address[0]));
	assert_int_equal(area[0].step, 8);
}

/* What is not in one area: another step, another distance at each sample, too few samples in common, further than the area is large. */
static void test_apart(void **state)
{
	static uint64_t others[40];
	const uint64_t *front = drawn(), a = 0x7f0000001000;

	(void)state;
	for (int s = 0; s < 40; s++)
		others[s] = front[s] + (uint64_t)s * 64;
	put(0, 0, 0, 8, a, front, 1);
	put(1, 1, 0, 16, a + 640, front, 1);
	put(2, 2, 0, 8, a + 640, others, 1);
	put(3, 3, 0, 8, a + 640, front, 1);
	spots[3].n = 1;
	put(4, 4, 0, 8, a + BYTES + 64, front, 1);
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(walk[i].area, i);
	/* A register that was moved a step further at some samples is the same. */
	for (int s = 0; s < 40; s++)
		others[s] = front[s] + (s % 2 ? 8 : 0);
	put(1, 1, 0, 8, a + 640, others, 1);
	body.n = 2;
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 1);
}

/* Without addresses, without a step or with one that is none, beyond the areas that there are, as far as nothing is. */
static void test_none(void **state)
{
	const uint64_t *front = drawn();

	(void)state;
	for (uint32_t i = 0; i < ACCESSES; i++)
		put(i, (uint8_t)i, 0, 8, 0x7f0000000000 + i * 0x100000000, front, 1);
	assert_int_equal(mix_walk_find(&body, spots, walk, area), OWN_WALKS);
	for (uint32_t i = 0; i < ACCESSES; i++)
		assert_int_equal(walk[i].area, i < OWN_WALKS ? i : OWN_NO_WALK);
	spots[0].n = 0;
	spots[1].step = 0;
	spots[2].step = 1 << 30;
	spots[5].step = INT64_MIN;
	put(4, 3, 1ll << 31, 8, 0x7f0300000000, front, 1);
	body.n = 6;
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 1);
	assert_int_equal(walk[3].area, 0);
	assert_int_equal(walk[4].area, OWN_NO_WALK);
	assert_int_equal(walk[5].area, OWN_NO_WALK);
	body.n = 0;
	assert_int_equal(mix_walk_find(&body, spots, walk, area), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_apart), cmocka_unit_test(test_none)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
