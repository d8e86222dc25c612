/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of synthetic series of iteration times: intervals cover what they say, and totals are as near as the
 * algorithms' table asks. Series are drawn here; the truth is their own sum.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/timing/series.h"
#include "tests/unit/normal.h"

#define N     1000

enum {
	AR    = 1,  /* autocorrelation `phi`, deviation 10 % */
	DRIFT = 2,  /* 20 % from beginning to end */
	PHASE = 4,  /* x 1.5 from 70 % on */
	SPIKE = 8,  /* 1 % of iterations x 10 */
};

struct kind {
	const char *name;
	int what;
	double phi, noise;
};

static const struct kind kinds[] = {
	{"iid 5 %", 0, 0, 0.05},
	{"iid 30 %", 0, 0, 0.30},
	{"AR 0.8", AR, 0.8, 0.06},
	{"AR 0.95", AR, 0.95, 0.06},
	{"drift", DRIFT, 0, 0.02},
	{"phase", PHASE, 0, 0.02},
	{"spikes", SPIKE, 0, 0.02},
	{"drift, AR 0.8", DRIFT | AR, 0.8, 0.06},
	{"phase, AR 0.8", PHASE | AR, 0.8, 0.06},
	{"phase, AR 0.95, spikes", PHASE | AR | SPIKE, 0.95, 0.06},
	{"drift, phase, AR 0.8, spikes", DRIFT | PHASE | AR | SPIKE, 0.8, 0.06},
};

static void draw(const struct kind *k, double *x, int n)
{
	double a = normal(), innovation = sqrt(1 - k->phi * k->phi);

	for (int i = 0; i < n; i++) {
		double v = 1;

		a = k->what & AR ? k->phi * a + innovation * normal() : normal();
		v += k->what & DRIFT ? 0.2 * i / n : 0;
		v *= k->what & PHASE && i >= 7 * n / 10 ? 1.5 : 1;
		v *= fmax(0.05, 1 + k->noise * a);
		x[i] = k->what & SPIKE && uniform() < 0.01 ? 10 * v : v;
	}
}

/* What the runtime would measure of x with these windows, iteration 0 beside them. */
static struct sampled_result sample(const struct sampled_plan *p, const double *x)
{
	double sum[SAMPLED_MAX] = {0}, *each = malloc(N * sizeof *each);
	struct sampled_result e;
	int n = 0;

	for (int i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->w[i].run; k++) {
			double v = x[p->w[i].first + p->w[i].warm + k];

			sum[i] += v;
			each[n++] = v;
		}
	e = sampled_estimate(p, sum, p->spikes.known > 0 ? each : NULL);
	free(each);
	e.total_ns += x[0];
	return e;
}

static void plan(const double *traced, uint64_t run, struct sampled_plan *p)
{
	struct series_stats s;

	assert_int_equal(series_analyse(traced, N, 1, &s), 0);
	series_windows(&s, N, 1, run, p);
	if (s.n_spike > 0)
		p->spikes = (struct sampled_spikes){N, (double)s.n_spike / N, s.spike_excess, s.spike_square};
	series_stats_free(&s);
}

/* Relative errors of totals from the first n iterations, and from 5 windows spread evenly: what the algorithms'
 * table compares. */
static double error_of_first(const double *x, int n, double truth)
{
	double sum = 0;

	for (int i = 1; i <= n; i++)
		sum += x[i];
	return fabs(x[0] + sum / n * (N - 1) - truth) / truth;
}

static double error_of_five(const double *x, int n, double truth)
{
	double sum = 0;

	for (int w = 0; w < 5; w++)
		for (int i = 0; i < n / 5; i++)
			sum += x[1 + w * (N - 1) / 5 + ((N - 1) / 5 - n / 5) / 2 + i];
	return fabs(x[0] + sum / n * (N - 1) - truth) / truth;
}

struct outcome {
	double error, coverage, width, first, five;
};

