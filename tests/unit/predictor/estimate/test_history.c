/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which runs count for what: alone, as lower bounds, or not at all; and how the daemon comes to know of them. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/probe/probes.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/normal.h"

/* ---- the arithmetic ---- */

static void test_worth(void **state)
{
	static const struct {
		const char *end;
		unsigned restarts;
		enum run_evidence evidence;
	} cases[] = {
		{"COMPLETED", 0, RUN_WHOLE},	{"COMPLETED", 1, RUN_LOWER_BOUND},	{"TIMEOUT", 0, RUN_LOWER_BOUND},
		{"CANCELLED", 0, RUN_LOWER_BOUND},	{"PREEMPTED", 2, RUN_LOWER_BOUND},	{"NODE_FAIL", 0, RUN_LOWER_BOUND},
		{"DEADLINE", 0, RUN_LOWER_BOUND},	{"FAILED", 0, RUN_NO_EVIDENCE},	{"OUT_OF_MEMORY", 0, RUN_NO_EVIDENCE},
		{"BOOT_FAIL", 0, RUN_NO_EVIDENCE}, {"REQUEUED", 0, RUN_NO_EVIDENCE}, {"UNKNOWN", 0, RUN_NO_EVIDENCE},
		{"", 0, RUN_NO_EVIDENCE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (run_evidence_of(cases[i].end, cases[i].restarts) != cases[i].evidence)
			fail_msg("%s after %u restarts", cases[i].end, cases[i].restarts);
}

/* Whatever is put in between: a bound refuses, or leaves an estimate that is nowhere below the one without it. */
static void test_bounds_never_shorten(void **state)
{
	struct estimate_past past[12], whole[12];
	unsigned raised = 0, refuted = 0;

	(void)state;
	srand48(20261122);
	for (unsigned trial = 0; trial < 20000; trial++) {
		size_t n = 2 + (size_t)(drand48() * 9), k = 0;
		struct estimate with, without, base = {100, 92, 108, ESTIMATE_SKELETON, 0};
		bool based = drand48() < 0.5;
		struct errbuf err;

		for (size_t i = 0; i < n; i++) {
			past[i] = (struct estimate_past){100 * (1 + 0.05 * normal()), 0, drand48() < 0.3};
			if (past[i].at_least)
				past[i].actual_s *= 0.3 + 0.9 * drand48();
			else
				whole[k++] = past[i];
		}
		if (estimate_blend(based ? &base : NULL, whole, k, &without, &err) < 0)
			continue;
		if (estimate_blend(based ? &base : NULL, past, n, &with, &err) < 0) {
			refuted++;
			continue;
		}
		assert_true(with.mean_s >= without.mean_s && with.hi_s >= without.hi_s && with.lo_s >= without.lo_s);
		assert_int_equal(with.n, without.n);
		raised += with.mean_s > without.mean_s;
	}
	assert_true(raised > 1000 && refuted > 100);
}

/* A bound beyond the interval refutes it until three whole runs have come after it. */
static void test_bound_beyond(void **state)
{
	struct estimate_past past[] = {{100, 0, false}, {101, 0, false}, {99, 0, false}, {300, 0, true}, {100, 0, false},
				       {100, 0, false}};
	struct estimate base = {100, 95, 105, ESTIMATE_SOURCE, 0}, e;
	struct errbuf err = {""};

	(void)state;
	for (unsigned newer = 0; newer < ESTIMATE_OUTVOTED; newer++) {
		assert_int_equal(estimate_from_history(past + 3 - newer, 3 + newer, &e, &err), -1);
		assert_non_null(strstr(err.text, "a run was ended after 300 s"));
		assert_int_equal(estimate_blend(&base, past + 3 - newer, 3 + newer, &e, &err), -1);
	}
	assert_int_equal(estimate_from_history(past, 6, &e, &err), 0);
	assert_int_equal(e.n, 5);
	assert_true(e.hi_s < 120);
	/* bounds alone are no history */
	past[0].at_least = past[1].at_least = true;
	assert_int_equal(estimate_from_history(past, 2, &e, &err), -1);
}

/* The oracle: the mean of those of many runs that last longer than the bound, by drawing them. */
static void test_bound_within(void **state)
{
	struct estimate base = {100, 90, 110, ESTIMATE_SOURCE, 0}, e;
	struct estimate_past bound = {104, 0, true};
	struct errbuf err;
	double sum = 0;
	unsigned n = 0;

	(void)state;
	srand48(7);
	for (unsigned i = 0; i < 2000000; i++) {
		double run = 100 + 5 * normal(); /* half the interval is two deviations */

		if (run >= 104) {
			sum += run;
			n++;
		}
	}
	assert_int_equal(estimate_blend(&base, &bound, 1, &e, &err), 0);
	assert_true(fabs(e.mean_s - (100 + sum / n) / 2) < 0.02); /* counts as one, beside the base's one */
	assert_true(fabs((e.hi_s - e.mean_s) - 10) < 1e-9 && e.lo_s == 90);
}

/* ---- on a cluster ---- */

static bool estimate_of(const char *candidate, struct store_estimate *out)
{
	struct store_lookup l;
	struct errbuf e;

	if (store_lookup(w->store, KEY, &l, &e) != 1)
		return false;
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, candidate)) {
			*out = l.estimates[i];
			return true;
		}
	return false;
}

