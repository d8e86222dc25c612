/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shape folding: count vectors, the lengths that the design states, and exact round trips of everything else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/contract/shape.h"
#include "tests/unit/rng.h"

static enum count_form check_vec(const uint32_t *value, uint64_t n)
{
	struct count_vec v;
	struct errbuf err;
	enum count_form form;

	assert_int_equal(count_vec_build(value, n, &v, &err), 0);
	assert_int_equal(v.n, n);
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(count_vec_at(&v, k), value[k]);
	assert_true(count_vec_cost(&v) <= n + 1);
	form = count_vec_form(&v);
	assert_int_equal(count_vec_cost(&v) == 0, form == COUNT_CONSTANT);
	count_vec_free(&v);
	count_vec_free(&v);
	return form;
}

static void test_count_vec(void **state)
{
	uint32_t v[1000];
	struct count_vec out;
	struct errbuf err;

	(void)state;
#define FORM(want, n_values, expression)                                                                     \
	do {                                                                                                 \
		for (uint32_t k = 0; k < (n_values); k++)                                                    \
			v[k] = (expression);                                                                 \
		assert_int_equal(check_vec(v, (n_values)), want);                                            \
	} while (0)
	FORM(COUNT_CONSTANT, 1, 7);
	FORM(COUNT_CONSTANT, 1000, 7);
	FORM(COUNT_AFFINE, 1000, 1 + k);
	FORM(COUNT_AFFINE, 500, 1500 - 3 * k);
	FORM(COUNT_AFFINE, 2, 4 + k);
	FORM(COUNT_RUNS, 1000, k < 400 ? 5 : 9);
	FORM(COUNT_RUNS, 1000, k < 400 ? 5 + k : 900);
	FORM(COUNT_PERIODIC, 1000, 1 + k % 10);
	FORM(COUNT_PERIODIC, 999, k % 7 == 3 ? 2 : 1);
	FORM(COUNT_PERIODIC, 4, k % 2 ? 3 : 1);
	FORM(COUNT_RAW, 1000, 1 + rng() % 1000);
	FORM(COUNT_RAW, 3, k == 1 ? UINT32_MAX : 1 + k);
#undef FORM
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t n = 1 + rng() % 60, range = 1 + rng() % 4;

		for (uint32_t k = 0; k < n; k++)
			v[k] = 1 + rng() % range;
		check_vec(v, n);
	}
	assert_int_equal(count_vec_build(v, 0, &out, &err), -1);
	count_vec_free(NULL);
}

/* Fold, prove by expansion, return the tree. */
static struct shape_tree fold(const uint32_t *s, uint64_t n)
{
	struct shape_tree t;
	struct shape_iter it;
	struct contract_tree exact;
	struct errbuf err = {""};
	uint32_t symbol, leaf;
	uint64_t at = 0;
	int rc;

