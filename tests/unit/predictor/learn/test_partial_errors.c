/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Skeleton and partial execution are weighed by how wrong each was so far, for the family and on the candidate alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/follow_world.h"
#include "predictor/learn/past_errors.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/store/records.h"
#include "predictor/store/runs.h"

static struct result record(const char *candidate, double skel_s, double partial_s)
{
	struct result r = {.ok = true, .job_id = 1, .traces_n = 1, .has_startup = true, .has_hash = true, .has_class = true};

	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	strcpy(r.hash_hex, "0123456789abcdef");
	strcpy(r.class_hex, "0123456789abcdef");
	strcpy(r.class_text, "test node");
	r.traces[0] = (struct result_trace){100, skel_s, skel_s * 0.97, skel_s * 1.03, 2, 10, 1, {0}, {0}};
	if (partial_s > 0)
		r.traces[0].partial = (struct result_partial){true, partial_s, partial_s * 0.97, partial_s * 1.03, 2, {0}};
	return r;
}

/* ---- weights ---- */

static double weighed(const struct estimate_errors *errors)
{
	struct result source = record("fast", 100, 100), slow = record("slow", 185, 195);
	struct estimate e;
	struct errbuf err;

	assert_int_equal(estimate_from_probes_after(&source, &slow, 100, errors, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_PARTIAL);
	assert_true(e.mean_s - e.lo_s > 4.9 && e.hi_s - e.mean_s > 4.9); /* half of what they differ by */
	return e.mean_s;
}

static void test_weights(void **state)
{
	struct estimate_errors none = {0}, skeleton_bad = {4, 4 * 0.09, 4 * 0.0001}, partial_bad = {4, 4 * 0.0001, 4 * 0.09},
			       once = {1, 0.09, 0.0001}, both = {4, 4 * 0.04, 4 * 0.04};
	double equal = weighed(NULL);

	(void)state;
	/* Nothing of what either says of itself is narrower, but partial execution needs no comparison at home: half the variance. */
	assert_true(fabs(equal - (185 + 2 * 195) / 3.0) < 0.5);
	assert_true(weighed(&none) == equal);
	assert_true(weighed(&skeleton_bad) > 194);
	assert_true(weighed(&partial_bad) < 186);
	assert_true(weighed(&once) > equal && weighed(&once) < weighed(&skeleton_bad));
	assert_true(fabs(weighed(&both) - 190) < 0.5);
}

static void test_alone(void **state)
{
	struct result source = record("fast", 100, 100), slow = record("slow", 180, 0);
	struct estimate_errors errors = {4, 4 * 0.09, 4 * 0.0001};
	struct estimate with, without, a, b;
	struct errbuf err;

	(void)state;
	assert_int_equal(estimate_from_probes(&source, &slow, 100, &without, &err), 0);
	assert_int_equal(estimate_from_probes_after(&source, &slow, 100, &errors, &with, &err), 0);
	assert_true(with.mean_s == without.mean_s && with.hi_s == without.hi_s && with.kind == ESTIMATE_SKELETON);
	assert_int_equal(estimate_by_kind(&source, &slow, 100, &a, &b), -1);
	assert_int_equal(estimate_by_kind(&source, &source, 100, &a, &b), -1);
}

/* A skeleton that is too uncertain to be told leaves it to partial execution, unless that is beyond all that it holds possible. */
static void test_apart(void **state)
{
	struct result source = record("fast", 100, 100), slow = record("slow", 185, 195);
	struct estimate e;
	struct errbuf err;

	(void)state;
	slow.traces[0].lo_s = 120;
	slow.traces[0].hi_s = 280;
	assert_int_equal(estimate_from_probes(&source, &slow, 100, &e, &err), 0);
	assert_true(e.kind == ESTIMATE_PARTIAL && fabs(e.mean_s - 195) < 0.5);
	slow.traces[0].partial = (struct result_partial){true, 800, 780, 820, 2, {0}};
	assert_int_equal(estimate_from_probes(&source, &slow, 100, &e, &err), -1);
	assert_non_null(strstr(err.text, "too uncertain"));
	slow = record("slow", 800, 195); /* and the other way round */
	slow.traces[0].partial.lo_s = 120;
	slow.traces[0].partial.hi_s = 280;
	assert_int_equal(estimate_from_probes(&source, &slow, 100, &e, &err), -1);
}

static void test_added(void **state)
{
	struct estimate_past past[] = {{190, 0, false}, {210, 0, false}}, none[] = {{0, 0, false}};
	struct estimate_errors e = {0};

	(void)state;
	estimate_errors_add(&e, 180, 220, past, 2);
	assert_true(e.n == 1 && fabs(e.skeleton - 0.01) < 1e-12 && fabs(e.partial - 0.01) < 1e-12);
	estimate_errors_add(&e, 200, 240, past, 2);
	assert_true(e.n == 2 && fabs(e.skeleton - 0.01) < 1e-12 && fabs(e.partial - 0.05) < 1e-12);
	estimate_errors_add(&e, 200, 240, past, 0);
	estimate_errors_add(&e, 200, 240, none, 1);
	assert_int_equal(e.n, 2);
}

/* ---- from the store ---- */

static const char *key_of(int member)
{
	static char key[4][33];

	snprintf(key[member % 4], sizeof(key[0]), "%032x", 0xabc0 + member);
	return key[member % 4];
}

static void probe_leave(const char *key, const char *candidate, double skel_s, double partial_s)
{
	struct store_probe row = {.state = PROBE_DONE, .updated = START};
	struct result r = record(candidate, skel_s, partial_s);
	struct errbuf err;

	strcpy(row.key, key);
	strcpy(row.candidate, candidate);
	assert_int_equal(store_record_put(w->store, &row, &r, &err), 0);
}

/* A program, traced on fast, of which the probes say so much for slow. */
static struct store_program member_leave(int member, const char *family, double skel_s, double partial_s)
{
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .source_job = 1, .source_elapsed_s = 100, .n_traces = 1,
				  .updated = START + member};
	struct errbuf err;

	strcpy(p.key, key_of(member));
	strcpy(p.family, family);
	strcpy(p.source_candidate, "fast");
	assert_int_equal(store_program_put(w->store, &p, &err), 0);
	probe_leave(p.key, "fast", 100, 100);
	probe_leave(p.key, "slow", skel_s, partial_s);
	return p;
}

