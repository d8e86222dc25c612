/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What models of runs find in simulated programs: values that go with the counter of a loop around, portions of which the last
 * is smaller, products of three sizes, calls of one place that are told apart by their tags, conditions of two features;
 * each against a run that the model has not seen, also compiled. And what the runs do not tell is refused, or left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

/* A program of K and I, rank by rank. */
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

/* Runs of ranks[], sizes k[] and iterations 3, 5, 4, 7... */
static int learn_of(struct world *w, program p, uint32_t dims, const uint32_t *ranks, const double *k, uint32_t n)
{
	static const double steps[WORLD_RUNS] = {3, 5, 4, 7, 6, 8, 3, 9, 5, 4, 6, 7};
	struct trace *t[WORLD_RUNS];

	for (uint32_t i = 0; i < n; i++)
		t[i] = run(p, ranks[i], (uint32_t)k[i], (uint32_t)steps[i]);
	return world_learn(w, dims, t, k, steps, n);
}

static uint32_t n_of_kind(const struct world *w, uint8_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->runs.n_leaf; i++)
		for (uint32_t v = 0; v < w->runs.leaf[i].n_value; v++)
			n += w->learnt.value[i][v].kind == kind;
	return n;
}

/* ---- values by a counter ---- */

/* Levels: sizes by four from one to the next, tags by three; twice inside; and back, from the smallest up. */
static void levels(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint32_t n = 0;

	(void)ranks;
	while (k >> (n + 1))
		n++;
	for (uint32_t step = 0; step < i; step++) {
		for (uint32_t l = 0; l < n; l++) {
			syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = (int64_t)k * k >> 2 * l, .root = 0));
			for (int twice = 0; twice < 2; twice++) {
				syn_call(s, rank, "MPI_Allreduce", 2, SYN(.count = k >> l));
				syn_call(s, rank, "MPI_Bcast", 3, SYN(.count = k + 5 + 3 * l));
			}
		}
		for (uint32_t l = 0; l < n; l++)
			syn_call(s, rank, "MPI_Bcast", 4, SYN(.count = 2 << 2 * l));
		syn_call(s, rank, "MPI_Allreduce", 5, SYN(.count = 1));
	}
}

static const uint32_t two_and_four[] = {2, 2, 2, 4, 4, 4};

static void test_levels(void **state)
{
	static const double k[] = {16, 64, 32, 8, 128, 16};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, levels, 1, two_and_four, k, 6), 0);
	assert_int_equal(w.learnt.n_unknown, 0);
	assert_int_equal(n_of_kind(&w, VALUE_STEPS), 4);
	world_exact(&w, run(levels, 4, 512, 2), 4, 512, 2);
	world_exact(&w, run(levels, 2, 256, 11), 2, 256, 11);
	world_exact(&w, run(levels, 3, 64, 9), 3, 64, 9);
	world_forget(&w);
}

/* With two levels everywhere, what the third is cannot be known: these values are not predicted, and none is wrong. */
static void test_few_levels(void **state)
{
	static const double k[] = {4, 4, 4, 4, 4, 4};
	struct foresee_difference d;
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, levels, 1, two_and_four, k, 6), 0);
	assert_int_equal(n_of_kind(&w, VALUE_STEPS), 0);
	assert_int_equal(n_of_kind(&w, VALUE_VARIES), 4);
	assert_int_equal(world_ask(&w, run(levels, 2, 4, 6), 2, 4, 6, &d), 0);
	assert_int_equal(d.exact_ranks, 2);
	assert_int_equal(d.wrong, 0);
	assert_true(d.unknown > 0);
	world_forget(&w);
}

/* No progression: squares of the counter, and numbers that come from nowhere. */
static void squares(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint64_t seed = rank + ranks + k;

	for (uint32_t step = 0; step < i; step++) {
		for (uint32_t l = 0; l < k; l++) {
			syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = l * l));
			syn_call(s, rank, "MPI_Bcast", 2, SYN(.count = syn_random(&seed) % 1000));
		}
		syn_call(s, rank, "MPI_Allreduce", 3, SYN(.count = 1));
	}
}

