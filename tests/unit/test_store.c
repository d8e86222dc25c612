/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: what is written is read back, and everything that can be wrong with the file gets its fault and one sentence:
 * missing, empty, foreign, corrupt, newer, older, locked, not permitted, killed in mid-transaction.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "common/duration.h"
#include "predictor/store.h"

#define KEY1   "0123456789abcdef0123456789abcdef"
#define KEY2   "00000000000000000000000000000001"
#define KEY3   "ffffffffffffffffffffffffffffffff"
#define FAMILY "fedcba9876543210fedcba9876543210"
#define NOW    1700000000

static char dir[64], path[96];
static struct errbuf err;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/precedent-store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/precedent.db", dir);
	err.text[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
	char name[128];

	(void)state;
	chmod(dir, 0700);
	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
	return rmdir(dir);
}

static struct store *must_open(unsigned flags)
{
	struct store *s = NULL;

	if (store_open(path, flags, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void must_refuse(unsigned flags, enum store_fault fault, const char *says)
{
	struct store *s = (struct store *)&s;

	err.text[0] = '\0';
	assert_int_equal(store_open(path, flags, &s, &err), -1);
	assert_null(s);
	if (store_last_fault() != fault || !strstr(err.text, says) || !strstr(err.text, path))
		fail_msg("fault %d, '%s' instead of %d, '%s'", (int)store_last_fault(), err.text, (int)fault, says);
}

static void ok(int rv)
{
	if (rv < 0)
		fail_msg("%s", err.text);
}

static void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void write_file(const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static struct store_program program(const char *key, enum program_state state, int64_t updated)
{
	struct store_program p = {.uid = 1000,
				  .state = state,
				  .reason = "why",
				  .name = "melt",
				  .source_job = 17,
				  .source_candidate = "fast",
				  .source_elapsed_s = 190.5,
				  .n_traces = 2,
				  .mpi_s = 180.25,
				  .nodes = 2,
				  .tasks = 32,
				  .created = NOW,
				  .updated = updated,
				  .retrace_at = 5};

	strcpy(p.key, key);
	strcpy(p.family, FAMILY);
	return p;
}

static struct store_run run_of(uint32_t jobid, int64_t submit)
{
	struct store_run r = {.jobid = jobid,
			      .submit_time = submit,
			      .uid = 1000,
			      .key = KEY1,
			      .family = FAMILY,
			      .name = "melt",
			      .act = ACT_PREDICT,
			      .mode = MODE_LIMIT,
			      .partition = "fast",
			      .candidate = "fast",
			      .pred_candidate = "fast",
			      .pred_s = 100,
			      .lo_s = 95,
			      .hi_s = 105,
			      .user_limit_min = 10,
			      .limit_min = 4,
			      .nodes = 2,
			      .tasks = 32,
			      .start_time = submit + 10,
			      .end_time = submit + 110,
			      .elapsed_s = 100,
			      .end_state = "COMPLETED",
			      .extensions = 0};

	return r;
}

/* ---- programs, estimates, probes ---- */

static void test_programs(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW), back;
	struct stat st;

	(void)state;
	ok(stat(path, &st));
	assert_int_equal(st.st_mode & 0777 & ~0640, 0);
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_memory_equal(back.key, p.key, sizeof(p.key));
	assert_string_equal(back.family, FAMILY);
	assert_int_equal(back.uid, 1000);
	assert_int_equal(back.state, PROGRAM_NEW);
	assert_string_equal(back.reason, "why");
	assert_string_equal(back.name, "melt");
	assert_int_equal(back.source_job, 17);
	assert_string_equal(back.source_candidate, "fast");
	assert_true(back.source_elapsed_s == 190.5 && back.mpi_s == 180.25);
	assert_int_equal(back.n_traces, 2);
	assert_int_equal(back.nodes, 2);
	assert_int_equal(back.tasks, 32);
	assert_int_equal(back.created, NOW);
	assert_int_equal(back.retrace_at, 5);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 0);
	assert_int_equal(store_program_get(s, "nonsense", &back, &err), -1);
	assert_non_null(strstr(err.text, "is not a key"));
	ok(store_program_set_state(s, KEY1, PROGRAM_FAILED, "no MPI", NOW + 9, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(back.state, PROGRAM_FAILED);
	assert_string_equal(back.reason, "no MPI");
	assert_int_equal(back.updated, NOW + 9);
	assert_int_equal(store_program_set_state(s, KEY2, PROGRAM_NEW, NULL, NOW, &err), -1);
	p.uid = UINT32_MAX - 1;
	p.source_job = UINT32_MAX - 2;
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(back.uid, UINT32_MAX - 1);
	assert_int_equal(back.source_job, UINT32_MAX - 2);
	store_close(s);
	store_close(NULL);
}

struct seen {
	struct store *s;
	int n, stop_at;
	char keys[8][IDENTITY_KEY_LEN + 1];
};

static int see_program(const struct store_program *p, void *arg)
{
	struct seen *seen = arg;

	strcpy(seen->keys[seen->n++], p->key);
	if (seen->s) /* a callback may change what is walked over */
		ok(store_program_set_state(seen->s, p->key, PROGRAM_BUILDING, "", NOW + 100, &err));
	return seen->n == seen->stop_at;
}

static void test_program_lists(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program_filter all = {.uid = STORE_ALL_USERS}, some = all;
	struct store_program p;
	struct seen seen = {0};

	(void)state;
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 0);
	p = program(KEY1, PROGRAM_NEW, NOW + 1);
	ok(store_program_put(s, &p, &err));
	p = program(KEY2, PROGRAM_READY, NOW + 3);
	p.uid = 1001;
	ok(store_program_put(s, &p, &err));
	p = program(KEY3, PROGRAM_TRACED, NOW + 2);
	p.family[0] = '\0';
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 3);
	assert_string_equal(seen.keys[0], KEY2);
	assert_string_equal(seen.keys[1], KEY3);
	assert_string_equal(seen.keys[2], KEY1);
	some.state_mask = 1 << PROGRAM_NEW | 1 << PROGRAM_TRACED;
	seen = (struct seen){.s = s};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 2);
	seen = (struct seen){0};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 0);
	some = all;
	some.uid = 1001;
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 1);
	some = all;
	some.family = FAMILY;
	seen = (struct seen){0};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 2);
	some.max = 1;
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 1);
	seen = (struct seen){.stop_at = 2};
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 2);
	some.family = "x";
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), -1);
	store_close(s);
}

