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

#include "skelgen/timing/series_collect.h"
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

/* ---- windows that vary as the traced iterations did ---- */

/* A program of two ranks whose gaps the skeleton repeats one by one. */
struct replayed {
	const char *name;
	enum { EQUAL, PHASES, SPREAD, SKEWED, SELDOM, SLOWER, PAIR } gap;
	double calls, noise; /* time of the calls; its variation, another in each run */
	double speed;        /* time of a gap on the machine of the skeleton */
	double most;         /* width of the interval, relative to an interval without traced times */
};

static const struct replayed replayed[] = {
	{"equal gaps", EQUAL, 0.2, 0.03, 1, 1},
	{"equal gaps, noise in phases", PHASES, 0.2, 0.1, 1, 1},
	{"gaps vary 3 %, calls more", SPREAD, 0.2, 0.1, 1, 1},
	{"gaps vary 30 %", SPREAD, 0.2, 0.02, 1, 0.25},
	{"gaps vary 30 %, half as fast", SPREAD, 0.5, 0.02, 2, 0.25},
	{"gaps vary 30 %, as much noise", SPREAD, 0.2, 0.3, 1, 1},
	{"skewed gaps", SKEWED, 0.2, 0.02, 1, 0.25},
	{"seldom a long gap", SELDOM, 0.2, 0.02, 1, 0.25},
	{"seldom a long gap, then slower", SLOWER, 0.2, 0.02, 1, 0.25},
	{"slower of two ranks", PAIR, 0.2, 0.02, 0.5, 0.25},
};

static double gap_draw(const struct replayed *k, int i, int *next)
{
	double gap = 1;

	if (k->gap == SPREAD)
		gap = fmax(0.05, 1 + (k->noise == 0.1 ? 0.03 : 0.3) * normal());
	else if (k->gap == SKEWED)
		gap = exp(0.8 * normal());
	else if (k->gap == PAIR)
		gap = exp(0.4 * normal());
	else if ((k->gap == SELDOM || k->gap == SLOWER) && i == *next) {
		gap += 5;
		*next += 20 + (int)(41 * uniform());
	}
	return k->gap == SLOWER && i > 7 * N / 10 ? 1.5 * gap : gap;
}

/* Time of a call; *noise: of the call before. */
static double call_draw(const struct replayed *k, double *noise)
{
	double alike = k->gap == PHASES ? 0.95 : 0;

	*noise = alike * *noise + sqrt(1 - alike * alike) * normal();
	return k->calls + k->noise * fabs(*noise);
}

/* Total of the gaps over what the windows hold of it, by their weights. */
static double scale_of(const struct sampled_plan *p, const float *gap)
{
	double weight, all = 0, held = 0;

	for (int i = 1; i < N; i++)
		all += gap[i];
	for (uint64_t j = 1; j < sampled_run(p); j++) {
		uint64_t at = sampled_iteration(p, j, &weight);

		held += weight * gap[at];
	}
	return all / held;
}

struct quality {
	double width, error, coverage;
};

static void quality_add(struct quality *q, const struct sampled_result *e, double truth)
{
	double off = fabs(e->total_ns - truth);

	q->width += e->half_ns / truth;
	q->error += off / truth;
	q->coverage += off <= e->half_ns;
}

/* Estimates without traced times [0], and with them [1]. */
static void measure_replayed(const struct replayed *k, uint64_t run, int seeds, struct quality q[2])
{
	memset(q, 0, 2 * sizeof *q);
	for (int seed = 0; seed < seeds; seed++) {
		double x[N], y[N], scale[2], noise = 0, truth = 0;
		float gap[2][N];
		struct sampled_result e;
		struct skel_loop_series l = {.total = N, .visits = 1, .x = x, .gap = {gap[0], gap[1]}, .n_gap = 2};
		struct sampled_plan p;
		int next;

		state64 = (uint64_t)seed * 7919 + 1;
		next = (int)(60 * uniform());
		for (int i = 0; i < N; i++) {
			gap[0][i] = gap[1][i] = (float)gap_draw(k, i, &next);
			gap[1][i] = k->gap == PAIR ? (float)gap_draw(k, i, &next) : gap[1][i];
			x[i] = fmax(gap[0][i], gap[1][i]) + call_draw(k, &noise);
		}
		assert_int_equal(series_analyse(x, N, 1, &l.stats), 0);
		series_windows(&l.stats, N, 1, run, &p);
		noise = 0;
		for (int r = 0; r < 2; r++)
			scale[r] = scale_of(&p, gap[r]);
		for (int i = 0; i < N; i++) {
			double call = call_draw(k, &noise);

			truth += k->speed * fmax(gap[0][i], gap[1][i]) + call;
			y[i] = i == 0 ? x[0] : k->speed * fmax(scale[0] * gap[0][i], scale[1] * gap[1][i]) + call;
		}
		e = sample(&p, y);
		quality_add(&q[0], &e, truth);
		series_traced(&l, &p);
		e = sample(&p, y);
		quality_add(&q[1], &e, truth);
		series_stats_free(&l.stats);
	}
	for (int i = 0; i < 2; i++)
		q[i] = (struct quality){q[i].width / seeds, q[i].error / seeds, q[i].coverage / seeds};
}

static void test_windows_as_traced(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof replayed / sizeof *replayed; i++) {
		const struct replayed *k = &replayed[i / 2];
		uint64_t run = i % 2 ? 101 : 21;
		struct quality q[2];

		measure_replayed(k, run, 400, q);
		print_message("# n %3d of %d, %-31s half-width %5.2f %%, error %5.2f %%, coverage %5.1f %%; without traced times "
			      "%5.2f %%, %5.2f %%, %5.1f %%\n", (int)run - 1, N, k->name, 100 * q[1].width, 100 * q[1].error,
			      100 * q[1].coverage, 100 * q[0].width, 100 * q[0].error, 100 * q[0].coverage);
		assert_true(q[1].coverage >= 0.90);
		assert_true(q[1].width <= k->most * q[0].width);
	}
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
		cmocka_unit_test(test_coverage_another_run), cmocka_unit_test(test_windows_as_traced), cmocka_unit_test(test_what_is_found),
		cmocka_unit_test(test_precision_asked), cmocka_unit_test(test_windows_lie_in_order),
		cmocka_unit_test(test_whole_periods),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
