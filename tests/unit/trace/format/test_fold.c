/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The online folder: pushed symbols are read back, loops are small, malformed input is rejected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trace/format/event.h"
#include "trace/format/fold.h"

static uint64_t rng = 88172645463325252ull;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

struct text {
	uint32_t *sym;
	uint32_t n, cap;
};

static void put(struct text *t, uint32_t s)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 1024;
		t->sym = realloc(t->sym, t->cap * sizeof(*t->sym));
		assert_non_null(t->sym);
	}
	t->sym[t->n++] = s;
}

/* From any position, the rest is the same as read from the start. */
static void check_seek(const struct text *t, const struct folded *d)
{
	struct folded_iter it;
	uint32_t s;

	for (int k = 0; k < 200 && t->n; k++) {
		uint32_t at = k ? rnd(t->n) : t->n - 1;

		folded_seek(&it, d, at);
		for (uint32_t i = at; i < t->n && i < at + 50; i++) {
			assert_int_equal(folded_next(&it, &s), 1);
			if (s != t->sym[i])
				fail_msg("from %u: symbol %u is %u, pushed was %u", at, i, s, t->sym[i]);
		}
		if (t->n - at <= 50)
			assert_int_equal(folded_next(&it, &s), 0);
	}
	folded_seek(&it, d, t->n);
	assert_int_equal(folded_next(&it, &s), 0);
	folded_seek(&it, d, UINT64_MAX);
	assert_int_equal(folded_next(&it, &s), 0);
}

/* Push, encode, decode, expand, compare; returns the number of items of the folded form. */
static uint64_t round_trip(const struct text *t, uint32_t n_symbols)
{
	struct fold *f = fold_create();
	struct buf b = {0};
	struct folded d;
	struct folded_iter it;
	struct errbuf err;
	uint64_t h = 0, items;
	uint32_t s;

	assert_non_null(f);
	for (uint32_t i = 0; i < t->n; i++) {
		fold_push(f, t->sym[i]);
		h = trace_hash_step(h, t->sym[i]);
	}
	assert_false(fold_failed(f));
	assert_int_equal(fold_length(f), t->n);
	assert_true(fold_hash(f) == h);
	assert_int_equal(fold_encode(f, &b), 0);
	struct rdbuf r = {.data = b.data, .len = b.len};
	assert_int_equal(folded_decode(&r, n_symbols, &d, &err), 0);
	assert_int_equal(rdbuf_left(&r), 0);
	assert_int_equal(d.length, t->n);
	folded_begin(&it, &d);
	for (uint32_t i = 0; i < t->n; i++) {
		assert_int_equal(folded_next(&it, &s), 1);
		if (s != t->sym[i])
			fail_msg("symbol %u is %u, pushed was %u", i, s, t->sym[i]);
	}
	assert_int_equal(folded_next(&it, &s), 0);
	check_seek(t, &d);
	items = fold_items(f);
	folded_free(&d);
	buf_free(&b);
	fold_destroy(f);
	return items;
}

static void test_empty_and_small(void **state)
{
	struct text t = {0};

	(void)state;
	assert_int_equal(round_trip(&t, 4), 0);
	for (uint32_t i = 0; i < 5; i++) {
		put(&t, i & 3);
		round_trip(&t, 4);
	}
	free(t.sym);
}

static void test_loops_fold(void **state)
{
	struct text t = {0};

	(void)state;
	for (int i = 0; i < 100000; i++) {
		for (int k = 0; k < 3; k++) {
			put(&t, 0);
			put(&t, 1);
		}
		put(&t, 2);
	}
	assert_in_range(round_trip(&t, 3), 1, 12);
	t.n = 0;
	for (int i = 0; i < 100000; i++)
		put(&t, i % 10 == 9);
	assert_in_range(round_trip(&t, 2), 1, 12);
	t.n = 0; /* long body */
	for (int i = 0; i < 200; i++)
		for (uint32_t k = 0; k < 500; k++)
			put(&t, k);
	assert_in_range(round_trip(&t, 500), 1, 1100);
	free(t.sym);
}

