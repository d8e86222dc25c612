/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past runs, drifts and groups of a store in memory are those that SQLite finds in a file with the same rows. */
#include "predictor/store/groups.h"
#include "predictor/store/past.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

#define RUNS	300
#define QUERIES 400
#define MAX	64
#define T(f)	cmocka_unit_test_setup_teardown(f, setup, teardown)

static struct store *both[2]; /* a file, and memory */

static unsigned any(unsigned n)
{
	return (unsigned)(random_next() % n);
}

static void key_of(unsigned number, char key[IDENTITY_KEY_LEN + 1])
{
	snprintf(key, IDENTITY_KEY_LEN + 1, "%032x", number);
}

static const char *candidate_any(void)
{
	static const char *const names[] = {"fast", "slow", "", "gpu:big"};

	return names[any(4)];
}

static void run_put(void)
{
	static const char *const states[] = {"COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "CANCELLED", ""};
	/* few ids: some runs replace others, also with other keys */
	struct store_run r = {.jobid = 1 + any(RUNS), .submit_time = NOW + any(40), .uid = 1000 + any(3), .act = ACT_PREDICT};

	if (any(8))
		key_of(any(5), r.key);
	if (any(8))
		key_of(10 + any(3), r.family);
	if (any(3))
		key_of(20 + any(2), r.kin);
	snprintf(r.vars, sizeof(r.vars), "%u,%u", any(3), any(100000));
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate_any());
	snprintf(r.pred_candidate, sizeof(r.pred_candidate), "%s", any(2) ? r.candidate : candidate_any());
	snprintf(r.end_state, sizeof(r.end_state), "%s", states[any(6)]);
	r.elapsed_s = any(5) ? 1 + any(1000) / 7.0 : 0;
	r.pred_s = any(100) / 3.0;
	r.lo_s = r.pred_s / 2;
	r.hi_s = any(3) ? 2 * r.pred_s : 0;
	r.pred_kind = (int)any(4) - 1;
	r.pred_scale = any(4) ? any(30) / 10.0 : 0;
	r.restarts = !any(6);
	r.array_job = any(3) ? 0 : 1 + any(9);
	r.array_task = any(20);
	r.end_time = r.submit_time + 1;
	for (int i = 0; i < 2; i++)
		ok(store_run_put(both[i], &r, &err));
}

static void drift_put(void)
{
	struct drift d = {DRIFT_REPROBED, NOW + any(20), NOW + 10 + any(30)};
	const char *candidate = candidate_any();
	char key[IDENTITY_KEY_LEN + 1];

	key_of(any(2) ? any(5) : 20 + any(2), key);
	for (int i = 0; i < 2; i++)
		ok(store_drift_put(both[i], key, candidate, &d, &err));
}

static void groups_any(struct group_ids *ids)
{
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		ids->id[r] = any(3) ? 1 + any(20) : 0;
}

static void group_add(void)
{
	static const char *const states[] = {"COMPLETED", "TIMEOUT", "FAILED", "BOOT_FAIL"};
	struct group_run run = {1000 + any(3), states[any(4)], any(9) ? 1 + any(1000) : 0, NOW + any(40)};
	struct group_ids ids;

	groups_any(&ids);
	for (int i = 0; i < 2; i++)
		ok(store_groups_add(both[i], &ids, &run, &err));
}

/* Of groups and drifts. Returns how many groups were found. */
static unsigned ask_small(void)
{
	struct ladder_group found[2][LADDER_RUNGS];
	const char *candidate = candidate_any();
	char key[IDENTITY_KEY_LEN + 1];
	struct group_ids ids;
	struct drift d[2];
	int n[2], m[2];

	groups_any(&ids);
	key_of(any(2) ? any(6) : 20 + any(3), key);
	for (int i = 0; i < 2; i++) {
		n[i] = store_groups_get(both[i], &ids, found[i], &err);
		m[i] = store_drift_get(both[i], key, candidate, &d[i], &err);
	}
	assert_in_range(n[0], 0, LADDER_RUNGS);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(found[0], found[1], sizeof(found[0]));
	assert_in_range(m[0], 0, 1);
	assert_int_equal(m[0], m[1]);
	assert_true(d[0].stage == d[1].stage && d[0].since == d[1].since && d[0].acted == d[1].acted);
	return (unsigned)n[0];
}