static void test_lookup(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r;
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_estimate e = {"fast", {190, 185, 200, ESTIMATE_BLEND, 3}, "0123456789abcdef", NOW};
	struct store_lookup l;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	strcpy(e.candidate, "slow:big");
	e.e.mean_s = 400;
	ok(store_estimate_put(s, KEY1, &e, &err));
	e.e.mean_s = 401;
	ok(store_estimate_put(s, KEY1, &e, &err));
	r = must_open(STORE_READ);
	assert_int_equal(store_lookup(r, KEY2, &l, &err), 0);
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_string_equal(l.program.key, KEY1);
	assert_int_equal(l.n_estimates, 2);
	assert_string_equal(l.estimates[0].candidate, "fast");
	assert_true(l.estimates[0].e.mean_s == 190 && l.estimates[0].e.lo_s == 185 && l.estimates[0].e.hi_s == 200);
	assert_int_equal(l.estimates[0].e.kind, ESTIMATE_BLEND);
	assert_int_equal(l.estimates[0].e.n, 3);
	assert_string_equal(l.estimates[0].node_class, "0123456789abcdef");
	assert_true(l.estimates[1].e.mean_s == 401);
	ok(store_estimate_drop(s, KEY1, "fast", &err));
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.n_estimates, 1);
	/* more candidates than there were ever configured at once */
	for (int i = 0; i < STORE_ESTIMATES_MAX + 3; i++) {
		snprintf(e.candidate, sizeof(e.candidate), "c%02d", i);
		ok(store_estimate_put(s, KEY1, &e, &err));
	}
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.n_estimates, STORE_ESTIMATES_MAX);
	assert_int_equal(store_lookup(r, NULL, &l, &err), -1);
	assert_int_equal(store_program_put(r, &p, &err), -1);
	assert_int_equal(store_last_fault(), STORE_DENIED);
	store_close(r);
	store_close(s);
}

