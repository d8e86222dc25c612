/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loop contraction: lossless on everything, never below the exhaustive optimum, the lengths that the design
 * states, and refusal of trees that are not what they claim.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/contract/contract.h"
#include "tests/unit/rng.h"

#define MAX_N	 400
#define ORACLE_N 40

/* Shortest contraction of s[0..n): C[i][j] = min(1 + C[i+1][j], body once + rest) over all loops that start
 * at i. */
static uint32_t optimum(const uint32_t *s, uint32_t n)
{
	static uint32_t c[ORACLE_N + 2][ORACLE_N + 2];

	for (uint32_t i = n + 1; i-- > 0;) {
		c[i][i] = 0;
		for (uint32_t j = i + 1; j <= n; j++) {
			c[i][j] = 1 + c[i + 1][j];
			for (uint32_t p = 1; i + 2 * p <= j; p++) {
				for (uint32_t t = 2; i + t * p <= j; t++) {
					if (memcmp(s + i, s + i + (t - 1) * p, p * sizeof(*s)))
						break;
					if (c[i][i + p] + c[i + t * p][j] < c[i][j])
						c[i][j] = c[i][i + p] + c[i + t * p][j];
				}
			}
		}
	}
	return c[0][n];
}

static void expand_and_compare(const struct contract_tree *tree, const uint32_t *s, uint64_t n)
{
	struct contract_iter it;
	uint32_t symbol, leaf;
	uint64_t i = 0;
	int rc;

	assert_int_equal(contract_expand_begin(&it, tree), 0);
	while ((rc = contract_expand_next(&it, &symbol, &leaf)) == 1) {
		assert_true(i < n);
		assert_int_equal(symbol, s[i]);
		assert_true(leaf < tree->n_node);
		assert_int_equal(tree->node[leaf].kind, CONTRACT_LEAF);
		i++;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(i, n);
	assert_int_equal(contract_expand_next(&it, &symbol, &leaf), 0);
}

/* Contract with these options, check everything that must always hold, return the length. */
static uint64_t contract_with(const uint32_t *s, uint64_t n, const struct contract_options *opt)
{
	struct contract_tree tree;
	struct errbuf err = {""};
	uint64_t length;

	if (contract_symbols(s, n, opt, &tree, &err))
		fail_msg("%s", err.text);
	expand_and_compare(&tree, s, n);
	assert_int_equal(contract_tree_check(&tree, s, n, &err), 0);
	assert_int_equal(contract_tree_check(&tree, NULL, 0, &err), 0);
	assert_int_equal(tree.n_events, n);
	length = contract_tree_length(&tree);
	assert_true(length <= n);
	contract_tree_free(&tree);
	assert_null(tree.node);
	return length;
}

static uint64_t contract_length(const uint32_t *s, uint64_t n)
{
	return contract_with(s, n, NULL);
}

/* Random nested program: sequences of events and loops, run until n symbols are written. */
static uint32_t random_program(uint32_t *s, uint32_t n, uint32_t letters, uint32_t depth)
{
	uint32_t at = 0;

	while (at < n && (at == 0 || rng() % 4)) {
		if (depth == 0 || rng() % 2) {
			s[at++] = rng() % letters;
		} else {
			uint32_t body = random_program(s + at, n - at, letters, depth - 1);

			for (uint32_t t = rng() % 6, from = at; t > 0 && at + 2 * body <= n; t--, at += body)
				memcpy(s + at + body, s + from, body * sizeof(*s));
			at += body;
		}
	}
	return at;
}

static void test_edges(void **state)
{
	uint32_t s[3] = {5, 5, UINT32_MAX};
	struct contract_tree tree;
	struct errbuf err;

	(void)state;
	assert_int_equal(contract_symbols(NULL, 0, NULL, &tree, &err), 0);
	assert_int_equal(tree.n_top, 0);
	expand_and_compare(&tree, s, 0);
	contract_tree_free(&tree);
	contract_tree_free(&tree);
	contract_tree_free(NULL);
	assert_int_equal(contract_length(s, 1), 1);
	assert_int_equal(contract_length(s, 2), 1);
	assert_int_equal(contract_length(s + 1, 2), 2);
	assert_int_equal(contract_length(s + 2, 1), 1);
	assert_int_equal(contract_symbols(s, UINT64_MAX, NULL, &tree, &err), -1);
	assert_non_null(strstr(err.text, "limit"));
	assert_null(tree.node);
}

/* Short streams are contracted to the optimum; greedy alone, as for long ones, is near it and never below. */
static void test_oracle(void **state)
{
	const struct contract_options greedy = {.without_search = true};
	uint32_t s[ORACLE_N];
	uint64_t sum = 0, best = 0;
	double worst = 1;

	(void)state;
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t n, want;
		uint64_t got;

		if (round % 2) {
			n = random_program(s, ORACLE_N, 2 + rng() % 3, 3);
		} else {
			n = 1 + rng() % ORACLE_N;
			for (uint32_t i = 0; i < n; i++)
				s[i] = rng() % (2 + round % 5);
		}
		want = optimum(s, n);
		assert_int_equal(contract_length(s, n), want);
		got = contract_with(s, n, &greedy);
		assert_true(got >= want);
		sum += got;
		best += want;
		if ((double)got / want > worst)
			worst = (double)got / want;
	}
	print_message("# greedy alone is %.3f times the optimum, at worst %.3f\n", (double)sum / (double)best,
		      worst);
	assert_true((double)sum / (double)best < 1.15);
}