static struct store_run run_of(uint32_t job)
{
	struct store_run r;
	struct errbuf e;

	assert_int_equal(store_run_get(w->store, job, &r, &e), 1);
	return r;
}

static void one_run(uint32_t id, const char *end, double elapsed_s)
{
	struct cluster_job *j;

	w->n = 0;
	j = job_add(id, ACT_OBSERVE);
	look();
	job_run(j);
	look();
	w->now += (int64_t)elapsed_s;
	job_end(j, end, elapsed_s);
	look();
}

/* A traced job that turned out to be no MPI program. */
static void no_mpi(double elapsed_s)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	char dir[256];

	job_dir(1, dir, sizeof(dir));
	look();
	job_run(j);
	look();
	job_end(j, "COMPLETED", elapsed_s);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
}

/* Two runs, and it is predicted from them, without another trace. */
static void test_no_mpi(void **state)
{
	struct store_estimate e;

	(void)state;
	no_mpi(100);
	assert_false(estimate_of("fast", &e));
	one_run(2, "COMPLETED", 104);
	assert_true(estimate_of("fast", &e));
	assert_int_equal(e.e.kind, ESTIMATE_HISTORY);
	assert_int_equal(e.e.n, 2);
	assert_true(e.e.mean_s > 100 && e.e.mean_s < 104 && e.e.lo_s < 100 && e.e.hi_s > 104);
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
	assert_true(program().retrace_at == 0);
	assert_int_equal(w->n_submitted, 0);
	assert_false(estimate_of("slow:big", &e));
	/* runs that contradict each other: nothing is said, and why */
	one_run(3, "COMPLETED", 400);
	assert_false(estimate_of("fast", &e));
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
	assert_state(PROGRAM_FAILED, "; past runs: nothing for fast: too uncertain: between");
	for (uint32_t id = 4; id < 10; id++)
		one_run(id, "COMPLETED", 400);
	assert_true(estimate_of("fast", &e));
	assert_null(strstr(program().reason, "past runs"));
}

static void test_ends_that_say_nothing(void **state)
{
	static const char *const ends[] = {"FAILED", "OUT_OF_MEMORY", "BOOT_FAIL"};
	struct store_estimate before, after;

	(void)state;
	no_mpi(100);
	one_run(2, "COMPLETED", 100);
	assert_true(estimate_of("fast", &before));
	for (uint32_t i = 0; i < 3; i++) {
		one_run(3 + i, ends[i], 7);
		one_run(6 + i, ends[i], 900);
	}
	assert_true(estimate_of("fast", &after));
	assert_memory_equal(&before.e, &after.e, sizeof(before.e));
}

static void test_ends_that_are_bounds(void **state)
{
	static const char *const ends[] = {"TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL", "DEADLINE"};
	struct store_estimate before, after;

	(void)state;
	no_mpi(100);
	one_run(2, "COMPLETED", 100);
	assert_true(estimate_of("fast", &before));
	for (uint32_t i = 0; i < 5; i++) {
		one_run(10 + i, ends[i], 20); /* shorter: says nothing */
		assert_true(estimate_of("fast", &after));
		assert_true(after.e.mean_s == before.e.mean_s && after.e.hi_s == before.e.hi_s);
	}
	one_run(20, "TIMEOUT", 500);
	assert_false(estimate_of("fast", &after));
	assert_state(PROGRAM_FAILED, "a run was ended after 500 s, beyond the ");
	for (uint32_t i = 0; i < ESTIMATE_OUTVOTED; i++)
		one_run(30 + i, "COMPLETED", 100);
	assert_true(estimate_of("fast", &after));
	assert_true(after.e.hi_s < 150);
}