static int count_probe(const struct store_probe *p, void *arg)
{
	assert_true(p->key[0] && p->candidate[0]);
	++*(int *)arg;
	return 0;
}

static void test_probes(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_probe p = {.key = KEY1,
				.candidate = "fast",
				.jobid = 18,
				.state = PROBE_SUBMITTED,
				.tries = 1,
				.reason = "",
				.submitted = NOW,
				.updated = NOW,
				.not_before = NOW + 60,
				.cost_node_s = 12.5};
	struct store_probe back;
	char *huge = malloc(STORE_RESULT_MAX + 2);
	int n = 0;

	(void)state;
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 1);
	assert_null(back.result);
	assert_int_equal(back.jobid, 18);
	assert_int_equal(back.state, PROBE_SUBMITTED);
	assert_true(back.cost_node_s == 12.5);
	assert_int_equal(back.not_before, NOW + 60);
	p.state = PROBE_DONE;
	p.result = "precedent-result 1\nend\n";
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 1);
	assert_string_equal(back.result, p.result);
	free((char *)back.result);
	assert_int_equal(store_probe_get(s, KEY1, "slow", &back, &err), 0);
	assert_null(back.result);
	strcpy(p.candidate, "slow");
	p.state = PROBE_WAITING;
	ok(store_probe_put(s, &p, &err));
	strcpy(p.key, KEY2);
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probes_each(s, NULL, 0, count_probe, &n, &err), 3);
	assert_int_equal(store_probes_each(s, KEY1, 0, count_probe, &n, &err), 2);
	assert_int_equal(store_probes_each(s, NULL, 1 << PROBE_WAITING, count_probe, &n, &err), 2);
	assert_int_equal(n, 7);
	assert_non_null(huge);
	memset(huge, 'x', STORE_RESULT_MAX + 1);
	huge[STORE_RESULT_MAX + 1] = '\0';
	p.result = huge;
	assert_int_equal(store_probe_put(s, &p, &err), -1);
	free(huge);
	store_close(s);
}

static void test_forget(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW), back;
	struct store_estimate e = {"fast", {190, 185, 200, ESTIMATE_BLEND, 3}, "", NOW};
	struct store_probe probe = {.key = KEY1, .candidate = "fast"};
	struct store_run r = run_of(17, NOW);
	struct store_counts c;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	ok(store_probe_put(s, &probe, &err));
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_program_forget(s, KEY2, &err), 0);
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 0);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.programs + c.estimates + c.probes, 0);
	assert_int_equal(c.runs, 1);
	/* within the caller's transaction: undone with it */
	ok(store_program_put(s, &p, &err));
	ok(store_begin(s, &err));
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	store_rollback(s);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	store_close(s);
}

/* ---- runs ---- */

static int count_run(const struct store_run *r, void *arg)
{
	(void)r;
	++*(int *)arg;
	return 0;
}

static int first_run(const struct store_run *r, void *arg)
{
	*(struct store_run *)arg = *r;
	return 1;
}

