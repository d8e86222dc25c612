/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job arrays: what the index does to how long a task takes, and what is said before the next submission, which has one limit. */
#include "predictor/array.h"
#include "predictor/follow.h"
#include "tests/unit/store_fixture.h"

static struct array_view judged(const struct array_run *runs, size_t n)
{
	struct array_view v;

	array_judge(runs, n, &v);
	return v;
}

#define JUDGED(...) judged((const struct array_run[]){__VA_ARGS__}, sizeof((const struct array_run[]){__VA_ARGS__}) / sizeof(struct array_run))

static void test_judge(void **state)
{
	struct array_view v = judged(NULL, 0);

	(void)state;
	assert_int_equal(v.word, ARRAY_NONE);
	assert_int_equal(JUDGED({ARRAY_NO_INDEX, 10, false}, {ARRAY_NO_INDEX, 90, false}).word, ARRAY_NONE);
	v = JUDGED({1, 10, false}, {2, 10, false}, {3, 10, true});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "a job array, of which 2 tasks have ended: 3 are needed to see what the index does");
	v = JUDGED({1, 100, false}, {2, 110, false}, {7, 125, false});
	assert_int_equal(v.word, ARRAY_ALIKE);
	assert_true(v.least_s == 100 && v.most_s == 125);
	v = JUDGED({1, 100, false}, {2, 110, false}, {7, 126, false});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "the array's index matters: with some it took 100 s, with others 126 s; the longest, index 7, "
					"has run once: two runs are needed");
	v = JUDGED({7, 124, false}, {1, 100, false}, {2, 110, false}, {7, 128, false});
	assert_int_equal(v.word, ARRAY_LONGEST);
	assert_int_equal(v.longest, 7);
	assert_true(v.most_s == 126);
	assert_int_equal(JUDGED({7, 100, false}, {7, 101, false}, {7, 99, false}).word, ARRAY_ALIKE); /* always the same */
	v = JUDGED({9, 500, true}, {7, 124, false}, {1, 10, false}, {7, 128, false});
	assert_int_equal(v.word, ARRAY_UNKNOWN);
	assert_string_equal(v.why.text, "the array's index matters (10 to 126 s), and index 9 was ended after 500 s");
	assert_int_equal(JUDGED({9, 50, true}, {7, 124, false}, {1, 10, false}, {7, 128, false}).word, ARRAY_LONGEST);
}

static struct precedent_conf conf;

/* One array after the other, tasks 1 to n, task i of a + b * i seconds. */
static void arrays_run(struct store *s, unsigned arrays, unsigned n, double a, double b, const char *candidate)
{
	static uint32_t job = 100;

	for (unsigned k = 0; k < arrays; k++) {
		uint32_t first = ++job;

		for (unsigned i = 1; i <= n; i++, job++) {
			struct store_run r = {.jobid = job, .submit_time = NOW + first, .uid = 1000, .act = ACT_PREDICT, .start_time = NOW,
					      .end_time = NOW + job, .elapsed_s = a + b * i, .array_job = first, .array_task = i,
					      .user_limit_min = 60, .limit_min = DURATION_UNSET, .pred_kind = -1};

			strcpy(r.key, KEY1);
			strcpy(r.family, FAMILY);
			strcpy(r.candidate, candidate);
			strcpy(r.end_state, "COMPLETED");
			ok(store_run_put(s, &r, &err));
		}
	}
}

/* What is known of the array on the candidate then; false: nothing, *why says why. */
static bool known(struct store *s, const char *candidate, struct estimate *e, struct errbuf *why)
{
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct follow_env env = {.conf = &conf, .store = s};
	struct follow_estimates est;
	struct store_lookup l;

	strcpy(p.source_candidate, "fast");
	ok(store_program_put(s, &p, &err));
	ok(follow_calibrate(&env, &p, candidate, NOW, &est, &err));
	*why = est.refused;
	assert_int_equal(store_lookup(s, KEY1, &l, &err), 1);
	for (unsigned i = 0; i < l.n_estimates; i++) {
		if (strcmp(l.estimates[i].candidate, candidate))
			continue;
		*e = l.estimates[i].e;
		return true;
	}
	return false;
}

static void test_alike(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 1, 2, 100, 1, "fast");
	assert_false(known(s, "fast", &e, &why));
	assert_non_null(strstr(why.text, "2 tasks have ended: 3 are needed"));
	arrays_run(s, 1, 20, 100, 1, "fast"); /* 101 to 120 s; the latest five are 116 and more */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.lo_s <= 101 && e.hi_s >= 120);
	store_close(s);
}

static void test_longest(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 1, 10, 0, 10, "fast");
	assert_false(known(s, "fast", &e, &why));
	assert_non_null(strstr(why.text, "nothing for fast: the array's index matters: with some it took 10 s, with others 100 s"));
	arrays_run(s, 1, 10, 0, 10, "fast");
	assert_true(known(s, "fast", &e, &why)); /* of the two runs of index 10 */
	assert_int_equal(e.kind, ESTIMATE_HISTORY);
	assert_int_equal(e.n, 2);
	assert_true(e.mean_s == 100 && e.lo_s > 80 && e.hi_s >= 100 && e.hi_s < 120);
	assert_false(known(s, "slow", &e, &why)); /* nothing says how long that index takes there */
	assert_non_null(strstr(why.text, "the array's index matters on fast: 10 to 100 s"));
	arrays_run(s, 1, 3, 0, 10, "fast"); /* a part of it: the limit is still that of the longest */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.mean_s == 100);
	store_close(s);
}

/* Many tasks end beside each other, and the longest is none of the latest. */
static void test_long(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct errbuf why;
	struct estimate e;

	(void)state;
	arrays_run(s, 2, 100, 1100, -10, "fast"); /* index 1 takes 1090 s, index 100 takes 100 s */
	assert_true(known(s, "fast", &e, &why));
	assert_true(e.mean_s == 1090);
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_judge), T(test_alike), T(test_longest), T(test_long)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
