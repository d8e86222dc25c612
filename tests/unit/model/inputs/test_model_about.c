/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of simulated solvers that end by a tolerance: no exact rule gives their iterations, and a line may be near. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

#define RUNS 6

static const uint32_t ranks[RUNS] = {2, 2, 2, 3, 3, 3};
static const double sizes[RUNS] = {31, 47, 64, 50, 77, 90}, steps[RUNS] = {5, 9, 4, 7, 5, 8};

/* Iterations of a solver of size k on a rank. */
typedef uint32_t (*solver)(uint32_t k, uint32_t rank);

static uint32_t near_line(uint32_t k, uint32_t rank)
{
	(void)rank;
	return 3 * k + k * 7 % 5 - 2;
}

static uint32_t times_three(uint32_t k, uint32_t rank)
{
	(void)rank;
	return 3 * k;
}

static uint32_t no_line(uint32_t k, uint32_t rank)
{
	(void)rank;
	return 40 + k * 37 % 61;
}

static uint32_t rank_by_rank(uint32_t k, uint32_t rank)
{
	return near_line(k, rank) + rank % 2 * (k % 3);
}

static uint32_t fixed, loops = 1;
static bool uneven; /* iterations differ from step to step, and have three calls */

static uint32_t as_told(uint32_t k, uint32_t rank)
{
	(void)k;
	(void)rank;
	return fixed;
}

/* Every step solves once. comm: 0, or 1 for ranks that do not solve together. */
static struct trace *run(solver iterations, uint32_t n, uint32_t k, uint32_t n_steps, uint32_t comm)
{
	struct syn *s = syn_create(n);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t i = 0; i < n_steps; i++) {
			syn_call(s, r, "MPI_Bcast", 1, SYN(.count = k));
			for (uint32_t it = 0; uneven && it < iterations(k, r) + 2 * (uint32_t)__builtin_parity(i) - 1; it++) {
				for (uint32_t c = 0; c < 2; c++)
					syn_call(s, r, "MPI_Allreduce", 4, SYN(.comm = comm, .count = 1, .gap_ns = 500 * k));
				syn_call(s, r, "MPI_Barrier", 5, SYN(.comm = comm));
			}
			for (uint32_t it = 0; it < loops * iterations(k, r) && !uneven; it++)
				syn_call(s, r, it < iterations(k, r) ? "MPI_Allreduce" : "MPI_Reduce", 2,
					 SYN(.comm = comm, .count = 1, .gap_ns = 1000 * k));
		}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	assert_non_null(t);
	return t;
}

static void learn(struct world *w, solver iterations, const double *n_steps, uint32_t comm)
{
	struct trace *t[RUNS];

	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = run(iterations, ranks[i], (uint32_t)sizes[i], (uint32_t)n_steps[i], comm);
	if (world_learn(w, 1, t, sizes, n_steps, RUNS) < 0)
		fail_msg("%s", w->err.text);
	assert_int_equal(w->learnt.n_unknown, loops);
}

static int ask_anyway(struct world *w, struct foresee *f, uint32_t n, double k, double i)
{
	return foresee_open(f, w->model, n, (const char *[]){"K", "I"}, (double[]){k, i}, 2, true, &w->err);
}

/* The calls are those of so many iterations as are said, and these are near those of the program. */
static void about(struct world *w, uint32_t n, uint32_t k, uint32_t i)
{
	struct foresee_difference d;
	struct foresee f;
	struct trace *t;
	double real = near_line(k, 0);

	assert_int_equal(ask_anyway(w, &f, n, k, i), 0);
	if (sscanf(f.about, "about %u iterations of the loop over MPI_Allreduce", &fixed) != 1)
		fail_msg("'%s'", f.about);
	assert_non_null(strstr(f.about, ": no exact rule; 2.999*K + "));
	assert_true(fabs(fixed - real) <= expm1(f.about_error) * fixed);
	assert_true(fabs(fixed - real) <= 0.04 * real);
	t = run(as_told, n, k, i, 0);
	assert_int_equal(foresee_compare(&f, t, &d, &w->err), 0);
	assert_string_equal(d.first, "");
	assert_int_equal(d.exact_ranks, n);
	trace_close(t);
	foresee_close(&f);
}

static double error_of(struct world *w, double k, double *about_error)
{
	struct foresee f;
	double error;

	assert_int_equal(ask_anyway(w, &f, 2, k, 5), 0);
	assert_int_equal(foresee_place(&f, 2, &w->err), 0);
	*about_error = f.about_error;
	error = foresee_error(&f);
	f.about_error = 0;
	assert_true(error > foresee_error(&f));
	foresee_close(&f);
	return error;
}

static void test_near(void **state)
{
	double inside, larger, smaller;
	struct foresee f;
	struct world w;

	(void)state;
	learn(&w, near_line, steps, 0);
	world_refused(&w, run(near_line, 2, 70, 5, 0), 2, 70, 5,
		      "how often there is the loop over MPI_Allreduce");
	world_refused(&w, run(near_line, 2, 70, 5, 0), 2, 70, 5, "trace more of them, or take about 2.999*K + ");
	world_refused(&w, run(near_line, 2, 31, 5, 0), 2, 31, 5, "by --anyway"); /* as in a run */
	about(&w, 2, 70, 5);
	about(&w, 4, 90, 8);
	about(&w, 3, 180, 6);
	about(&w, 2, 20, 3);
	assert_int_equal(ask_anyway(&w, &f, 2, 70, 5), 0);
	assert_null(strstr(f.about, "other loops"));
	foresee_close(&f);
	/* The miss of the line widens the interval of the time, and more so outside of the runs. */
	assert_true(error_of(&w, 70, &inside) > inside * 0.99);
	error_of(&w, 400, &larger);
	error_of(&w, 10, &smaller);
	assert_true(inside > 0 && inside < log1p(0.05));
	assert_true(larger > 10 * inside);
	assert_true(smaller > inside);
	world_forget(&w);
}