static void test_runs(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_run r = run_of(17, NOW), back;
	struct store_run_filter f = {.uid = STORE_ALL_USERS};
	int n = 0;

	(void)state;
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, 17, &back, &err), 1);
	/* cmocka has no comparison of structs with padding: the fields one by one that differ from zero */
	assert_string_equal(back.key, KEY1);
	assert_string_equal(back.pred_candidate, "fast");
	assert_int_equal(back.act, ACT_PREDICT);
	assert_int_equal(back.mode, MODE_LIMIT);
	assert_true(back.pred_s == 100 && back.lo_s == 95 && back.hi_s == 105 && back.elapsed_s == 100);
	assert_int_equal(back.user_limit_min, 10);
	assert_int_equal(back.end_time, NOW + 110);
	assert_string_equal(back.end_state, "COMPLETED");
	assert_int_equal(store_run_get(s, 18, &back, &err), 0);
	/* job ids start again one day: the latest counts */
	r = run_of(17, NOW + 1000000);
	r.user_limit_min = DURATION_UNSET;
	r.end_state[0] = '\0';
	r.end_time = 0;
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, 17, &back, &err), 1);
	assert_int_equal(back.submit_time, NOW + 1000000);
	assert_int_equal(back.user_limit_min, DURATION_UNSET);
	r = run_of(18, NOW + 5);
	r.uid = 0;
	r.key[0] = r.family[0] = '\0';
	r.pred_s = 0;
	strcpy(r.end_state, "FAILED");
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 3);
	f.unfinished = true;
	assert_int_equal(store_runs_each(s, &f, first_run, &back, &err), 1);
	assert_int_equal(back.submit_time, NOW + 1000000);
	f = (struct store_run_filter){.uid = STORE_ALL_USERS, .finished = true, .since = NOW + 1};
	assert_int_equal(store_runs_each(s, &f, first_run, &back, &err), 1);
	assert_int_equal(back.jobid, 18);
	assert_string_equal(back.key, "");
	f = (struct store_run_filter){.uid = 0};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 1);
	f = (struct store_run_filter){
		.uid = 1000, .key = KEY1, .family = FAMILY, .candidate = "fast", .completed = true, .predicted = true};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 1);
	f = (struct store_run_filter){.uid = STORE_ALL_USERS, .max = 2};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 2);
	f.key = "bad";
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), -1);
	strcpy(r.key, "bad");
	assert_int_equal(store_run_put(s, &r, &err), -1);
	store_close(s);
}

static void test_past(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct estimate_past past[4];

	(void)state;
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 4, &err), 0);
	for (uint32_t i = 0; i < 6; i++) {
		struct store_run r = run_of(20 + i, NOW + i);

		r.elapsed_s = 100 + i;
		if (i == 1)
			strcpy(r.end_state, "TIMEOUT");
		if (i == 2)
			strcpy(r.candidate, "slow");
		if (i == 3)
			strcpy(r.pred_candidate, "slow");
		ok(store_run_put(s, &r, &err));
	}
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 4, &err), 4);
	assert_true(past[0].actual_s == 105 && past[0].pred_s == 100);
	assert_true(past[1].actual_s == 104);
	assert_true(past[2].actual_s == 103 && past[2].pred_s == 0); /* that prediction was for elsewhere */
	assert_true(past[3].actual_s == 100);
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 2, &err), 2);
	assert_int_equal(store_runs_past(s, KEY2, "fast", past, 4, &err), 0);
	store_close(s);
}

static int take_accuracy(const struct store_accuracy *a, void *arg)
{
	struct store_accuracy **p = arg;

	*(*p)++ = *a;
	return 0;
}