static void run_leave(const struct store_program *p, const char *candidate, double elapsed_s, const char *end)
{
	static uint32_t job = 100;
	struct store_run r = {.jobid = job++, .submit_time = START, .uid = p->uid, .elapsed_s = elapsed_s, .start_time = START,
			      .end_time = START + (int64_t)elapsed_s, .nodes = 2, .tasks = 4};
	struct errbuf err;

	strcpy(r.key, p->key);
	strcpy(r.family, p->family);
	strcpy(r.candidate, candidate);
	strcpy(r.end_state, end);
	assert_int_equal(store_run_put(w->store, &r, &err), 0);
}

static struct estimate_errors gathered(const struct store_program *p)
{
	struct estimate_errors e;
	struct errbuf err = {""};

	if (past_errors_gather(w->store, p, "slow", &e, &err) < 0)
		fail_msg("%s", err.text);
	return e;
}

static void test_gathered(void **state)
{
	struct store_program a = member_leave(1, FAMILY, 180, 198), b = member_leave(2, FAMILY, 185, 195), other, alone;
	struct estimate_errors e;

	(void)state;
	assert_int_equal(gathered(&b).n, 0); /* nothing has run */
	run_leave(&a, "slow", 200, "FAILED");
	run_leave(&a, "fast", 100, "COMPLETED");
	assert_int_equal(gathered(&b).n, 0);
	run_leave(&a, "slow", 200, "COMPLETED");
	e = gathered(&b);
	assert_int_equal(e.n, 1);
	assert_true(fabs(e.skeleton - 0.01) < 1e-6 && fabs(e.partial - 0.0001) < 1e-6);
	other = member_leave(3, KEY, 100, 300); /* another family */
	run_leave(&other, "slow", 200, "COMPLETED");
	alone = member_leave(4, FAMILY, 150, 0); /* never probed both ways */
	run_leave(&alone, "slow", 200, "COMPLETED");
	assert_int_equal(gathered(&b).n, 1);
	assert_true(gathered(&other).n == 1 && gathered(&other).skeleton > 0.2);
}

static double calibrated(const struct store_program *p)
{
	struct program_estimates est;
	struct store_lookup l;
	struct errbuf err = {""};

	if (program_estimate(&w->env, p, NULL, START, &est, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(store_lookup(w->store, p->key, &l, &err), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, "slow"))
			return l.estimates[i].e.mean_s;
	fail_msg("no estimate for slow: %s", est.refused.text);
	return 0;
}

static void test_calibrated(void **state)
{
	struct store_program a = member_leave(1, FAMILY, 150, 199), b = member_leave(2, FAMILY, 185, 195);
	double before = calibrated(&b);

	(void)state;
	for (int i = 0; i < 3; i++)
		run_leave(&a, "slow", 200, "COMPLETED"); /* of the other program: b has no history */
	assert_true(calibrated(&b) > before + 1 && calibrated(&b) < 195);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights), cmocka_unit_test(test_alone), cmocka_unit_test(test_apart),
					   cmocka_unit_test(test_added), T(test_gathered), T(test_calibrated)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
