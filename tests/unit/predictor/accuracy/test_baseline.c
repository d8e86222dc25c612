/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Last-two predictors: cases by hand, and random histories against a search through everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/accuracy/baseline.h"

#define A {1, 1}
#define B {2, 2}

static struct baseline one(struct baseline_run *runs, size_t n, size_t which)
{
	struct baseline *out = calloc(n, sizeof(*out)), b;

	assert_int_equal(baseline_compute(runs, n, out, NULL), 0);
	b = out[which];
	free(out);
	return b;
}

static void test_nothing(void **state)
{
	struct baseline_run alone[] = {{A, 1, 1000, 100, 200, 100}};

	(void)state;
	assert_int_equal(baseline_compute(NULL, 0, NULL, NULL), 0);
	assert_true(one(alone, 1, 0).user_s == 0); /* not even itself */
	assert_true(one(alone, 1, 0).key_s == 0);
}

static void test_by_hand(void **state)
{
	struct baseline_run runs[] = {
		{A, 1, 1000, 0, 100, 10},   {B, 2, 1000, 0, 200, 30}, {A, 3, 1000, 0, 300, 50}, {{3, 3}, 4, 2000, 0, 250, 1000},
		{A, 5, 1000, 300, 400, 70}, /* job 3 ends in that second: not known yet */
		{A, 6, 1000, 301, 400, 70}, {B, 7, 1000, 201, 0, 0},
		{{0, 0}, 8, 1000, 1000, 0, 0},
	};
	size_t n = sizeof(runs) / sizeof(runs[0]);

	(void)state;
	assert_true(one(runs, n, 4).user_s == 20); /* of 10 and 30 */
	assert_true(one(runs, n, 4).key_s == 10);
	assert_true(one(runs, n, 5).user_s == 40); /* of 30 and 50 */
	assert_true(one(runs, n, 5).key_s == 30);  /* of 10 and 50 */
	assert_true(one(runs, n, 6).key_s == 30);
	assert_true(one(runs, n, 7).user_s == 70); /* the two that ended at 400 */
	assert_true(one(runs, n, 7).key_s == 0);   /* no key, no history of it */
}

/* Runs that are not over, or took no time, teach nothing. */
static void test_no_end(void **state)
{
	struct baseline_run runs[] = {{A, 1, 1000, 0, 0, 10}, {A, 2, 1000, 0, 50, 0}, {A, 3, 1000, 100, 0, 0}};

	(void)state;
	assert_true(one(runs, 3, 2).user_s == 0);
	assert_true(one(runs, 3, 2).key_s == 0);
}

static void test_key(void **state)
{
	uint64_t key[2];

	(void)state;
	baseline_key("0123456789abcdef0000000000000001", key);
	assert_true(key[0] == 0x0123456789abcdefull && key[1] == 1);
	baseline_key("", key);
	assert_true(!key[0] && !key[1]);
	baseline_key("0123456789abcdeg0000000000000001", key);
	assert_true(!key[0] && !key[1]);
}

/* ---- the oracle: for each run, look at all others ---- */

static int later(const struct baseline_run *a, const struct baseline_run *b)
{
	return a->end_time != b->end_time ? a->end_time > b->end_time : a->jobid > b->jobid;
}

static double search(const struct baseline_run *runs, size_t n, size_t me, int by_key)
{
	const struct baseline_run *first = NULL, *second = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct baseline_run *r = &runs[i];

		if (by_key ? memcmp(r->key, runs[me].key, sizeof(r->key)) : r->uid != runs[me].uid)
			continue;
		if (r->end_time <= 0 || r->elapsed_s <= 0 || r->end_time >= runs[me].submit_time)
			continue;
		if (!first || later(r, first)) {
			second = first;
			first = r;
		} else if (!second || later(r, second)) {
			second = r;
		}
	}
	if (!first || (by_key && !runs[me].key[0] && !runs[me].key[1]))
		return 0;
	return second ? (first->elapsed_s + second->elapsed_s) / 2 : first->elapsed_s;
}

static void test_against_search(void **state)
{
	struct baseline_run runs[200];
	struct baseline out[200];

	(void)state;
	srandom(7);
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + (size_t)random() % 200;
		int span = 1 + (int)(random() % 400); /* short spans: many in the same second */

		for (size_t i = 0; i < n; i++) {
			int64_t submit = 1 + random() % span;
			uint64_t key = (uint64_t)random() % 5;

			runs[i] = (struct baseline_run){{key, key ? (uint64_t)random() % 3 : 0}, (uint32_t)i + 1,
							(uint32_t)random() % 4, submit,
							random() % 6 ? submit + random() % span : 0,
							(double)(random() % 100)};
		}
		assert_int_equal(baseline_compute(runs, n, out, NULL), 0);
		for (size_t i = 0; i < n; i++) {
			assert_true(out[i].user_s == search(runs, n, i, 0));
			assert_true(out[i].key_s == search(runs, n, i, 1));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_by_hand),	       cmocka_unit_test(test_no_end),
		cmocka_unit_test(test_key),	cmocka_unit_test(test_against_search),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
