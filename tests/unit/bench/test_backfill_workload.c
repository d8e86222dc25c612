/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workloads, predictors and figures that the simulation of backfill is run with. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/replay/measure.h"
#include "predictor/replay/stream.h"
#include "tests/bench/backfill/intervals.h"
#include "tests/bench/backfill/predict.h"
#include "tests/bench/backfill/random.h"

/* ---- Standard Workload Format ---- */

static void test_swf_workload(void **state)
{
	char path[] = "/tmp/test_backfill.XXXXXX";
	struct workload_conf conf = workload_defaults;
	struct errbuf err = {""};
	struct workload a, b;
	struct swf s;
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(f);
	conf.jobs = 500;
	conf.nodes = 32;
	assert_int_equal(workload_generate(&conf, &a, &err), 0);
	assert_int_equal(workload_write_swf(&a, f), 0);
	fclose(f);
	assert_int_equal(swf_read(path, NULL, NULL, &s, &err), 0);
	unlink(path);
	assert_int_equal(workload_from_swf(&s, 0, &b, &err), 0);
	assert_int_equal(b.n, a.n);
	assert_int_equal(b.nodes, 32);
	assert_int_equal(b.users, a.users);
	for (size_t i = 0; i < a.n; i++) {
		int64_t most = (int64_t)a.jobs[i].request_min * 60;

		assert_int_equal(b.jobs[i].nodes, a.jobs[i].nodes);
		assert_int_equal(b.jobs[i].request_min, a.jobs[i].request_min);
		assert_int_equal(b.jobs[i].run_s, a.jobs[i].run_s < most ? a.jobs[i].run_s : most);
		assert_int_equal(b.jobs[i].submit_s - b.jobs[0].submit_s, a.jobs[i].submit_s - a.jobs[0].submit_s);
		for (size_t k = 0; k < i; k++)
			if (a.kinds[i].input == a.kinds[k].input && a.jobs[i].request_min == a.jobs[k].request_min)
				assert_int_equal(b.kinds[i].input, b.kinds[k].input);
	}
	workload_free(&b);
	s.max_nodes = s.max_procs = -1;
	assert_int_equal(workload_from_swf(&s, 0, &b, &err), -1);
	assert_non_null(strstr(err.text, "name it"));
	workload_free(&a);
	swf_free(&s);
}

/* ---- accounting, with arrays ---- */

static void task_check(const struct workload *w, size_t i, size_t first)
{
	assert_int_equal(w->kinds[i].task, i - first);
	assert_int_equal(w->jobs[i].nodes, 1);
	assert_int_equal(w->jobs[i].submit_s, w->jobs[first].submit_s);
	assert_int_equal(w->jobs[i].request_min, w->jobs[first].request_min);
	assert_int_equal(w->kinds[i].input, w->kinds[first].input);
	assert_int_equal(w->kinds[i].user, w->kinds[first].user);
}

/* What replay reads is what was written. */
static void written_check(const struct workload *w)
{
	struct errbuf err = {""};
	FILE *f = tmpfile();
	struct stream s;

	assert_non_null(f);
	assert_int_equal(workload_write_sacct(w, f), 0);
	rewind(f);
	assert_int_equal(stream_from_sacct(f, "written", w->nodes, NULL, NULL, &s, &err), 0);
	fclose(f);
	assert_true(s.n == w->n && s.nodes == w->nodes && !s.bad && !s.left_out && !s.too_large);
	for (size_t i = 0; i < w->n; i++) {
		bool over = w->jobs[i].run_s > (int64_t)w->jobs[i].request_min * 60;

		assert_int_equal(s.jobs[i].submit_s, w->jobs[i].submit_s - w->jobs[0].submit_s);
		assert_int_equal(s.jobs[i].nodes, w->jobs[i].nodes);
		assert_int_equal(s.jobs[i].request_min, w->jobs[i].request_min);
		assert_int_equal(s.about[i].array_job, w->kinds[i].array);
		assert_int_equal(s.about[i].array_task, w->kinds[i].task);
		assert_string_equal(s.about[i].state, over ? "TIMEOUT" : "COMPLETED");
		if (!over)
			assert_int_equal(s.jobs[i].run_s, w->jobs[i].run_s);
		for (size_t k = i < 50 ? 0 : i - 50; k < i; k++) /* equal texts are one pointer */
			assert_int_equal(s.about[i].program == s.about[k].program, w->kinds[i].input == w->kinds[k].input);
	}
	stream_free(&s);
}

