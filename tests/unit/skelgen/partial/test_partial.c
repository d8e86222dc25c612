/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a partial execution says of the whole run; how it is weighed against the skeleton; where the configuration wants it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/conf.h"
#include "predictor/estimate/estimate.h"
#include "skelgen/partial/partial.h"

static struct stop_rank stops[2];
static double traced[2][PARTIAL_MARKS], gap_ns[2], loop_ns[2], end_ns[2];
static struct marks_rank marks[2];

/* 100 iterations of 1 s after 10 s of start and before 5 s of end; `speed` is how much longer they take here. */
static void make(struct partial_plan *p, struct stop_marks *m, double speed, double start_s)
{
	*p = (struct partial_plan){.stop = {2, PARTIAL_MARKS, 30, stops}, .traced_ns = traced, .gap_ns = gap_ns, .loop_ns = loop_ns, .end_ns = end_ns,
				   .share = 100 / 115.0, .iterations = 100, .made = {2, 2, 2, 2, 2, 89}, .computed_s = 80};
	*m = (struct stop_marks){2, PARTIAL_MARKS, marks};
	for (uint32_t r = 0; r < 2; r++) {
		end_ns[r] = 115e9;
		loop_ns[r] = 89e9;
		gap_ns[r] = (6 + r) * 1e9; /* of 10 s */
		marks[r].before_ns = 100000000;
		marks[r].init_ns = 200000000;
		for (uint32_t i = 0; i < PARTIAL_MARKS; i++) {
			p->at[i] = 1 + 2 * i;
			traced[r][i] = 11e9 + 2e9 * i;
			marks[r].t_ns[i] = (uint64_t)(1e9 * (start_s + speed * (1 + 2 * i)));
			marks[r].gap_ns[i] = (uint64_t)(1e9 * (3 + 1.5 * i)); /* the same in any case: the rest waits */
		}
	}
}

static void test_whole_run(void **state)
{
	struct partial_plan p;
	struct stop_marks m;
	struct partial_estimate e;
	struct errbuf err;

	(void)state;
	make(&p, &m, 1, 10);
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(fabs(e.whole_s - 115) < 1e-6 && fabs(e.ratio - 1) < 1e-9 && fabs(e.ran_s - 21) < 1e-6);
	assert_true(fabs(e.startup_s - 0.3) < 1e-9 && e.lo_s <= e.whole_s && e.hi_s - e.lo_s < 1e-3);
	/* twice as slow, but for the start, which is twice as fast */
	make(&p, &m, 2, 5);
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(fabs(e.whole_s - (5 + 2 * 105)) < 1e-6 && fabs(e.ratio - 2) < 1e-9);
	assert_true(e.hi_s > e.whole_s); /* the end need not scale as the loop does */
}

static void test_computation(void **state)
{
	struct partial_plan p;
	struct stop_marks m;
	struct partial_estimate e;
	struct errbuf err;

	(void)state;
	make(&p, &m, 2, 10);
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(fabs(e.computed_s - 80 * 15 / 13.0) < 1e-6); /* 7.5 s of each rank, traced 6 and 7 */
	gap_ns[1] = 0; /* not kept */
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(e.computed_s == 0 && e.whole_s > 0);
	make(&p, &m, 0.5, 1);
	gap_ns[0] = gap_ns[1] = 1e9; /* no more than the run takes */
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(e.computed_s == e.whole_s);
}

static struct result record(const char *candidate, double skel_s, double partial_s)
{
	struct result r = {.ok = true, .traces_n = 1, .has_startup = true, .has_hash = true, .has_class = true};

	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	snprintf(r.hash_hex, sizeof(r.hash_hex), "0123456789abcdef");
	r.traces[0] = (struct result_trace){100, skel_s, skel_s * 0.95, skel_s * 1.05, 2, 10, 1, {0}, {0}};
	if (partial_s > 0)
		r.traces[0].partial = (struct result_partial){true, partial_s, partial_s * 0.99, partial_s * 1.01, 2, {0}};
	return r;
}

/* Computation that looked quick at home does not make MPI look slow elsewhere. */
static void test_told_apart(void **state)
{
	struct result source = record("fast", 100, 50), slow = record("slow", 300, 350);
	struct estimate skeleton, partial;
	double off = log(0.5), trust = 1 - 0.25 / (off * off); /* a logarithm of 0.5 is chance */

	(void)state;
	source.traces[0].partial.compute = (struct result_compute){true, 80, 40};
	slow.traces[0].partial.compute = (struct result_compute){true, 80, 40};
	assert_int_equal(estimate_by_kind(&source, &slow, 100, &skeleton, &partial), 0);
	assert_true(fabs(skeleton.mean_s - 300) < 1e-6);
	assert_true(fabs(partial.mean_s - (trust * (80 + 20 + 300) + (1 - trust) * 350)) < 1e-6);
	slow.traces[0].partial.compute.present = false;
	assert_int_equal(estimate_by_kind(&source, &slow, 100, &skeleton, &partial), 0);
	assert_true(fabs(partial.mean_s - (trust * 100 * 350 / 50.0 + (1 - trust) * 350)) < 1e-6);
}

