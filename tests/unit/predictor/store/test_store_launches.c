/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs launch, and kinds of jobs: kept over a restart and over kill -9, and gone with their user. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "predictor/store/busy.h"
#include "predictor/store/forget.h"
#include "predictor/store/groups.h"
#include "predictor/store/keep.h"
#include "predictor/store/launches.h"
#include "tests/unit/store_fixture.h"

#define LAUNCHES "v1:0123456789abcdef0123456789abcdef"

static const struct identity_layout layout = {.tasks = 4};
static uint64_t launch, kind;

static struct store *opened(unsigned flags)
{
	launch = store_launch_name(1000, &layout, LAUNCHES);
	kind = store_kind_name(1000, "melt", FAMILY);
	return must_open(flags);
}

struct found {
	char key[IDENTITY_KEY_LEN + 1];
	uint32_t fresh;
};

static struct found look(struct store *s)
{
	struct found f = {.key = "", .fresh = 0};
	int rv = store_launch_get(s, launch, f.key, &err), many;

	assert_in_range(rv, 0, 1);
	assert_true(rv || !f.key[0]);
	many = store_kind_get(s, kind, &f.fresh, &err);
	assert_int_equal(many, f.fresh >= STORE_KIND_FRESH);
	return f;
}

static void put_program(struct store *s, const char *key)
{
	struct store_program p = {.uid = 1000, .state = PROGRAM_READY, .updated = NOW};

	memcpy(p.key, key, sizeof(p.key));
	ok(store_program_put(s, &p, &err));
}

static void put(struct store *s, const char *key)
{
	ok(store_launch_put(s, launch, key, 1000, NOW, &err));
}

static void test_launches(void **state)
{
	struct store *s = opened(STORE_WRITE);

	(void)state;
	assert_string_equal(look(s).key, "");
	put(s, KEY1);
	assert_string_equal(look(s).key, KEY1);
	put(s, KEY2); /* no job has made KEY1 a program */
	assert_string_equal(look(s).key, KEY2);
	put_program(s, KEY2);
	put(s, KEY3);
	assert_string_equal(look(s).key, KEY2);
	assert_int_equal(store_program_forget(s, KEY2, &err), 1);
	put(s, KEY3);
	assert_string_equal(look(s).key, KEY3);
	assert_int_equal(store_launch_put(s, 0, KEY1, 1000, NOW, &err), 0);
	assert_int_equal(store_launch_put(s, launch, "no key", 1000, NOW, &err), -1);
	assert_string_equal(look(s).key, KEY3);
	assert_int_equal(store_prune(s, NOW + 1, &err), 1);
	assert_string_equal(look(s).key, "");
	put(s, KEY1);
	assert_true(store_user_forget(s, 1000, NOW, &err) > 0);
	assert_string_equal(look(s).key, "");
	store_close(s);
}

/* A program without a trace yields to another text, traced or not; a suspected one does not. */
static void test_program_without_trace(void **state)
{
	struct store_program p = {.key = KEY1, .uid = 1000, .state = PROGRAM_FAILED, .retrace_at = NOW, .updated = NOW,
				  .reason = "traced job 1 ended FAILED, job 2 without the tracer ended COMPLETED; "
					    "it is not traced again by itself"};
	struct store *s = opened(STORE_WRITE);

	(void)state;
	ok(store_launch_yield(s, launch, KEY1, 1000, NOW, &err));
	assert_string_equal(look(s).key, ""); /* an untraced run alone makes no row */
	put(s, KEY1);
	ok(store_program_put(s, &p, &err));
	put(s, KEY2);
	ok(store_launch_yield(s, launch, KEY2, 1000, NOW, &err));
	assert_string_equal(look(s).key, KEY1);
	strcpy(p.reason, "traced job 1 ended FAILED; the next run goes without the tracer");
	ok(store_program_put(s, &p, &err));
	put_program(s, KEY3);
	ok(store_launch_yield(s, launch, KEY3, 1000, NOW, &err)); /* a program of its own, with other launches */
	assert_string_equal(look(s).key, KEY1);
	ok(store_launch_yield(s, launch, KEY2, 1000, NOW, &err));
	assert_string_equal(look(s).key, KEY2);
	put(s, KEY1);
	assert_string_equal(look(s).key, KEY1);
	put(s, KEY3);
	assert_string_equal(look(s).key, KEY3);
	store_close(s);
}

/* Old rows go in steps. */
static void test_retention(void **state)
{
	struct store *s = opened(STORE_WRITE);
	const uint64_t first = launch;
	struct store_pruning at = {0};
	int steps = 0, total = 0;

	(void)state;
	ok(store_begin(s, &err));
	for (unsigned i = 0; i < 300; i++)
		ok(store_launch_put(s, first + i, KEY1, 1000, i % 3 ? NOW : NOW + 100, &err));
	ok(store_commit(s, &err));
	for (; !at.done; steps++) {
		int n = store_prune_step(s, NOW + 50, 50, &at, &err);

		assert_in_range(n, 0, 50);
		total += n;
	}
	assert_int_equal(total, 200);
	assert_in_range(steps, 8, 11); /* six or seven, one for each other stage */
	for (launch = first; launch < first + 300; launch++)
		assert_string_equal(look(s).key, (launch - first) % 3 ? "" : KEY1);
	store_close(s);
}

