/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both engines for maximal repetitions against brute force, on random, periodic and adversarial strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/contract/repeats.h"
#include "skelgen/contract/lyndon.h"
#include "tests/unit/rng.h"

#define MAX_N 300

static int compare(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->length > y->length) - (x->length < y->length);
}

/* Every maximal repetition with its smallest period, by definition. */
static uint32_t brute_force(const uint32_t *s, uint32_t n, struct repeat *out)
{
	uint32_t count = 0;

	for (uint32_t p = 1; p <= n / 2; p++) {
		for (uint32_t i = 0; i + p < n;) {
			uint32_t e = i;
			bool known = false;

			while (e + p < n && s[e] == s[e + p])
				e++;
			if (e - i >= p) {
				for (uint32_t k = 0; k < count; k++)
					known |= out[k].start == i && out[k].length == e + p - i;
				if (!known)
					out[count++] = (struct repeat){i, e + p - i, p};
			}
			i = e + 1;
		}
	}
	qsort(out, count, sizeof(*out), compare);
	return count;
}

static void check_string(const uint32_t *s, uint32_t n)
{
	static struct repeat want[MAX_N * MAX_N];
	uint32_t count = brute_force(s, n, want);
	struct repeat_list got = {0};
	struct errbuf err;

	for (int engine = REPEATS_LYNDON; engine <= REPEATS_SUFFIX_ARRAY; engine++) {
		assert_int_equal(repeats_find(s, n, (enum repeats_engine)engine, &got, &err), 0);
		assert_int_equal(got.n, count);
		if (count) {
			qsort(got.item, got.n, sizeof(*got.item), compare);
			assert_memory_equal(got.item, want, count * sizeof(*want));
		}
		for (uint32_t i = 0; i < got.n; i++)
			assert_true(repeat_holds(s, &got.item[i]));
	}
	repeat_list_free(&got);
}

static void test_exhaustive(void **state)
{
	uint32_t s[12] = {0};

	(void)state;
	for (uint32_t n = 0; n <= 12; n++) {
		for (uint32_t bits = 0; bits < 1u << n; bits++) {
			for (uint32_t i = 0; i < n; i++)
				s[i] = bits >> i & 1;
			check_string(s, n);
		}
	}
}

/* Loops over one body, whose counts differ: up to longest. */
static uint32_t uneven_loops(uint32_t *s, uint32_t max, uint32_t longest)
{
	uint32_t n = 0;

	while (n < max) {
		for (uint32_t end = n + 2 * (1 + rng() % longest); n < end && n < max; n++)
			s[n] = 2 + (end - n) % 2;
		if (n < max)
			s[n++] = rng() % 6;
	}
	return n;
}

static void test_random(void **state)
{
	uint32_t s[MAX_N];

	(void)state;
	for (uint32_t round = 0; round < 6000; round++) {
		uint32_t n = 1 + rng() % (round % 10 ? 60 : MAX_N), letters = 1 + rng() % 4;

		for (uint32_t i = 0; i < n; i++)
			s[i] = rng() % letters;
		for (uint32_t cut = rng() % 4; cut > 0 && n > 8; cut--) { /* repetitions of long bodies */
			uint32_t p = 1 + rng() % (n / 4), from = p + rng() % (n - p),
				 to = from + rng() % (n - from);

			for (uint32_t i = from; i < to; i++)
				s[i] = s[i - p];
		}
		check_string(s, n);
	}
	for (uint32_t round = 0; round < 600; round++)
		check_string(s, uneven_loops(s, 1 + rng() % MAX_N, 1 + round % 40));
}

static uint32_t fibonacci(uint32_t *s, uint32_t max)
{
	uint32_t a = 1, b = 2;

	s[0] = 0;
	s[1] = 1;
	while (a + b <= max) {
		uint32_t next = a + b;

		memcpy(s + b, s, a * sizeof(*s));
		a = b;
		b = next;
	}
	return b;
}

static void test_adversarial(void **state)
{
	uint32_t s[MAX_N];
	uint32_t n = fibonacci(s, MAX_N);

	(void)state;
	check_string(s, n);
	for (n = 0; n < MAX_N; n++)
		s[n] = 7;
	check_string(s, n);
	for (n = 0; n < 256; n++)
		s[n] = (uint32_t)__builtin_parity(n); /* Thue-Morse: squares, no cubes */
	check_string(s, n);
	for (n = 0; n < MAX_N; n++)
		s[n] = (uint32_t)__builtin_ctz(n + 1); /* ruler: no square */
	check_string(s, n);
	for (n = 0; n < MAX_N; n++)
		s[n] = UINT32_MAX - n % 9;
	check_string(s, n);
}

