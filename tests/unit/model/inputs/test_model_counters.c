/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models of simulated programs with calls in some iterations only, and with values that repeat. Each model is compared with
 * runs of other sizes and numbers of ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

/* A program of K (a size) and I (iterations), rank by rank. */
typedef void (*program)(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i);

static struct trace *run(program p, uint32_t ranks, uint32_t k, uint32_t i)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++)
		p(s, r, ranks, k, i);
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	assert_non_null(t);
	return t;
}

/* Six runs, on two and three ranks. */
static void learn_of(struct world *w, program p)
{
	static const uint32_t ranks[] = {2, 2, 2, 3, 3, 3};
	static const double k[] = {31, 47, 64, 50, 77, 90}, steps[] = {23, 47, 30, 64, 35, 58};
	struct trace *t[6];

	for (uint32_t i = 0; i < 6; i++)
		t[i] = run(p, ranks[i], (uint32_t)k[i], (uint32_t)steps[i]);
	if (world_learn(w, 1, t, k, steps, 6) < 0)
		fail_msg("%s", w->err.text);
}

static void exact_of(program p)
{
	struct world w;

	learn_of(&w, p);
	if (w.learnt.n_unknown) {
		for (uint32_t i = 0; i < w.runs.n_leaf; i++)
			print_message("# %s: %d\n", w.runs.leaf[i].name, w.learnt.leaf[i].when);
		fail_msg("%u calls or loops have no rule", w.learnt.n_unknown);
	}
	world_exact(&w, run(p, 4, 100, 100), 4, 100, 100);
	world_exact(&w, run(p, 6, 123, 29), 6, 123, 29);
	world_exact(&w, run(p, 2, 40, 141), 2, 40, 141);
	world_exact(&w, run(p, 5, 40, 11), 5, 40, 11);
	world_compiled(&w, 4, 90, 37);
	world_forget(&w);
}

/* Halos to both neighbours. */
static void halo(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k)
{
	if (rank)
		syn_call(s, rank, "MPI_Send", 10, SYN(.dst = rank - 1, .tag = 1, .count = k));
	if (rank + 1 < ranks)
		syn_call(s, rank, "MPI_Recv", 11, SYN(.src = rank + 1, .tag = 1, .count = k));
	if (rank + 1 < ranks)
		syn_call(s, rank, "MPI_Send", 12, SYN(.dst = rank + 1, .tag = 2, .count = k));
	if (rank)
		syn_call(s, rank, "MPI_Recv", 13, SYN(.src = rank - 1, .tag = 2, .count = k));
}

static void tenth(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = 2));
	for (uint32_t i = 0; i < n; i++) {
		halo(s, rank, ranks, k);
		if (i % 10 == 0)
			syn_call(s, rank, "MPI_Allreduce", 20, SYN(.count = 1));
	}
	syn_call(s, rank, "MPI_Reduce", 30, SYN(.count = 1));
}

/* At the end of every tenth step, and a status at the beginning of every seventh. */
static void tenth_and_seventh(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i % 7 == 0)
			syn_call(s, rank, "MPI_Gather", 5, SYN(.count = 3));
		halo(s, rank, ranks, k);
		if ((i + 1) % 10 == 0)
			syn_call(s, rank, "MPI_Allreduce", 20, SYN(.count = 1));
	}
}

static void tags(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (rank)
			syn_call(s, rank, "MPI_Send", 10, SYN(.dst = rank - 1, .tag = 100 + i % 3, .count = k));
		if (rank + 1 < ranks)
			syn_call(s, rank, "MPI_Recv", 11, SYN(.src = rank + 1, .tag = 100 + i % 3, .count = k));
		syn_call(s, rank, "MPI_Bcast", 14, SYN(.root = i % 2, .count = i % 4 == 3 ? k : 1));
	}
}

/* Partners; the last one of an odd number has none. */
static void partners(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if ((rank ^ 1) < ranks)
			syn_call(s, rank, "MPI_Send", 10, SYN(.dst = rank ^ 1, .tag = 1, .count = k));
		if ((rank ^ 1) < ranks)
			syn_call(s, rank, "MPI_Recv", 11, SYN(.src = rank ^ 1, .tag = 1, .count = k));
		syn_call(s, rank, "MPI_Barrier", 12, SYN(.comm = 0));
	}
}

/* The lower rank of each pair sends, and the higher one receives. */
static void pairs(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		syn_call(s, rank, "MPI_Allreduce", 12, SYN(.count = 1));
		if ((rank ^ 1) < ranks && rank & 1)
			syn_call(s, rank, "MPI_Recv", 10, SYN(.src = rank ^ 1, .tag = 1, .count = k));
		if ((rank ^ 1) < ranks && !(rank & 1))
			syn_call(s, rank, "MPI_Send", 11, SYN(.dst = rank ^ 1, .tag = 1, .count = k));
		syn_call(s, rank, "MPI_Barrier", 13, SYN(.comm = 0));
	}
}

/* Rank 0 tells all others at every fifth step, from the fourth on. */
static void fifth(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		syn_call(s, rank, "MPI_Allreduce", 9, SYN(.count = k));
		if (i % 5 == 3 && rank + 1 < ranks)
			syn_call(s, rank, "MPI_Send", 10, SYN(.dst = rank + 1, .tag = 1, .count = k));
		if (i % 5 == 3 && rank > 0)
			syn_call(s, rank, "MPI_Recv", 11, SYN(.src = rank - 1, .tag = 1, .count = k));
	}
}