static void test_accuracy(void **state)
{
	/* actual against predicted 100 (95-105) */
	static const double fast[] = {100, 125, 80, 104};
	struct store *s = must_open(STORE_WRITE);
	struct store_accuracy a[2], *p = a;

	(void)state;
	assert_int_equal(store_accuracy_each(s, STORE_ALL_USERS, NULL, 0, take_accuracy, &p, &err), 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct store_run r = run_of(30 + i, NOW + i);

		r.elapsed_s = fast[i];
		r.extensions = i == 1;
		r.user_limit_min = i ? DURATION_UNSET : 10;
		r.limit_min = DURATION_UNLIMITED;
		ok(store_run_put(s, &r, &err));
	}
	{
		struct store_run r = run_of(40, NOW);

		strcpy(r.end_state, "TIMEOUT");
		ok(store_run_put(s, &r, &err));
		r = run_of(41, NOW);
		strcpy(r.candidate, "slow"); /* ran elsewhere than predicted: says nothing */
		ok(store_run_put(s, &r, &err));
		r = run_of(42, NOW);
		strcpy(r.candidate, "slow");
		strcpy(r.pred_candidate, "slow");
		r.uid = 1001;
		ok(store_run_put(s, &r, &err));
	}
	assert_int_equal(store_accuracy_each(s, STORE_ALL_USERS, NULL, 0, take_accuracy, &p, &err), 2);
	assert_string_equal(a[0].candidate, "fast");
	assert_string_equal(a[1].candidate, "slow");
	assert_int_equal(a[0].n, 4);
	/* |errors|: 0, 0.2, 0.25, 0.03846 */
	assert_float_equal(a[0].mean_abs_rel, 0.122115, 1e-5);
	assert_float_equal(a[0].median_abs_rel, 0.119231, 1e-5);
	assert_float_equal(a[0].p90_abs_rel, 0.25, 1e-9);
	assert_float_equal(a[0].bias_rel, (0 - 0.2 + 0.25 - 4.0 / 104) / 4, 1e-9);
	assert_float_equal(a[0].share_under, 2.0 / 5, 1e-9); /* the one of 125 s and the one that was killed */
	assert_float_equal(a[0].share_inside, 0.5, 1e-9);
	assert_int_equal(a[0].extended, 1);
	assert_int_equal(a[0].timed_out, 1);
	assert_float_equal(a[0].used_of_requested, 100.0 / 600, 1e-9);
	assert_float_equal(a[0].used_of_limit, 0, 1e-9);
	assert_int_equal(a[1].n, 1);
	p = a;
	assert_int_equal(store_accuracy_each(s, 1001, NULL, 0, take_accuracy, &p, &err), 1);
	assert_string_equal(a[0].candidate, "slow");
	p = a;
	assert_int_equal(store_accuracy_each(s, 1000, KEY2, 0, take_accuracy, &p, &err), 0);
	assert_int_equal(store_accuracy_each(s, 1000, "x", 0, take_accuracy, &p, &err), -1);
	store_close(s);
}

/* ---- partitions, meta, upkeep ---- */