/* again: what runs is not the traced series but another of its kind. */
static struct outcome measure(const struct kind *k, uint64_t run, bool again, int seeds)
{
	struct outcome o = {0, 0, 0, 0, 0};
	double x[N], y[N];

	for (int seed = 0; seed < seeds; seed++) {
		struct sampled_result e;
		struct sampled_plan p;
		double truth = 0, off;

		state64 = (uint64_t)seed * 7919 + 1;
		draw(k, x, N);
		draw(k, y, N);
		plan(x, run, &p);
		e = sample(&p, again ? y : x);
		for (int i = 0; i < N; i++)
			truth += again ? y[i] : x[i];
		off = fabs(e.total_ns - truth);
		o.error += off / truth / seeds;
		o.coverage += (off <= e.half_ns) / (double)seeds;
		o.width += e.half_ns / truth / seeds;
		o.first += error_of_first(again ? y : x, (int)run - 1, truth) / seeds;
		o.five += error_of_five(again ? y : x, (int)run - 1, truth) / seeds;
	}
	return o;
}

static void coverage(uint64_t run, bool again, int seeds)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		struct outcome o = measure(k, run, again, seeds);

		print_message("# n %3d of %d, %-7s %-29s error %5.2f %%, of the first n %5.2f %%, of 5 windows %5.2f %%; "
			      "half-width %5.2f %%, coverage %5.1f %%\n", (int)run - 1, N, again ? "another" : "same", k->name,
			      100 * o.error, 100 * o.first, 100 * o.five, 100 * o.width, 100 * o.coverage);
		assert_true(o.coverage >= 0.90);
		/* As good as five windows, of which none is a warm-up; with spikes much better. */
		assert_true(o.error <= 1.15 * o.five);
		if (k->what & SPIKE)
			assert_true(o.error <= 0.6 * o.five);
	}
}

static void test_coverage_100(void **state)
{
	(void)state;
	coverage(101, false, 200);
}

static void test_coverage_20(void **state)
{
	(void)state;
	coverage(21, false, 200);
}

static void test_coverage_another_run(void **state)
{
	(void)state;
	coverage(101, true, 200);
}

static void test_what_is_found(void **state)
{
	struct series_stats s;
	double x[N];

	(void)state;
	state64 = 3;
	draw(&(struct kind){"", PHASE, 0, 0.02}, x, N);
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	assert_int_equal(s.n_segment, 2);
	assert_in_range(s.segment[1].first, 695, 705);
	assert_false(s.drifts);
	assert_int_equal(s.n_spike, 0);
	series_stats_free(&s);

	draw(&(struct kind){"", DRIFT | SPIKE, 0, 0.02}, x, N);
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	assert_true(s.drifts);
	assert_true(fabs(s.drift * s.usual / 1.1 - 0.2 / 1.1) < 0.04);
	assert_in_range(s.n_spike, 3, 20);
	assert_true(fabs(s.spike_excess - 9.0 * (double)s.n_spike) < 1.5 * (double)s.n_spike);
	assert_true(fabs(s.deviation - 0.02) < 0.015);
	series_stats_free(&s);

	for (int i = 0; i < N; i++)
		x[i] = 1 + (i % 20 == 19 ? 3 : 0) + 0.01 * normal();
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	assert_int_equal(s.n_spike, 0); /* 5 % of all: not rare */
	assert_int_equal(s.period, 20);
	series_stats_free(&s);

	draw(&(struct kind){"", AR, 0.95, 0.06}, x, N);
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	assert_true(s.lag1 > 0.7 && s.lag1 < 1);
	series_stats_free(&s);

	assert_int_equal(series_analyse(x, 0, 1, &s), 0);
	assert_int_equal(s.n, 0);
	series_stats_free(&s);
	x[0] = 1;
	assert_int_equal(series_analyse(x, 1, 1, &s), 0);
	assert_int_equal(s.n_segment, 1);
	series_stats_free(&s);
}

