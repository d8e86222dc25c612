/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the windows of a partial execution lie: on series of iterations that are uneven, drift, have spikes, warm up, are
 * too short or have gaps; and in a trace. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "skelgen/partial/partial.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"

#define N    20000
#define MS   1e6
#define LAST (PARTIAL_MARKS - 1)

static double ns[N + 1];
static uint64_t done[N + 1];

/* Iteration k takes length(k) ns. */
static struct partial_series series(size_t n, double (*length)(size_t k), bool whole)
{
	double sum = 7 * MS;

	for (size_t k = 0; k <= n; k++) {
		done[k] = k;
		ns[k] = sum;
		sum += length(k);
	}
	return (struct partial_series){n + 1, done, ns, whole};
}

static double even(size_t k) { return (void)k, 2 * MS; }
static double tiny(size_t k) { return (void)k, 3000; }
static double slow(size_t k) { return (void)k, 700 * MS; }
static double uneven(size_t k) { return k % 10 ? 0.1 * MS : 30 * MS; }
static double growing(size_t k) { return 0.02 * MS * (double)(k + 1); }
static double falling(size_t k) { return 20 * MS / (1 + 0.01 * (double)k); }
static double spiky(size_t k) { return k % 97 == 50 ? 400 * MS : 0.5 * MS; }
static double warming(size_t k) { return k < 9 ? 40 * MS : 1 * MS; }
static double turning(size_t k) { return k < 300 ? 0.05 * MS : 10 * MS; } /* a short phase first */

static double took(const uint64_t *at, uint32_t m) { return ns[at[m]] - ns[at[m - 1]]; }

/* Every window has its time and its iterations, and none is longer than need be. */
static void check(const char *what, double (*length)(size_t k), double seconds, double longest)
{
	struct partial_series s = series(N, length, false);
	double window = fmax(seconds * 1e9 / PARTIAL_BATCHES, PARTIAL_WINDOW_NS);
	uint64_t at[PARTIAL_MARKS];

	print_message("# %s\n", what);
	assert_int_equal(partial_marks_place(&s, seconds, at), 0);
	assert_true(at[0] >= 1 && ns[at[0]] - ns[0] >= PARTIAL_WINDOW_NS);
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++) {
		assert_true(took(at, m) >= window);
		assert_true(at[m] - at[m - 1] >= PARTIAL_WINDOW_LEAST || took(at, m) >= 2 * window);
		assert_true(took(at, m) <= fmax(window, 2 * window * (longest > window)) + PARTIAL_WINDOW_LEAST * longest);
	}
}

static void test_windows(void **state)
{
	(void)state;
	check("even", even, 1, 2 * MS);
	check("tiny", tiny, 0.001, 3000);
	check("slow", slow, 1, 700 * MS);
	check("uneven", uneven, 0.5, 30 * MS);
	check("growing", growing, 2, 0.02 * MS * N);
	check("falling", falling, 1, 20 * MS);
	check("spiky", spiky, 0.3, 400 * MS);
	check("turning", turning, 5, 10 * MS);
}

/* By the mean time of all iterations, 5 s would have been as many iterations as take 1 s in the first phase. */
static void test_not_by_the_mean(void **state)
{
	struct partial_series s = series(N, turning, false);
	uint64_t at[PARTIAL_MARKS];

	(void)state;
	assert_int_equal(partial_marks_place(&s, 5, at), 0);
	assert_true(ns[at[LAST]] - ns[at[0]] >= 5000 * MS && ns[at[LAST]] - ns[at[0]] < 5100 * MS);
	s = series(N, growing, false); /* 2 s of the first iterations, not of the usual ones, which take 200 ms */
	assert_int_equal(partial_marks_place(&s, 2, at), 0);
	assert_true(at[LAST] > 400 && ns[at[LAST]] - ns[at[0]] < 2100 * MS);
}

static void test_warm_up(void **state)
{
	struct partial_series s = series(N, warming, false);
	uint64_t at[PARTIAL_MARKS];

	(void)state;
	assert_int_equal(partial_marks_place(&s, 0.2, at), 0);
	assert_int_equal(at[0], 9);
	assert_true(fabs(took(at, 1) - 40 * MS) < 1);
	s = series(N, tiny, false); /* one iteration of 3 us warms nothing up */
	assert_int_equal(partial_marks_place(&s, 0.02, at), 0);
	assert_true(at[0] >= 1666);
	s = series(20, falling, true); /* at most a quarter of what there is */
	assert_int_equal(partial_marks_place(&s, 0.1, at), 0);
	assert_true(at[0] <= 5);
}

