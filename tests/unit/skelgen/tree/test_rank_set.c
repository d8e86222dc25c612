/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank sets against bitmaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/tree/tree.h"

#define MAX_RANK 300

static uint64_t state = 88172645463325252u;

static uint32_t rng(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static void check_set(const uint32_t *rank, uint32_t n)
{
	struct rank_set s;
	uint32_t index = 0;

	assert_int_equal(rank_set_from_ranks(&s, rank, n), 0);
	assert_int_equal(rank_set_count(&s), n);
	for (uint32_t i = 1; i < s.n; i++)
		assert_true(s.iv[i].first > s.iv[i - 1].last);
	for (uint32_t r = 0; r < MAX_RANK + 5; r++) {
		bool in = index < n && rank[index] == r;
		uint32_t next = index + in < n ? rank[index + in] : UINT32_MAX;

		assert_int_equal(rank_set_has(&s, r), in);
		assert_int_equal(rank_set_index(&s, r), in ? index : UINT32_MAX);
		assert_int_equal(rank_set_next(&s, r), next);
		index += in;
	}
	assert_int_equal(rank_set_first(&s), n ? rank[0] : UINT32_MAX);
	rank_set_free(&s);
}

static void test_random_sets(void **arg)
{
	uint32_t rank[MAX_RANK];

	(void)arg;
	for (int k = 0; k < 500; k++) {
		uint32_t n = 0, share = 1 + rng() % 10;

		for (uint32_t r = 0; r < MAX_RANK; r++)
			if (rng() % 10 < share)
				rank[n++] = r;
		check_set(rank, n);
	}
	check_set(rank, 0);
}

static void check_intervals(uint32_t first, uint32_t last, uint32_t stride, uint32_t skip, uint32_t expected)
{
	uint32_t rank[MAX_RANK], n = 0;
	struct rank_set s;

	for (uint32_t r = first; r <= last; r += stride)
		if (r != skip)
			rank[n++] = r;
	check_set(rank, n);
	assert_int_equal(rank_set_from_ranks(&s, rank, n), 0);
	assert_int_equal(s.n, expected);
	rank_set_free(&s);
}

static void test_regular_sets_are_short(void **arg)
{
	(void)arg;
	check_intervals(0, 255, 1, MAX_RANK, 1);
	check_intervals(1, 254, 1, MAX_RANK, 1);
	check_intervals(0, 240, 16, MAX_RANK, 1);
	check_intervals(15, 255, 16, MAX_RANK, 1);
	check_intervals(0, 255, 1, 100, 2);
	check_intervals(7, 7, 1, MAX_RANK, 1);
}

static void test_lone_rank_before_a_run(void **arg)
{
	const uint32_t rank[] = {0, 10, 11, 12, 13};
	struct rank_set s;

	(void)arg;
	check_set(rank, 5);
	assert_int_equal(rank_set_from_ranks(&s, rank, 5), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.iv[1].first, 10);
	assert_int_equal(s.iv[1].last, 13);
	rank_set_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_sets),
		cmocka_unit_test(test_regular_sets_are_short),
		cmocka_unit_test(test_lone_rank_before_a_run),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