/* What it was off at home is a run's noise as long as it may be: what it says elsewhere stands. */
static void test_chance_at_home(void **state)
{
	struct estimate skeleton, partial;
	double before = 0;

	(void)state;
	for (double home = 40; home <= 200; home += 1) {
		struct result source = record("fast", 100, home), slow = record("slow", 300, 310);
		int rc = estimate_by_kind(&source, &slow, 100, &skeleton, &partial);

		if (rc < 0) /* further off than it may be */
			continue;
		assert_true(partial.mean_s > 0 && (fabs(log(home / 100)) > 0.5 || partial.mean_s == 310));
		assert_true(home < 61 || partial.mean_s <= 310);
		assert_true(partial.mean_s - partial.lo_s >= 0.99 * partial.mean_s * fabs(home / 100 - 1) / 2);
		before = fmax(before, fabs(partial.mean_s - 310));
	}
	assert_true(before > 10); /* some were corrected */
}

static void test_noise_widens(void **state)
{
	struct partial_plan p;
	struct stop_marks m;
	struct partial_estimate e;
	struct errbuf err;

	(void)state;
	make(&p, &m, 1, 10);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 1; i < PARTIAL_MARKS; i += 2)
			marks[r].t_ns[i] += 400000000;
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	assert_true(e.lo_s < 110 && e.hi_s > 120);
}

static void test_refused(void **state)
{
	struct partial_plan p;
	struct stop_marks m;
	struct partial_estimate e;
	struct errbuf err;

	(void)state;
	make(&p, &m, 1, 10);
	m.n_ranks = 1;
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), -1);
	make(&p, &m, 1, 10);
	m.n_mark = 3;
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), -1);
	make(&p, &m, 0, 10);
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), -1);
}

static void test_weighed(void **state)
{
	struct result source = record("fast", 100, 100), slow = record("slow", 180, 200), without = record("slow", 180, 0);
	struct estimate e, one;
	struct errbuf err;

	(void)state;
	assert_int_equal(estimate_from_probes(&source, &without, 101, &one, &err), 0);
	assert_int_equal(one.kind, ESTIMATE_SKELETON);
	assert_int_equal(estimate_from_probes(&source, &slow, 101, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_PARTIAL);
	/* between the two, nearer to that which is surer, and wide enough for both to be right */
	assert_true(e.mean_s > 191 && e.mean_s < 201 && e.hi_s - e.mean_s >= 9.9);
	source.traces[0].partial.present = false; /* nothing to compare with */
	assert_int_equal(estimate_from_probes(&source, &slow, 101, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_SKELETON);
	assert_true(e.mean_s == one.mean_s);
	assert_int_equal(estimate_from_probes(&source, &source, 101, &e, &err), 0);
	assert_int_equal(e.kind, ESTIMATE_SOURCE);
}

static void test_configured(void **state)
{
	static const char *const bad[] = {"PartialExecution=maybe\n", "PartialExecution.fast=\n", "PartialExecution.=on\n",
					  "PartialExecution.a=on\nPartialExecution.a=off\n"};
	char path[] = "/tmp/partial-XXXXXX";
	int fd = mkstemp(path);
	struct precedent_conf c;
	struct errbuf err;

	(void)state;
	assert_true(dprintf(fd, "PartialExecution.fast=on\nPartialExecution.slow:big=never\npartialexecution=off\n") > 0);
	assert_int_equal(conf_load(path, &c, &err), 0);
	assert_int_equal(conf_partial_for(&c, "fast"), PARTIAL_ON);
	assert_int_equal(conf_partial_for(&c, "fast:big"), PARTIAL_ON);
	assert_int_equal(conf_partial_for(&c, "slow:big"), PARTIAL_NEVER);
	assert_int_equal(conf_partial_for(&c, "slow"), PARTIAL_OFF);
	conf_free(&c);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ftruncate(fd, 0) | (int)lseek(fd, 0, SEEK_SET), 0);
		assert_true(dprintf(fd, "%s", bad[i]) > 0);
		assert_int_equal(conf_load(path, &c, &err), -1);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_run), cmocka_unit_test(test_computation),
					   cmocka_unit_test(test_told_apart), cmocka_unit_test(test_chance_at_home), cmocka_unit_test(test_noise_widens),
					   cmocka_unit_test(test_refused), cmocka_unit_test(test_weighed),
					   cmocka_unit_test(test_configured)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