/* Nothing but runs that were killed: why nothing is said. */
static void test_bounds_alone(void **state)
{
	struct store_estimate e;

	(void)state;
	no_mpi(100);
	assert_null(strstr(program().reason, "past runs"));
	one_run(2, "TIMEOUT", 300);
	assert_false(estimate_of("fast", &e));
	assert_state(PROGRAM_FAILED, "; past runs: nothing for fast: 1 run was ended before the end, the longest after 300 s");
	one_run(3, "TIMEOUT", 200);
	assert_state(PROGRAM_FAILED, "2 runs were ended before the end, the longest after 300 s: two that complete are needed");
}

/* What a run did before it was queued again is no run; what it does then may be the rest of it. */
static void test_requeued(void **state)
{
	struct store_estimate e, again;
	struct cluster_job *j;

	(void)state;
	no_mpi(100);
	one_run(2, "COMPLETED", 100);
	assert_true(estimate_of("fast", &e));
	w->n = 0;
	j = job_add(3, ACT_OBSERVE);
	look();
	job_run(j);
	look();
	w->now += 50;
	*j = *job_add(3, ACT_OBSERVE); /* preempted: the same id, another submission */
	w->n = 1;
	j->restarts = 1;
	look();
	job_run(j);
	look();
	job_end(j, "COMPLETED", 60); /* it went on from its checkpoint */
	look();
	assert_int_equal(run_of(3).restarts, 1);
	assert_true(estimate_of("fast", &again));
	assert_memory_equal(&e.e, &again.e, sizeof(e.e));
	w->n = 0;
	j = job_add(4, ACT_OBSERVE);
	j->restarts = 2;
	look();
	job_run(j);
	job_end(j, "COMPLETED", 300); /* whatever it was, it is not done in 100 s */
	look();
	assert_false(estimate_of("fast", &e));
}

static void test_suspended(void **state)
{
	struct store_estimate e;
	struct cluster_job *j;

	(void)state;
	no_mpi(100);
	w->n = 0;
	j = job_add(2, ACT_OBSERVE);
	look();
	job_run(j);
	look();
	j->phase = CLUSTER_SUSPENDED;
	look();
	w->now += 3000;
	job_end(j, "COMPLETED", 100);
	j->suspended_s = 3000;
	look();
	assert_true(run_of(2).suspended_s == 3000 && run_of(2).elapsed_s == 100);
	assert_true(estimate_of("fast", &e));
	assert_true(fabs(e.e.mean_s - 100) < 1e-9); /* the time it really ran */
}

/* A trace holds the time that its job was suspended as computation; a directory what all runs of a job have left. */
static void test_spoiled_traces(void **state)
{
	struct cluster_job *j;

	(void)state;
	j = job_add(1, ACT_TRACE);
	look();
	job_run(j);
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	j->suspended_s = 40;
	look();
	assert_state(PROGRAM_FAILED, "traced job 1 was suspended for 40 s; the next run is traced again");
	assert_true(program().retrace_at > 0 && program().retrace_at <= w->now);
	j = job_add(2, ACT_TRACE);
	look();
	assert_state(PROGRAM_NEW, "");
	j->restarts = 1;
	trace_leave(2);
	job_end(j, "COMPLETED", 100);
	look();
	assert_state(PROGRAM_FAILED, "traced job 2 was queued again while it ran");
	assert_int_equal(w->n_submitted, 0);
	w->n = 0;
	traced_job();
}

/* ---- arrays: each task is a run, under an id of its own; the last one under the array's ---- */

static void test_array(void **state)
{
	static const double took[] = {100, 102, 98, 101};
	struct store_estimate e;
	struct cluster_job *task;

	(void)state;
	no_mpi(100);
	w->n = 0;
	job_add(50, ACT_OBSERVE)->array_job = 50; /* all that wait, as one record */
	look();
	for (uint32_t i = 0; i < 3; i++) {
		task = job_add(51 + i, ACT_OBSERVE);
		task->submit_time = w->jobs[0].submit_time;
		task->array_job = 50;
		job_run(task);
		look();
	}
	task = job_find(50);
	job_run(task); /* the last one */
	for (uint32_t i = 0; i < 4; i++)
		job_end(job_find(50 + i), "COMPLETED", took[i]);
	look();
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(run_of(50 + i).array_job, 50);
		assert_true(run_of(50 + i).elapsed_s == took[i]);
	}
	assert_true(estimate_of("fast", &e));
	assert_int_equal(e.e.n, 5);
	assert_true(e.e.mean_s > 98 && e.e.mean_s < 102);
}

