/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models over inputs: families whose times follow a law that the test knows, with noise, outliers, inputs that do nothing or
 * always go together, and runs that follow no law; then the text of a model, the daemon that fits it and the submission that is
 * told what it says.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/log.h"
#include "plugin/decide_internal.h"
#include "predictor/estimate/scaling_model.h"
#include "predictor/learn/scaling_follow.h"
#include "predictor/learn/scaling_row.h"
#include "predictor/store/busy.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/scaling_laws.h"
#include "tests/unit/normal.h"

/* ---- families ---- */

static struct param_family_run runs[SCALING_RUNS_MAX + 8];
static char vars_of[SCALING_RUNS_MAX + 8][96];
static size_t n_runs;
static struct scaling_model model;

static void run_add(double actual_s, bool at_least, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void run_add(double actual_s, bool at_least, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(vars_of[n_runs], sizeof(vars_of[0]), fmt, ap);
	va_end(ap);
	runs[n_runs] = (struct param_family_run){"k", vars_of[n_runs], actual_s, at_least};
	n_runs++;
}

static void fitted(void)
{
	struct errbuf why = {""};

	if (scaling_fit(runs, n_runs, &model, &why) < 0)
		fail_msg("%s", why.text);
}

static void not_fitted(const char *says)
{
	struct errbuf why = {""};

	if (scaling_fit(runs, n_runs, &model, &why) == 0 || !strstr(why.text, says))
		fail_msg("'%s', not '%s'", why.text, says);
	assert_int_equal(model.n_shapes, 0);
}

static struct estimate said(double a, double b)
{
	double vars[2] = {a, b};
	struct errbuf why = {""};
	struct estimate e;

	if (scaling_predict(&model, vars, model.n_vars, &e, &why) < 0)
		fail_msg("%g, %g: %s", a, b, why.text);
	assert_int_equal(e.kind, ESTIMATE_MODEL);
	assert_true(e.lo_s < e.mean_s && e.mean_s < e.hi_s);
	return e;
}

static void not_said(double a, double b, const char *says)
{
	double vars[2] = {a, b};
	struct errbuf why = {""};
	struct estimate e;

	if (scaling_predict(&model, vars, model.n_vars, &e, &why) == 0 || !strstr(why.text, says))
		fail_msg("%g, %g: '%s', not '%s'", a, b, why.text, says);
}

static void near(double got, double want, double rel)
{
	if (!(fabs(got - want) <= rel * want))
		fail_msg("%g, not %g", got, want);
}

/* ---- the fit ---- */

/* Three runs are enough for a fourth between them, and a little beyond. */
static void test_three_runs(void **state)
{
	(void)state;
	n_runs = 0;
	for (int n = 100; n <= 300; n += 100)
		run_add(5 + 1e-3 * n * n, false, "4,%d", n);
	fitted();
	assert_int_equal(model.points, 3);
	near(said(4, 250).mean_s, 5 + 1e-3 * 250 * 250, 0.03);
	near(said(4, 330).mean_s, 5 + 1e-3 * 330 * 330, 0.05);
	not_said(4, 700, "nodes 700 is too far from the 100 to 300 that ran");
	not_said(4, 40, "is too far from");
	not_said(8, 250, "ranks was always 4, here it is 8");
	not_said(4, NAN, "is too far from");
}

/* Each law is met on inputs that the fit has not seen, the more exactly the less noise there is. */
static void test_laws(void **state)
{
	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		n_runs = 0;
		for (int p = 1; p <= 8; p *= 2)
			for (int n = 200; n <= 1000; n += 400) {
				double t[] = {3 + 1e-3 * n, 1e-6 * n * (double)n * n / p, 2 + 0.5 * p, 1e-2 * n * log2(n) / p,
					      0.3 * pow(n, 0.7) * pow(p, -0.4), 4 + 1e-4 * n * (double)n / p + 0.2 * p};

				run_add(t[kind], false, "%d,%d", p, n);
			}
		fitted();
		for (int p = 1; p <= 8; p++)
			for (int n = 250; n <= 1000; n += 150) {
				double t[] = {3 + 1e-3 * n, 1e-6 * n * (double)n * n / p, 2 + 0.5 * p, 1e-2 * n * log2(n) / p,
					      0.3 * pow(n, 0.7) * pow(p, -0.4), 4 + 1e-4 * n * (double)n / p + 0.2 * p};

				near(said(p, n).mean_s, t[kind], 0.01);
			}
	}
}