static void test_no_progression(void **state)
{
	static const double k[] = {5, 9, 12, 6, 7, 10};
	struct foresee_difference d;
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, squares, 1, two_and_four, k, 6), 0);
	assert_int_equal(n_of_kind(&w, VALUE_STEPS), 0);
	assert_int_equal(n_of_kind(&w, VALUE_VARIES), 2);
	assert_int_equal(world_ask(&w, run(squares, 3, 15, 2), 3, 15, 2, &d), 0);
	assert_int_equal(d.exact_ranks, 3);
	assert_int_equal(d.wrong, 0);
	world_forget(&w);
}

/* ---- portions ---- */

/* K rows, eight at a time: the last portion is what is left. */
static void portions(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint32_t own = k * (rank + 1) / ranks - k * rank / ranks;

	for (uint32_t step = 0; step < i; step++) {
		for (uint32_t at = 0; at < own; at += 8)
			syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = (own - at < 8 ? own - at : 8) * k));
		syn_call(s, rank, "MPI_Allreduce", 2, SYN(.count = 1));
	}
}

static void test_portions(void **state)
{
	static const double k[] = {21, 45, 87, 30, 47, 101}, even[] = {32, 64, 160, 64, 96, 192};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, portions, 1, two_and_four, k, 6), 0);
	assert_int_equal(w.learnt.n_unknown, 0);
	assert_int_equal(n_of_kind(&w, VALUE_STEPS), 1);
	world_exact(&w, run(portions, 4, 73, 6), 4, 73, 6);
	world_exact(&w, run(portions, 3, 131, 2), 3, 131, 2);
	world_forget(&w);
	/* where all are whole, nothing tells what becomes of the rest */
	assert_int_equal(learn_of(&w, portions, 1, two_and_four, even, 6), 0);
	world_exact(&w, run(portions, 2, 128, 5), 2, 128, 5);
	world_refused(&w, run(portions, 2, 100, 5), 2, 100, 5, "not determined by the runs");
	/* ... and a small run is named that would tell */
	world_refused(&w, run(portions, 2, 100, 5), 2, 100, 5, ", for example on 3 ranks with K=32 I=3");
	world_forget(&w);
}

/* ---- products ---- */

static void cubes(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	for (uint32_t step = 0; step < i; step++) {
		syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = (int64_t)k * (k / ranks) * (k / ranks)));
		syn_call(s, rank, "MPI_Bcast", 2, SYN(.count = 3 * (int64_t)k * k * (k / ranks)));
	}
}

static void test_products(void **state)
{
	static const double k[] = {8, 16, 32, 8, 16, 64}, odd[] = {9, 16, 33, 13, 18, 63};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, cubes, 0, two_and_four, k, 6), 0);
	assert_int_equal(n_of_kind(&w, VALUE_UNKNOWN), 0);
	world_exact(&w, run(cubes, 8, 128, 3), 8, 128, 3);
	/* rounded down, or not: no run tells */
	world_refused(&w, run(cubes, 8, 129, 3), 8, 129, 3, "not determined by the runs");
	world_forget(&w);
	assert_int_equal(learn_of(&w, cubes, 1, two_and_four, odd, 6), 0);
	world_exact(&w, run(cubes, 3, 100, 3), 3, 100, 3);
	world_forget(&w);
}

/* Whole numbers in all runs, and not wherever it is asked. */
static void elevenths(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	(void)ranks;
	for (uint32_t step = 0; step < i; step++) {
		for (uint32_t l = 0; l < 7 * k / 11; l++)
			syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = 5));
		syn_call(s, rank, "MPI_Bcast", 2, SYN(.count = 19 * (int64_t)k / 11));
	}
}

static void test_fractions(void **state)
{
	static const double k[] = {11, 55, 33, 44, 88, 121};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, elevenths, 1, two_and_four, k, 6), 0);
	world_exact(&w, run(elevenths, 3, 66, 3), 3, 66, 3);
	world_refused(&w, run(elevenths, 3, 64, 3), 3, 64, 3, "is no whole number for rank 0 here");
	world_forget(&w);
}

/* Three sizes on one number of ranks, as most users have them: portions of K, not of a rank's part of it. */
static void tens(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	(void)ranks;
	(void)i;
	for (uint32_t at = 0; at + 10 <= k; at += 10)
		syn_call(s, rank, "MPI_Allreduce", 1, SYN(.count = k));
}

static void test_one_number(void **state)
{
	static const uint32_t ranks[] = {2, 2, 2};
	static const double k[] = {50, 80, 130};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, tens, 1, ranks, k, 3), 0);
	assert_int_equal(w.learnt.n_unknown, 0);
	world_exact(&w, run(tens, 2, 200, 3), 2, 200, 3);
	world_refused(&w, run(tens, 2, 205, 3), 2, 205, 3, "not determined by the runs");
	world_forget(&w);
}

