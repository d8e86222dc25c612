/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From probe results and past runs to predictions: values by hand, and everything that must be refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/estimate.h"
#include "tests/unit/normal.h"

static struct result record(const char *candidate, double skel_s, double rel, double startup_s)
{
	struct result r = {
	    .job_id = 7, .ok = true, .has_startup = true, .startup_s = startup_s, .traces_n = 1};

	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	strcpy(r.hash_hex, "0123456789abcdef");
	r.traces[0] = (struct result_trace){.mpi_s = 100,
					    .skel_s = skel_s,
					    .lo_s = skel_s * (1 - rel),
					    .hi_s = skel_s * (1 + rel),
					    .ran_s = 5,
					    .events = 1000,
					    .confidence = 1};
	return r;
}

static void near(double a, double b, double rel)
{
	if (fabs(a - b) > rel * fabs(b))
		fail_msg("%g instead of %g", a, b);
}

static void refused(const struct result *s, const struct result *t, double elapsed_s, const char *says)
{
	struct estimate e;
	struct errbuf err = {""};

	if (estimate_from_probes(s, t, elapsed_s, &e, &err) != -1)
		fail_msg("accepted instead of '%s'", says);
	if (!strstr(err.text, says))
		fail_msg("'%s' instead of '%s'", err.text, says);
}

static void test_ratio(void **state)
{
	struct result s = record("fast", 100, 0.03, 1), t = record("slow", 250, 0.04, 3);
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(estimate_from_probes(&s, &t, 110, &e, &err), 0);
	/* 100 * 250/100 + (110 - 100) + (3 - 1) */
	near(e.mean_s, 262, 1e-9);
	near(e.hi_s - e.mean_s, 250 * 0.05, 1e-9);
	near(e.mean_s - e.lo_s, 250 * 0.05, 1e-9);
	assert_int_equal(e.kind, ESTIMATE_SKELETON);
	/* never narrower than two percent */
	s = record("fast", 100, 0, 1);
	t = record("slow", 250, 0, 1);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.hi_s - e.mean_s, 0.02 * 250, 1e-9);
	/* a launch that takes less there cannot make the rest negative */
	s = record("fast", 100, 0.03, 50);
	assert_int_equal(estimate_from_probes(&s, &t, 110, &e, &err), 0);
	near(e.mean_s, 250, 1e-9);
}

static void computes(struct result *r, double traced_s, double skel_s)
{
	r->traces[0].compute = (struct result_compute){true, traced_s, skel_s};
}

/* Where it is known what is computation, only that goes by a factor: what MPI takes more is added. */
static void test_computation_apart(void **state)
{
	struct result s = record("fast", 120, 0.03, 0), t = record("slow", 1100, 0.03, 0);
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	/* The skeleton computes 80 s where the program computes 60; both then wait 1000 s for the network. */
	computes(&s, 60, 80);
	computes(&t, 60, 80);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.mean_s, 60 + 40 + (1020 - 40), 1e-9);
	/* Twice as slow a processor, MPI as before. */
	t = record("slow", 200, 0.03, 0);
	computes(&t, 60, 160);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.mean_s, 120 + 40, 1e-9);
	/* A quicker network: a factor, which leaves something. */
	t = record("slow", 90, 0.03, 0);
	computes(&t, 60, 80);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.mean_s, 60 + 40 * 10.0 / 40, 1e-9);
	/* Nothing but computation at home. */
	s = record("fast", 120, 0.03, 0);
	t = record("slow", 130, 0.03, 0);
	computes(&s, 100, 120);
	computes(&t, 100, 120);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.mean_s, 100 + 10, 1e-9);
	/* One of them does not say: all by the one ratio. */
	t.traces[0].compute.present = false;
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	near(e.mean_s, 100 * 130 / 120.0, 1e-9);
}