/* With noise, few runs and any law of these: what is told holds about as often as it should, and errors are about the noise. */
static void test_coverage(void **state)
{
	unsigned told = 0, inside = 0, near_it = 0, trials = 2000;

	(void)state;
	srand48(7);
	for (unsigned trial = 0; trial < trials; trial++) {
		int kind = (int)(trial % 3), points = 4 + (int)(drand48() * 9);
		double noise = 0.03 * drand48(), vars[2] = {1 << (int)(drand48() * 4), floor(200 * exp(2 * drand48()))}, t;
		struct estimate e;

		n_runs = 0;
		for (int i = 0; i < points; i++) {
			double p = 1 << (int)(drand48() * 4), n = floor(200 * exp(2 * drand48()));

			run_add(law_of(kind, n, p) * (1 + noise * normal()), false, "%.9g,%.9g", p, n);
		}
		if (scaling_fit(runs, n_runs, &model, NULL) < 0 || scaling_predict(&model, vars, 2, &e, NULL) < 0)
			continue;
		t = law_of(kind, vars[1], vars[0]) * (1 + noise * normal());
		told++;
		inside += t >= e.lo_s && t <= e.hi_s;
		near_it += fabs(e.mean_s / t - 1) < 0.05;
	}
	if (told < trials * 7 / 10 || inside < told * 94 / 100 || near_it < told * 8 / 10)
		fail_msg("%u of %u told, %u inside, %u within 5 %%", told, trials, inside, near_it);
}

/*
 * Families with a kink at size k: twice as steep (or more, or less) above it, another power, or a step. Asked beyond the sizes that
 * ran, where a kink may lie that no run has met.
 */
static double kinked(int kind, double n, double p, double k, double f)
{
	switch (kind) {
	case 0:
		return 10 + 0.05 * n + (n > k ? 0.05 * (f - 1) * (n - k) : 0);
	case 1:
		return 5 + 1e-4 * n * n / p + (n > k ? 1e-4 * (f - 1) * (n * n - k * k) / p : 0) + 0.1 * p;
	case 2:
		return 0.02 * pow(n, 1.2) * (n > k ? pow(n / k, 0.4 * (f - 1)) : 1);
	default:
		return (8 + 0.03 * n) * (n > k ? f * 0.6 + 0.4 : 1);
	}
}

/* where: 0 no kink, 1 within the range, 2 beyond it. */
static void kinks_ask(int where, unsigned trials, unsigned *told, unsigned *inside)
{
	state64 = 7 + (uint64_t)where;
	*told = *inside = 0;
	for (unsigned t = 0; t < trials; t++) {
		int kind = (int)(t % 4), points = 4 + (int)(uniform() * 9);
		double noise = 0.03 * uniform(), lo = 200, hi = 1000 * (1 + 2 * uniform()), f = 1.3 + 1.7 * uniform();
		double k = where == 0 ? INFINITY : where == 1 ? lo * pow(hi / lo, 0.2 + 0.7 * uniform()) : hi * (1 + 0.6 * uniform());
		double p, n, took;
		struct estimate e;

		n_runs = 0;
		for (int i = 0; i < points; i++) {
			n = floor(lo * exp(log(hi / lo) * uniform()));
			p = kind == 1 ? 1 << (int)(uniform() * 4) : 4;
			run_add(kinked(kind, n, p, k, f) * (1 + noise * normal()), false, "%.9g,%.9g", p, n);
		}
		p = kind == 1 ? 1 << (int)(uniform() * 4) : 4;
		n = floor(hi * (1.05 + 0.75 * uniform()));
		if (scaling_fit(runs, n_runs, &model, NULL) < 0 || scaling_predict(&model, (double[]){p, n}, 2, &e, NULL) < 0)
			continue;
		took = kinked(kind, n, p, k, f) * (1 + noise * normal());
		(*told)++;
		*inside += took >= e.lo_s && took <= e.hi_s;
	}
}