	assert_int_equal(contract_symbols(s, n, NULL, &exact, &err), 0);
	if (shape_fold(s, n, &exact, &t, &err))
		fail_msg("%s", err.text);
	assert_int_equal(shape_expand_begin(&it, &t, &err), 0);
	while ((rc = shape_expand_next(&it, &symbol, &leaf)) == 1) {
		assert_true(at < n);
		assert_int_equal(symbol, s[at++]);
		assert_int_equal(t.node[leaf].kind, CONTRACT_LEAF);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(at, n);
	for (uint32_t i = 0; i < t.n_vec; i++)
		assert_int_equal(it.executed[i], t.vec[i].n);
	shape_expand_end(&it);
	assert_int_equal(shape_tree_check(&t, s, n, &err), 0);
	assert_true(shape_tree_cost(&t) <= contract_tree_length(&exact));
	contract_tree_free(&exact);
	return t;
}

static uint64_t fold_length(const uint32_t *s, uint64_t n)
{
	struct shape_tree t = fold(s, n);
	uint64_t length = shape_tree_length(&t);

	shape_tree_free(&t);
	shape_tree_free(&t);
	return length;
}

struct symbols {
	uint32_t *s;
	uint32_t n, cap;
};

static void put_range(struct symbols *y, uint32_t first, uint32_t n)
{
	for (uint32_t e = 0; e < n && y->n < y->cap; e++)
		y->s[y->n++] = first + e;
}

static enum count_form first_varying(const struct shape_tree *t)
{
	for (uint32_t i = 0; i < t->n_vec; i++)
		if (count_vec_form(&t->vec[i]) != COUNT_CONSTANT)
			return count_vec_form(&t->vec[i]);
	return COUNT_CONSTANT;
}

static void test_known_shapes(void **state)
{
	struct symbols y = {.cap = 120000};
	struct shape_tree t;

	(void)state;
	y.s = malloc(y.cap * sizeof(*y.s));
	assert_non_null(y.s);
	for (uint32_t i = 1; i <= 300; i++) { /* (A)^i B, i = 1..k */
		for (uint32_t k = 0; k < i; k++)
			put_range(&y, 0, 1);
		put_range(&y, 1, 1);
	}
	t = fold(y.s, y.n);
	assert_true(shape_tree_length(&t) <= 4);
	assert_true(shape_tree_cost(&t) <= 10);
	shape_tree_free(&t);
	y.n = 0; /* the same, again and again */
	for (uint32_t step = 0; step < 50; step++) {
		for (uint32_t i = 2; i <= 20; i++) {
			for (uint32_t k = 0; k < i; k++)
				put_range(&y, 0, 3);
			put_range(&y, 10, 2);
		}
		put_range(&y, 20, 4);
	}
	t = fold(y.s, y.n);
	assert_true(shape_tree_length(&t) <= 9);
	assert_int_equal(first_varying(&t), COUNT_PERIODIC);
	shape_tree_free(&t);
	y.n = 0; /* solver iterations that vary */
	for (uint32_t step = 0; step < 2000; step++) {
		for (uint32_t k = 1 + rng() % 5; k > 0; k--)
			put_range(&y, 0, 2);
		put_range(&y, 2, 5);
	}
	assert_true(fold_length(y.s, y.n) <= 10);
	y.n = 0; /* an optional call */
	for (uint32_t step = 0; step < 4000; step++) {
		put_range(&y, 0, 16);
		if (rng() % 10 == 0)
			put_range(&y, 90, 1);
	}
	put_range(&y, 90, 1);
	assert_true(fold_length(y.s, y.n) <= 18);
	y.n = 0; /* nothing varies: the exact tree */
	for (uint32_t step = 0; step < 1000; step++)
		for (uint32_t k = 0; k < 7; k++)
			put_range(&y, k == 6 ? 2 : k % 2, 1);
	t = fold(y.s, y.n);
	assert_int_equal(shape_tree_length(&t), 3);
	assert_int_equal(shape_tree_cost(&t), 3);
	shape_tree_free(&t);
	free(y.s);
}

/* Random nested program whose loops run a different number of times on each execution. */
static void run_program(struct symbols *y, uint32_t seed, uint32_t depth)
{
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t what = (seed >> (4 * k)) & 15;

		if (depth == 0 || what < 6)
			put_range(y, what + 16 * (seed & 7), 1 + what % 3);
		else
			for (uint32_t t = what % 2 ? 2 + rng() % 4 : 3; t > 0; t--)
				run_program(y, seed * 2654435761u + what, depth - 1);
	}
}

static void test_random_programs(void **state)
{
	uint32_t s[4000];
	uint64_t folded = 0, exact = 0;

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		struct symbols y = {s, 0, 4000};
		struct contract_tree tree;
		struct errbuf err;

		run_program(&y, rng(), 4);
		if (round % 5 == 0 && y.n)
			s[rng() % y.n] = UINT32_MAX;
		assert_int_equal(contract_symbols(s, y.n, NULL, &tree, &err), 0);
		exact += contract_tree_length(&tree);
		contract_tree_free(&tree);
		folded += fold_length(s, y.n);
	}
	print_message("# leaves of programs with varying loops: %llu exact, %llu folded\n",
		      (unsigned long long)exact, (unsigned long long)folded);
	assert_true(folded < exact);
}

