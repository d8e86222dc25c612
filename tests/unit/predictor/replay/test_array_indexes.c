/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The indexes of an array of a stream: the text is read by the test itself, and lists each task of that submission once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/replay/array_indexes.h"

#define JOBS  400
#define TASKS 40 /* indexes below */

/* "1,3-5": marks 1, 3, 4 and 5. Each index is told once. */
static void marks_read(const char *text, bool marked[TASKS])
{
	char *end = (char *)(uintptr_t)text;

	memset(marked, 0, TASKS * sizeof(*marked));
	do {
		unsigned long from = strtoul(end + (*end == ','), &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		assert_true(from <= to && to < TASKS);
		for (; from <= to; from++) {
			assert_false(marked[from]);
			marked[from] = true;
		}
	} while (*end == ',');
	assert_int_equal(*end, '\0');
}

static void test_random_streams(void **state)
{
	struct sim_job jobs[JOBS];
	struct stream_job about[JOBS];
	struct stream s = {.jobs = jobs, .about = about, .n = JOBS};
	struct array_indexes a = {0};

	(void)state;
	srand48(5);
	for (unsigned trial = 0; trial < 50; trial++) {
		int64_t now = 0;

		for (size_t i = 0; i < JOBS; i++) {
			now += lrand48() % 20 == 0; /* arrays of one second are mixed */
			jobs[i] = (struct sim_job){.submit_s = now};
			about[i] = (struct stream_job){.array_job = (uint32_t)(lrand48() % 4), .array_task = (uint32_t)(lrand48() % TASKS)};
		}
		for (size_t i = 0; i < JOBS; i++) {
			bool told[TASKS], want[TASKS] = {false};

			if (!about[i].array_job)
				continue;
			for (size_t k = 0; k < JOBS; k++)
				if (about[k].array_job == about[i].array_job && jobs[k].submit_s == jobs[i].submit_s)
					want[about[k].array_task] = true;
			assert_int_equal(array_indexes_of(&a, &s, i), 0);
			marks_read(a.text, told);
			assert_memory_equal(told, want, sizeof(want));
		}
	}
	array_indexes_free(&a);
}

/* The longest numbers, which a range must have room for. */
static void test_large(void **state)
{
	struct sim_job jobs[3] = {{0}};
	struct stream_job about[3] = {{.array_job = 1, .array_task = UINT32_MAX}, {.array_job = 1, .array_task = UINT32_MAX - 1},
				      {.array_job = 1, .array_task = 0}};
	struct stream s = {.jobs = jobs, .about = about, .n = 3};
	struct array_indexes a = {0};

	(void)state;
	assert_int_equal(array_indexes_of(&a, &s, 1), 0);
	assert_string_equal(a.text, "0,4294967294-4294967295");
	array_indexes_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_streams), cmocka_unit_test(test_large)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