static void test_kinks(void **state)
{
	const unsigned trials = 3000;

	(void)state;
	for (int where = 0; where < 3; where++) {
		unsigned told, inside;

		kinks_ask(where, trials, &told, &inside);
		print_message("# kink %d: %u of %u told, %u inside\n", where, told, trials, inside);
		if (told < trials / 12 || inside * 100 < told * (where ? 90 : 97))
			fail_msg("kink %d: %u of %u told, %u inside", where, told, trials, inside);
	}
}

/* A seed does nothing; one run that hung bends nothing. */
static void test_outlier_and_seed(void **state)
{
	(void)state;
	srand48(3);
	n_runs = 0;
	for (int i = 1; i <= 9; i++)
		run_add((i == 6 ? 3 : 1) * 0.2 * i * (1 + 0.005 * normal()) * 100, false, "%d,%d", (int)(drand48() * 1000), 100 * i);
	fitted();
	near(said(500, 600).mean_s, 120, 0.03);
	near(said(250, 850).mean_s, 170, 0.03);
}

/* Runs of the same inputs count once, by the median of the latest. */
static void test_repeats(void **state)
{
	(void)state;
	n_runs = 0;
	for (int r = 0; r < 5; r++)
		for (int n = 1; n <= 4; n++)
			run_add(10 * n * (r == 2 ? 5 : 1), false, "1,%d", n);
	fitted();
	assert_int_equal(model.points, 4);
	assert_int_equal(model.runs, 20);
	near(said(1, 3).mean_s, 30, 0.01);
}

static void test_refusals(void **state)
{
	static const double wild[] = {100, 3, 700, 20, 5, 300};

	(void)state;
	n_runs = 0;
	not_fitted("runs of 0 different inputs: 3 are needed");
	run_add(10, false, "1,100");
	run_add(11, false, "1,100");
	run_add(20, false, "1,200");
	not_fitted("runs of 2 different inputs: 3 are needed");
	run_add(30, true, "1,300"); /* ended before its end: says nothing of a law */
	not_fitted("runs of 2 different inputs: 3 are needed");
	run_add(30, false, "1,300");
	fitted();
	/* two inputs that vary */
	n_runs = 0;
	run_add(10, false, "1,100");
	run_add(20, false, "2,200");
	run_add(30, false, "4,300");
	not_fitted("2 inputs vary and 3 combinations have run: 4 are needed");
	n_runs = 0;
	for (int i = 0; i < 6; i++)
		run_add(wild[i], false, "1,%d", 100 + i);
	not_fitted("does not follow from its numbers");
	n_runs = 0;
	run_add(NAN, false, "1,100");
	not_fitted("a past run took nan s");
	/* numbers of another form are passed over */
	n_runs = 0;
	for (int n = 1; n <= 4; n++)
		run_add(n, false, "1,%d", n);
	run_add(99, false, "1,2,3");
	run_add(99, false, "1,x");
	fitted();
	assert_int_equal(model.points, 4);
	assert_int_equal(scaling_predict(&model, (double[]){1, 2, 3}, 3, &(struct estimate){0}, NULL), -1);
}

/* The same number twice is one input, as long as it stays the same. */
static void test_ties(void **state)
{
	(void)state;
	n_runs = 0;
	for (int n = 100; n <= 300; n += 100)
		run_add(0.1 * n, false, "%d,%d", n, 2 * n);
	fitted();
	near(said(150, 300).mean_s, 15, 0.01);
	not_said(150, 200, "nodes always was 2 times ranks");
}

/* Cut short beyond what the model says it takes at most: the model is wrong, until three whole runs have come after it. */
static void test_cut_short(void **state)
{
	(void)state;
	n_runs = 0;
	run_add(90, true, "1,200");
	for (int n = 100; n <= 400; n += 100)
		run_add(0.1 * n, false, "1,%d", n);
	not_fitted("a run was ended after 90 s");
	runs[0].actual_s = 15; /* within it */
	fitted();
	runs[0] = runs[4];
	runs[4] = (struct param_family_run){"k", "1,200", 90, true};
	fitted();
}