static void test_source(void **state)
{
	struct result s = record("fast", 104, 0.06, 1), again = s;
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(estimate_from_probes(&s, &s, 110, &e, &err), 0);
	near(e.mean_s, 110, 1e-9);
	near(e.hi_s - e.mean_s, 6, 1e-9);
	assert_int_equal(e.kind, ESTIMATE_SOURCE);
	assert_int_equal(estimate_from_probes(&s, &again, 110, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_SOURCE);
	/* a job that counts whole seconds may be a little shorter than its trace */
	assert_int_equal(estimate_from_probes(&s, &s, 99.5, &e, &err), 0);
	near(e.mean_s, 99.5, 1e-9);
}

static void test_several_traces(void **state)
{
	struct result s = record("fast", 100, 0.03, 1), t = record("slow", 200, 0.04, 2);
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	s.traces_n = t.traces_n = 2;
	s.traces[1] =
	    (struct result_trace){.mpi_s = 50, .skel_s = 50, .lo_s = 50, .hi_s = 50, .confidence = 1};
	t.traces[1] =
	    (struct result_trace){.mpi_s = 50, .skel_s = 60, .lo_s = 60, .hi_s = 60, .confidence = 1};
	assert_int_equal(estimate_from_probes(&s, &t, 160, &e, &err), 0);
	/* 200 + 60 + 10 + 2 * (2 - 1); half widths 5 % of 200 and nothing */
	near(e.mean_s, 272, 1e-9);
	near(e.hi_s - e.mean_s, 10, 1e-9);
}

static void test_doubt(void **state)
{
	struct result s = record("fast", 100, 0.03, 1), t = record("slow", 200, 0.04, 1);
	struct estimate sure, unsure;
	struct errbuf err = {""};

	(void)state;
	s.kernels_n = t.kernels_n = 2;
	s.kernels[0] = (struct result_kernel){"fma", 1};
	s.kernels[1] = (struct result_kernel){"stream", 1};
	t.kernels[0] = (struct result_kernel){"stream", 3};
	t.kernels[1] = (struct result_kernel){"fma", 1};
	assert_int_equal(estimate_from_probes(&s, &t, 100, &sure, &err), 0);
	/* ratios 1 and 3: spread one half, of which 35 % count however well the mix is known ... */
	near(sure.hi_s - sure.mean_s, 200 * hypot(0.05, 0.175), 1e-9);
	t.traces[0].confidence = 0.8;
	assert_int_equal(estimate_from_probes(&s, &t, 100, &unsure, &err), 0);
	near(unsure.hi_s - unsure.mean_s, sure.hi_s - sure.mean_s, 1e-9);
	t.traces[0].confidence = 0.5;
	assert_int_equal(estimate_from_probes(&s, &t, 100, &unsure, &err), 0);
	/* ... and half of it, when half is not known */
	near(unsure.hi_s - unsure.mean_s, 200 * hypot(0.05, 0.25), 1e-9);
	/* the mix is of computation: half of the 200 s here */
	t.traces[0].confidence = 1;
	computes(&s, 50, 50);
	computes(&t, 50, 100);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &unsure, &err), 0);
	near(unsure.mean_s, 200, 1e-9);
	near(unsure.hi_s - unsure.mean_s, 200 * hypot(0.05, 0.0875), 1e-9);
	s.traces[0].compute.present = t.traces[0].compute.present = false;
	/* a processor that is slower by one factor for all is as good as known */
	t.kernels[0].ns_per_unit = 2;
	t.kernels[1].ns_per_unit = 2;
	t.traces[0].confidence = 1;
	assert_int_equal(estimate_from_probes(&s, &t, 100, &sure, &err), 0);
	near(sure.hi_s - sure.mean_s, 10, 1e-9);
	/* what lies outside MPI may scale with the processor: upwards only, by the mean ratio of 2 */
	assert_int_equal(estimate_from_probes(&s, &t, 110, &unsure, &err), 0);
	near(unsure.mean_s, 210, 1e-9);
	near(unsure.hi_s - unsure.mean_s, 10 + 10, 1e-9);
	near(unsure.mean_s - unsure.lo_s, 10, 1e-9);
	/* a skeleton that is off at home is trusted less elsewhere */
	s = record("fast", 120, 0, 1);
	t = record("slow", 240, 0, 1);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &unsure, &err), 0);
	near(unsure.hi_s - unsure.mean_s, 200 * 0.1, 1e-9);
}

