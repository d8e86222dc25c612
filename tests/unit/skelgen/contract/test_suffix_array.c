/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suffix array, dense ranks and common extensions against naive ones, on random and on adversarial strings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/contract/suffix_array.h"
#include "tests/unit/rng.h"

#define MAX_N 400

static const uint32_t *naive_s;
static uint32_t naive_n;

static int naive_compare(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	while (i < naive_n && j < naive_n && naive_s[i] == naive_s[j]) {
		i++;
		j++;
	}
	if (i == naive_n || j == naive_n)
		return (i < naive_n) - (j < naive_n);
	return (naive_s[i] > naive_s[j]) - (naive_s[i] < naive_s[j]);
}

static uint32_t naive_lce(const uint32_t *s, uint32_t n, uint32_t i, uint32_t j)
{
	uint32_t k = 0;

	while (i + k < n && j + k < n && s[i + k] == s[j + k])
		k++;
	return k;
}

static void check_lce(const uint32_t *s, uint32_t n, uint32_t k)
{
	uint32_t turned[MAX_N];
	struct lce forward, backward;
	struct errbuf err;

	for (uint32_t i = 0; i < n; i++)
		turned[i] = s[n - 1 - i];
	assert_int_equal(lce_create(&forward, s, n, k, false, &err), 0);
	assert_int_equal(lce_create(&backward, s, n, k, true, &err), 0);
	for (uint32_t q = 0; q < 4 * n; q++) {
		uint32_t i = rng() % (n + 1), j = rng() % (n + 1);

		if (i == j)
			continue;
		assert_int_equal(lce_query(&forward, i, j), naive_lce(s, n, i, j));
		assert_int_equal(lce_query(&backward, i, j), naive_lce(turned, n, i, j));
	}
	lce_destroy(&forward);
	lce_destroy(&backward);
}

static void check_string(const uint32_t *s, uint32_t n)
{
	uint32_t dense[MAX_N], sa[MAX_N], want[MAX_N], k;
	struct errbuf err;

	assert_true(n <= MAX_N);
	assert_int_equal(suffix_array_dense(s, n, dense, &k, &err), 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(dense[i] < k);
		if (i)
			assert_int_equal((s[i] > s[i - 1]) - (s[i] < s[i - 1]),
					 (dense[i] > dense[i - 1]) - (dense[i] < dense[i - 1]));
		want[i] = i;
	}
	assert_int_equal(suffix_array_build(dense, n, k, sa, &err), 0);
	naive_s = s;
	naive_n = n;
	qsort(want, n, sizeof(*want), naive_compare);
	assert_memory_equal(sa, want, n * sizeof(*sa));
	check_lce(dense, n, k);
}

static void test_random(void **state)
{
	uint32_t s[MAX_N];

	(void)state;
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t n = 1 + rng() % (round % 10 ? 40 : MAX_N),
			 letters = 1 + rng() % (round % 3 ? 3 : 30);

		for (uint32_t i = 0; i < n; i++)
			s[i] = rng() % letters;
		if (round % 4 == 0 && n > 4) /* a period */
			for (uint32_t i = 1 + rng() % (n / 2), p = i; i < n; i++)
				s[i] = s[i - p];
		check_string(s, n);
	}
}

static void test_adversarial(void **state)
{
	uint32_t s[MAX_N] = {0}, n;

	(void)state;
	check_string(s, MAX_N); /* all equal */
	for (n = 0; n < MAX_N; n++)
		s[n] = n;
	check_string(s, MAX_N); /* rising */
	for (n = 0; n < MAX_N; n++)
		s[n] = MAX_N - n;
	check_string(s, MAX_N); /* falling */
	for (n = 0; n < MAX_N; n++)
		s[n] = (uint32_t)__builtin_parity(n);
	check_string(s, MAX_N); /* Thue-Morse */
	s[0] = 1;
	s[1] = 0;
	for (uint32_t a = 1, b = 2; b + a <= MAX_N;) {
		uint32_t next = a + b;

		memcpy(s + b, s, a * sizeof(*s)); /* Fibonacci */
		a = b;
		b = next;
		n = b;
	}
	check_string(s, n);
	for (n = 0; n < MAX_N; n++)
		s[n] = UINT32_MAX - rng() % 5;
	check_string(s, MAX_N); /* ranks of large values */
}

static void test_edges(void **state)
{
	uint32_t one = 7, rank, k, sa = 99;
	struct errbuf err;
	struct lce l;

	(void)state;
	assert_int_equal(suffix_array_dense(&one, 0, &rank, &k, &err), 0);
	assert_int_equal(k, 0);
	assert_int_equal(suffix_array_build(&one, 0, 0, &sa, &err), 0);
	assert_int_equal(sa, 99);
	check_string(&one, 1);
	assert_int_equal(lce_create(&l, NULL, 0, 0, false, &err), 0);
	assert_int_equal(lce_query(&l, 0, 0), 0);
	lce_destroy(&l);
	lce_destroy(NULL);
	assert_int_equal(suffix_array_build(&one, SUFFIX_ARRAY_MAX + 1, 8, &sa, &err), -1);
	assert_non_null(strstr(err.text, "limit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_adversarial),
	    cmocka_unit_test(test_edges),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("suffix_array", tests, NULL, NULL);
}