static void test_arrays(void **state)
{
	struct workload_conf conf = workload_defaults;
	size_t arrays = 0, tasks = 0, first = 0, again = 0;
	struct errbuf err = {""};
	struct workload w;
	uint32_t size[4000] = {0}; /* tasks of each program */

	(void)state;
	conf.jobs = 4000;
	conf.arrays = 0.2;
	assert_int_equal(workload_generate(&conf, &w, &err), 0);
	for (size_t i = 0; i < w.n; i++) {
		uint32_t program = w.kinds[i].program;

		if (!w.kinds[i].array)
			continue;
		tasks++;
		if (w.kinds[i].array == i + 1) {
			arrays++;
			first = i;
		}
		assert_int_equal(w.kinds[i].array, first + 1);
		task_check(&w, i, first);
		if (i + 1 < w.n && w.kinds[i + 1].array != first + 1) { /* the last one of all may be cut */
			assert_in_range(w.kinds[i].task, 1, 63);
			again += size[program] != 0;
			assert_true(!size[program] || size[program] == w.kinds[i].task + 1);
			size[program] = w.kinds[i].task + 1;
		}
	}
	assert_in_range(arrays, 50, w.n / 2);
	assert_in_range(tasks, 4 * arrays, 40 * arrays);
	assert_in_range(again, 10, arrays);
	assert_true(fabs(w.load - conf.load) < 0.02 * conf.load);
	written_check(&w);
	workload_free(&w);
}

/* ---- the model ---- */

static void test_lublin(void **state)
{
	enum { N = 200000 };
	struct rng r = rng_make(7, 7);
	double serial = 0, powers = 0, parallel = 0, small = 0, sum[2] = {0}, count[2] = {0};

	(void)state;
	for (int i = 0; i < N; i++) {
		uint32_t nodes = lublin_nodes(&r, 128);

		assert_in_range(nodes, 1, 128);
		serial += nodes == 1;
		parallel += nodes > 1;
		powers += nodes > 1 && !(nodes & (nodes - 1));
		small += nodes > 1 && nodes <= 22; /* 2^4.5: the lower stage ends there */
	}
	assert_true(fabs(serial / N - 0.2927) < 0.005);
	/* Of the parallel jobs 0.6686 / 0.7073 are powers of two by design, and some others by rounding. */
	assert_true(powers / parallel > 0.945 && powers / parallel < 0.98);
	assert_true(small / parallel > 0.80 && small / parallel < 0.9);
	for (int i = 0; i < N; i++) {
		int64_t run = lublin_run_s(&r, 1);
		bool is_long = run > 3600;

		assert_in_range(run, 1, 162755);
		sum[is_long] += log((double)run);
		count[is_long]++;
	}
	/* The long ones: gamma with mean 639.1 * 0.0156 = 9.97; 30 % of serial jobs, and few of the short ones. */
	assert_true(fabs(sum[1] / count[1] - 9.9) < 0.1);
	assert_true(count[1] / N > 0.30 && count[1] / N < 0.40);
}

static void test_arrivals(void **state)
{
	enum { N = 50000 };
	static double gaps[N];
	static int64_t at[N], twice[N];
	double night = 0, afternoon = 0;
	struct rng r = rng_make(3, 3);

	(void)state;
	lublin_gaps(&r, gaps, N);
	lublin_arrivals(gaps, N, 1, at);
	lublin_arrivals(gaps, N, 2, twice);
	for (int i = 0; i < N; i++) {
		int64_t hour = at[i] % 86400 / 3600;

		assert_true(!i || at[i] >= at[i - 1]);
		night += hour >= 3 && hour < 5;
		afternoon += hour >= 14 && hour < 16;
	}
	assert_true(afternoon > 3 * night && night > 0);
	/* Days stay days, however dense. */
	assert_true(fabs((double)twice[N - 1] / (double)at[N - 1] - 2) < 0.01);
	/* All of it follows from the mean gap. */
	double sum = 0;
	for (int i = 0; i < N; i++)
		sum += gaps[i];
	assert_true(fabs((double)at[N - 1] / sum - 1) < 0.01);
}