/* Inside an outer loop, with a loop inside; and once in each. */
static void nested(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t outer = 0; outer < 3; outer++) {
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t twice = 0; twice < 4; twice++)
				halo(s, rank, ranks, k);
			if (i % 6 == 2)
				syn_call(s, rank, "MPI_Allreduce", 20, SYN(.count = i % 6));
			if (i == 1)
				syn_call(s, rank, "MPI_Bcast", 21, SYN(.count = k));
		}
		syn_call(s, rank, "MPI_Barrier", 22, SYN(.comm = 0));
	}
}

/* The period is an argument of the program. */
static void every_k(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		halo(s, rank, ranks, 5);
		if (i % (k / 10) == 0)
			syn_call(s, rank, "MPI_Allreduce", 20, SYN(.count = 1));
		if ((i + 1) % (k / 10) == 0 && rank == 0)
			syn_call(s, rank, "MPI_Bcast", 21, SYN(.count = 1));
	}
}

static void test_every_k(void **state)
{
	static const uint32_t ranks[] = {2, 2, 2, 3, 3, 3};
	static const double k[] = {3, 5, 4, 6, 7, 2}, steps[] = {23, 47, 30, 64, 35, 58};
	struct trace *t[6];
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		t[i] = run(every_k, ranks[i], (uint32_t)k[i] * 10, (uint32_t)steps[i]);
	assert_int_equal(world_learn(&w, 1, t, k, steps, 6), 0);
	assert_int_equal(w.learnt.n_unknown, 0);
	world_exact(&w, run(every_k, 4, 90, 100), 4, 9, 100);
	world_exact(&w, run(every_k, 2, 80, 7), 2, 8, 7);
	world_compiled(&w, 4, 8, 37);
	world_forget(&w);
}

static void test_tenth(void **state)
{
	(void)state;
	exact_of(tenth);
}

static void test_tenth_and_seventh(void **state)
{
	(void)state;
	exact_of(tenth_and_seventh);
}

static void test_tags(void **state)
{
	(void)state;
	exact_of(tags);
}

static void test_partners(void **state)
{
	(void)state;
	exact_of(partners);
}

static void test_pairs(void **state)
{
	(void)state;
	exact_of(pairs);
}

static void test_fifth(void **state)
{
	(void)state;
	exact_of(fifth);
}

static void test_nested(void **state)
{
	(void)state;
	exact_of(nested);
}

static void ends_tenth(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	(void)ranks;
	for (uint32_t i = 1; i <= n; i++) {
		syn_call(s, rank, "MPI_Bcast", 10, SYN(.count = k));
		if (i % 10 == 0)
			syn_call(s, rank, "MPI_Allreduce", 20, SYN(.count = 1));
	}
	syn_call(s, rank, "MPI_Reduce", 30, SYN(.count = 1));
}

/* One run ends at a tenth step. The others end between two of them, and that goes with K / N by chance. */
static void test_left_over(void **state)
{
	static const uint32_t ranks[] = {2, 2, 2, 3, 3, 3, 2, 2};
	static const double k[] = {48, 65, 82, 48, 65, 82, 95, 21}, steps[] = {14, 25, 33, 21, 40, 17, 30, 24};
	struct trace *t[8];
	struct world w;

	(void)state;
	for (uint32_t n = 6; n <= 8; n += 2) {
		for (uint32_t i = 0; i < n; i++)
			t[i] = run(ends_tenth, ranks[i], (uint32_t)k[i], (uint32_t)steps[i]);
		assert_int_equal(world_learn(&w, 1, t, k, steps, n), 0);
		if (n == 6) {
			world_refused(&w, run(ends_tenth, 4, 73, 47), 4, 73, 47, "whether: ");
		} else {
			world_exact(&w, run(ends_tenth, 4, 73, 47), 4, 73, 47);
			world_exact(&w, run(ends_tenth, 2, 120, 90), 2, 120, 90);
		}
		world_forget(&w);
	}
}

/* No progression: squares are refused. */
static void squares(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	(void)ranks;
	for (uint32_t i = 0, root = 0; i < n; i++) {
		syn_call(s, rank, "MPI_Allreduce", 9, SYN(.count = k));
		if (i == root * root) {
			syn_call(s, rank, "MPI_Bcast", 10, SYN(.count = 1));
			root++;
		}
	}
}

static void test_squares(void **state)
{
	struct world w;

	(void)state;
	learn_of(&w, squares);
	world_refused(&w, run(squares, 2, 40, 77), 2, 40, 77, "");
	world_forget(&w);
}

/* In every tenth step, from one on that goes with nothing: refused, and the model is a model. */
static void from_anywhere(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t n)
{
	(void)ranks;
	for (uint32_t i = 0; i < n; i++) {
		syn_call(s, rank, "MPI_Allreduce", 9, SYN(.count = k));
		if (i % 10 == k * k % 9)
			syn_call(s, rank, "MPI_Bcast", 10, SYN(.count = 1));
	}
}

static void test_from_anywhere(void **state)
{
	struct world w;

	(void)state;
	learn_of(&w, from_anywhere);
	world_refused(&w, run(from_anywhere, 2, 40, 77), 2, 40, 77, "whether there is the call MPI_Bcast");
	world_forget(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tenth),    cmocka_unit_test(test_tenth_and_seventh), cmocka_unit_test(test_tags),
	    cmocka_unit_test(test_partners), cmocka_unit_test(test_fifth),	       cmocka_unit_test(test_nested),
	    cmocka_unit_test(test_squares),  cmocka_unit_test(test_every_k),
	    cmocka_unit_test(test_left_over), cmocka_unit_test(test_pairs),  cmocka_unit_test(test_from_anywhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
