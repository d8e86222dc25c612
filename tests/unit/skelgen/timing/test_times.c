/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distribution of gaps by stratum, against sorted lists; and of a capped recording, from its histograms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/play.h"
#include "common/arena.h"
#include "skelgen/pipeline.h"
#include "skelgen/timing/times_quantile.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

#define N 1600

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A loop of allreduces on one rank, with these gaps. */
static struct syn *with_gaps(const double *gap, int n)
{
	struct syn *s = syn_create(1);

	syn_begin(s);
	for (int i = 0; i < n; i++)
		syn_call(s, 0, "MPI_Allreduce", 1, SYN(.count = 1, .gap_ns = (uint64_t)gap[i], .dur_ns = 2000));
	syn_end(s);
	return s;
}

static const struct skel_leaf_time *longest_leaf(const struct skel_times *t)
{
	const struct skel_leaf_time *l = t->leaf[0];

	for (uint32_t i = 1; i < t->n_leaf; i++)
		l = t->leaf[i]->gap_ns > l->gap_ns ? t->leaf[i] : l;
	return l;
}

/* Means of eighths of gap[n], sorted. */
static void oracle(const double *gap, int n, double out[SKEL_QUANTILES])
{
	double *v = malloc((size_t)n * sizeof *v);
	int k = n / SKEL_QUANTILES;

	memcpy(v, gap, (size_t)n * sizeof *v);
	qsort(v, (size_t)n, sizeof *v, by_value);
	for (int q = 0; q < SKEL_QUANTILES; q++) {
		out[q] = 0;
		for (int i = q * k; i < (q + 1) * k; i++)
			out[q] += v[i] / k;
	}
	free(v);
}

struct fixture {
	struct trace *t;
	struct skel_tree tree;
	struct skel_times times;
};

static const struct skel_leaf_time *set_up(struct fixture *f, struct syn *s)
{
	struct errbuf err;

	f->t = syn_open(s);
	syn_destroy(s);
	if (skel_tree_build(f->t, &f->tree, &err) != 0 || skel_times_collect(&f->tree, &f->times, &err) != 0)
		fail_msg("%s", err.text);
	return longest_leaf(&f->times);
}

static void tear_down(struct fixture *f)
{
	skel_times_free(&f->times);
	skel_tree_free(&f->tree);
	trace_close(f->t);
}

static void test_by_stratum(void **state)
{
	double gap[N], want[SKEL_QUANTILES];
	const struct skel_leaf_time *lt;
	uint64_t random = 7;
	struct fixture f;

	(void)state;
	for (int i = 0; i < N; i++) /* grows from stratum to stratum, and varies within */
		gap[i] = 10000 + 1000 * (i / (N / SKEL_STRATA)) + (double)(syn_random(&random) % 20000);
	lt = set_up(&f, with_gaps(gap, N));
	assert_int_equal(lt->n, N);
	assert_int_equal(lt->n_stratum, SKEL_STRATA);
	assert_int_equal(lt->n_quantile, SKEL_QUANTILES);
	for (int s = 0; s < SKEL_STRATA; s++) {
		double mean = 0;

		/* 100 gaps do not part into eighths: the oracle takes the first 96 of them, sorted by hand. */
		for (int q = 0; q < SKEL_QUANTILES; q++) {
			mean += lt->quantile_ns[s][q] / SKEL_QUANTILES;
			assert_true(q == 0 || lt->quantile_ns[s][q] >= lt->quantile_ns[s][q - 1]);
		}
		assert_true(fabs(mean - lt->stratum_ns[s]) < 1e-5 * mean);
		oracle(gap + s * (N / SKEL_STRATA), 96, want);
		for (int q = 0; q < SKEL_QUANTILES; q++)
			assert_true(fabs(lt->quantile_ns[s][q] - want[q]) < 1500);
	}
	tear_down(&f);
}