static void test_partitions(void **state)
{
	struct store_partition parts[] = {{"slow", false, DURATION_UNSET, DURATION_UNLIMITED}, {"fast", true, 30, 60}};
	struct store *s = must_open(STORE_WRITE), *r = must_open(STORE_READ);
	struct store_partition p;

	(void)state;
	assert_int_equal(store_partition_get(r, NULL, &p, &err), 0);
	ok(store_partitions_put(s, parts, 2, &err));
	ok(store_partitions_put(s, parts, 2, &err));
	assert_int_equal(store_partition_get(r, NULL, &p, &err), 1);
	assert_string_equal(p.name, "fast");
	assert_int_equal(p.default_min, 30);
	assert_int_equal(store_partition_get(r, "slow", &p, &err), 1);
	assert_int_equal(p.default_min, DURATION_UNSET);
	assert_int_equal(p.max_min, DURATION_UNLIMITED);
	assert_false(p.is_default);
	ok(store_partitions_put(s, parts, 1, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 0);
	ok(store_begin(s, &err));
	ok(store_partitions_put(s, parts + 1, 1, &err));
	ok(store_commit(s, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 1);
	ok(store_partitions_put(s, NULL, 0, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 0);
	store_close(r);
	store_close(s);
}

static void test_meta(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	char value[8];
	int64_t when = 7;

	(void)state;
	ok(store_heartbeat_get(s, &when, &err));
	assert_int_equal(when, 0);
	ok(store_heartbeat_set(s, NOW, &err));
	ok(store_heartbeat_get(s, &when, &err));
	assert_int_equal(when, NOW);
	assert_int_equal(store_meta_get(s, "cursor", value, sizeof(value), &err), 0);
	assert_string_equal(value, "");
	ok(store_meta_set(s, "cursor", "1234567890", &err));
	assert_int_equal(store_meta_get(s, "cursor", value, sizeof(value), &err), 1);
	assert_string_equal(value, "1234567");
	store_close(s);
}

static void test_prune(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW), q = program(KEY2, PROGRAM_READY, NOW), back;
	struct store_estimate e = {"fast", {190, 185, 200, ESTIMATE_BLEND, 3}, "", NOW};
	struct store_run old = run_of(1, NOW), open = run_of(2, NOW), fresh = run_of(3, NOW + 1000);
	struct store_counts c;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_program_put(s, &q, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	ok(store_estimate_put(s, KEY2, &e, &err));
	open.end_time = 0;
	open.end_state[0] = '\0';
	strcpy(old.key, KEY2);
	ok(store_run_put(s, &old, &err));
	ok(store_run_put(s, &open, &err));
	ok(store_run_put(s, &fresh, &err));
	/* the old run, the program without newer runs, its estimate */
	assert_int_equal(store_prune(s, NOW + 500, &err), 3);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 0);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.runs, 2);
	assert_int_equal(c.runs_open, 1);
	assert_int_equal(c.estimates, 1);
	assert_int_equal(c.by_state[PROGRAM_READY], 1);
	assert_int_equal(c.schema, STORE_SCHEMA_VERSION);
	assert_true(c.file_bytes > 0);
	assert_int_equal(store_prune(s, NOW + 500, &err), 0);
	ok(store_check(s, &err));
	store_close(s);
}

/* ---- what can be wrong with the file ---- */

static void test_missing(void **state)
{
	char saved[sizeof(path)];

	(void)state;
	must_refuse(STORE_READ, STORE_MISSING, "is precedentd running?");
	assert_int_equal(access(path, F_OK), -1); /* a reader creates nothing */
	strcpy(saved, path);
	snprintf(path, sizeof(path), "%s/none/precedent.db", dir);
	must_refuse(STORE_WRITE, STORE_MISSING, "no such directory");
	strcpy(path, saved);
	write_file("", 0);
	must_refuse(STORE_READ, STORE_MISSING, "still empty");
	store_close(must_open(STORE_WRITE));
	store_close(must_open(STORE_READ));
}

static void test_not_a_file(void **state)
{
	char saved[sizeof(path)];

	(void)state;
	strcpy(saved, path);
	strcpy(path, dir);
	must_refuse(STORE_READ, STORE_CORRUPT, "is not a regular file");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "is not a regular file");
	strcpy(path, saved);
}

static void test_foreign(void **state)
{
	char junk[8192];

	(void)state;
	memset(junk, 'j', sizeof(junk));
	write_file(junk, sizeof(junk));
	must_refuse(STORE_READ, STORE_CORRUPT, "move the file away");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "move the file away");
	unlink(path);
	sql("CREATE TABLE people(name); INSERT INTO people VALUES('x')");
	must_refuse(STORE_READ, STORE_CORRUPT, "another program");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "another program");
	sql("INSERT INTO people VALUES('y')"); /* it was left as it was */
}

static void test_newer(void **state)
{
	(void)state;
	store_close(must_open(STORE_WRITE));
	sql("PRAGMA user_version = 99");
	must_refuse(STORE_READ, STORE_NEWER, "upgrade precedent");
	must_refuse(STORE_WRITE, STORE_NEWER, "its schema is version 99");
	sql("PRAGMA user_version = 0");
	must_refuse(STORE_READ, STORE_OLDER, "restart precedentd");
}