static void same(const struct store_past *a, const struct store_past *b)
{
	assert_int_equal(a->jobid, b->jobid);
	assert_int_equal(a->submit_time, b->submit_time);
	assert_string_equal(a->key, b->key);
	assert_string_equal(a->vars, b->vars);
	assert_string_equal(a->candidate, b->candidate);
	assert_int_equal(a->evidence, b->evidence);
	assert_true(a->actual_s == b->actual_s && a->pred_s == b->pred_s && a->lo_s == b->lo_s && a->hi_s == b->hi_s);
	assert_int_equal(a->told, b->told);
	assert_int_equal(a->pred_kind, b->pred_kind);
	assert_true(a->pred_scale == b->pred_scale);
	assert_int_equal(a->array_job, b->array_job);
	assert_int_equal(a->array_task, b->array_task);
	assert_int_equal(a->row, b->row);
	assert_int_equal(a->drifted, b->drifted);
}

/* A question of each kind; some keys are of no run. Returns how many runs were found. */
static unsigned ask(void)
{
	static struct store_past found[2][MAX];
	char key[IDENTITY_KEY_LEN + 1], also[IDENTITY_KEY_LEN + 1];
	struct store_past_filter f = {.candidate = any(3) ? candidate_any() : NULL, .uid = 1000 + any(4)};
	size_t max = 1 + any(MAX);
	unsigned kind = any(6);
	int n[2];

	key_of(kind == 0 ? any(6) : kind < 3 ? 10 + any(4) : 20 + any(3), key);
	key_of(kind == 2 ? 20 + any(3) : 10 + any(4), also);
	if (kind == 0)
		f.key = key;
	else if (kind < 3)
		f.family = key;
	if (kind == 2)
		f.kin = also;
	else if (kind == 3)
		f.kin = key;
	else if (kind == 4)
		f.except = also;
	f.max_rows = any(2) ? 0 : any(200);
	f.since = any(3) ? 0 : NOW + any(40);
	f.before = any(3) ? 0 : NOW + any(40);
	for (int i = 0; i < 2; i++)
		n[i] = store_past_read(both[i], &f, found[i], max, &err);
	assert_int_equal(n[0], n[1]);
	for (int i = 0; i < n[0]; i++)
		same(&found[0][i], &found[1][i]);
	return (unsigned)n[0];
}

static void open_both(void)
{
	both[0] = must_open(STORE_WRITE);
	ok(store_open("(memory)", STORE_WRITE | STORE_MEMORY, &both[1], &err));
	for (unsigned i = 0; i < RUNS; i++) {
		run_put();
		if (i % 20 == 0)
			drift_put();
		group_add();
	}
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++)
		store_close(both[i]);
}

static void test_as_file(void **state)
{
	unsigned found = 0, groups = 0;

	(void)state;
	open_both();
	for (unsigned i = 0; i < QUERIES; i++) {
		found += ask();
		groups += ask_small();
		run_put();
		group_add();
		if (any(4) == 0)
			drift_put();
	}
	assert_in_range(found, QUERIES, UINT32_MAX);
	assert_in_range(groups, QUERIES, UINT32_MAX);
	close_both();
}

static void test_bad_key(void **state)
{
	const struct store_past_filter bad[] = {{.key = "12"}, {.family = ""}, {.kin = "x"}, {.family = KEY1, .kin = ""}, {.except = ""}};
	struct store_past out;

	(void)state;
	open_both();
	for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
		for (int i = 0; i < 2; i++)
			assert_int_equal(store_past_read(both[i], &bad[b], &out, 1, &err), -1);
	close_both();
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_as_file), T(test_bad_key)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
