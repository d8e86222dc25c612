/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed points of simulated families: three traces show a part of a law that the test knows, and points have the whole. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/temp_dir.h"
#include "model/inputs/points_choose.h"
#include "tests/unit/synthetic.h"

#define RUNS	4
#define CALL_NS 1000

/* ranks, nodes, CPUs, bytes, n, steps, 2 n */
static const double ran[RUNS][7] = {{2, 1, 1, 0, 100, 20, 200}, {2, 1, 1, 0, 300, 30, 600}, {4, 1, 1, 0, 200, 40, 400}, {4, 1, 1, 0, 400, 50, 800}};
static char dir[] = "/tmp/test_points.XXXXXX", path[RUNS][64];
static struct points_run run[RUNS];

static double truth(const double *vars)
{
	return vars[5] * (1e4 * vars[4] + CALL_NS) * 1e-9;
}

static void trace_make(int i)
{
	struct syn *s = syn_create((uint32_t)ran[i][0]);

	syn_begin(s);
	for (uint32_t r = 0; r < (uint32_t)ran[i][0]; r++)
		for (double k = 0; k < ran[i][5]; k++)
			syn_call(s, r, "MPI_Allreduce", 2, SYN(.count = (uint64_t)ran[i][4], .gap_ns = (uint64_t)(1e4 * ran[i][4]), .dur_ns = CALL_NS));
	syn_end(s);
	syn_write(s, path[i]);
	syn_destroy(s);
}

static int traces_make(void **state)
{
	(void)state;
	if (temp_dir_make(dir) < 0)
		return -1;
	for (int i = 0; i < RUNS; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%d", dir, i);
		trace_make(i);
		run[i] = (struct points_run){.trace = path[i], .n_vars = 7};
		for (int v = 0; v < 7; v++)
			run[i].vars[v] = ran[i][v];
	}
	return 0;
}

static int traces_remove(void **state)
{
	(void)state;
	temp_dir_remove(dir);
	return 0;
}

/* Of the inputs that ran first, then of others: whole, in the proportion of the runs, and not far from these. */
static void test_law(void **state)
{
	struct points p;
	struct errbuf err;

	(void)state;
	if (points_compute(run, RUNS, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(p.n > 16 && p.n <= POINTS_MAX);
	assert_int_equal(p.n_vars, 7);
	for (unsigned i = 0; i < p.n; i++) {
		const double *v = p.p[i].vars;

		if (fabs(p.p[i].seconds / truth(v) - 1) > 0.02)
			fail_msg("%g ranks, n %g, %g steps: %g, not %g", v[0], v[4], v[5], p.p[i].seconds, truth(v));
		assert_true(p.p[i].error >= 0 && isfinite(p.p[i].error));
		assert_true(v[4] >= 50 && v[4] <= 550 && fmod(v[4], 100) == 0 && v[6] == 2 * v[4]);
		assert_true(v[5] >= 10 && v[5] <= 65 && fmod(v[5], 10) == 0);
		assert_true(v[0] == 1 || v[0] == 2 || v[0] == 4);
		assert_true(v[1] == 1 && v[2] == 1 && v[3] == 0);
		for (unsigned k = 0; k < i; k++)
			assert_false(p.p[k].vars[0] == v[0] && p.p[k].vars[4] == v[4] && p.p[k].vars[5] == v[5]);
	}
	for (unsigned i = 0; i < RUNS; i++)
		assert_true(p.p[i].vars[4] == ran[i][4] && p.p[i].vars[5] == ran[i][5]);
}

/* A process that is ended while it computes leaves the points that it has counted. */
static void test_ended(void **state)
{
	struct points *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct errbuf err;
	pid_t pid;

	(void)state;
	assert_true(p != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(points_compute(run, RUNS, p, &err) < 0);
	assert_true(pid > 0);
	while (!__atomic_load_n(&p->n, __ATOMIC_ACQUIRE) && waitpid(pid, NULL, WNOHANG) == 0)
		usleep(100);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(p->n > 0 && p->n <= POINTS_MAX);
	for (unsigned i = 0; i < p->n; i++)
		assert_true(fabs(p->p[i].seconds / truth(p->p[i].vars) - 1) < 0.02);
	munmap(p, sizeof(*p));
}

static void test_refusals(void **state)
{
	struct points_run bad[RUNS];
	struct points p;
	struct errbuf err;

	(void)state;
	assert_int_equal(points_compute(run, 2, &p, &err), -1);
	assert_non_null(strstr(err.text, "2 runs"));
	memcpy(bad, run, sizeof(bad));
	bad[1].vars[0] = 8;
	assert_int_equal(points_compute(bad, RUNS, &p, &err), -1);
	assert_non_null(strstr(err.text, "2 ranks ran where the job asked for 8"));
	memcpy(bad, run, sizeof(bad));
	bad[2].trace = "/nowhere";
	assert_int_equal(points_compute(bad, RUNS, &p, &err), -1);
	memcpy(bad, run, sizeof(bad));
	for (int i = 0; i < RUNS; i++) {
		bad[i].n_vars = 20;
		for (int v = 7; v < 20; v++)
			bad[i].vars[v] = (i + 1) * (v + i * i) + v;
	}
	assert_int_equal(points_compute(bad, RUNS, &p, &err), -1);
	assert_non_null(strstr(err.text, "inputs vary"));
}

/* Numbers that no program counts. */
static void test_odd_inputs(void **state)
{
	const double odd[] = {0.5, -3, 1e300, 0};
	struct points_run some[RUNS];
	struct points p;
	struct errbuf err;

	(void)state;
	for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
		memcpy(some, run, sizeof(some));
		for (int i = 0; i < RUNS; i++)
			some[i].vars[3] = odd[k] * (i + 1) * (i + 1);
		if (points_compute(some, RUNS, &p, &err) == 0)
			for (unsigned i = 0; i < p.n; i++)
				assert_true(isfinite(p.p[i].seconds) && p.p[i].seconds > 0);
	}
}

/* A law over the runs has terms of which one point could take the input away: logarithms from 1 on, roots from 0 on. */
static void test_least(void **state)
{
	const double took[][3] = {{1.25, 3.5, 8}, {0, 10, 25}, {0.5, 3, 8}, {-2, 3, 8}}, least[] = {1, 0, 0.25, -INFINITY};
	struct points_axis axis[IDENTITY_VARS_MAX];
	struct points_run some[3] = {0};
	struct points p;

	(void)state;
	for (size_t how = 0; how < sizeof(took) / sizeof(took[0]); how++) {
		double lowest = INFINITY;

		for (int i = 0; i < 3; i++)
			some[i] = (struct points_run){.n_vars = 2, .vars = {2, took[how][i]}};
		points_choose(some, 3, axis, points_axes(some, 3, axis), &p);
		for (unsigned i = 0; i < p.n; i++)
			lowest = fmin(lowest, p.p[i].vars[1]);
		assert_true(p.n > 6 && lowest >= least[how]);
		assert_true(took[how][0] >= 1 || took[how][0] == 0 || lowest < took[how][0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_odd_inputs),
		cmocka_unit_test(test_least),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, traces_make, traces_remove);
}