static void test_precision_asked(void **state)
{
	struct series_stats s;
	uint64_t coarse, fine;
	double x[N];

	(void)state;
	state64 = 5;
	draw(&(struct kind){"", 0, 0, 0.05}, x, N);
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	coarse = series_wanted(&s, N, 0.02);
	fine = series_wanted(&s, N, 0.005);
	/* (1.96 0.05 / 0.02)^2 = 24, and 384 / (1 + 384 / 1000) = 277 of an endless series; the estimate varies. */
	assert_in_range(coarse, 8, 60);
	assert_in_range(fine, 120, 500);
	assert_int_equal(series_wanted(NULL, N, 0.01), N);
	series_stats_free(&s);
}

static void check_windows(const struct sampled_plan *p, uint64_t total, uint64_t run)
{
	uint64_t end = 1, stands = 0, at = 1;
	double weight, sum = 0;

	assert_true(sampled_run(p) <= run);
	for (int i = 0; i < p->n; i++) {
		assert_true(p->w[i].first >= end && p->w[i].run > 0 && p->w[i].stands >= p->w[i].run);
		end = p->w[i].first + p->w[i].warm + p->w[i].run;
		assert_true(end <= total);
		stands += p->w[i].stands;
		assert_true(i == 0 || p->w[i].segment >= p->w[i - 1].segment);
		for (uint32_t k = 0; k < p->w[i].warm + p->w[i].run; k++) {
			assert_int_equal(sampled_iteration(p, at++, &weight), p->w[i].first + k);
			sum += weight;
		}
	}
	assert_int_equal(stands, total - 1);
	assert_int_equal(at, sampled_run(p));
	assert_true(fabs(sum - (double)(total - 1)) < 1e-6 * (double)total);
	assert_int_equal(sampled_iteration(p, 0, &weight), 0);
}

static void test_windows_lie_in_order(void **state)
{
	struct sampled_plan p;
	struct series_stats s;
	double x[N];

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		state64 = k + 1;
		draw(&kinds[k], x, N);
		assert_int_equal(series_analyse(x, N, 1, &s), 0);
		for (uint64_t run = 2; run < N; run += 1 + run / 5) {
			series_windows(&s, N, 1, run, &p);
			check_windows(&p, N, run);
			if (run <= N / 5)
				assert_true(sampled_run(&p) + 24 >= run); /* no more than one window is lost */
			series_windows(&s, N / 2, 2, run / 2 + 2, &p);
			check_windows(&p, N / 2, run / 2 + 2);
		}
		series_stats_free(&s);
	}
	for (uint64_t total = 3; total < 40; total++)
		for (uint64_t run = 2; run < total; run++) {
			series_windows(NULL, total, 1, run, &p);
			check_windows(&p, total, run);
		}
}

/* Windows of a loop with a period hold whole periods. */
static void test_whole_periods(void **state)
{
	struct sampled_plan p;
	struct series_stats s;
	double x[N], truth = 0;

	(void)state;
	for (int i = 0; i < N; i++)
		truth += x[i] = 1 + (i % 10 == 9 ? 2 : 0) + 0.001 * (i % 7);
	assert_int_equal(series_analyse(x, N, 1, &s), 0);
	assert_int_equal(s.period, 10);
	series_windows(&s, N, 1, 111, &p);
	for (int i = 0; i < p.n; i++)
		assert_int_equal(p.w[i].run % 10, 0);
	assert_true(fabs(sample(&p, x).total_ns - truth) < 0.005 * truth);
	series_stats_free(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coverage_100), cmocka_unit_test(test_coverage_20),
		cmocka_unit_test(test_coverage_another_run), cmocka_unit_test(test_what_is_found),
		cmocka_unit_test(test_precision_asked), cmocka_unit_test(test_windows_lie_in_order),
		cmocka_unit_test(test_whole_periods),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
