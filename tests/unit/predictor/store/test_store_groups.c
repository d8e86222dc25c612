/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of similar runs in the store: which job is in which, what is kept, and what goes. */
#include <sqlite3.h>

#include "predictor/store/forget.h"
#include "predictor/store/groups.h"
#include "predictor/store/keep.h"
#include "tests/unit/store_fixture.h"

static const struct group_job job = {.uid = 1000,
				     .nodes = 2,
				     .limit_min = 60,
				     .partition = "fast",
				     .command = "sbatch job.sh 4",
				     .name = "melt",
				     .work_dir = "/home/ann",
				     .account = "physics",
				     .text = 0x123456789abcdef0,
				     .pattern = 0xfedcba9876543210};

/* The rungs on which both jobs are in one group, as bits. */
static unsigned shared(const struct group_job *a, const struct group_job *b)
{
	struct group_ids x, y;
	unsigned bits = 0;

	group_ids_of(a, &x);
	group_ids_of(b, &y);
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		bits |= (unsigned)(x.id[r] && x.id[r] == y.id[r]) << r;
	return bits;
}

#define ON(rung) (1u << LADDER_##rung)
#define ALL	 ((1u << LADDER_RUNGS) - 1)

static void test_ids(void **state)
{
	struct group_job other = job;

	(void)state;
	assert_int_equal(shared(&job, &other), ALL);
	other.command = "sbatch job.sh 5";
	assert_int_equal(shared(&job, &other), ALL & ~ON(COMMAND));
	other.name = "meltdown";
	assert_int_equal(shared(&job, &other), ALL & ~(ON(COMMAND) | ON(NAME)));
	other.nodes = 3; /* the same script may run on more nodes */
	assert_int_equal(shared(&job, &other), ALL & ~(ON(COMMAND) | ON(NAME) | ON(SHAPE)));
	other.uid = 1001;
	assert_int_equal(shared(&job, &other), ON(ACCOUNT));
	other = job;
	other.text ^= UINT64_C(1) << 63; /* other numbers */
	assert_int_equal(shared(&job, &other), ALL & ~ON(SCRIPT));
	other.pattern = 0; /* the script is not known */
	assert_int_equal(shared(&job, &other), ALL & ~(ON(SCRIPT) | ON(NUMBERS)));
	other.pattern = job.text; /* hashes of the two rungs are not mixed up */
	assert_int_equal(shared(&job, &other), ALL & ~(ON(SCRIPT) | ON(NUMBERS)));
	other = job;
	other.work_dir = "/home/ann/b";
	assert_int_equal(shared(&job, &other), ALL & ~(ON(COMMAND) | ON(NAME)));
	other = job;
	other.limit_min = 61;
	assert_int_equal(shared(&job, &other), ALL & ~ON(SHAPE));
	other = job;
	other.account = NULL; /* not given: the default account is not known yet */
	assert_int_equal(shared(&job, &other), ALL & ~ON(ACCOUNT));
	other = job;
	other.partition = "slow";
	assert_int_equal(shared(&job, &other), 0);
	other.partition = NULL;
	assert_int_equal(shared(&other, &other), 0);
}

static void test_format(void **state)
{
	char text[COMMENT_GROUPS_MAX], again[COMMENT_GROUPS_MAX];
	struct group_ids ids, back;

	(void)state;
	group_ids_of(&job, &ids);
	group_ids_format(&ids, text);
	assert_int_equal(strlen(text), COMMENT_GROUPS_MAX - 1);
	assert_int_equal(group_ids_parse(text, &back), 0);
	assert_memory_equal(&ids, &back, sizeof(ids));
	for (unsigned i = 0; i < sizeof(text) - 1; i++) {
		strcpy(again, text);
		again[i] = "gF -"[i % 4];
		assert_int_equal(group_ids_parse(again, &back), -1);
		assert_true(back.id[LADDER_USER] == 0);
		again[i] = '\0';
		assert_int_equal(group_ids_parse(again, &back), -1);
	}
}

static void add(struct store *s, const struct group_job *of, const char *end_state, double elapsed_s, int64_t when)
{
	const struct group_run run = {of->uid, end_state, elapsed_s, when};
	struct group_ids ids;

	group_ids_of(of, &ids);
	ok(store_groups_add(s, &ids, &run, &err));
}

static int get(struct store *s, const struct group_job *of, struct ladder_group g[LADDER_RUNGS])
{
	struct group_ids ids;
	int n;

	group_ids_of(of, &ids);
	n = store_groups_get(s, &ids, g, &err);
	ok(n);
	return n;
}

static void test_rows(void **state)
{
	struct store *s = must_open(STORE_WRITE), *reader;
	struct ladder_group g[LADDER_RUNGS];
	struct group_job other = job;

	(void)state;
	assert_int_equal(get(s, &job, g), 0);
	add(s, &job, "COMPLETED", 100, NOW);
	add(s, &job, "TIMEOUT", 3600, NOW);
	add(s, &job, "UNKNOWN", 5, NOW);
	other.command = "sbatch other.sh";
	add(s, &other, "FAILED", 7, NOW);
	reader = must_open(STORE_READ);
	assert_int_equal(get(reader, &job, g), LADDER_RUNGS);
	assert_true(g[LADDER_COMMAND].n == 2 && g[LADDER_COMMAND].seconds[0] == 3600 &&
		    g[LADDER_COMMAND].seconds[1] == 100);
	assert_true(g[LADDER_COMMAND].censored == 1 && g[LADDER_COMMAND].ended == 2 && g[LADDER_NAME].ended == 3 &&
		    g[LADDER_NAME].early == 1);
	store_close(reader);
	store_close(s);
}

static void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_damaged_rows(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct ladder_group g[LADDER_RUNGS];

	(void)state;
	add(s, &job, "COMPLETED", 100, NOW);
	sql("UPDATE groups SET data = zeroblob(length(data) - 1)"); /* of another version */
	assert_int_equal(get(s, &job, g), 0);
	sql("UPDATE groups SET data = x'ff' || zeroblob(79)"); /* 255 runs */
	assert_int_equal(get(s, &job, g), 0);
	assert_int_equal(g[LADDER_USER].n, 0);
	add(s, &job, "COMPLETED", 100, NOW); /* begins anew */
	assert_int_equal(get(s, &job, g), LADDER_RUNGS);
	assert_int_equal(g[LADDER_USER].n, 1);
	store_close(s);
}

static void test_end_of_rows(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct ladder_group g[LADDER_RUNGS];
	struct group_job other = job;

	(void)state;
	other.uid = 1001;
	other.account = "chemistry";
	add(s, &job, "COMPLETED", 100, NOW - 1000);
	add(s, &other, "COMPLETED", 100, NOW);
	ok(store_prune(s, NOW - 10, &err));
	assert_int_equal(get(s, &job, g), 0);
	assert_int_equal(get(s, &other, g), LADDER_RUNGS);
	add(s, &job, "COMPLETED", 100, NOW);
	ok(store_user_forget(s, 1001, NOW, &err));
	assert_int_equal(get(s, &other, g), 0);
	assert_int_equal(get(s, &job, g), LADDER_RUNGS);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ids),
	    cmocka_unit_test(test_format),
	    cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_damaged_rows, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_end_of_rows, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
