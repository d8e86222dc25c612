/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes that run the program itself: those that PartialExecution allows, for all candidates and for single ones. A program with
 * an accelerator has no other.
 * A script without the option leaves it to the job: see tests/cli/skeleton-probe.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/follow_world.h"

static void assert_script(unsigned i, const char *candidate, const char *option)
{
	const char *script = w->submitted[i].script, *there = strstr(script, " --partial");
	char want[64];

	snprintf(want, sizeof(want), " --candidate %s ", candidate);
	assert_non_null(strstr(script, want));
	if (!option) {
		assert_null(there);
		return;
	}
	snprintf(want, sizeof(want), " --partial=%s --seconds ", option);
	assert_non_null(there);
	assert_memory_equal(there, want, strlen(want));
}

/* A job is traced on fast and probed on both candidates; source, other: the option in their scripts, or NULL. */
static void assert_options(const char *conf, const char *source, const char *other)
{
	char text[256];

	snprintf(text, sizeof(text), "Candidates=fast,slow:big\n%s", conf);
	conf_make(text);
	traced_job();
	assert_script(0, "fast", source);
	assert_non_null(strstr(w->submitted[0].script, " --source "));
	probe_end(500, "fast", 90, 20);
	assert_int_equal(w->n_submitted, 2);
	assert_script(1, "slow_big", other);
}

#define CASE(name, conf, source, other)       \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		assert_options(conf, source, other); \
	}

CASE(default, "", NULL, NULL)
CASE(off, "PartialExecution=off", NULL, NULL)
CASE(on, "PartialExecution=on", "on", "on")
CASE(never, "PartialExecution=never", "never", "never")
/* the traced one runs it as well, to compare */
CASE(one_on, "PartialExecution.slow:big=on", "on", "on")
CASE(partition_on, "PartialExecution.slow=on", "on", "on")
CASE(source_on, "PartialExecution.fast=on", "on", NULL)
CASE(one_never, "PartialExecution=on\nPartialExecution.slow:big=never", "on", "never")
/* who asks gets it on fast alone */
CASE(one_never_off, "PartialExecution.slow=never", NULL, "never")
CASE(one_off, "PartialExecution=never\nPartialExecution.fast=off\nPartialExecution.slow:big=off", NULL, NULL)
/* nothing to compare with */
CASE(source_never, "PartialExecution=on\nPartialExecution.fast=never", "never", "never")

/* A record of the source probe that failed, with this line more. */
static void source_fails(const char *line)
{
	char dir[256], path[300];
	FILE *f;

	result_leave(1, 500, "fast", 90, "cannot be probed");
	job_dir(1, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/probe.fast.result", dir);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, -4, SEEK_END), 0); /* "end\n" */
	assert_true(fprintf(f, "%send\n", line) > 0);
	fclose(f);
	job_end(job_find(500), "COMPLETED", 20);
	look();
}

/* A program that no skeleton repeats is not traced again by itself, for a trace would say the same. */
static void test_unskeleton(void **state)
{
	(void)state;
	traced_job();
	source_fails("unskeleton CUDA\n");
	assert_state(PROGRAM_FAILED, "probe on fast: cannot be probed");
	assert_true(program().retrace_at == 0 && program().n_traces == 1);
	assert_int_equal(w->n_submitted, 1);
}

static void test_failed_is_traced_again(void **state)
{
	(void)state;
	traced_job();
	source_fails("");
	assert_state(PROGRAM_FAILED, "probe on fast: cannot be probed");
	assert_true(program().retrace_at > w->now);
}

/* ---- generic resources and licences ---- */

/* The traced job has two GPUs on each node and a licence. */
static void traced_with(const char *conf, const char *gres)
{
	struct cluster_job *j;
	char text[256];

	snprintf(text, sizeof(text), "Candidates=fast,slow:big\n%s", conf);
	conf_make(text);
	j = job_add(1, ACT_TRACE);
	j->want[WANT_TRES_PER_NODE] = gres;
	j->want[WANT_LICENCES] = "matlab:1";
	look();
	job_run(j);
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
}

static void assert_wants(unsigned i, const char *gres, const char *licences)
{
	for (enum cluster_want k = 0; k < CLUSTER_WANTS; k++)
		assert_string_equal(w->submitted[i].want[k], k == WANT_TRES_PER_NODE ? gres : k == WANT_LICENCES ? licences : "");
}

/* No probe takes a licence unless it runs the program, and none runs the program without. */
static void test_wants(void **state)
{
	(void)state;
	traced_with("", "gres:gpu:2");
	assert_int_equal(w->n_submitted, 1);
	assert_wants(0, "gres:gpu:2", "");
	assert_script(0, "fast", "never");
	probe_end(500, "fast", 90, 20);
	assert_wants(1, "gres:gpu:2", "");
	assert_script(1, "slow_big", "never");
}

static void test_wants_of_program(void **state)
{
	(void)state;
	traced_with("PartialExecution=on\nPartialExecution.slow:big=never", "gres:gpu:2");
	assert_wants(0, "gres:gpu:2", "matlab:1");
	assert_script(0, "fast", "on");
	probe_end(500, "fast", 90, 20);
	assert_wants(1, "gres:gpu:2", "");
	assert_script(1, "slow_big", "never");
}

/* Slurm's marks may differ, the rest may not. */
static void test_wants_changed(void **state)
{
	(void)state;
	traced_with("", "gres:gpu:2");
	job_find(500)->want[WANT_TRES_PER_NODE] = "gres/gpu=2";
	look();
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
	job_find(500)->want[WANT_TRES_PER_NODE] = "gres/gpu=20";
	look();
	assert_int_equal(probe("fast").state, PROBE_FAILED);
	assert_state(PROGRAM_FAILED, "its generic resources were changed");
	assert_int_equal(w->last_cancelled, 500);
}

static void test_licences_changed(void **state)
{
	(void)state;
	traced_with("", "gres:gpu:2");
	job_find(500)->want[WANT_LICENCES] = "matlab:9";
	look();
	assert_state(PROGRAM_FAILED, "its licences were changed");
}

/* A text that a probe cannot repeat. */
static void test_wants_too_long(void **state)
{
	char gres[CLUSTER_WANT_MAX + 1];

	(void)state;
	memset(gres, 'g', CLUSTER_WANT_MAX);
	gres[CLUSTER_WANT_MAX] = '\0';
	traced_with("", gres);
	assert_int_equal(w->n_submitted, 0);
	assert_state(PROGRAM_FAILED, "too long a text");
	assert_true(program().retrace_at == 0);
}

static void test_wants_unclean(void **state)
{
	(void)state;
	traced_with("", "gres:gpu\t6=x");
	assert_int_equal(w->n_submitted, 0);
	assert_state(PROGRAM_FAILED, "too long a text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_default),	 T(test_off),	  T(test_on),	      T(test_never),
					   T(test_one_on),	 T(test_partition_on), T(test_source_on), T(test_one_never),
					   T(test_one_never_off), T(test_one_off), T(test_source_never),
					   T(test_unskeleton), T(test_failed_is_traced_again),
					   T(test_wants), T(test_wants_of_program), T(test_wants_changed),
					   T(test_licences_changed), T(test_wants_too_long), T(test_wants_unclean)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