static void nested(struct text *t, int depth, uint32_t n_symbols, uint32_t limit)
{
	uint32_t parts = 1 + rnd(4);

	for (uint32_t i = 0; i < parts && t->n < limit; i++) {
		if (depth && rnd(2)) {
			uint32_t from = t->n, len, times = 1 + rnd(6);

			nested(t, depth - 1, n_symbols, limit);
			len = t->n - from;
			for (uint32_t k = 0; k < times && t->n < limit; k++)
				for (uint32_t j = 0; j < len; j++)
					put(t, t->sym[from + j]);
		} else {
			put(t, rnd(n_symbols));
		}
	}
}

static void test_random_programs(void **state)
{
	struct text t = {0};

	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint32_t n_symbols = 1 + rnd(6);

		t.n = 0;
		nested(&t, 5, n_symbols, 4000);
		round_trip(&t, n_symbols);
	}
	free(t.sym);
}

static void test_random_text(void **state)
{
	struct text t = {0};

	(void)state;
	for (uint32_t n_symbols = 1; n_symbols < 5; n_symbols++) {
		t.n = 0;
		for (int i = 0; i < 50000; i++)
			put(&t, rnd(n_symbols));
		round_trip(&t, n_symbols);
	}
	free(t.sym);
}

/* More items than the stack holds: the flushed part must be read back too. */
static void test_flush(void **state)
{
	struct text t = {0};

	(void)state;
	for (uint32_t i = 0; i < 2500000; i++)
		put(&t, rnd(1u << 20));
	round_trip(&t, 1u << 20);
	free(t.sym);
}

static void test_malformed(void **state)
{
	struct fold *f = fold_create();
	struct buf b = {0};
	struct folded d;
	struct errbuf err;

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fold_push(f, (uint32_t)i % 7);
	assert_int_equal(fold_encode(f, &b), 0);
	for (size_t len = 0; len < b.len; len++) { /* every truncation */
		struct rdbuf r = {.data = b.data, .len = len};

		assert_int_equal(folded_decode(&r, 7, &d, &err), -1);
	}
	struct rdbuf few = {.data = b.data, .len = b.len};
	assert_int_equal(folded_decode(&few, 6, &d, &err), -1); /* a symbol out of range */
	for (size_t i = 0; i < b.len; i++) { /* every byte changed: rejected, or another valid structure */
		for (int bit = 0; bit < 8; bit++) {
			struct rdbuf r = {.data = b.data, .len = b.len};

			b.data[i] ^= (uint8_t)(1 << bit);
			if (folded_decode(&r, 7, &d, &err) == 0) {
				struct folded_iter it;
				uint64_t n = 0;
				uint32_t s;

				for (folded_begin(&it, &d); n < 1000000 && folded_next(&it, &s); n++)
					assert_true(s < 7);
				if (n < 1000000)
					assert_int_equal(n, d.length);
				folded_free(&d);
			}
			b.data[i] ^= (uint8_t)(1 << bit);
		}
	}
	buf_free(&b);
	fold_destroy(f);
}

/* In text that does not fold, windows are searched from time to time, so later loops are found soon. */
static void test_loops_after_random_text(void **state)
{
	struct text t = {0};
	uint64_t items;

	(void)state;
	for (int i = 0; i < 300000; i++)
		put(&t, rnd(2048));
	items = round_trip(&t, 2048);
	for (uint32_t i = 0; i < 1000000; i++)
		put(&t, i % 700);
	assert_in_range(round_trip(&t, 2048), items, items + 16 * 4096);
	uint32_t pattern[2000]; /* hard to find: each letter occurs in many places */

	for (int i = 0; i < 2000; i++)
		pattern[i] = rnd(4);
	struct text p = {0};

	for (int i = 0; i < 400000; i++)
		put(&p, pattern[i % 2000]);
	assert_in_range(round_trip(&p, 4), 1, 3 * 4096);
	free(p.sym);
	for (int i = 0; i < 3; i++) /* as long as a pause, and longer */
		for (uint32_t k = 0; k < 100000; k++)
			put(&t, 2048 + k);
	assert_in_range(round_trip(&t, 110000), items + 100000, items + 100000 + 3 * 16 * 4096);
	free(t.sym);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_and_small), cmocka_unit_test(test_loops_fold),
		cmocka_unit_test(test_random_programs), cmocka_unit_test(test_random_text),
		cmocka_unit_test(test_flush), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_loops_after_random_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