struct symbols {
	uint32_t *s;
	uint32_t n, cap;
};

static void put(struct symbols *y, uint32_t symbol)
{
	if (y->n < y->cap)
		y->s[y->n++] = symbol;
}

static void put_range(struct symbols *y, uint32_t first, uint32_t n)
{
	for (uint32_t e = 0; e < n; e++)
		put(y, first + e);
}

/* Set up, then steps of two pipelined sweeps (receive, compute, send per plane) and an exchange of faces,
 * then a norm. */
static void put_wavefront(struct symbols *y, uint32_t n_steps)
{
	put_range(y, 0, 8);
	for (uint32_t step = 0; step < n_steps; step++) {
		for (uint32_t k = 0; k < 160; k++)
			put_range(y, 10, 4);
		for (uint32_t k = 0; k < 160; k++)
			put_range(y, 20, 4);
		put_range(y, 30, 16);
	}
	put_range(y, 50, 6);
}

static void test_known_lengths(void **state)
{
	struct symbols y = {.cap = 200000};

	(void)state;
	y.s = malloc(y.cap * sizeof(*y.s));
	assert_non_null(y.s);
	for (uint32_t i = 0; i < 10; i++)
		put(&y, i % 3);
	assert_int_equal(contract_length(y.s, y.n), 4); /* ABCABCABCA */
	for (y.n = 0; y.n < 7 * 20000;)
		put(&y, y.n % 7 == 6 ? 2 : y.n % 7 % 2);
	assert_int_equal(contract_length(y.s, y.n), 3); /* ((AB)^3 C)^k */
	for (y.n = 0; y.n < 10 * 15000;)
		put(&y, y.n % 10 == 9);
	assert_int_equal(contract_length(y.s, y.n), 2); /* ((A)^9 B)^k */
	y.n = 0;
	put_wavefront(&y, 150);
	assert_true(y.n > 190000 && y.n < y.cap);
	assert_int_equal(contract_length(y.s, y.n), 8 + 24 + 6); /* a wavefront code */
	free(y.s);
}

static void test_programs(void **state)
{
	uint32_t s[MAX_N];

	(void)state;
	for (uint32_t round = 0; round < 1000; round++) {
		uint32_t n = random_program(s, MAX_N, 2 + rng() % 8, 6);
		uint64_t a, b, c, d;

		if (n > 4 && round % 3 == 0) /* nearly a repetition */
			s[rng() % n] = 77;
		a = contract_with(s, n, NULL);
		b = contract_with(s, n, &(struct contract_options){.without_shortcut = true});
		c = contract_with(s, n, &(struct contract_options){.engine = REPEATS_SUFFIX_ARRAY});
		d = contract_with(s, n, &(struct contract_options){.without_search = true});
		assert_int_equal(a, c);
		assert_true(a <= b && a <= d);
	}
}