/* Many tasks are traced at once: the first that ends well is the source, the others are history. */
static void test_array_traced(void **state)
{
	struct cluster_job *task;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		task = job_add(51 + i, ACT_TRACE);
		task->array_job = 50;
		job_run(task);
	}
	look();
	job_end(job_find(51), "FAILED", 3);
	look();
	assert_state(PROGRAM_FAILED, "traced job 51 ended FAILED");
	trace_leave(52);
	job_end(job_find(52), "COMPLETED", 100);
	look();
	assert_state(PROGRAM_BUILDING, "");
	trace_leave(53);
	job_end(job_find(53), "COMPLETED", 101);
	look();
	assert_int_equal(w->n_submitted, 1);
	assert_int_equal(program().source_job, 52);
	assert_true(run_of(53).elapsed_s == 101);
}

/* ---- jobs of several steps, not all of them MPI ---- */

static void several_steps(double rest_s)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	struct result r = {.ok = true, .has_class = true, .has_startup = true, .has_hash = true, .traces_n = 3,
			   .class_hex = "0123456789abcdef", .class_text = "test node", .hash_hex = "0123456789abcdef"};
	static const char *const candidates[] = {"fast", "slow_big"};
	struct errbuf e = {""};

	look();
	job_run(j);
	trace_leave(1);
	job_end(j, "COMPLETED", 90 + rest_s);
	look();
	for (unsigned c = 0; c < 2; c++) {
		char dir[256], name[64];
		int dfd;

		job_dir(1, dir, sizeof(dir));
		r.job_id = 500 + c;
		strcpy(r.candidate, candidates[c]);
		r.startup_s = 1 + c; /* a step takes a second more to begin there */
		for (unsigned t = 0; t < 3; t++) { /* steps of 20, 30 and 40 s, twice, three times and four times as long there */
			double mpi_s = 20 + 10 * t, skel_s = mpi_s * (c ? 2 + t : 1);

			r.traces[t] = (struct result_trace){mpi_s, skel_s, skel_s, skel_s, 2, 1000, 1, {0}, {0}};
		}
		dfd = open(dir, O_RDONLY | O_DIRECTORY);
		snprintf(name, sizeof(name), "probe.%s.result", candidates[c]);
		assert_int_equal(result_write(dfd, name, &r, &e), 0);
		close(dfd);
		job_end(job_find(500 + c), "COMPLETED", 20);
		look();
	}
}

static void test_several_steps(void **state)
{
	struct store_estimate e;

	(void)state;
	several_steps(50); /* what is no MPI: the script, and programs in it */
	assert_state(PROGRAM_READY, "");
	assert_true(program().mpi_s == 90);
	assert_true(estimate_of("fast", &e) && fabs(e.e.mean_s - 140) < 1e-6);
	assert_true(estimate_of("slow:big", &e));
	assert_true(fabs(e.e.mean_s - (20 * 2 + 30 * 3 + 40 * 4 + 50 + 3 * 1)) < 1e-6);
}

/* Steps that ran side by side add up to more than the job took: then nothing is said from them. */
static void test_steps_side_by_side(void **state)
{
	struct store_estimate e;

	(void)state;
	several_steps(-45);
	assert_state(PROGRAM_FAILED, "its steps ran side by side");
	/* but its runs say something */
	one_run(2, "COMPLETED", 46);
	assert_true(estimate_of("fast", &e));
	assert_int_equal(e.e.kind, ESTIMATE_HISTORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worth),
		cmocka_unit_test(test_bounds_never_shorten),
		cmocka_unit_test(test_bound_beyond),
		cmocka_unit_test(test_bound_within),
		T(test_no_mpi),
		T(test_ends_that_say_nothing),
		T(test_ends_that_are_bounds),
		T(test_bounds_alone),
		T(test_requeued),
		T(test_suspended),
		T(test_spoiled_traces),
		T(test_array),
		T(test_array_traced),
		T(test_several_steps),
		T(test_steps_side_by_side),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
