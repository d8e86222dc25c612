/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing arrays keep what is in them, grow by doubling, and stop at what the capacity's type can hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"

static void test_keeps_elements(void **state)
{
	uint64_t *item = NULL;
	uint32_t cap = 0, grown = 0;

	(void)state;
	for (uint32_t n = 0; n < 100000; n++) {
		uint32_t before = cap;

		assert_int_equal(ARRAY_ROOM(item, cap, n + 1), 0);
		assert_true(cap > n);
		grown += cap != before;
		item[n] = n * UINT64_C(0x9e3779b97f4a7c15);
	}
	for (uint32_t n = 0; n < 100000; n++)
		assert_true(item[n] == n * UINT64_C(0x9e3779b97f4a7c15));
	assert_true(grown <= 14); /* 16 * 2^13 > 100,000 */
	free(item);
}

static void test_zeroes_only_what_is_new(void **state)
{
	int *item = NULL;
	int cap = 0;

	(void)state;
	assert_int_equal(ARRAY_ROOM_ZEROED(item, cap, 3), 0);
	item[0] = 7;
	assert_int_equal(ARRAY_ROOM_ZEROED(item, cap, 1000), 0);
	assert_true(cap >= 1000);
	assert_int_equal(item[0], 7);
	for (int i = 1; i < cap; i++)
		assert_int_equal(item[i], 0);
	free(item);
}

static void test_stops_at_the_type_of_the_capacity(void **state)
{
	char *item = NULL;
	uint8_t small = 0;
	size_t large = 0;
	double *reals = NULL;

	(void)state;
	assert_int_equal(ARRAY_ROOM(item, small, 100), 0);
	assert_true(small >= 100);
	assert_int_equal(ARRAY_ROOM(item, small, 127), 0);
	assert_int_equal(small, 127);
	assert_int_equal(ARRAY_ROOM(item, small, 128), -1);
	assert_int_equal(small, 127);
	assert_int_equal(ARRAY_ROOM(reals, large, SIZE_MAX / 8 + 2), -1);
	assert_int_equal(large, 0);
	assert_null(reals);
	free(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_elements),
		cmocka_unit_test(test_zeroes_only_what_is_new),
		cmocka_unit_test(test_stops_at_the_type_of_the_capacity),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
