/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decisions of arrays whose tasks alternate: each submission is decided once, in any order of its tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "predictor/replay/array_decisions.h"

#define JOBS 2000

/* The first job of the same submission, by looking at all. */
static size_t first_of(const struct sim_job *jobs, const struct stream_job *about, size_t job)
{
	size_t i = 0;

	while (about[i].array_job != about[job].array_job || jobs[i].submit_s != jobs[job].submit_s ||
	       jobs[i].request_min != jobs[job].request_min || about[i].nodes != about[job].nodes)
		i++;
	return i;
}

static void test_alternating(void **state)
{
	static struct sim_job jobs[JOBS];
	static struct stream_job about[JOBS];
	struct stream s = {.jobs = jobs, .about = about, .n = JOBS};
	struct array_decisions d = {0};
	int64_t now = 0;
	unsigned decided = 0, submissions = 0;

	(void)state;
	srand48(9);
	for (size_t i = 0; i < JOBS; i++) {
		now += lrand48() % 200 == 0;
		jobs[i] = (struct sim_job){.submit_s = now, .request_min = lrand48() % 30 ? 60 : 120};
		about[i] = (struct stream_job){.array_job = 1 + (uint32_t)(lrand48() % 20), .nodes = lrand48() % 30 ? 1 : 2};
	}
	for (size_t i = 0; i < JOBS; i++) {
		const struct array_decision *found = array_decisions_find(&d, &s, i);
		size_t first = first_of(jobs, about, i);

		submissions += first == i;
		if (!found) {
			struct array_decision of = {.job = i, .wish_min = (uint32_t)i};

			decided++;
			assert_int_equal(array_decisions_add(&d, &s, &of), 0);
			found = array_decisions_find(&d, &s, i);
		}
		assert_non_null(found);
		assert_int_equal(found->job, first);
		assert_int_equal(found->wish_min, first);
	}
	assert_true(submissions > 100);
	assert_int_equal(decided, submissions);
	array_decisions_free(&d);
}

static void test_past_seconds_are_forgotten(void **state)
{
	struct sim_job jobs[3] = {{.submit_s = 5}, {.submit_s = 5}, {.submit_s = 6}};
	struct stream_job about[3] = {{.array_job = 1}, {.array_job = 2}, {.array_job = 1}};
	struct stream s = {.jobs = jobs, .about = about, .n = 3};
	struct array_decisions d = {0};

	(void)state;
	assert_null(array_decisions_find(&d, &s, 0));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(array_decisions_add(&d, &s, &(struct array_decision){.job = i}), 0);
	assert_int_equal(d.n, 1);
	assert_null(array_decisions_find(&d, &s, 0));
	assert_non_null(array_decisions_find(&d, &s, 2));
	array_decisions_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_alternating), cmocka_unit_test(test_past_seconds_are_forgotten)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