/* More inputs, more runs and greater numbers than are kept. */
static void test_bounds(void **state)
{
	char text[SCALING_TEXT_MAX];
	struct scaling_model back;

	(void)state;
	srand48(5);
	n_runs = 0;
	for (size_t i = 0; i < SCALING_RUNS_MAX + 8; i++)
		run_add(1e5 * (1 + 0.01 * drand48()), false, "%d,%.9g,%.9g,%.9g,%.9g,%.9g", 1 + (int)i % 7, 1e9 * drand48(), 1e-9 * drand48(),
			drand48(), 1e300 * drand48(), -5 * drand48());
	fitted();
	assert_int_equal(model.points, SCALING_POINTS_MAX);
	scaling_format(&model, text, sizeof(text));
	assert_true(text[0]);
	assert_int_equal(scaling_parse(text, &back, NULL), 0);
}

/* ---- text ---- */

static void test_text(void **state)
{
	char text[SCALING_TEXT_MAX], again[SCALING_TEXT_MAX], small[40], words[128];
	struct scaling_model back;

	(void)state;
	n_runs = 0;
	for (int p = 1; p <= 8; p *= 2)
		for (int n = 100; n <= 300; n += 100)
			run_add((2 + 1e-3 * n * n / p) * (1 + 0.01 * drand48()), false, "%d,%d", p, n);
	fitted();
	scaling_format(&model, text, sizeof(text));
	assert_true(strlen(text) > 20);
	assert_int_equal(scaling_parse(text, &back, NULL), 0);
	scaling_format(&back, again, sizeof(again));
	assert_string_equal(text, again);
	for (int p = 1; p <= 6; p++) {
		struct estimate a = said(p, 222), b;

		assert_int_equal(scaling_predict(&back, (double[]){p, 222}, 2, &b, NULL), 0);
		near(b.mean_s, a.mean_s, 1e-4);
		near(b.hi_s, a.hi_s, 1e-4);
	}
	scaling_format(&model, small, sizeof(small));
	assert_string_equal(small, "");
	/* a text that ends anywhere is none, but for digits of the last number */
	for (size_t i = 0; text[i]; i++) {
		memcpy(again, text, i);
		again[i] = '\0';
		if (scaling_parse(again, &back, NULL) == 0)
			assert_true(strchr("0123456789.e-+*^l", text[i]) != NULL);
	}
	assert_int_equal(scaling_parse("law1 4 3 2|1:1,1:9||1/0.01/2.5*1^2l*0^-1+3", &back, NULL), 0);
	assert_string_equal(scaling_words(&back, words, sizeof(words)), "2.5 s * nodes^2 * log2(nodes) / ranks + 3 s");
}

static void test_bad_text(void **state)
{
	static const char *const bad[] = {
		"", "law1", "law2 4 3 1|1:9||1/0/2", "law1 4 3 0|||1/0/2", "law1 3 4 1|1:9||1/0/2", "law1 4 2 1|1:9||1/0/2",
		"law1 4 3 65|1:9||1/0/2", "law1 4 3 1|9:1||1/0/2", "law1 4 3 1|1:9||0.5/0/2", "law1 4 3 1|1:9||1/0/-2",
		"law1 4 3 1|1:9||1/0/2*1^1", "law1 4 3 1|1:9||1/0/2*0^7", "law1 4 3 1|1:9||1/0/2*0^1*0^1*0^1*0^1",
		"law1 4 3 1|1:9||1/0/1+1+1+1+1", "law1 4 3 1|1:9||1/0/nan", "law1 4 3 1|1:9||1/0/inf", "law1 4 3 1|1:9||1/0/0x2",
		"law1 4 3 1|1:9||1/0/ 2", "law1 4 3 1|1:9||1/0/2 ", "law1 4 3 1|1:9|1=2*0|1/0/2", "law1 4 3 1|1:9||", "law1 4 3 1|1:9||1/0/1e999",
	};
	struct scaling_model l;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (scaling_parse(bad[i], &l, NULL) == 0)
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(scaling_parse("law1 4 3 1|1:9||1/0/2", &l, NULL), 0);
}