static void test_strata_that_agree_are_pooled(void **state)
{
	static const double two[2] = {10000, 30000};
	const struct skel_leaf_time *lt;
	struct fixture f;
	double gap[N];

	(void)state;
	for (int i = 0; i < N; i++)
		gap[i] = two[i % 2];
	lt = set_up(&f, with_gaps(gap, N));
	assert_int_equal(lt->n_stratum, 1);
	assert_int_equal(lt->n_quantile, SKEL_QUANTILES);
	for (int q = 0; q < SKEL_QUANTILES; q++) /* the first one, which enters the loop, is not drawn */
		assert_true(fabs(lt->quantile_ns[0][q] - two[q >= SKEL_QUANTILES / 2]) < 150);
	tear_down(&f);
}

/* Loops of TURNS calls, and a barrier behind each: what enters a loop comes from the barrier. */
static void entered(struct fixture *f, double enter_ns, const double *gap, int visits, int turns)
{
	struct syn *s = syn_create(1);

	syn_begin(s);
	for (int i = 0; i < visits; i++) {
		for (int j = 0; j < turns; j++)
			syn_call(s, 0, "MPI_Allreduce", 1,
				 SYN(.count = 1, .gap_ns = (uint64_t)(j == 0 ? enter_ns : gap[i * turns + j]), .dur_ns = 2000));
		syn_call(s, 0, "MPI_Barrier", 2, SYN(.gap_ns = 700, .dur_ns = 1000));
	}
	syn_end(s);
	set_up(f, s);
}

static void test_entering_a_loop(void **state)
{
	enum {VISITS = 200, TURNS = 10};
	double gap[VISITS * TURNS], others = 0;
	const struct skel_leaf_time *lt;
	uint64_t random = 3;
	struct fixture f;

	(void)state;
	for (int i = 0; i < VISITS * TURNS; i++) {
		gap[i] = 20000 + (double)(syn_random(&random) % 8000);
		others += i % TURNS == 0 ? 0 : gap[i];
	}
	entered(&f, 500, gap, VISITS, TURNS);
	lt = longest_leaf(&f.times);
	assert_non_null(lt->entry);
	assert_int_equal(lt->period, TURNS);
	assert_int_equal(lt->made, VISITS * TURNS);
	assert_int_equal(lt->entry->made, VISITS);
	assert_true(fabs(lt->gap_ns - others - VISITS * 500.0) < 1e-4 * others);
	assert_true(fabs(lt->entry->gap_ns - VISITS * 500.0) < 0.02 * VISITS * 500.0);
	assert_int_equal(lt->entry->n_stratum, 1);
	assert_true(fabs(lt->entry->stratum_ns[0] - 500) < 10);
	for (uint32_t st = 0; st < lt->n_stratum; st++)
		for (int q = 0; q < SKEL_QUANTILES; q++)
			assert_true(lt->quantile_ns[st][q] > 19900 && lt->quantile_ns[st][q] < 28100);
	assert_true(skel_enters(lt, 0) && skel_enters(lt, 30) && !skel_enters(lt, 31) && !skel_enters(lt, 9));
	tear_down(&f);

	/* Loops that are entered as they go on are not parted, and nothing is lost. */
	entered(&f, 24000, gap, VISITS, TURNS);
	lt = longest_leaf(&f.times);
	assert_null(lt->entry);
	assert_int_equal(lt->timed, VISITS * TURNS);
	assert_true(fabs(lt->gap_ns - others - VISITS * 24000.0) < 1e-4 * others);
	tear_down(&f);
}

static void test_alike_is_one(void **state)
{
	const struct skel_leaf_time *lt;
	struct fixture f;
	double gap[N];

	(void)state;
	for (int i = 0; i < N; i++)
		gap[i] = 10000 + i % 3 * 50;
	lt = set_up(&f, with_gaps(gap, N));
	assert_int_equal(lt->n_quantile, 1);
	assert_null(lt->quantile_ns);
	tear_down(&f);
}

