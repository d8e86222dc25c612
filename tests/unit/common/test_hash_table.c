/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table against a search of the whole list, with hashes that agree in all bits or in the low ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/hash_table.h"

#define KEYS 3000

static uint32_t key[KEYS];
static uint32_t n_key;

static uint32_t find(const struct hash_table *t, uint32_t k, uint64_t hash)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(t, hash, at, i) {
		assert_true(i < n_key);
		if (key[i] == k)
			return i;
	}
	return HASH_TABLE_NONE;
}

static uint32_t find_in_list(uint32_t k)
{
	for (uint32_t i = 0; i < n_key; i++)
		if (key[i] == k)
			return i;
	return HASH_TABLE_NONE;
}

static uint64_t spread(uint32_t k)
{
	return k * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t same_low_bits(uint32_t k)
{
	return (uint64_t)k << 20;
}

static uint64_t few(uint32_t k)
{
	return k % 5;
}

static void check(uint64_t (*hash)(uint32_t))
{
	struct hash_table t = {0};
	uint32_t x = 1;

	for (int round = 0; round < 2; round++) {
		n_key = 0;
		for (uint32_t i = 0; i < KEYS; i++) {
			uint32_t k = (x = x * 1103515245 + 12345) >> 16 & 2047;

			assert_int_equal(find(&t, k, hash(k)), find_in_list(k));
			if (find_in_list(k) != HASH_TABLE_NONE)
				continue;
			key[n_key++] = k;
			assert_int_equal(hash_table_add(&t, hash(k), n_key - 1), 0);
		}
		assert_int_equal(t.n, n_key);
		assert_true(2 * t.n <= t.n_slot);
		hash_table_clear(&t);
		assert_int_equal(find(&t, key[0], hash(key[0])), HASH_TABLE_NONE);
	}
	hash_table_free(&t);
	assert_null(t.slot);
}

static void test_like_a_list(void **state)
{
	(void)state;
	check(spread);
	check(same_low_bits);
	check(few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_a_list),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