/* ---- the daemon ---- */

static void run_with(uint32_t id, const char *end, double elapsed_s, unsigned ranks, unsigned number)
{
	struct cluster_job *j;
	struct job_comment c;

	w->n = 0;
	j = job_add(id, ACT_OBSERVE);
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	snprintf(c.key, sizeof(c.key), "%032x", ranks * 65536 + number);
	snprintf(c.family, sizeof(c.family), "%032x", ranks); /* another layout is another family */
	strcpy(c.kin, FAMILY);
	snprintf(c.vars, sizeof(c.vars), "%u,1,1,0,%u", ranks, number);
	assert_true(comment_format(&c, w->comments[0], COMMENT_TEXT_MAX) > 0);
	job_play(j, end, elapsed_s);
}

static bool model_of(const char *candidate, struct store_model *out)
{
	static struct store_model list[STORE_ESTIMATES_MAX];
	struct errbuf e;
	int n = store_model_lookup(w->store, FAMILY, list, STORE_ESTIMATES_MAX, &e);

	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].candidate, candidate)) {
			*out = list[i];
			return true;
		}
	return false;
}

static void test_daemon(void **state)
{
	struct errbuf e = {""};
	struct store_model m;
	struct estimate est;
	uint32_t id = 1;
	double scale;

	(void)state;
	run_with(id++, "COMPLETED", 100, 2, 1000);
	assert_false(model_of("fast", &m)); /* one input alone is no family */
	run_with(id++, "COMPLETED", 200, 2, 2000);
	assert_true(model_of("fast", &m));
	assert_string_equal(m.law, "");
	assert_non_null(strstr(m.reason, "runs of 2 different inputs: 3 are needed"));
	run_with(id++, "FAILED", 5, 2, 3000);
	run_with(id++, "COMPLETED", 300, 2, 3000);
	assert_true(model_of("fast", &m));
	assert_string_equal(m.reason, "");
	assert_int_equal(m.runs, 3);
	assert_int_equal(scaling_row_predict(&m, (double[]){2, 1, 1, 0, 2500}, 5, &est, &scale, &e), 0);
	near(est.mean_s, 250, 0.02);
	assert_int_equal(scaling_row_predict(&m, (double[]){4, 1, 1, 0, 2500}, 5, &est, &scale, &e), -1);
	assert_non_null(strstr(e.text, "ranks was always 2, here it is 4"));
	/* what ran on other numbers of ranks counts too */
	for (unsigned ranks = 4; ranks <= 8; ranks *= 2)
		for (unsigned n = 1000; n <= 3000; n += 1000)
			run_with(id++, "COMPLETED", 0.2 * n / ranks, ranks, n);
	assert_true(model_of("fast", &m));
	assert_int_equal(scaling_row_predict(&m, (double[]){6, 1, 1, 0, 1500}, 5, &est, &scale, &e), 0);
	near(est.mean_s, 50, 0.05);
	/* one that was forgotten takes no part any more */
	assert_true(store_key_forget(w->store, "00000000000000000000000000020bb8", getuid(), w->now, &e) >= 0);
	assert_false(model_of("fast", &m));
	run_with(id, "COMPLETED", 50, 4, 1000);
	assert_true(model_of("fast", &m));
	assert_int_equal(m.points, 8);
}