/* More gaps than are held: an even draw, with the exact mean, and long ones as often as they were. */
static void test_long_strata_are_drawn(void **state)
{
	const int n = 200000;
	double *gap = malloc((size_t)n * sizeof *gap), want[SKEL_QUANTILES], mean = 0;
	const struct skel_leaf_time *lt;
	uint64_t random = 11;
	struct fixture f;

	(void)state;
	for (int i = 0; i < n; i++)
		gap[i] = 1000 + (double)(syn_random(&random) % 4000);
	lt = set_up(&f, with_gaps(gap, n));
	oracle(gap, n, want);
	assert_int_equal(lt->n_quantile, SKEL_QUANTILES);
	for (int q = 0; q < SKEL_QUANTILES; q++) {
		mean += lt->quantile_ns[0][q] / SKEL_QUANTILES;
		assert_true(fabs(lt->quantile_ns[0][q] - want[q]) < 0.02 * want[q]);
	}
	assert_true(fabs(mean - lt->stratum_ns[0]) < 1e-5 * mean);
	free(gap);
	tear_down(&f);
}

/* Of most executions only the histogram tells: its shape, with the means of the strata. */
static void test_shape_of_histograms(void **state)
{
	struct skel_leaf_time lt = {.n = 1000, .timed = 1000, .n_stratum = 2, .n_quantile = 1, .stratum_ns = {2000, 4000}};
	struct arena *arena = arena_create();
	struct gap_draw d = {.given_up = 900, .symbol = 3};
	struct hist_table h;

	(void)state;
	hist_table_init(&h, TRACE_FN_N);
	for (int i = 0; i < 900; i++)
		assert_int_equal(hist_table_add(&h, 3, 0, i % 2 ? 1000 : 3000, 7), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(gap_draw_add(&d, (uint32_t)i / 50, 5000), 0);
	assert_int_equal(gap_draw_close(&d, &h, 0, arena, &lt), 0);
	assert_int_equal(lt.n_quantile, SKEL_QUANTILES);
	for (int s = 0; s < 2; s++)
		for (int q = 0; q < SKEL_QUANTILES; q++) {
			double want = (q < SKEL_QUANTILES / 2 ? 1000 : 3000) * (s + 1);

			assert_true(fabs(lt.quantile_ns[s][q] - want) < 0.15 * want);
		}
	gap_draw_free(&d);
	hist_table_free(&h);
	arena_destroy(arena);
}

/* The recorder keeps no more than 256 KiB of times: of most calls only the histogram is left. */
static void test_capped(void **state)
{
	const struct skel_leaf_time *lt;
	struct errbuf err = {""};
	struct fixture f;
	struct play p;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/times.%ld.ptrace", (long)getpid());
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, "run", 0, 1, 256 << 10, 0, &err), 0);
	while (p.i < 3000000)
		assert_true(play_one(&p));
	assert_int_equal(play_end(&p, path, &err), 0);
	f.t = trace_open(path, &err);
	unlink(path);
	assert_non_null(f.t);
	assert_true(2 * trace_get_rank(f.t, 0)->defs.proc.dropped_events > 3000000);
	if (skel_tree_build(f.t, &f.tree, &err) != 0 || skel_times_collect(&f.tree, &f.times, &err) != 0)
		fail_msg("%s", err.text);
	lt = longest_leaf(&f.times);
	assert_int_equal(lt->timed, lt->n);
	assert_true(lt->gap_ns > 0);
	tear_down(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_stratum),   cmocka_unit_test(test_strata_that_agree_are_pooled),
		cmocka_unit_test(test_entering_a_loop),
		cmocka_unit_test(test_alike_is_one), cmocka_unit_test(test_long_strata_are_drawn),
		cmocka_unit_test(test_shape_of_histograms), cmocka_unit_test(test_capped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