/* A key that its user has forgotten leads nowhere, and nothing leads to it. */
static void test_forgotten_key(void **state)
{
	struct store *s = opened(STORE_WRITE);
	const uint64_t first = launch;

	(void)state;
	put(s, KEY1);
	launch++;
	put(s, KEY1);
	launch++;
	put(s, KEY2);
	assert_true(store_key_forget(s, KEY1, 1000, NOW, &err) >= 0);
	assert_string_equal(look(s).key, KEY2);
	while (launch-- > first)
		assert_string_equal(look(s).key, "");
	store_close(s);
}

static uint32_t count(struct store *s, bool again)
{
	assert_int_equal(store_kind_add(s, kind, again, 1000, NOW, &err), 0);
	return look(s).fresh;
}

static void test_kinds(void **state)
{
	struct store *s = opened(STORE_WRITE);

	(void)state;
	assert_int_equal(look(s).fresh, 0);
	for (uint32_t i = 1; i <= STORE_KIND_FRESH; i++)
		assert_int_equal(count(s, false), i);
	store_close(s);
	s = opened(STORE_WRITE);
	assert_int_equal(look(s).fresh, STORE_KIND_FRESH);
	assert_int_equal(count(s, true), 0);
	assert_int_equal(count(s, false), 1);
	store_close(s);
	s = opened(STORE_READ);
	assert_int_equal(look(s).fresh, 1);
	store_close(s);
}

/* A row of launches is never taken for a group, nor a group for such a row, whatever the length. */
static void test_rows_of_another_length(void **state)
{
	struct store *s = opened(STORE_WRITE);
	const struct group_ids ids = {.id = {5, 6, 7, 8, 9, 10, 11}};
	const struct group_run run = {1000, "COMPLETED", 60, NOW};
	struct ladder_group g[LADDER_RUNGS];
	struct found b;
	sqlite3 *db;
	char sql[256];

	(void)state;
	assert_int_equal(store_groups_add(s, &ids, &run, &err), 0);
	put(s, KEY1);
	assert_int_equal(count(s, false), 1);
	assert_int_equal(store_groups_get(s, &ids, g, &err), LADDER_RUNGS);
	b = look(s);
	assert_string_equal(b.key, KEY1);
	assert_int_equal(b.fresh, 1);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql), "UPDATE groups SET data = x'00' WHERE id >= 4096");
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	b = look(s);
	assert_string_equal(b.key, "");
	assert_int_equal(b.fresh, 0);
	store_close(s);
}

/* Names of rows that were there when the index was built, and of later ones. */
static void test_index(void **state)
{
	struct store *s = opened(STORE_WRITE), *reader;
	char key[IDENTITY_KEY_LEN + 1];
	struct store_lookup found;
	uint64_t first = launch;
	char name[128];

	(void)state;
	put(s, KEY1);
	ok(store_heartbeat_set(s, NOW, &err));
	assert_int_equal(store_index_renew(s, &err), 1);
	reader = opened(STORE_READ);
	assert_int_equal(store_index_check(reader, &err), 1);
	assert_int_equal(store_lookup(reader, KEY3, &found, &err), 0);
	assert_int_equal(store_launch_get(reader, first, key, &err), 1);
	assert_string_equal(key, KEY1);
	assert_int_equal(store_launch_get(reader, first + 1, key, &err), 0);
	launch = first + 1;
	put(s, KEY2);
	for (uint32_t i = 1; i <= STORE_KIND_FRESH; i++)
		ok(store_kind_add(s, kind, false, 1000, NOW, &err));
	assert_int_equal(store_lookup(reader, KEY3, &found, &err), 0);
	assert_string_equal(look(reader).key, KEY2);
	assert_int_equal(look(reader).fresh, STORE_KIND_FRESH);
	store_close(reader);
	store_close(s);
	snprintf(name, sizeof(name), "%s" STORE_INDEX_SUFFIX, path);
	unlink(name);
}

/* Killed at any time, the count is that of the last call that returned, or one more. */
static void test_killed(void **state)
{
	uint32_t least = 0;

	(void)state;
	store_close(opened(STORE_WRITE));
	for (int i = 0; i < 10; i++) {
		int told[2];
		struct store *s;
		uint32_t n = least, found;
		pid_t child;

		assert_int_equal(pipe(told), 0);
		child = fork();
		if (child == 0) {
			s = opened(STORE_WRITE);
			put(s, KEY1);
			for (;;)
				if (store_kind_add(s, kind, false, 1000, NOW, &err) < 0 || write(told[1], "", 1) != 1)
					_exit(1);
		}
		close(told[1]);
		for (char byte; n < least + 20 && read(told[0], &byte, 1) == 1;)
			n++;
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		for (char byte; read(told[0], &byte, 1) == 1;)
			n++;
		close(told[0]);
		s = opened(STORE_WRITE);
		found = look(s).fresh;
		assert_in_range(found, n, n + 1);
		assert_string_equal(look(s).key, KEY1);
		least = found;
		store_close(s);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_launches), T(test_program_without_trace), T(test_retention), T(test_forgotten_key), T(test_kinds), T(test_rows_of_another_length), T(test_index), T(test_killed)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