static void test_too_short(void **state)
{
	struct partial_series s;
	uint64_t at[PARTIAL_MARKS];

	(void)state;
	s = series(100, even, false);
	assert_int_equal(partial_marks_place(&s, 10, at), 1); /* more, please */
	s.whole = true;
	assert_int_equal(partial_marks_place(&s, 10, at), 0);
	assert_true(at[0] >= 1 && at[LAST] == 100);
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++)
		assert_true(took(at, m) > 30 * MS && took(at, m) < 50 * MS);
	s = series(60, uneven, true); /* divided by time, not by number */
	assert_int_equal(partial_marks_place(&s, 10, at), 0);
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++)
		assert_true(took(at, m) < 65 * MS);
	for (size_t n = 0; n < 9; n++) {
		s = series(n, slow, true);
		assert_int_equal(partial_marks_place(&s, 10, at), n < PARTIAL_MARKS ? -1 : 0);
		for (uint32_t m = 1; n >= PARTIAL_MARKS && m < PARTIAL_MARKS; m++)
			assert_true(at[m] > at[m - 1] && at[m] <= n);
	}
	s = series(50, even, true);
	for (size_t k = 0; k <= 50; k++)
		ns[k] = 1e9; /* a clock that stands */
	assert_int_equal(partial_marks_place(&s, 1, at), 0);
	assert_true(at[LAST] > at[0]);
}

/* Iterations whose times the trace has not kept: marks lie at others. */
static void test_gaps(void **state)
{
	struct partial_series s = series(N, even, false);
	uint64_t at[PARTIAL_MARKS];
	size_t n = 0;

	(void)state;
	for (size_t k = 0; k <= N; k++)
		if (k < 100 || k % 64 < 8) {
			done[n] = k;
			ns[n++] = ns[k];
		}
	s.n = n;
	assert_int_equal(partial_marks_place(&s, 1, at), 0);
	for (uint32_t m = 0; m < PARTIAL_MARKS; m++) {
		assert_true(at[m] < 100 || at[m] % 64 < 8);
		if (m)
			assert_true(at[m] - at[m - 1] >= 100); /* 200 ms each, of 2 ms */
	}
}

/* 300 iterations of three calls; the first ones take 80 ms, then 1 ms, every 50th 120 ms. */
static struct trace *uneven_trace(void)
{
	struct syn *s = syn_create(2);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Barrier", 3, SYN(.gap_ns = 500000000));
		for (int k = 0; k < 300; k++) {
			uint64_t gap = k < 4 ? 80000000 : k % 50 == 49 ? 120000000 : 1000000;

			syn_call(s, r, "MPI_Send", 1, SYN(.dst = 1 - r, .count = 8, .tag = 5, .gap_ns = gap));
			syn_call(s, r, "MPI_Recv", 2, SYN(.src = 1 - r, .asrc = 1 - r, .count = 8, .tag = 5, .atag = 5));
		}
		syn_call(s, r, "MPI_Barrier", 4, SYN(.gap_ns = 1000));
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static void test_in_a_trace(void **state)
{
	struct trace *t = uneven_trace();
	struct skel_tree tree;
	struct skel_times times;
	struct partial_plan p;
	struct errbuf err;

	(void)state;
	assert_non_null(t);
	assert_int_equal(skel_tree_build(t, &tree, &err), 0);
	assert_int_equal(skel_times_collect(&tree, &times, &err), 0);
	assert_int_equal(partial_plan_make(&tree, &times, 0.2, &p, &err), 0);
	assert_int_equal(p.iterations, 300);
	assert_true(p.at[0] >= 4 && p.at[0] < 12); /* four warm up, then 5 ms of others */
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++)
		for (uint32_t r = 0; r < 2; r++) {
			double window = p.traced_ns[r][m] - p.traced_ns[r][m - 1];

			assert_true(window >= 39 * MS && window < 162 * MS);
			assert_true(p.stop.rank[r].event[m] > p.stop.rank[r].event[m - 1]);
		}
	/* seconds are those of the windows, not of so many iterations of mean length, of which one takes 4.5 ms */
	assert_true(p.traced_ns[0][LAST] - p.traced_ns[0][0] < 500 * MS);
	partial_plan_free(&p);
	/* more than there is: nearly all of it, divided by time */
	assert_int_equal(partial_plan_make(&tree, &times, 100, &p, &err), 0);
	assert_int_equal(p.at[LAST], 299);
	for (uint32_t m = 1; m < PARTIAL_MARKS; m++)
		assert_true(p.traced_ns[0][m] - p.traced_ns[0][m - 1] > 100 * MS);
	partial_plan_free(&p);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),	  cmocka_unit_test(test_not_by_the_mean), cmocka_unit_test(test_warm_up),
		cmocka_unit_test(test_too_short), cmocka_unit_test(test_gaps),	       cmocka_unit_test(test_in_a_trace)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