/* ---- one place, several tags ---- */

/* A sweep along both dimensions of a grid, by the same lines of the program, in K portions. */
static void sweeps(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint32_t dims[3], at[2];

	feature_dims(ranks, 2, dims);
	at[0] = rank / dims[1];
	at[1] = rank % dims[1];
	for (uint32_t step = 0; step < i; step++) {
		for (uint32_t d = 0; d < 2; d++) {
			uint32_t stride = d ? 1 : dims[1];

			for (uint32_t c = 0; c < k + d; c++) {
				if (at[d] > 0)
					syn_call(s, rank, "MPI_Recv", 1, SYN(.src = rank - stride, .tag = 20 + d, .count = 7));
				if (at[d] + 1 < dims[d])
					syn_call(s, rank, "MPI_Send", 2, SYN(.dst = rank + stride, .tag = 20 + d, .count = 7));
			}
		}
		syn_call(s, rank, "MPI_Allreduce", 3, SYN(.count = 1));
	}
}

static void test_tags(void **state)
{
	static const uint32_t ranks[] = {6, 6, 6, 9, 9, 9};
	static const double k[] = {5, 9, 12, 6, 7, 10};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, sweeps, 2, ranks, k, 6), 0);
	assert_true(w.runs.shape.by_tag);
	assert_int_equal(w.learnt.n_unknown, 0);
	world_exact(&w, run(sweeps, 12, 8, 2), 12, 8, 2);
	world_exact(&w, run(sweeps, 9, 21, 3), 9, 21, 3);
	world_forget(&w);
}

/* In two and four ranks none is in the middle of a line: whether it receives all before it sends is not known. */
static void test_order(void **state)
{
	static const double k[] = {5, 9, 12, 6, 7, 10};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, sweeps, 2, two_and_four, k, 6), 0);
	world_exact(&w, run(sweeps, 4, 8, 2), 4, 8, 2);
	world_refused(&w, run(sweeps, 12, 8, 2), 12, 8, 2, "not determined by the runs");
	world_forget(&w);
}

/* ---- conditions ---- */

static void corners(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint32_t dims[3];

	feature_dims(ranks, 2, dims);
	for (uint32_t step = 0; step < i; step++) {
		if (rank / dims[1] > 0 && rank % dims[1] + 1 < dims[1])
			syn_call(s, rank, "MPI_Send", 1, SYN(.dst = 0, .tag = 1, .count = k));
		if (k >= 100)
			syn_call(s, rank, "MPI_Bcast", 3, SYN(.count = k));
		syn_call(s, rank, "MPI_Allreduce", 4, SYN(.count = 1));
	}
}

/* The first ranks have one more: one feature beside another. */
static void leftover(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	for (uint32_t step = 0; step < i; step++) {
		if (rank < k % ranks)
			syn_call(s, rank, "MPI_Bcast", 2, SYN(.count = 2));
		syn_call(s, rank, "MPI_Allreduce", 4, SYN(.count = 1));
	}
}

static void test_conditions(void **state)
{
	static const uint32_t ranks[] = {4, 16, 9, 12, 16, 6, 9, 12}, narrow[] = {4, 6, 9, 12, 4, 6, 9, 12};
	static const double k[] = {50, 71, 140, 33, 111, 128, 80, 135};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, corners, 2, ranks, k, 8), 0);
	for (uint32_t i = 0; i < w.runs.n_leaf; i++)
		if (w.learnt.leaf[i].when == WHEN_UNKNOWN)
			fail_msg("no condition for %s", w.runs.leaf[i].name);
	assert_int_equal(w.learnt.n_unknown, 0);
	world_exact(&w, run(corners, 20, 200, 3), 20, 200, 3);
	world_exact(&w, run(corners, 8, 61, 4), 8, 61, 4);
	world_exact(&w, run(corners, 15, 150, 2), 15, 150, 2);
	/* the threshold is between 80 and 111 */
	world_refused(&w, run(corners, 9, 90, 3), 9, 90, 3, "not determined by the runs");
	world_forget(&w);
	/* up to three columns, the first row's ranks with a neighbour are those below 2 */
	assert_int_equal(learn_of(&w, corners, 2, narrow, k, 8), 0);
	world_exact(&w, run(corners, 6, 200, 3), 6, 200, 3);
	world_refused(&w, run(corners, 16, 200, 3), 16, 200, 3, "not determined by the runs");
	world_forget(&w);
	assert_int_equal(learn_of(&w, leftover, 1, ranks, k, 8), 0);
	world_exact(&w, run(leftover, 7, 61, 4), 7, 61, 4);
	world_exact(&w, run(leftover, 5, 60, 2), 5, 60, 2);
	world_forget(&w);
}