/* Long enough for the hash: the engines must agree where brute force is too slow. */
static void test_engines_agree(void **state)
{
	uint32_t n_max = 200000, n, *s = malloc(n_max * sizeof(*s));
	struct repeat_list a = {0}, b = {0};
	struct errbuf err;

	(void)state;
	assert_non_null(s);
	for (uint32_t kind = 0; kind < 7; kind++) {
		n = 30000;
		if (kind == 0)
			n = fibonacci(s, n_max);
		if (kind == 6)
			n = uneven_loops(s, n_max, 3000);
		for (uint32_t i = 0; i < n && kind > 0 && kind < 6; i++)
			s[i] = kind == 1   ? rng() % 2
			       : kind == 2 ? (uint32_t)__builtin_parity(i)
			       : kind == 3 ? (i % 300) * (i % 7) % 11
			       : kind == 4 ? (rng() % 100 ? i % 13 : 99)
			       : i >= 4000 ? s[i - 4000 + (i % 977 == 0)]
					   : rng() % 3;
		assert_int_equal(repeats_find(s, n, REPEATS_LYNDON, &a, &err), 0);
		assert_int_equal(repeats_find(s, n, REPEATS_SUFFIX_ARRAY, &b, &err), 0);
		assert_int_equal(a.n, b.n);
		assert_int_equal(repeats_sort_longest(&a, n, &err), 0);
		assert_int_equal(repeats_sort_longest(&b, n, &err), 0);
		if (a.n)
			assert_memory_equal(a.item, b.item, a.n * sizeof(*a.item));
		a.n = 0; /* by hash from the start */
		assert_int_equal(repeats_lyndon_find(s, n, 0, &a, &err), 0);
		assert_int_equal(repeats_sort_longest(&a, n, &err), 0);
		assert_int_equal(a.n, b.n);
		if (a.n)
			assert_memory_equal(a.item, b.item, a.n * sizeof(*a.item));
	}
	repeat_list_free(&a);
	repeat_list_free(&b);
	free(s);
}

static void test_sort(void **state)
{
	struct repeat_list list = {0};
	struct errbuf err;
	uint32_t n = 500;

	(void)state;
	list.item = calloc(n, sizeof(*list.item));
	assert_non_null(list.item);
	for (uint32_t round = 0; round < 2; round++) { /* few: by comparison; many: by counting */
		list.n = round ? n : 20;
		for (uint32_t i = 0; i < list.n; i++)
			list.item[i] = (struct repeat){rng() % (n / 2), 2 + rng() % 20, 1};
		assert_int_equal(repeats_sort_longest(&list, n, &err), 0);
		for (uint32_t i = 1; i < list.n; i++) {
			const struct repeat *x = &list.item[i - 1], *y = &list.item[i];

			assert_true(x->length > y->length ||
				    (x->length == y->length && x->start <= y->start));
		}
	}
	repeat_list_free(&list);
	repeat_list_free(NULL);
}

static void test_edges(void **state)
{
	struct repeat_list list = {0};
	struct errbuf err;
	uint32_t s[2] = {5, 5};

	(void)state;
	assert_int_equal(repeats_find(NULL, 0, REPEATS_LYNDON, &list, &err), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(repeats_find(s, 1, REPEATS_LYNDON, &list, &err), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(repeats_find(s, 2, REPEATS_LYNDON, &list, &err), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.item[0].length, 2);
	assert_int_equal(repeats_find(s, UINT32_MAX, REPEATS_LYNDON, &list, &err), -1);
	assert_non_null(strstr(err.text, "limit"));
	assert_int_equal(symbols_match(s, s + 1, 1), 1);
	assert_int_equal(symbols_match(s, s, 0), 0);
	assert_false(repeat_holds((uint32_t[]){1, 2, 1, 3}, &(struct repeat){0, 4, 2}));
	repeat_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exhaustive),	cmocka_unit_test(test_random),
	    cmocka_unit_test(test_adversarial), cmocka_unit_test(test_engines_agree),
	    cmocka_unit_test(test_sort),	cmocka_unit_test(test_edges),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