static void test_corrupt(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p;
	struct store_lookup l;
	char key[33], junk[4096];
	int fd, bad = 0;
	off_t size;

	(void)state;
	ok(store_begin(s, &err));
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%032x", i);
		p = program(key, PROGRAM_READY, NOW);
		ok(store_program_put(s, &p, &err));
	}
	ok(store_commit(s, &err));
	store_close(s);
	sql("PRAGMA wal_checkpoint(TRUNCATE)");
	memset(junk, 0xa5, sizeof(junk));
	fd = open(path, O_WRONLY);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 40 * 4096);
	for (off_t at = 8 * 4096; at + 4096 <= size; at += 2 * 4096)
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), (ssize_t)sizeof(junk));
	close(fd);
	s = must_open(STORE_READ); /* its first pages are sound */
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%032x", i);
		if (store_lookup(s, key, &l, &err) < 0) {
			assert_int_equal(store_last_fault(), STORE_CORRUPT);
			assert_non_null(strstr(err.text, "move the file away"));
			bad++;
		}
	}
	assert_true(bad > 0);
	assert_int_equal(store_check(s, &err), -1);
	assert_int_equal(store_last_fault(), STORE_CORRUPT);
	store_close(s);
}

static void test_truncated(void **state)
{
	(void)state;
	store_close(must_open(STORE_WRITE));
	sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
	assert_int_equal(truncate(path, 5000), 0);
	must_refuse(STORE_READ, STORE_CORRUPT, path);
}

static void test_locked(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r, *other;
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);
	struct store_lookup l;

	(void)state;
	ok(store_program_put(s, &p, &err));
	r = must_open(STORE_READ);
	other = must_open(STORE_WRITE);
	ok(store_begin(s, &err));
	p.state = PROGRAM_READY;
	ok(store_program_put(s, &p, &err));
	/* a writer at work disturbs no reader, and no second writer waits */
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.program.state, PROGRAM_NEW);
	assert_int_equal(store_program_put(other, &p, &err), -1);
	assert_int_equal(store_last_fault(), STORE_LOCKED);
	assert_non_null(strstr(err.text, "locked by another process"));
	must_refuse(STORE_WRITE, STORE_LOCKED, "locked");
	ok(store_commit(s, &err));
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.program.state, PROGRAM_READY);
	store_close(other);
	store_close(r);
	store_close(s);
}

/* Somebody holds the whole file, as VACUUM or a foreign tool may: readers say so at once. */
static void test_locked_exclusively(void **state)
{
	sqlite3 *db;

	(void)state;
	store_close(must_open(STORE_WRITE));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; PRAGMA user_version = 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	must_refuse(STORE_READ, STORE_LOCKED, "locked");
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	store_close(must_open(STORE_READ));
}