static void test_refused(void **state)
{
	struct result s = record("fast", 100, 0.03, 1), t = record("slow", 250, 0.04, 3), bad;

	(void)state;
	bad = t;
	bad.ok = false;
	strcpy(bad.reason, "no mpicc on n3");
	refused(&s, &bad, 110, "no mpicc on n3");
	bad = t;
	bad.traces_n = 0;
	refused(&s, &bad, 110, "has 0 traces");
	bad = t;
	bad.traces_n = 2;
	bad.traces[1] = bad.traces[0];
	refused(&s, &bad, 110, "saw 1 and 2 traces");
	bad = t;
	strcpy(bad.hash_hex, "0123456789abcdee");
	refused(&s, &bad, 110, "different skeletons");
	bad = t;
	bad.traces[0].mpi_s = 101;
	refused(&s, &bad, 110, "different times from trace 0");
	bad = s;
	bad.traces[0].skel_s = 0;
	refused(&bad, &t, 110, "impossible times");
	bad = t;
	bad.traces[0].hi_s = 10;
	refused(&s, &bad, 110, "impossible times");
	bad = t;
	bad.traces[0].confidence = NAN;
	refused(&s, &bad, 110, "impossible times");
	bad = t;
	bad.traces[0].lo_s = NAN;
	refused(&s, &bad, 110, "impossible times");
	refused(&s, &t, 0, "elapsed time is 0 s");
	refused(&s, &t, NAN, "elapsed time");
	refused(&s, &t, 60, "side by side");
	bad = t;
	bad.traces[0].lo_s = 100;
	bad.traces[0].hi_s = 400;
	refused(&s, &bad, 110, "too uncertain");
}

static void test_check(void **state)
{
	static const struct estimate bad[] = {
	    {0, 0, 0, ESTIMATE_SOURCE, 0},   {-1, -2, 0, ESTIMATE_SOURCE, 0},
	    {NAN, 1, 2, ESTIMATE_SOURCE, 0}, {10, 11, 12, ESTIMATE_SOURCE, 0},
	    {10, 8, 9, ESTIMATE_SOURCE, 0},  {10, 0, 11, ESTIMATE_SOURCE, 0},
	    {10, 7, 15, ESTIMATE_SOURCE, 0}, {10, 9, INFINITY, ESTIMATE_SOURCE, 0},
	};
	struct estimate good = {10, 7, 14, ESTIMATE_SOURCE, 0};
	struct errbuf err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(estimate_check(&bad[i], &err), -1);
		assert_true(err.text[0]);
	}
	assert_int_equal(estimate_check(&good, NULL), 0);
}

static void test_history(void **state)
{
	struct estimate_past one[] = {{100, 0, false}}, past[] = {{100, 0, false}, {102, 0, false}, {98, 0, false}, {100, 0, false}, {101, 0, false}};
	struct estimate_past wild[] = {{100, 0, false}, {300, 0, false}, {90, 0, false}}, bad[] = {{100, 0, false}, {-1, 0, false}};
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(estimate_from_history(past, 0, &e, &err), -1);
	assert_non_null(strstr(err.text, "two are needed"));
	assert_int_equal(estimate_from_history(one, 1, &e, &err), -1);
	assert_int_equal(estimate_from_history(bad, 2, &e, &err), -1);
	assert_int_equal(estimate_from_history(wild, 3, &e, &err), -1);
	assert_non_null(strstr(err.text, "too uncertain"));
	assert_int_equal(estimate_from_history(past, 5, &e, &err), 0);
	near(e.mean_s, 100, 0.02);
	assert_true(e.lo_s <= 98 && e.hi_s >= 102 && e.hi_s < 108);
	assert_int_equal(e.kind, ESTIMATE_HISTORY);
	assert_int_equal(e.n, 5);
}