/* Too long to search: never longer than greedy alone, whatever was contracted first. */
static void test_long_programs(void **state)
{
	const struct contract_options greedy = {.without_shortcut = true, .without_search = true};
	uint32_t n_max = 5000, *s = malloc(n_max * sizeof(*s));

	(void)state;
	assert_non_null(s);
	for (uint32_t round = 0; round < 150; round++) {
		uint32_t n = random_program(s, n_max, 2 + rng() % 12, 9);

		assert_true(contract_length(s, n) <= contract_with(s, n, &greedy));
	}
	free(s);
}

static void test_adversarial(void **state)
{
	uint32_t n, *s = malloc(40000 * sizeof(*s)), seen = 0;
	uint8_t *used = calloc(1 << 12, 1);

	(void)state;
	assert_non_null(s);
	assert_non_null(used);
	for (n = 0; n < 40000; n++)
		s[n] = 3;
	for (uint32_t k = 1; k < 2000; k += 1 + k / 8)
		assert_int_equal(contract_length(s, k), 1);
	assert_int_equal(contract_length(s, n), 1);
	for (n = 0; n < 40000; n++)
		s[n] = (uint32_t)__builtin_parity(n); /* Thue-Morse */
	assert_true(contract_length(s, n) < n);
	for (n = 0; n < 40000; n++)
		s[n] = (uint32_t)__builtin_ctz(n + 1); /* ruler: nothing to contract */
	assert_int_equal(contract_length(s, n), n);
	s[0] = 0;
	s[1] = 1;
	for (uint32_t a = 1, b = 2; a + b <= 40000;) { /* Fibonacci */
		uint32_t next = a + b;

		memcpy(s + b, s, a * sizeof(*s));
		a = b;
		b = next;
		n = b;
	}
	assert_true(contract_length(s, n) < n / 50);
	for (n = 0; n < 12; n++)
		s[n] = 0;
	for (; seen != n; n++) { /* de Bruijn of order 12: prefer one */
		uint32_t word = 0;

		seen = n;
		for (uint32_t k = 1; k < 12; k++)
			word = word << 1 | s[n - 12 + k];
		word = word << 1 | 1;
		if (used[word & 4095])
			word ^= 1;
		if (used[word & 4095])
			break;
		used[word & 4095] = 1;
		s[n] = word & 1;
	}
	assert_true(n > 4000);
	assert_true(contract_length(s, n) < n);
	for (n = 0; n < 40000; n++)
		s[n] = rng() % 4;
	assert_true(contract_length(s, n) < n * 3 / 4);
	for (n = 0; n < 40000; n++)
		s[n] = rng() % 100 ? n % 11 : 99; /* noise in a loop */
	assert_true(contract_length(s, n) < n / 4);
	for (n = 0; n < 40000; n++)
		s[n] = UINT32_MAX - n % 11; /* values that leave no room for loop symbols */
	assert_int_equal(contract_length(s, n), 11 + n % 11);
	free(used);
	free(s);
}

/* (A)^i B for i = 1..k does not contract exactly to anything short, but must stay near the paper's own
 * length. */
static void test_varying_counts(void **state)
{
	uint32_t *s = malloc(200000 * sizeof(*s)), n = 0, k = 0;

	(void)state;
	assert_non_null(s);
	while (n + k + 2 < 200000) {
		k++;
		for (uint32_t i = 0; i < k; i++)
			s[n++] = 0;
		s[n++] = 1;
	}
	assert_true(contract_length(s, n) <= 2 * k);
	free(s);
}