static void test_adversarial(void **state)
{
	uint32_t n = 0, *s = malloc(20000 * sizeof(*s));

	(void)state;
	assert_non_null(s);
	assert_int_equal(fold_length(NULL, 0), 0);
	s[0] = UINT32_MAX;
	assert_int_equal(fold_length(s, 1), 1);
	for (n = 0; n < 20000; n++)
		s[n] = 4;
	assert_int_equal(fold_length(s, n), 1);
	for (n = 0; n < 20000; n++)
		s[n] = rng() % 3;
	fold_length(s, n);
	for (n = 0; n < 20000; n++)
		s[n] = (uint32_t)__builtin_parity(n);
	fold_length(s, n);
	for (n = 0; n < 20000; n++)
		s[n] = (uint32_t)__builtin_ctz(n + 1);
	fold_length(s, n);
	n = 0; /* squares of 1 2, 1 2 3, 1 2 3 4, ...: bodies that nest as deep as the text allows */
	for (uint32_t k = 2; n + 2 * k + 1 <= 20000; k++) {
		for (uint32_t t = 0; t < 2 * k; t++)
			s[n++] = t % k;
		s[n++] = 1000 + k;
	}
	fold_length(s, n);
	free(s);
}

static void test_random_strings(void **state)
{
	uint32_t s[60];

	(void)state;
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t n = rng() % 60, letters = 1 + rng() % 4;

		for (uint32_t i = 0; i < n; i++)
			s[i] = rng() % letters;
		fold_length(s, n);
	}
}

static void test_check_refuses(void **state)
{
	uint32_t s[64], n = 0;
	struct shape_tree t;
	struct errbuf err;
	uint32_t loop = 0, vec;

	(void)state;
	for (uint32_t i = 1; i <= 9; i++) {
		for (uint32_t k = 0; k < i; k++)
			s[n++] = 1;
		s[n++] = 2;
	}
	t = fold(s, n);
	for (uint32_t i = 0; i < t.n_node; i++)
		if (t.node[i].kind == CONTRACT_LOOP &&
		    count_vec_form(&t.vec[t.node[i].vec]) != COUNT_CONSTANT)
			loop = i;
	vec = t.node[loop].vec;
	assert_true(t.vec[vec].n > 1);
#define REFUSES(field, value)                                                                                \
	do {                                                                                                 \
		__typeof__(field) old = field;                                                               \
		field = (value);                                                                             \
		assert_int_equal(shape_tree_check(&t, s, n, &err), -1);                                      \
		field = old;                                                                                 \
		assert_int_equal(shape_tree_check(&t, s, n, &err), 0);                                       \
	} while (0)
	REFUSES(t.hash, 1);
	REFUSES(t.n_events, 1);
	REFUSES(t.n_top, 1000);
	REFUSES(t.top_first, UINT32_MAX);
	REFUSES(t.node[loop].vec, 1000);
	REFUSES(t.node[loop].vec, vec ? 0 : 1);
	REFUSES(t.node[loop].n_children, 0);
	REFUSES(t.node[loop].first, 0);
	REFUSES(t.node[loop].kind, 7);
	REFUSES(t.vec[vec].n, t.vec[vec].n + 1);
	REFUSES(t.vec[vec].n, t.vec[vec].n - 1);
	REFUSES(t.vec[vec].period, 0);
	REFUSES(t.vec[vec].segment[0].value, t.vec[vec].segment[0].value + 1);
	REFUSES(t.vec[vec].segment[0].value, 0);
	REFUSES(t.vec[vec].segment[0].start, 1);
	REFUSES(t.child[0], t.n_node);
#undef REFUSES
	shape_tree_free(&t);
	shape_tree_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_count_vec),	    cmocka_unit_test(test_known_shapes),
	    cmocka_unit_test(test_random_programs), cmocka_unit_test(test_adversarial),
	    cmocka_unit_test(test_random_strings),  cmocka_unit_test(test_check_refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