/* Share of next runs within the interval that n runs of this relative deviation give; withheld counts as outside. */
static double covered(double sigma, size_t n)
{
	struct estimate_past past[8];
	struct estimate e;
	struct errbuf err;
	int inside = 0;

	state64 = 42 + n;
	for (int round = 0; round < 4000; round++) {
		double next = 100 * (1 + sigma * normal());

		for (size_t i = 0; i < n; i++)
			past[i] = (struct estimate_past){100 * (1 + sigma * normal()), 0, false};
		if (estimate_from_history(past, n, &e, &err) == 0)
			inside += next >= e.lo_s && next <= e.hi_s;
	}
	return inside / 4000.0;
}

static void test_history_covers(void **state)
{
	struct estimate_past apart[] = {{110, 0, false}, {90, 0, false}};
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	for (size_t n = 2; n <= 8; n += 2) {
		assert_true(covered(0.02, n) > 0.95);
		assert_true(covered(0.05, n) > 0.85);
		assert_true(covered(0.10, n) > (n == 2 ? 0.65 : 0.75));
	}
	/* two runs on a machine with much noise are no reason to say nothing */
	assert_int_equal(estimate_from_history(apart, 2, &e, &err), 0);
	assert_true(e.lo_s <= 90 && e.hi_s >= 110);
}

/* Runs that differ by a fifth are told, and their intervals hold. */
static void test_history_told(void **state)
{
	struct estimate_past past[8];
	struct estimate e;
	struct errbuf err;

	(void)state;
	for (size_t n = ESTIMATE_RUNS_LEAST; n <= 8; n++) {
		int told = 0, inside = 0;

		state64 = 7 + n;
		for (int round = 0; round < 4000; round++) {
			double next = 100 * exp(0.2 * normal());

			for (size_t i = 0; i < n; i++)
				past[i] = (struct estimate_past){100 * exp(0.2 * normal()), 0, false};
			if (estimate_from_history(past, n, &e, &err) < 0)
				continue;
			told++;
			inside += next >= e.lo_s && next <= e.hi_s;
		}
		assert_true(told > 0.9 * 4000);
		assert_true(inside > (n == 3 ? 0.75 : 0.8) * told);
	}
}

static void test_history_forgets(void **state)
{
	struct estimate_past past[ESTIMATE_HISTORY_MAX + 8];
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	/* The program became twice as quick ten runs ago: what was before hardly counts. */
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		past[i] = (struct estimate_past){i < 20 ? 100 : 200, 0, false};
	assert_int_equal(estimate_from_history(past, sizeof(past) / sizeof(past[0]), &e, &err), 0);
	near(e.mean_s, 100, 0.01);
	assert_int_equal(e.n, ESTIMATE_HISTORY_MAX);
}