/* In a child without root's powers; 77: cannot become another user. */
static int as_nobody(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(77);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int open_denied(void)
{
	struct store *s;

	if (store_open(path, STORE_READ, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 1;
	if (store_open(path, STORE_WRITE, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 2;
	return strstr(err.text, "must belong to SlurmUser") ? 0 : 3;
}

static int read_in_read_only_directory(void)
{
	struct store_lookup l;
	struct store *s;

	if (store_open(path, STORE_READ, &s, &err) < 0)
		return 1;
	if (store_lookup(s, KEY1, &l, &err) != 1)
		return 2;
	store_close(s);
	if (store_open(path, STORE_WRITE, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 3;
	return 0;
}

static void test_permissions(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);
	char shm[128];

	(void)state;
	ok(store_program_put(s, &p, &err));
	chmod(dir, 0555);
	if (geteuid() != 0)
		skip(); /* the rest needs a second user */
	assert_int_equal(as_nobody(open_denied), 0);
	/* readable file in a directory that is not writable, while precedentd runs and after it ended */
	chmod(path, 0644);
	snprintf(shm, sizeof(shm), "%s-shm", path);
	chmod(shm, 0644);
	snprintf(shm, sizeof(shm), "%s-wal", path);
	chmod(shm, 0644);
	assert_int_equal(as_nobody(read_in_read_only_directory), 0);
	store_close(s);
	assert_int_equal(as_nobody(read_in_read_only_directory), 0);
	chmod(dir, 0700);
	assert_int_equal(as_nobody(open_denied), 0);
}

/* Writers that are killed in mid-transaction: what was committed is there, the rest is not, the file is sound. */
static void test_kill(void **state)
{
	struct store *s;
	struct store_counts c;

	(void)state;
	store_close(must_open(STORE_WRITE));
	for (unsigned round = 1; round <= 5; round++) {
		int pipe_fd[2], status;
		char key[33], byte;
		pid_t pid;

		assert_int_equal(pipe(pipe_fd), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			struct store_program p;

			if (store_open(path, STORE_WRITE, &s, &err) < 0)
				_exit(1);
			for (unsigned i = 0; i < 100; i++) {
				if (i == 0 && store_begin(s, &err) < 0)
					_exit(2);
				snprintf(key, sizeof(key), "%016x%016x", round, i);
				p = program(key, PROGRAM_NEW, NOW);
				if (store_program_put(s, &p, &err) < 0)
					_exit(3);
				if (i == 49 && (store_commit(s, &err) < 0 || store_begin(s, &err) < 0))
					_exit(4);
			}
			if (write(pipe_fd[1], "x", 1) != 1)
				_exit(5);
			for (;;)
				pause();
		}
		close(pipe_fd[1]);
		assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
		close(pipe_fd[0]);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		s = must_open(STORE_READ);
		ok(store_counts(s, &c, &err));
		assert_int_equal(c.programs, 50 * round);
		ok(store_check(s, &err));
		store_close(s);
	}
}

struct writer {
	volatile bool stop;
	int failed;
	unsigned rounds;
};

static void *write_pairs(void *arg)
{
	struct writer *w = arg;
	struct errbuf e;
	struct store *s;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &e) < 0) {
		w->failed = 1;
		return NULL;
	}
	/* Program and estimate always change together. */
	while (!w->stop && !w->failed) {
		struct store_program p = program(KEY1, PROGRAM_READY, NOW);
		struct store_estimate est = {"fast", {1, 1, 1, ESTIMATE_BLEND, 0}, "", NOW};

		p.source_job = ++w->rounds;
		est.e.n = w->rounds;
		if (store_begin(s, &e) < 0 || store_program_put(s, &p, &e) < 0 ||
		    store_estimate_put(s, KEY1, &est, &e) < 0 || store_commit(s, &e) < 0)
			w->failed = 2;
	}
	store_close(s);
	return NULL;
}

static void test_concurrent(void **state)
{
	struct writer w = {0};
	struct store *s;
	struct store_lookup l;
	pthread_t t;
	unsigned found = 0, last = 0;

	(void)state;
	store_close(must_open(STORE_WRITE));
	s = must_open(STORE_READ);
	assert_int_equal(pthread_create(&t, NULL, write_pairs, &w), 0);
	for (int i = 0; i < 2000000 && found < 2000 && !w.failed; i++) {
		int rv = store_lookup(s, KEY1, &l, &err);

		ok(rv);
		if (rv != 1 || l.program.source_job == last)
			continue;
		/* one snapshot, and never back in time */
		assert_int_equal(l.n_estimates, 1);
		assert_int_equal(l.estimates[0].e.n, l.program.source_job);
		assert_true(l.program.source_job > last);
		last = l.program.source_job;
		found++;
	}
	w.stop = true;
	pthread_join(t, NULL);
	assert_int_equal(w.failed, 0);
	assert_true(found > 10);
	store_close(s);
}

static void test_second_connection_keeps_locks(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r;
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);

	(void)state;
	/* Opening and closing more of them in this process must not let go of the first one's locks. */
	for (int i = 0; i < 20; i++) {
		r = must_open(STORE_READ);
		ok(store_program_put(s, &p, &err));
		store_close(r);
	}
	ok(store_check(s, &err));
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_programs),   T(test_program_lists), T(test_lookup),  T(test_probes),
		T(test_forget),	    T(test_runs),	   T(test_past),    T(test_accuracy),
		T(test_partitions), T(test_meta),	   T(test_prune),   T(test_missing),
		T(test_not_a_file), T(test_foreign),	   T(test_newer),   T(test_corrupt),
		T(test_truncated),  T(test_locked),	   T(test_locked_exclusively),
		T(test_permissions), T(test_kill),	   T(test_concurrent),
		T(test_second_connection_keeps_locks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