/* What the skeletons of four programs gave on another candidate is a model there, until three have run there. */
static void test_elsewhere(void **state)
{
	struct store_program p = {.uid = getuid(), .state = PROGRAM_READY, .source_job = 1};
	struct errbuf e = {""};
	struct store_model m;
	struct estimate est;
	double scale;

	(void)state;
	for (unsigned i = 1; i <= 4; i++) {
		struct store_estimate s = {.candidate = "slow:big", .e = {250.0 * i, 240.0 * i, 260.0 * i, ESTIMATE_SKELETON, 0}};

		run_with(i, "COMPLETED", 100 * i, 2, 1000 * i);
		snprintf(p.key, sizeof(p.key), "%032x", 2 * 65536 + 1000 * i);
		assert_int_equal(store_program_put(w->store, &p, &e), 0);
		assert_int_equal(store_estimate_put(w->store, p.key, &s, &e), 0);
	}
	assert_false(model_of("slow:big", &m));
	snprintf(p.key, sizeof(p.key), "%032x", 2 * 65536 + 1000);
	assert_int_equal(scaling_follow_probed(&w->env, &p, w->now, &e), 0);
	assert_true(model_of("slow:big", &m));
	assert_non_null(strstr(m.reason, "from what the skeletons of runs elsewhere gave"));
	assert_int_equal(scaling_row_predict(&m, (double[]){2, 1, 1, 0, 2500}, 5, &est, &scale, &e), 0);
	near(est.mean_s, 625, 0.02);
	assert_true(est.hi_s > 625 * 1.04 && est.lo_s < 625 * 0.96); /* as unsure as they are */
	assert_true(model_of("fast", &m));
	assert_string_equal(m.reason, "");
	assert_int_equal(scaling_row_predict(&m, (double[]){2, 1, 1, 0, 2500}, 5, &est, &scale, &e), 0);
	near(est.mean_s, 250, 0.02);
	/* another job is not the program's: nothing is made of it */
	snprintf(p.key, sizeof(p.key), "%032x", 77);
	p.source_job = 2;
	assert_int_equal(scaling_follow_probed(&w->env, &p, w->now, &e), 0);
}

/* Looks while nothing can be written to any file, with the store opened anew after each, as the daemon does it; why: what was said
 * last. Returns how often the daemon would log it. */
static unsigned looks_on_a_full_disk(unsigned n, struct errbuf *why)
{
	struct cluster_snapshot snap = {w->jobs, w->n, w->now};
	struct log_gate gate = {0};
	struct rlimit was, none;
	unsigned told = 0, failed = 0;

	comments_read();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (unsigned i = 0; i < n; i++) {
		if (!w->store && store_open(w->store_file, STORE_WRITE | STORE_WAIT, &w->store, why) < 0) {
			told += log_gate_pass(&gate, why->text, w->now, 3600);
			failed++;
			continue;
		}
		w->env.store = w->store;
		failed += follow_poll(&w->env, &w->memory, &snap, w->now, why) < 0;
		told += log_gate_pass(&gate, why->text, w->now, 3600);
		store_rollback(w->store);
		store_close(w->store);
		w->store = NULL;
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(store_open(w->store_file, STORE_WRITE | STORE_WAIT, &w->store, why), 0);
	w->env.store = w->store;
	assert_int_equal(failed, n);
	return told;
}

/* No room while a model is written: the old one stays, the daemon says each fault once, and makes the new one when there is room. */
static void test_no_room(void **state)
{
	struct store_model before, m;
	struct errbuf why = {""};
	struct store_run run;
	struct cluster_job *j;
	struct job_comment c;

	(void)state;
	for (unsigned i = 1; i <= 4; i++)
		run_with(i, "COMPLETED", 100 * i, 2, 1000 * i);
	assert_true(model_of("fast", &before));
	assert_int_equal(before.runs, 4);
	w->n = 0;
	j = job_add(5, ACT_OBSERVE);
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	snprintf(c.key, sizeof(c.key), "%032x", 2 * 65536 + 5000);
	snprintf(c.family, sizeof(c.family), "%032x", 2);
	strcpy(c.kin, FAMILY);
	strcpy(c.vars, "2,1,1,0,5000");
	assert_true(comment_format(&c, w->comments[0], COMMENT_TEXT_MAX) > 0);
	look();
	job_run(j);
	look();
	job_end(j, "COMPLETED", 500);
	assert_int_equal(looks_on_a_full_disk(6, &why), 2); /* that it cannot commit, then that it cannot be opened, once each */
	assert_non_null(strstr(why.text, w->store_file));
	assert_true(model_of("fast", &m));
	assert_memory_equal(&m, &before, sizeof(m));
	assert_int_equal(store_run_get(w->store, 5, &run, &why), 1);
	assert_string_equal(run.end_state, ""); /* not half of it either */
	look();
	assert_true(model_of("fast", &m));
	assert_int_equal(m.runs, 5);
	assert_string_equal(m.reason, "");
	assert_int_equal(store_check(w->store, &why), 0);
}

/* ---- the plugin ---- */

static struct store_model known_model;
static bool met, estimated; /* the program is known; with an estimate */

static int lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)s;
	(void)key;
	(void)err;
	if (!met)
		return 0;
	memset(out, 0, sizeof(*out));
	out->program = (struct store_program){.uid = 1000, .state = PROGRAM_FAILED, .reason = "no traces: the job made no MPI calls"};
	if (estimated) {
		out->n_estimates = 1;
		out->estimates[0] = (struct store_estimate){.candidate = "fast", .e = {180, 170, 190, ESTIMATE_HISTORY, 9}};
	}
	return 1;
}

