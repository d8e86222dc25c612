/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interval of a prediction from two probes covers what a run on the target really takes: synthetic probes whose
 * skeleton is off by the same factor on both machines, with noise within a probe, which its own interval tells, and
 * noise from run to run, which a probe sees at three moments.
 */
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

#define DRAWS 4000

struct machine {
	double speed;  /* seconds of the program */
	double within; /* deviation of a probe that its own interval tells */
	double noise;  /* deviation from run to run */
};

static double deviation_of_three(void)
{
	double a = normal(), b = normal(), c = normal(), mean = (a + b + c) / 3;

	return sqrt(((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 2);
}

/* A probe of a program that the skeleton takes for `bias` of its time. */
static void probe(const struct machine *m, const char *candidate, double mpi_s, double bias, struct result *r)
{
	double slow = 1 + m->noise * normal(), t = m->speed * bias * slow * (1 + m->within * normal());

	memset(r, 0, sizeof *r);
	r->ok = r->has_class = r->has_startup = r->has_hash = r->has_noise = true;
	snprintf(r->candidate, sizeof r->candidate, "%s", candidate);
	snprintf(r->hash_hex, sizeof r->hash_hex, "0123456789abcdef");
	r->noise = m->noise * deviation_of_three();
	r->traces_n = 1;
	r->traces[0] = (struct result_trace){.mpi_s = mpi_s, .skel_s = t, .lo_s = t * (1 - 1.96 * m->within),
					     .hi_s = t * (1 + 1.96 * m->within), .ran_s = 5, .events = 1000, .confidence = 1};
}

/* Share of runs on the target inside the interval; those that are refused count apart. */
static double coverage(const struct machine *source, const struct machine *target, double bias, double *width,
		       int *refused)
{
	int covered = 0, given = 0;

	*width = 0;
	*refused = 0;
	for (int i = 0; i < DRAWS; i++) {
		double traced = source->speed * (1 + source->noise * normal());
		double actual = target->speed * (1 + target->noise * normal());
		struct result s, t;
		struct estimate e;
		struct errbuf err;

		probe(source, "a", traced, bias, &s);
		probe(target, "b", traced, bias, &t);
		if (estimate_from_probes(&s, &t, traced, &e, &err) != 0) {
			(*refused)++;
			continue;
		}
		given++;
		covered += actual >= e.lo_s && actual <= e.hi_s;
		*width += (e.hi_s - e.lo_s) / 2 / e.mean_s;
	}
	*width /= given > 0 ? given : 1;
	return given > 0 ? (double)covered / given : 0;
}

static void test_coverage(void **state)
{
	static const struct {
		const char *name;
		struct machine source, target;
		double bias;
	} row[] = {
		{"quiet", {100, 0.003, 0.003}, {150, 0.003, 0.003}, 1},
		{"windows vary", {100, 0.02, 0.003}, {150, 0.03, 0.003}, 1},
		{"noise 1 %", {100, 0.01, 0.01}, {50, 0.01, 0.01}, 1},
		{"noise 3 %", {100, 0.01, 0.03}, {200, 0.01, 0.03}, 1},
		{"noise 5 %", {100, 0.01, 0.05}, {200, 0.01, 0.05}, 1},
		{"noisy target", {100, 0.005, 0.003}, {200, 0.01, 0.05}, 1},
		{"noisy source", {100, 0.01, 0.05}, {200, 0.005, 0.003}, 1},
		{"off by 20 % on both", {100, 0.01, 0.01}, {200, 0.01, 0.01}, 0.8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		double width, share;
		int refused;

		state64 = i + 1;
		share = coverage(&row[i].source, &row[i].target, row[i].bias, &width, &refused);
		print_message("# %-20s coverage %5.1f %%, half-width %5.1f %%, refused %d of %d\n", row[i].name, 100 * share,
			      100 * width, refused, DRAWS);
		assert_true(share >= 0.90);
		assert_true(refused < DRAWS / 20);
	}
}

/* What both machines' skeletons are off by leaves the prediction where it was. */
static void test_common_bias_cancels(void **state)
{
	const struct machine a = {100, 0, 0}, b = {150, 0, 0};
	struct estimate e, off;
	struct result s, t;
	struct errbuf err;

	(void)state;
	probe(&a, "a", 100, 1, &s);
	probe(&b, "b", 100, 1, &t);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
	probe(&a, "a", 100, 0.7, &s);
	probe(&b, "b", 100, 0.7, &t);
	assert_int_equal(estimate_from_probes(&s, &t, 100, &off, &err), 0);
	assert_true(fabs(e.mean_s - 150) < 1e-9 && fabs(off.mean_s - 150) < 1e-9);
	assert_true(off.hi_s - off.lo_s > e.hi_s - e.lo_s); /* but it is trusted less */
}

/*
 * Partial execution scales what was traced by how much longer the same iterations took: where the program runs as it did when
 * it was traced it tells what was traced, and otherwise what the program would take at that moment, times what stopping
 * it costs at home and there. The oracle: the run to come, and the ratio of both probes, which takes the noise of the two runs at home with it.
 */
static double partial_errors(double noise, double at_home, double there, double *ratio_rms, double *covered)
{
	const struct machine source = {100, 0.01, noise}, target = {1500, 0.01, noise};
	double sq = 0, sq_ratio = 0;
	int given = 0, inside = 0;

	for (int i = 0; i < DRAWS; i++) {
		double traced = source.speed * exp(source.noise * normal()), actual = target.speed * exp(target.noise * normal());
		struct result s, t;
		struct estimate e;
		struct errbuf err;
		int rc;

		probe(&source, "a", traced, at_home, &s);
		probe(&target, "b", traced, there, &t);
		for (int k = 0; k < 2; k++) {
			struct result_trace *r = k ? &t.traces[0] : &s.traces[0];

			r->partial = (struct result_partial){true, r->skel_s, r->lo_s, r->hi_s, 2, {0}};
		}
		rc = estimate_from_partial(&s, &t, traced, &e, &err);
		assert_true(e.mean_s > 0 && e.kind == ESTIMATE_PARTIAL);
		sq += pow(log(e.mean_s / actual), 2);
		sq_ratio += pow(log(traced * t.traces[0].skel_s / s.traces[0].skel_s / actual), 2);
		given += rc == 0;
		inside += rc == 0 && actual >= e.lo_s && actual <= e.hi_s;
	}
	*ratio_rms = sqrt(sq_ratio / DRAWS);
	*covered = given ? (double)inside / given : 0;
	return sqrt(sq / DRAWS);
}

static void test_partial_speaks_for_itself(void **state)
{
	static const double noise[] = {0.01, 0.03, 0.06};

	(void)state;
	for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
		double ratio, covered, rms;

		state64 = i + 1;
		rms = partial_errors(noise[i], 1, 1, &ratio, &covered);
		print_message("# noise %.0f %%: off by %.1f %%, the ratio by %.1f %%, coverage %.1f %%\n", 100 * noise[i], 100 * rms,
			      100 * ratio, 100 * covered);
		assert_true(rms < 0.85 * ratio); /* two runs' noise instead of four's */
		assert_true(covered >= 0.90);
		/* a bad moment at home says nothing of elsewhere */
		rms = partial_errors(noise[i], 1.45, 1, &ratio, &covered);
		assert_true(rms < ratio / 2 && covered >= 0.90);
		/* what cannot be chance is corrected, for the most part */
		rms = partial_errors(noise[i], 4, 4, &ratio, &covered);
		assert_true(rms < log(4) / 3);
	}
}

/* Noise widens, also on the source itself, and never beyond what is bounded. */
static void test_noise_widens(void **state)
{
	const struct machine a = {100, 0.001, 0}, b = {150, 0.001, 0};
	double before = 0;

	(void)state;
	for (double noise = 0; noise < 10; noise = noise * 3 + 0.01) {
		struct estimate e, own;
		struct result s, t;
		struct errbuf err;

		probe(&a, "a", 100, 1, &s);
		probe(&b, "b", 100, 1, &t);
		s.noise = t.noise = noise;
		assert_int_equal(estimate_from_probes(&s, &t, 100, &e, &err), 0);
		assert_true(e.hi_s - e.lo_s >= before * 0.98);
		assert_true(e.hi_s <= 1.3 * e.mean_s);
		before = e.hi_s - e.lo_s;
		assert_int_equal(estimate_from_probes(&s, &s, 100, &own, &err), 0);
		assert_true((own.hi_s - own.lo_s) / own.mean_s <= (e.hi_s - e.lo_s) / e.mean_s + 1e-9);
	}
}

static void test_record_has_noise(void **state)
{
	const struct machine a = {100, 0.01, 0.01};
	struct result r, back;
	struct buf out = {0};
	struct errbuf err;

	(void)state;
	probe(&a, "a", 100, 1, &r);
	r.job_id = 7;
	snprintf(r.class_hex, sizeof r.class_hex, "0123456789abcdef");
	snprintf(r.class_text, sizeof r.class_text, "node");
	r.noise = 0.0125;
	assert_int_equal(result_format(&r, &out, &err), 0);
	assert_int_equal(result_parse((const char *)out.data, out.len, &back, &err), 0);
	assert_true(back.has_noise && fabs(back.noise - 0.0125) < 1e-9);
	buf_free(&out);
	r.noise = 11; /* out of bounds: nothing is written that could not be read */
	assert_int_equal(result_format(&r, &out, &err), -1);
	buf_free(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coverage), cmocka_unit_test(test_common_bias_cancels), cmocka_unit_test(test_partial_speaks_for_itself),
		cmocka_unit_test(test_noise_widens), cmocka_unit_test(test_record_has_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