static void test_gamma(void **state)
{
	struct rng r = rng_make(11, 5);
	double sum = 0, square = 0, below = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		double x = rng_gamma(&r, 6.57, 0.823);

		sum += x;
		square += x * x;
		below += x <= 5;
	}
	assert_true(fabs(sum / 1e5 - 6.57 * 0.823) < 0.03);
	assert_true(fabs(square / 1e5 - sum / 1e5 * sum / 1e5 - 6.57 * 0.823 * 0.823) < 0.1);
	assert_true(fabs(below / 1e5 - gamma_cdf(5, 6.57, 0.823)) < 0.005);
	/* Shape 1: exponential; shape 2: by hand. */
	assert_true(fabs(gamma_cdf(2, 1, 1) - (1 - exp(-2))) < 1e-12);
	assert_true(fabs(gamma_cdf(6, 2, 2) - (1 - exp(-3) * 4)) < 1e-12);
	assert_true(gamma_cdf(0, 2, 2) == 0);
}

static void test_workload(void **state)
{
	struct workload_conf conf = workload_defaults;
	struct errbuf err = {""};
	struct workload w, denser;
	double killed = 0, first = 0;

	(void)state;
	conf.jobs = 5000;
	conf.load = 0.7;
	assert_int_equal(workload_generate(&conf, &w, &err), 0);
	conf.load = 0.9;
	assert_int_equal(workload_generate(&conf, &denser, &err), 0);
	assert_true(fabs(w.load - 0.7) < 0.015 && fabs(denser.load - 0.9) < 0.02);
	for (size_t i = 0; i < w.n; i++) {
		const struct sim_job *j = &w.jobs[i];

		assert_int_equal(j->run_s, denser.jobs[i].run_s);
		assert_int_equal(workload_round_request(j->request_min), j->request_min);
		assert_true(j->run_s > 0 && j->nodes >= 1 && j->nodes <= 128);
		assert_true(w.kinds[i].user < w.users && w.kinds[i].program < w.programs && w.kinds[i].input < w.inputs);
		killed += j->run_s > (int64_t)j->request_min * 60;
		first += !i || w.kinds[i].program > w.kinds[i - 1].program;
	}
	assert_true(killed / (double)w.n < 0.08);
	assert_true(fabs(w.programs / (double)w.n - 0.2) < 0.03);
	/* New programs and repetitions with new inputs: 0.2 + 0.8 / 2. */
	assert_true(fabs(w.inputs / (double)w.n - 0.6) < 0.03);
	workload_free(&w);
	workload_free(&denser);
	conf.load = 0;
	assert_int_equal(workload_generate(&conf, &w, &err), -1);
	assert_int_equal(workload_round_request(4), 5);
	assert_int_equal(workload_round_request(5.5), 10);
	assert_int_equal(workload_round_request(1e9), 2880);
}

/* ---- predictors ---- */

static struct workload small_workload(struct sim_job *jobs, struct work_kind *kinds, size_t n)
{
	return (struct workload){.jobs = jobs, .kinds = kinds, .n = n, .nodes = 4, .users = 2, .programs = 2, .inputs = 3};
}

static void test_rule(void **state)
{
	struct predict_conf c = predict_defaults;

	(void)state;
	assert_int_equal(predict_limit_min(&c, 3600, 600), 69);
	assert_int_equal(predict_limit_min(&c, 3601, 600), 70);
	assert_int_equal(predict_limit_min(&c, 10, 600), 5);
	assert_int_equal(predict_limit_min(&c, 3600, 60), 60);
	assert_int_equal(predict_limit_min(&c, 10, 3), 3);
}