static void test_blend(void **state)
{
	struct estimate base = {200, 190, 210, ESTIMATE_SKELETON, 0}, e;
	struct estimate_past one[] = {{220, 200, false}};
	struct estimate_past many[] = {{220, 200, false}, {221, 200, false}, {219, 200, false}, {220, 200, false}};
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(estimate_blend(&base, NULL, 0, &e, &err), 0);
	assert_true(e.mean_s == 200 && e.kind == ESTIMATE_SKELETON);
	/* one run: the middle, and the interval covers what was seen */
	assert_int_equal(estimate_blend(&base, one, 1, &e, &err), 0);
	near(e.mean_s, 210, 1e-9);
	assert_true(e.hi_s >= 220);
	assert_int_equal(e.kind, ESTIMATE_BLEND);
	/* many that agree: they win, and the interval shrinks */
	assert_int_equal(estimate_blend(&base, many, 4, &e, &err), 0);
	near(e.mean_s, 220, 0.005);
	assert_true(e.hi_s - e.lo_s < 30 && e.hi_s >= 221 && e.lo_s <= 219);
	/* without a base, history alone; with neither, nothing */
	assert_int_equal(estimate_blend(NULL, many, 4, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_HISTORY);
	assert_int_equal(estimate_blend(NULL, NULL, 0, &e, &err), -1);
	base.mean_s = 0;
	assert_int_equal(estimate_blend(&base, many, 4, &e, &err), -1);
}

static void test_blend_far_off(void **state)
{
	struct estimate base = {200, 190, 210, ESTIMATE_SKELETON, 0}, e;
	struct estimate_past far[] = {{900, 200, false}};
	struct errbuf err = {""};

	(void)state;
	/* prediction and reality have nothing to do with each other: it does not know */
	assert_int_equal(estimate_blend(&base, far, 1, &e, &err), -1);
	assert_non_null(strstr(err.text, "too uncertain"));
}

static void test_kinds(void **state)
{
	enum estimate_kind k;

	(void)state;
	for (int i = ESTIMATE_SOURCE; i <= ESTIMATE_BLEND; i++) {
		assert_int_equal(estimate_kind_parse(estimate_kind_name((enum estimate_kind)i), &k), 0);
		assert_int_equal(k, i);
	}
	assert_int_equal(estimate_kind_parse("guess", &k), -1);
	assert_int_equal(estimate_kind_parse(NULL, &k), -1);
}

/* A record of a program that no skeleton repeats. */
static struct result unskeleton(const char *candidate, double whole_s, double rel)
{
	struct result r = record(candidate, 0, 0, 1);

	strcpy(r.unskeleton, "CUDA");
	r.traces[0].ran_s = r.traces[0].confidence = 0;
	r.traces[0].partial = (struct result_partial){true, whole_s, whole_s * (1 - rel), whole_s * (1 + rel), 5, {0}};
	return r;
}

/* The program itself alone predicts: the traced run where it ran, its own seconds elsewhere. */
static void test_unskeleton(void **state)
{
	struct result s = unskeleton("fast", 100, 0.03), t = unskeleton("slow", 250, 0.04), with = record("slow", 250, 0.04, 1);
	struct estimate e;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(estimate_from_probes(&s, &s, 110, &e, &err), 0);
	near(e.mean_s, 110, 1e-9);
	near(e.hi_s - e.mean_s, 3, 1e-9);
	assert_int_equal(e.kind, ESTIMATE_SOURCE);
	assert_int_equal(estimate_from_probes(&s, &t, 110, &e, &err), 0);
	near(e.mean_s, 260, 1e-9);
	assert_int_equal(e.kind, ESTIMATE_PARTIAL);
	refused(&s, &with, 110, "no partial execution");
	refused(&with, &t, 110, "no partial execution");
	t.traces[0].partial.present = false;
	refused(&s, &t, 110, "impossible times");
	t.traces[0].partial.present = s.traces[0].partial.present = true;
	assert_int_equal(estimate_by_kind(&s, &t, 110, &e, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ratio), cmocka_unit_test(test_computation_apart),	   cmocka_unit_test(test_source),
	    cmocka_unit_test(test_several_traces), cmocka_unit_test(test_doubt),
	    cmocka_unit_test(test_refused),	   cmocka_unit_test(test_check),
	    cmocka_unit_test(test_history),	   cmocka_unit_test(test_history_covers), cmocka_unit_test(test_history_told),
	    cmocka_unit_test(test_history_forgets),
	    cmocka_unit_test(test_blend),	   cmocka_unit_test(test_blend_far_off),
	    cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_unskeleton),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