/* A tree by hand: (A (B)^3)^2 C, top first. */
static void hand_tree(struct contract_tree *t, struct contract_node node[5], uint32_t child[5])
{
	static const uint32_t text[] = {1, 2, 2, 2, 1, 2, 2, 2, 3};
	struct contract_tree real;
	struct errbuf err;

	assert_int_equal(contract_symbols(text, 9, NULL, &real, &err), 0);
	*t = (struct contract_tree){.node = node,
				    .n_node = 5,
				    .child = child,
				    .n_child = 5,
				    .n_top = 2,
				    .n_events = 9,
				    .hash = real.hash};
	contract_tree_free(&real);
	node[0] = (struct contract_node){.kind = CONTRACT_LOOP, .first = 2, .n_children = 2, .count = 2};
	node[1] = (struct contract_node){.kind = CONTRACT_LEAF, .symbol = 1, .count = 1};
	node[2] = (struct contract_node){.kind = CONTRACT_LOOP, .first = 4, .n_children = 1, .count = 3};
	node[3] = (struct contract_node){.kind = CONTRACT_LEAF, .symbol = 2, .count = 1};
	node[4] = (struct contract_node){.kind = CONTRACT_LEAF, .symbol = 3, .count = 1};
	memcpy(child, (uint32_t[]){0, 4, 1, 2, 3}, 5 * sizeof(*child));
}

static void test_check_refuses(void **state)
{
	static const uint32_t text[] = {1, 2, 2, 2, 1, 2, 2, 2, 3};
	struct contract_node node[5];
	uint32_t child[5];
	struct contract_tree t;
	struct errbuf err;

	(void)state;
#define REFUSES(change, with_text)                                                                           \
	do {                                                                                                 \
		hand_tree(&t, node, child);                                                                  \
		assert_int_equal(contract_tree_check(&t, text, 9, &err), 0);                                 \
		assert_int_equal(contract_tree_check(&t, NULL, 0, &err), 0);                                 \
		change;                                                                                      \
		assert_int_equal(contract_tree_check(&t, with_text ? text : NULL, 9, &err), -1);             \
	} while (0)
	REFUSES(node[4].symbol = 4, true);
	REFUSES(node[4].symbol = 4, false);
	REFUSES(node[2].count = 2, true);
	REFUSES(node[2].count = 4, false);
	REFUSES(node[0].count = UINT64_MAX, true);
	REFUSES(node[0].count = UINT64_MAX, false);
	REFUSES(node[2].count = 1, true);
	REFUSES(node[2].n_children = 0, true);
	REFUSES(node[2].n_children = 7, true);
	REFUSES(node[2].first = UINT32_MAX, true);
	REFUSES(node[2].kind = 9, true);
	REFUSES(child[4] = 0, true); /* a cycle */
	REFUSES(child[4] = 4, true); /* a shared node */
	REFUSES(child[1] = 5, true);
	REFUSES(t.n_top = 6, true);
	REFUSES(t.n_top = 1, true);
	REFUSES(t.hash ^= 1, true);
	REFUSES(t.hash ^= 1, false);
	REFUSES(t.n_events = 8, true);
	REFUSES(t.n_events = 8, false);
	REFUSES(t.n_events = 10, false);
#undef REFUSES
	hand_tree(&t, node, child);
	assert_int_equal(contract_tree_check(&t, text, 8, &err), -1);
}

/* The iterator must stop on a tree that nests deeper than any contraction can. */
static void test_iterator_depth(void **state)
{
	struct contract_node node[CONTRACT_MAX_DEPTH + 3];
	uint32_t child[CONTRACT_MAX_DEPTH + 3], n = CONTRACT_MAX_DEPTH + 3;
	struct contract_tree t = {.node = node, .n_node = n, .child = child, .n_child = n, .n_top = 1};
	struct contract_iter it;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		child[i] = i;
		node[i] = (struct contract_node){
		    .kind = CONTRACT_LOOP, .first = i + 1, .n_children = 1, .count = 2};
	}
	node[n - 1] = (struct contract_node){.kind = CONTRACT_LEAF, .count = 1};
	contract_expand_begin(&it, &t);
	assert_int_equal(contract_expand_next(&it, NULL, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_edges),	   cmocka_unit_test(test_oracle),
	    cmocka_unit_test(test_known_lengths),  cmocka_unit_test(test_programs),
	    cmocka_unit_test(test_long_programs),  cmocka_unit_test(test_adversarial),
	    cmocka_unit_test(test_varying_counts), cmocka_unit_test(test_check_refuses),
	    cmocka_unit_test(test_iterator_depth),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