static void test_predictors(void **state)
{
	double exact[] = {1, 1, 1, 1};
	struct predict_errors errors = {exact, 4};
	/* User 0 runs program 0 with input 0, again, with input 1; user 1 program 1. */
	struct sim_job jobs[4] = {{0, 1000, 1, 600}, {100, 1000, 1, 600}, {2000, 3000, 1, 600}, {2000, 3000, 1, 600}};
	struct work_kind kinds[4] = {[2] = {.input = 1}, [3] = {.user = 1, .program = 1, .input = 2}};
	struct workload w = small_workload(jobs, kinds, 4);
	struct predict_conf conf = predict_defaults;
	struct sim_plan plan;
	struct predict *p;
	struct sim_predictor c;
	struct errbuf err = {""};

	(void)state;
	conf.errors = &errors;
	conf.kind = PREDICT_PRECEDENT;
	assert_int_equal(predict_create(&conf, &w, &p, &err), 0);
	c = predict_callbacks(p);
#define SUBMIT(job, now) (plan = (struct sim_plan){.limit_s = 36000}, c.submitted(c.arg, job, now, &plan), plan.limit_s)
	assert_int_equal(SUBMIT(0, 0), 36000);
	assert_int_equal(plan.run_s, 1020); /* traced and probed */
	assert_int_equal(SUBMIT(1, 100), 36000); /* the first has not ended */
	assert_int_equal(plan.run_s, 0);
	c.ended(c.arg, 0, 1020, NULL);
	assert_int_equal(SUBMIT(1, 1139), 36000); /* its probe has not */
	assert_int_equal(SUBMIT(1, 1140), 1200);  /* 1000 s and 15 % in minutes */
	assert_int_equal(SUBMIT(2, 2000), 36000); /* another input */
	assert_int_equal(predict_predicted(p), 1);
	predict_destroy(p);

	conf.kind = PREDICT_FAMILY;
	assert_int_equal(predict_create(&conf, &w, &p, &err), 0);
	c = predict_callbacks(p);
	assert_int_equal(SUBMIT(0, 0), 36000);
	c.ended(c.arg, 0, 1020, NULL);
	assert_int_equal(SUBMIT(2, 2000), 3480);
	assert_int_equal(SUBMIT(3, 2000), 36000);
	predict_destroy(p);

	conf.kind = PREDICT_LAST_TWO;
	assert_int_equal(predict_create(&conf, &w, &p, &err), 0);
	c = predict_callbacks(p);
	c.ended(c.arg, 0, 1020, NULL);
	assert_int_equal(SUBMIT(2, 2000), 36000);
	c.ended(c.arg, 2, 1030, NULL);
	assert_int_equal(SUBMIT(1, 2000), 2340); /* 2000 s and 15 % */
	assert_int_equal(SUBMIT(3, 2000), 36000);
	predict_destroy(p);

	conf.kind = PREDICT_PERFECT;
	assert_int_equal(predict_create(&conf, &w, &p, &err), 0);
	c = predict_callbacks(p);
	assert_int_equal(SUBMIT(3, 0), 3000);
	assert_true(plan.fixed);
	predict_destroy(p);
#undef SUBMIT
}

static void test_withheld_and_cover(void **state)
{
	double ratios[] = {0.5, 1, 1, 1, 1, 1, 1, 1, 1, 2};
	struct predict_errors errors = {ratios, 10};
	struct sim_job jobs[2] = {{0, 1000, 1, 600}, {9000, 1000, 1, 600}};
	struct work_kind kinds[2] = {{.user = 0}};
	struct workload w = small_workload(jobs, kinds, 2);
	struct predict_conf conf = predict_defaults;
	struct errbuf err = {""};
	int upper[3] = {0};

	(void)state;
	conf.errors = &errors;
	conf.kind = PREDICT_PRECEDENT;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct sim_plan plan = {.limit_s = 36000};
		struct sim_predictor c;
		struct predict *p;

		conf.seed = seed;
		conf.cover = 1;
		conf.withheld = seed % 2;
		assert_int_equal(predict_create(&conf, &w, &p, &err), 0);
		c = predict_callbacks(p);
		c.ended(c.arg, 0, 1000, NULL);
		c.submitted(c.arg, 1, 9000, &plan);
		/* The largest error seen, 1 or 2, by the one that happens, 0.5, 1 or 2: never the same 2 twice. */
		if (conf.withheld > 0)
			assert_int_equal(plan.limit_s, 36000);
		else
			upper[plan.limit_s == 1200 ? 0 : plan.limit_s == 2340 ? 1 : 2]++;
		predict_destroy(p);
	}
	assert_true(upper[0] > 20 && upper[1] > 20 && upper[2] > 0);
}