/* Two loops: one is named, and the time is that of both. */
static void test_two_loops(void **state)
{
	double one, both;
	struct foresee f;
	struct world w;

	(void)state;
	learn(&w, near_line, steps, 0);
	error_of(&w, 70, &one);
	world_forget(&w);
	loops = 2;
	learn(&w, near_line, steps, 0);
	about(&w, 2, 70, 5);
	error_of(&w, 70, &both);
	assert_true(fabs(both - 2 * one) < 1e-9);
	assert_int_equal(ask_anyway(&w, &f, 2, 70, 5), 0);
	assert_non_null(strstr(f.about, "; other loops are like this one"));
	foresee_close(&f);
	world_forget(&w);
	loops = 1;
}

/* A run that is left out is refused, and not counted as exact. */
static void test_left_out(void **state)
{
	struct learnt l;
	struct world w;

	(void)state;
	learn(&w, near_line, steps, 0);
	for (uint32_t i = 0; i < RUNS; i++) {
		bool kept = false;

		assert_int_equal(learn_runs(&w.runs, i, 1, &l, &w.err), 0);
		for (uint32_t k = 0; k < l.n_doubts; k++)
			kept |= l.doubt[k].kind == DOUBT_ABOUT;
		assert_true(kept);
		assert_int_equal(learnt_check_run(&l, i), -1);
		learnt_free(&l);
	}
	world_forget(&w);
}

/* The run is no exact copy, and its time is that of the means. */
static void in_time(struct world *w, uint32_t n, uint32_t k, uint32_t i)
{
	struct trace *t = run(times_three, n, k, i, 0);
	struct foresee_difference d;
	struct foresee f;

	assert_int_equal(ask_anyway(w, &f, n, k, i), 0);
	assert_non_null(strstr(f.about, "in the mean of entries that differ: no exact rule; 3*K + "));
	assert_int_equal(foresee_place(&f, n, &w->err), 0);
	assert_int_equal(foresee_compare(&f, t, &d, &w->err), 0);
	assert_int_equal(d.exact_ranks, 0);
	assert_true(fabs(d.predicted_s / d.wall_s - 1) < 0.01);
	trace_close(t);
	foresee_close(&f);
}

/* Iterations differ from step to step, by a mean of 3 K in all runs: that is no exact rule. */
static void test_uneven(void **state)
{
	static const double even[RUNS] = {6, 10, 4, 8, 12, 4};
	struct world w;

	(void)state;
	uneven = true;
	learn(&w, times_three, even, 0);
	world_refused(&w, run(times_three, 2, 70, 6, 0), 2, 70, 6, "how often there is the loop over MPI_Allreduce");
	world_refused(&w, run(times_three, 2, 31, 6, 0), 2, 31, 6, ", or take about 3*K + ");
	in_time(&w, 2, 70, 6);
	in_time(&w, 4, 180, 20);
	world_forget(&w);
	uneven = false;
}

/* A line within 5 % is needed as for other loops. */
static void test_uneven_no_line(void **state)
{
	struct foresee f;
	struct trace *t[RUNS];
	struct world w;

	(void)state;
	uneven = true;
	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = run(no_line, ranks[i], (uint32_t)sizes[i], (uint32_t)steps[i], 0);
	assert_int_equal(world_learn(&w, 1, t, sizes, steps, RUNS), 0);
	assert_int_equal(ask_anyway(&w, &f, 2, 70, 5), 0);
	assert_int_equal(foresee_rank(&f, 0, NULL, NULL, NULL, &w.err), -1);
	foresee_close(&f);
	world_forget(&w);
	uneven = false;
}

static void refused_anyway(solver iterations, const double *n_steps, uint32_t comm)
{
	struct foresee f;
	struct world w;

	learn(&w, iterations, n_steps, comm);
	assert_int_equal(ask_anyway(&w, &f, 2, 70, 5), 0);
	assert_string_equal(f.about, "");
	assert_int_equal(foresee_rank(&f, 0, NULL, NULL, NULL, &w.err), -1);
	assert_non_null(strstr(w.err.text, "how often there is the loop over MPI_Allreduce"));
	assert_null(strstr(w.err.text, "--anyway"));
	foresee_close(&f);
	world_forget(&w);
}

static void test_no_line(void **state)
{
	static const double same[RUNS] = {5, 5, 5, 5, 5, 5};

	(void)state;
	refused_anyway(no_line, same, 0);
}

static void test_rank_by_rank(void **state)
{
	(void)state;
	refused_anyway(rank_by_rank, steps, 1);
}

/* The steps went about with the size: the runs do not tell which of both the iterations go with. */
static void test_two_variables(void **state)
{
	static const double with_size[RUNS] = {15, 24, 32, 25, 39, 45};

	(void)state;
	refused_anyway(near_line, with_size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_near),	 cmocka_unit_test(test_left_out),      cmocka_unit_test(test_no_line),
	    cmocka_unit_test(test_rank_by_rank), cmocka_unit_test(test_two_variables),
	    cmocka_unit_test(test_two_loops),	 cmocka_unit_test(test_uneven),	       cmocka_unit_test(test_uneven_no_line),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