/* Tasks 1 to 9, each of 20 s times its index. */
static int array_lookup(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err)
{
	(void)s;
	(void)key;
	(void)max;
	(void)err;
	for (uint32_t i = 0; estimated && i < 18; i++)
		out[i] = (struct store_array_run){"fast", {1 + i / 2, 20.0 * (1 + i / 2), false}};
	*all = true;
	return estimated ? 18 : 0;
}

static int model_lookup(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err)
{
	(void)s;
	(void)max;
	(void)err;
	assert_true(identity_key_valid(kin));
	out[0] = known_model;
	return 1;
}

static void submit(const char *partition, const char *number, const char *array, struct decision *out)
{
	static struct precedent_conf conf;
	const struct decide_reads reads = {.lookup = lookup, .model = model_lookup, .array_runs = array_lookup};
	struct decide_source src = {.reads = &reads, .heartbeat = START};
	char script[128];
	struct decide_input in = {.uid = 1000, .script = script, .work_dir = "/home/u", .partition = partition, .layout = {.tasks = 2},
				  .time_limit_min = 60, .time_min_min = DURATION_UNSET, .now = START, .array_inx = array};
	struct errbuf err = {""};

	snprintf(script, sizeof(script), "#!/bin/sh\nsrun ./app -n %s\n", number);
	conf.mode = MODE_LIMIT;
	conf.limit_guard = GUARD_RAISE;
	conf.margin = 0.15;
	conf.min_limit_min = 1;
	conf.heartbeat_timeout_s = 60;
	conf.n_candidates = 1;
	strcpy(conf.candidates[0].name, "fast");
	strcpy(conf.candidates[0].partition, "fast");
	if (decide(&in, &conf, &src, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_submission(void **state)
{
	struct decision out;
	struct job_comment c;

	(void)state;
	known_model = (struct store_model){.candidate = "fast", .runs = 12, .points = 6, .scale = 1,
					   .law = "law1 12 6 5|2:2,1:1,1:1,0:0,1000:3000||1/0.01/0.1*4^1"};
	submit("fast", "2500", NULL, &out);
	assert_int_equal(out.act, ACT_PREDICT);
	assert_false(out.trace);
	assert_non_null(strstr(out.message, "00:04:10 on fast (00:0"));
	assert_non_null(strstr(out.message, ", from a model over inputs of 12 runs)"));
	assert_true((out.wish.limit_min != DURATION_UNSET) && out.wish.limit_min < 7);
	c = out.comment;
	assert_true(c.pred_s == 250 && c.lo_s < 250 && c.hi_s > 250);
	/* not known: it is traced, and the reason is said */
	submit("fast", "9000", NULL, &out);
	assert_int_equal(out.act, ACT_TRACE);
	assert_non_null(strstr(out.message, "; its model over inputs does not know: n1 9000 is too far from the 1000 to 3000 that ran "
					    "(500 to 4000 is near enough); --predict=off"));
	/* elsewhere it says nothing, and of arrays it knows no index */
	submit("slow", "2500", NULL, &out);
	assert_int_equal(out.act, ACT_TRACE);
	assert_null(strstr(out.message, "does not know"));
	submit("fast", "2500", "1-9", &out);
	assert_int_equal(out.act, ACT_TRACE);
	known_model.scale = 9; /* earlier ones were far off */
	submit("fast", "2500", NULL, &out);
	assert_int_equal(out.act, ACT_TRACE);
	known_model.scale = 1;
	strcpy(known_model.law, "rubbish");
	submit("fast", "2500", NULL, &out);
	assert_int_equal(out.act, ACT_TRACE);
}

/* A program that is known, and of which nothing can be said yet, as those without MPI after their first run. */
static void test_met(void **state)
{
	struct decision out;

	(void)state;
	met = true;
	known_model = (struct store_model){.candidate = "fast", .runs = 3, .points = 3,
					   .law = "law1 3 3 5|2:2,1:1,1:1,0:0,1000:3000||1/0.01/0.1*4^1"};
	submit("fast", "2500", NULL, &out);
	assert_int_equal(out.act, ACT_PREDICT);
	assert_non_null(strstr(out.message, "from a model over inputs of 3 runs"));
	submit("fast", "9000", NULL, &out);
	assert_int_equal(out.act, ACT_OBSERVE);
	met = false;
}

/* The index is an input like any other, and an array is as long as its longest task. */
static void test_array(void **state)
{
	static const struct {
		const char *text;
		uint32_t first, last;
	} good[] = {{"7", 7, 7}, {"0-15", 0, 15}, {"0-15:4%2", 0, 12}, {"9,3,5-7%1", 3, 9}};
	static const char *const bad[] = {"", "x", "1-", "1,", "1;2", "-3", "[1-3]", "99999999999999999999999"};
	struct decision out;
	uint32_t first, last;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(decide_array_span(good[i].text, &first, &last));
		assert_int_equal(first, good[i].first);
		assert_int_equal(last, good[i].last);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (decide_array_span(bad[i], &first, &last))
			fail_msg("'%s' was taken", bad[i]);
	known_model = (struct store_model){.candidate = "fast", .runs = 9, .points = 9,
					   .law = "law1 9 9 6a|2:2,1:1,1:1,0:0,100:100,1:9||1/0.01/20*5^1"};
	submit("fast", "100", "1-9", &out);
	assert_int_equal(out.act, ACT_PREDICT);
	assert_non_null(strstr(out.message, "00:03:00 on fast"));
	submit("fast", "100", "2-4", &out);
	assert_non_null(strstr(out.message, "00:01:20 on fast"));
	submit("fast", "100", "1-40", &out);
	assert_non_null(strstr(out.message, "array index 40 is too far from the 1 to 9 that ran"));
}

/* Of a known array whose index matters: indexes that have not run are the model's, where it knows. */
static void test_array_known(void **state)
{
	struct decision out;

	(void)state;
	met = estimated = true;
	known_model = (struct store_model){.candidate = "fast", .runs = 18, .points = 9,
					   .law = "law1 18 9 6a|2:2,1:1,1:1,0:0,100:100,1:9||1/0.01/20*5^1"};
	submit("fast", "100", "1-9", &out);
	assert_non_null(strstr(out.message, "00:03:00 on fast (00:02:50-00:03:10, from past runs)"));
	submit("fast", "100", "1-12", &out);
	assert_int_equal(out.act, ACT_PREDICT);
	assert_non_null(strstr(out.message, "00:04:00 on fast"));
	assert_non_null(strstr(out.message, "from a model over inputs of 18 runs"));
	submit("fast", "100", "1-40", &out);
	assert_int_equal(out.act, ACT_OBSERVE);
	assert_non_null(strstr(out.message, "the array's index matters"));
	assert_non_null(strstr(out.message, "index 10 has not run yet; its model over inputs does not know: array index 40 is too far"));
	met = estimated = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_runs), cmocka_unit_test(test_laws),	     cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_outlier_and_seed), cmocka_unit_test(test_repeats), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_ties),	   cmocka_unit_test(test_cut_short), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_kinks),
		cmocka_unit_test(test_text),	   cmocka_unit_test(test_bad_text),  T(test_daemon), T(test_elsewhere),
		T(test_no_room),
		cmocka_unit_test(test_submission), cmocka_unit_test(test_met),	     cmocka_unit_test(test_array), cmocka_unit_test(test_array_known),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