static void test_errors_file(void **state)
{
	char path[] = "/tmp/test_backfill.XXXXXX";
	struct predict_errors e;
	struct errbuf err = {""};
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(f);
	for (int i = 1; i <= 4; i++)
		fprintf(f, "{\"actual\": %d, \"skeleton\": 2}\n{\"actual\": 3}\n", i);
	fflush(f);
	assert_int_equal(predict_errors_read(path, "skeleton", &e, &err), 0);
	assert_int_equal(e.n, 4);
	assert_true(e.ratio[2] == 1.5);
	predict_errors_free(&e);
	assert_int_equal(predict_errors_read(path, "partial", &e, &err), -1);
	assert_non_null(strstr(err.text, "0 lines have \"actual\" and \"partial\""));
	fprintf(f, "{\n");
	fclose(f);
	assert_int_equal(predict_errors_read(path, "skeleton", &e, &err), -1);
	unlink(path);
}

/* ---- figures ---- */

static void test_measure(void **state)
{
	/* Ten jobs, the first of which is not counted. Nine wait 0, 10, ... 80 s; eight run 100 s, one 5 s. */
	struct sim_job jobs[10];
	struct sim_outcome out[10];
	struct workload w = {.jobs = jobs, .n = 10, .nodes = 2};
	struct measured m;
	struct errbuf err = {""};

	(void)state;
	for (int i = 0; i < 10; i++) {
		jobs[i] = (struct sim_job){.submit_s = 1000 * i, .run_s = 100, .nodes = 1, .request_min = 10};
		out[i] = (struct sim_outcome){.start_s = 1000 * i + (i ? 10 * (i - 1) : 500), .limit_s = i < 5 ? 300 : 60};
		out[i].end_s = out[i].start_s + (i == 1 ? 5 : 100);
	}
	assert_int_equal(measure_run(&(struct measure_of){w.jobs, w.n, w.nodes}, out, &m, &err), 0);
	assert_int_equal(m.jobs, 9);
	assert_true(fabs(m.wait_s - 40) < 1e-9 && m.wait_median_s == 40 && m.wait_max_s == 80);
	/* 1 for the short one (5 s count as 10), (w + 100) / 100 for w = 10 ... 80 */
	assert_true(fabs(m.slowdown - (1 + 8 * 1.45) / 9) < 1e-9);
	assert_true(fabs(m.slowdown_median - 1.4) < 1e-9);
	assert_true(fabs(m.short_share - 5.0 / 9) < 1e-9);
	/* From the second submission to the last: 705 s of one of two nodes in 8000 s. */
	assert_true(fabs(m.utilisation - 705.0 / 16000) < 1e-9);
}

static void test_interval(void **state)
{
	double a[] = {1, 2, 3, 4, 5}, b[] = {2, 4, 6, 8, 10};
	struct interval i = interval_of(a, 5);

	(void)state;
	assert_true(fabs(i.mean - 3) < 1e-12);
	assert_true(fabs(i.half - 2.776 * sqrt(2.5 / 5)) < 1e-9);
	i = interval_of_change(a, b, 5);
	assert_true(fabs(i.mean + 0.5) < 1e-12 && i.half < 1e-12);
	assert_true(isnan(interval_of(a, 1).half));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_swf_workload),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_lublin),
		cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_workload),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_predictors),
		cmocka_unit_test(test_withheld_and_cover),
		cmocka_unit_test(test_errors_file),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_interval),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
