/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge of many streams by time against one that looks at all of them each time: near and far keys, equal ones, ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "expert/engine/tournament.h"

#define STREAMS 130

static uint64_t seed;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 11 ^ seed << 53;
}

/* A key after `from`, or anywhere: steps of all widths. */
static uint64_t key_after(uint64_t from, bool anywhere)
{
	uint64_t step = draw() >> draw() % 64;

	if (draw() % 200 == 0)
		return TOURNAMENT_END;
	if (anywhere && draw() % 4 == 0)
		return step;
	if (draw() % 2)
		step %= 8; /* many are equal */
	return step < TOURNAMENT_END - from ? from + step : TOURNAMENT_END - draw() % 3;
}

/* The first stream with the least key. */
static uint32_t first(const uint64_t *key, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (key[i] < key[best])
			best = i;
	return best;
}

static void merge(uint32_t n, uint64_t from, bool anywhere)
{
	struct tournament t;
	uint64_t key[STREAMS];

	assert_int_equal(tournament_init(&t, n), 0);
	for (uint32_t i = 0; i < n; i++) {
		key[i] = key_after(from, anywhere);
		tournament_set(&t, i, key[i]);
	}
	tournament_start(&t);
	for (int i = 0; i < 3000; i++) {
		uint32_t stream = first(key, n);

		assert_true(tournament_key(&t) == key[stream]);
		if (key[stream] == TOURNAMENT_END)
			break;
		assert_int_equal(tournament_top(&t), stream);
		key[stream] = key_after(key[stream], anywhere);
		tournament_replay(&t, key[stream]);
	}
	tournament_free(&t);
}

static void test_merge(void **state)
{
	static const uint32_t n[] = {1, 2, 3, 7, 64, STREAMS};

	(void)state;
	for (seed = 1; seed < 400; seed++) {
		uint64_t own = seed;

		for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
			seed = own * 1000 + i;
			merge(n[i], draw() >> draw() % 64, own & 1);
		}
		seed = own;
	}
}

/* One after the other, to the end of time, each far behind the one before. */
static void test_far(void **state)
{
	struct tournament t;

	(void)state;
	assert_int_equal(tournament_init(&t, 1000), 0);
	for (uint32_t i = 0; i < 1000; i++)
		tournament_set(&t, i, (uint64_t)i << 54);
	tournament_start(&t);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(tournament_top(&t), i);
		assert_true(tournament_key(&t) == (uint64_t)i << 54);
		tournament_replay(&t, TOURNAMENT_END - 1 - (999 - i));
	}
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(tournament_top(&t), i);
		assert_true(tournament_key(&t) == TOURNAMENT_END - 1 - (999 - i));
		tournament_replay(&t, TOURNAMENT_END);
	}
	assert_true(tournament_key(&t) == TOURNAMENT_END);
	tournament_free(&t);
}

/* Nothing comes. */
static void test_none(void **state)
{
	struct tournament t;

	(void)state;
	assert_int_equal(tournament_init(&t, 5), 0);
	tournament_start(&t);
	assert_true(tournament_key(&t) == TOURNAMENT_END);
	tournament_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_merge), cmocka_unit_test(test_far), cmocka_unit_test(test_none)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