/* What happens on ranks that nothing tells from others has no rule. */
static void odd_ones(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint64_t seed = 77 * rank + ranks;

	(void)k;
	for (uint32_t step = 0; step < i; step++) {
		if (syn_random(&seed) % 2 && step == 0)
			syn_call(s, rank, "MPI_Bcast", 1, SYN(.count = 2));
		syn_call(s, rank, "MPI_Allreduce", 4, SYN(.count = 1));
	}
}

static void test_no_condition(void **state)
{
	static const uint32_t ranks[] = {12, 9, 16, 12, 9, 16};
	static const double k[] = {50, 71, 140, 33, 111, 128};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, odd_ones, 2, ranks, k, 6), 0);
	assert_true(w.learnt.n_unknown > 0);
	world_refused(&w, run(odd_ones, 12, 61, 4), 12, 61, 4, "no rule of the variables");
	world_forget(&w);
}

/* Guards as words, and back. */
static void test_guard_words(void **state)
{
	static const char *var[] = {"N"};
	static const char *const good[] = {"0 5 N", "1 9223372036854775807 N than ranks", "-3 -1 rank and 0 0 next(2,0)", "0 0 -"};
	static const char *const bad[] = {"0 5 N than", "0 5 N and 0 5", "0 5 N than -", "0 5 N and 0 5 -", "0 5 N or N",
					  "0 5 N than ranks N", "0 5 - than N", "0 5 N and 0 5 rank 3"};
	struct rule_guard g;
	char words[200];
	uint32_t n;
	struct feature *f = feature_list(var, 1, &n);

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(rule_guard_read(good[i], f, n, &g), 0);
		assert_string_equal(rule_guard_write(&g, f, words, sizeof(words)), good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(rule_guard_read(bad[i], f, n, &g), -1);
	free(f);
}

/* ---- the simplest form ---- */

/* Rank 0 alone sends, to the last rank: on two and three ranks also its neighbour around, in any grid. Every tenth of I. */
static void to_last(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	for (uint32_t at = 0; at + 10 <= i; at += 10) {
		if (rank == 0)
			syn_call(s, rank, "MPI_Send", 1, SYN(.dst = ranks - 1, .tag = 3, .count = k));
		if (rank == ranks - 1)
			syn_call(s, rank, "MPI_Recv", 2, SYN(.src = 0, .tag = 3, .count = k));
		syn_call(s, rank, "MPI_Barrier", 3, SYN(.comm = 0));
	}
}

static void test_simplest(void **state)
{
	static const uint32_t ranks[] = {2, 2, 2, 3, 3, 3};
	static const double k[] = {20, 41, 35, 23, 50, 64}, i[] = {20, 49, 35, 52, 31, 66}, value[] = {30, 99};
	const char *name[] = {"K", "I"};
	struct trace *t[6];
	struct foresee f;
	struct world w;

	(void)state;
	for (uint32_t n = 0; n < 6; n++)
		t[n] = run(to_last, ranks[n], (uint32_t)k[n], (uint32_t)i[n]);
	assert_int_equal(world_learn(&w, 0, t, k, i, 6), 0);
	world_exact(&w, run(to_last, 5, 30, 99), 5, 30, 99);
	world_exact(&w, run(to_last, 8, 77, 120), 8, 77, 120);
	/* and the other rule is named */
	assert_int_equal(foresee_open(&f, w.model, 8, name, value, 2, false, &w.err), 0);
	assert_non_null(strstr(f.simpler, "holds in all runs too"));
	foresee_close(&f);
	world_forget(&w);
}

/* Each rank tells its neighbours that there are in a grid of two dimensions, then all meet. */
static void grid(struct syn *s, uint32_t rank, uint32_t ranks, uint32_t k, uint32_t i)
{
	uint32_t dims[3], x, y;

	feature_dims(ranks, 2, dims);
	x = rank % dims[1];
	y = rank / dims[1];
	for (uint32_t at = 0; at < i; at++) {
		const struct {
			bool is;
			uint32_t rank;
		} by[] = {{x > 0, rank - 1}, {x + 1 < dims[1], rank + 1}, {y > 0, rank - dims[1]}, {y + 1 < dims[0], rank + dims[1]}};

		for (uint32_t n = 0; n < 4; n++)
			if (by[n].is)
				syn_call(s, rank, "MPI_Send", n + 1, SYN(.dst = by[n].rank, .tag = n, .count = k));
		for (uint32_t n = 4; n-- > 0;)
			if (by[n].is)
				syn_call(s, rank, "MPI_Recv", 5 + n, SYN(.src = by[n].rank, .tag = n ^ 1, .count = k));
		syn_call(s, rank, "MPI_Barrier", 9, SYN(.comm = 0));
	}
}

/* Two, three and five ranks are a row in any grid. The answer for a grid names the run that settles what ranks are. */
static void test_row_or_grid(void **state)
{
	static const uint32_t ranks[] = {2, 2, 3, 3, 5, 2}, ask[] = {4, 6, 8, 9};
	static const double k[] = {20, 41, 35, 23, 50, 64}, i[] = {6, 9, 5, 12, 11, 6}, value[] = {30, 19};
	const char *name[] = {"K", "I"};

	(void)state;
	for (uint32_t most = 4; most <= 6; most += 2) { /* without the run on five ranks, and with it */
		struct trace *t[6];
		struct foresee f;
		struct world w;

		for (uint32_t n = 0; n < most; n++)
			t[n] = run(grid, ranks[n], (uint32_t)k[n], (uint32_t)i[n]);
		assert_int_equal(world_learn(&w, 0, t, k, i, most), 0);
		world_exact(&w, run(grid, 7, 30, 19), 7, 30, 19);
		for (uint32_t n = 0; n < sizeof(ask) / sizeof(*ask); n++) {
			bool open = foresee_open(&f, w.model, ask[n], name, value, 2, false, &w.err) == 0;

			if (!open)
				fail_msg("%u ranks: %s", ask[n], w.err.text);
			if (strncmp(f.simpler, "the ranks are taken to be in a row and no grid: ", 48) != 0 ||
			    !strstr(f.simpler, ", for example on 4 ranks with K=20 I=5; or say to fit by --dims"))
				fail_msg("%u ranks: %s", ask[n], f.simpler);
			foresee_close(&f);
		}
		/* In a row of any kind the answer is the same. */
		assert_int_equal(foresee_open(&f, w.model, 7, name, value, 2, false, &w.err), 0);
		assert_false(f.row_taken);
		foresee_close(&f);
		world_forget(&w);
	}
}

/* ---- compiled ---- */

static void test_compiled(void **state)
{
	static const double levels_k[] = {16, 64, 32, 8, 128, 16}, portions_k[] = {21, 45, 87, 30, 47, 101};
	static const uint32_t ranks[] = {4, 6, 9, 12, 4, 6, 9, 12};
	static const double corners_k[] = {50, 71, 140, 33, 111, 128, 80, 135};
	struct world w;

	(void)state;
	assert_int_equal(learn_of(&w, levels, 1, two_and_four, levels_k, 6), 0);
	world_compiled(&w, 4, 256, 5);
	world_forget(&w);
	assert_int_equal(learn_of(&w, portions, 1, two_and_four, portions_k, 6), 0);
	world_compiled(&w, 3, 77, 5);
	world_forget(&w);
	assert_int_equal(learn_of(&w, corners, 2, ranks, corners_k, 8), 0);
	world_compiled(&w, 15, 151, 3);
	world_forget(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_levels),     cmocka_unit_test(test_few_levels),   cmocka_unit_test(test_no_progression),
	    cmocka_unit_test(test_portions),   cmocka_unit_test(test_products),     cmocka_unit_test(test_tags),
	    cmocka_unit_test(test_fractions),  cmocka_unit_test(test_one_number),
	    cmocka_unit_test(test_order),      cmocka_unit_test(test_conditions),   cmocka_unit_test(test_no_condition),
	    cmocka_unit_test(test_guard_words), cmocka_unit_test(test_simplest), cmocka_unit_test(test_row_or_grid),  cmocka_unit_test(test_compiled),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
