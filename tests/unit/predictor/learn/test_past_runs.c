/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past runs of all candidates, read at once, are those that a query for each candidate gives. */
#include "predictor/learn/past_runs.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

#define RUNS 700
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const char *const candidates[] = {"fast", "slow", "gpu"};

static void run_put(struct store *s, uint32_t job)
{
	static const char *const states[] = {"COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", ""};
	struct store_run r = {.jobid = job, .submit_time = 1000 + job / 3, .uid = 1000 + (job % 7 == 0), .act = ACT_PREDICT};

	snprintf(r.key, sizeof(r.key), "%032x", (unsigned)(lrand48() % 2));
	snprintf(r.family, sizeof(r.family), "%032x", (unsigned)(lrand48() % 3));
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidates[lrand48() % 3]);
	snprintf(r.end_state, sizeof(r.end_state), "%s", states[lrand48() % 5]);
	r.elapsed_s = r.end_state[0] ? 1 + (double)(lrand48() % 100) : 0;
	r.pred_kind = -1;
	ok(store_run_put(s, &r, &err));
}

static int alone(struct store *s, enum past_of of, const char *key, const char *candidate, int64_t since, struct store_past *out,
		 size_t max)
{
	struct store_past_filter f = {.candidate = candidate, .since = since, .uid = 1000};

	if (of == PAST_OF_PROGRAM)
		f.key = key;
	else if (of == PAST_OF_FAMILY)
		f.family = key;
	else
		f.except = key;
	return store_past_read(s, &f, out, max, &err);
}

static void test_as_alone(void **state)
{
	static const size_t most[] = {4, 64, 16, 256};
	static struct store_past one[256], all[256];
	struct store *s = must_open(STORE_WRITE);
	char key[IDENTITY_KEY_LEN + 1];
	struct past_runs r = {.store = s, .uid = 1000, .key = key, .family = key};
	unsigned found = 0;

	(void)state;
	srand48(3);
	snprintf(key, sizeof(key), "%032x", 1u);
	for (uint32_t job = 1; job <= RUNS; job++)
		run_put(s, job);
	for (unsigned trial = 0; trial < 200; trial++) {
		const char *candidate = candidates[lrand48() % 3];
		size_t max = most[lrand48() % 4];
		int64_t since = lrand48() % 2 ? 0 : 1000 + lrand48() % (RUNS / 3);
		enum past_of of = (enum past_of)(lrand48() % PAST_LISTS);
		int n = alone(s, of, key, candidate, since, one, max), m = past_runs_get(&r, of, candidate, since, all, max, &err);

		assert_int_equal(m, n);
		for (int i = 0; i < n; i++)
			assert_true(all[i].jobid == one[i].jobid && all[i].evidence == one[i].evidence);
		found += (unsigned)n;
	}
	assert_in_range(found, 1000, UINT32_MAX);
	past_runs_free(&r);
	store_close(s);
}

/* A list is not read again for another candidate, nor for fewer runs. */
static void test_read_once(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	char key[IDENTITY_KEY_LEN + 1];
	struct past_runs r = {.store = s, .uid = 1000, .key = key, .family = ""};
	struct store_past out[8];
	int n;

	(void)state;
	snprintf(key, sizeof(key), "%032x", 1u);
	for (uint32_t job = 1; job <= 20; job++)
		run_put(s, job);
	n = past_runs_get(&r, PAST_OF_PROGRAM, "fast", 0, out, 8, &err);
	for (uint32_t job = 21; job <= 60; job++)
		run_put(s, job);
	assert_int_equal(past_runs_get(&r, PAST_OF_PROGRAM, "fast", 0, out, 8, &err), n);
	for (int i = past_runs_get(&r, PAST_OF_PROGRAM, "slow", 0, out, 4, &err); i-- > 0;)
		assert_in_range(out[i].jobid, 1, 20);
	assert_int_equal(past_runs_get(&r, PAST_OF_FAMILY, "fast", 0, out, 8, &err), 0);
	past_runs_free(&r);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_as_alone), T(test_read_once)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
