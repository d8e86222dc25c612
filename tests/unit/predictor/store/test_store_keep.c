/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Node classes, costs, retention and backup of the store; and readers that never wait for the writer. */
#include <dirent.h>
#include <pthread.h>
#include <sqlite3.h>

#include "predictor/store/keep.h"
#include "predictor/store/records.h"
#include "tests/unit/store_fixture.h"
#include "predictor/store/busy.h"
#include "predictor/store/probes.h"

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"

#define OWNER  1000 /* of the programs of store_fixture.h */
#define OTHER  1001
#define THIRD  1002
#define FORGER 6666

/* ---- node classes ---- */

/* In a record of that user's probe. */
static void seen_by(struct store *s, uint32_t uid, const char *candidate, const char *class_hex, int64_t now)
{
	const struct store_class_record r = {uid, candidate, class_hex, "a node"};

	ok(store_class_seen(s, &r, now, &err));
}

static void seen(struct store *s, const char *candidate, const char *class_hex, int64_t now)
{
	seen_by(s, OWNER, candidate, class_hex, now);
}

static void test_classes(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	int64_t when;

	(void)state;
	ok(store_class_told(s, "fast", &when, &err));
	assert_int_equal(when, 0);
	seen(s, "fast", "", NOW); /* a record may lack it */
	seen(s, "fast", A, NOW);
	seen(s, "slow", A, NOW + 5);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 0);
	assert_int_equal(store_class_gone(s, OWNER, "fast", B, &err), 0);
	assert_int_equal(store_class_gone(s, OWNER, "fast", "", &err), 0);
	seen(s, "fast", B, NOW + 10);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 1);
	assert_int_equal(store_class_gone(s, OWNER, "slow", A, &err), 0);
	assert_int_equal(store_classes_gone(s, &err), 1);
	ok(store_class_told(s, "fast", &when, &err));
	assert_int_equal(when, NOW + 10);
	store_close(s);
}

/* Nodes of two kinds in one partition: each return doubles what it takes to be gone. */
static void test_mixed_classes(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	unsigned gone = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		seen(s, "fast", i % 2 ? B : A, NOW + i);
		gone += (unsigned)store_classes_gone(s, &err);
	}
	assert_true(gone >= 1 && gone <= 3);
	/* the one that really goes is found out all the same */
	for (int i = 0; i < 64; i++)
		seen(s, "fast", B, NOW + 1000 + i);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 1);
	assert_int_equal(store_class_gone(s, OWNER, "fast", B, &err), 0);
	store_close(s);
}

/* A user who forges records cannot make a class go, nor bring one back, for the programs of others. */
static void test_forged_classes(void **state)
{
	struct store *s = must_open(STORE_WRITE);

	(void)state;
	seen_by(s, OTHER, "fast", A, NOW);
	seen_by(s, THIRD, "fast", A, NOW);
	for (int i = 0; i < 200; i++)
		seen_by(s, FORGER, "fast", i % 3 ? B : "cccccccccccccccc", NOW + i);
	assert_int_equal(store_class_gone(s, OTHER, "fast", A, &err), 0);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 0);
	/* Two users: the nodes are others. */
	seen_by(s, OTHER, "fast", B, NOW + 300);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 1);
	for (int i = 0; i < 200; i++)
		seen_by(s, FORGER, "fast", A, NOW + 400 + i);
	assert_int_equal(store_class_gone(s, OWNER, "fast", A, &err), 1);
	assert_int_equal(store_class_gone(s, OTHER, "fast", B, &err), 0);
	/* His own programs go by his records. */
	assert_int_equal(store_class_gone(s, FORGER, "fast", B, &err), 1);
	store_close(s);
}

static void test_stale_for_its_user(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_estimate e = {.candidate = "fast", .e = {100, 98, 103, ESTIMATE_SKELETON, 0}, .node_class = A, .updated = NOW};
	struct store_lookup l;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	seen(s, "fast", A, NOW);
	seen_by(s, FORGER, "fast", B, NOW + 1);
	seen_by(s, FORGER, "fast", B, NOW + 2);
	assert_int_equal(store_lookup(s, KEY1, &l, &err), 1);
	assert_false(l.estimates[0].stale);
	assert_true(l.estimates[0].e.lo_s == 98 && l.estimates[0].e.hi_s == 103);
	seen_by(s, OTHER, "fast", B, NOW + 3);
	assert_int_equal(store_lookup(s, KEY1, &l, &err), 1);
	assert_true(l.estimates[0].stale);
	store_close(s);
}

static void test_stale_estimates(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r;
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_estimate e = {.candidate = "fast", .e = {100, 98, 103, ESTIMATE_SKELETON, 0}, .node_class = A, .updated = NOW};
	struct store_lookup l;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	strcpy(e.candidate, "slow");
	e.node_class[0] = '\0';
	ok(store_estimate_put(s, KEY1, &e, &err));
	seen(s, "fast", A, NOW);
	seen(s, "slow", A, NOW);
	seen(s, "fast", B, NOW + 1);
	seen(s, "slow", B, NOW + 1);
	r = must_open(STORE_READ);
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.n_estimates, 2);
	assert_true(l.estimates[0].stale && !l.estimates[1].stale);
	assert_true(l.estimates[0].e.mean_s == 100 && l.estimates[0].e.lo_s == 80 && l.estimates[0].e.hi_s == 125);
	assert_true(l.estimates[1].e.lo_s == 98 && l.estimates[1].e.hi_s == 103);
	seen(s, "fast", A, NOW + 2); /* it was not gone */
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_false(l.estimates[0].stale);
	assert_true(l.estimates[0].e.hi_s == 103);
	store_close(r);
	store_close(s);
}

/* A failed record, which is short; the reason tells which one it is. */
static void record_put(struct store *s, const char *reason)
{
	struct store_probe row = {.key = KEY1, .candidate = "fast", .state = PROBE_DONE, .class_hex = A};
	struct result *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	strcpy(record->candidate, "fast");
	strcpy(record->reason, reason);
	ok(store_record_put(s, &row, record, &err));
	free(record);
}

static void test_bases(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_probe probe = {.key = KEY1, .candidate = "fast", .state = PROBE_WAITING, .class_hex = A}, back;
	struct result *record = malloc(sizeof(*record));

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_base_keep(s, KEY1, "fast", &err)); /* there is no record as yet */
	assert_int_equal(store_base_get(s, KEY1, record, &err), 0);
	record_put(s, "first");
	ok(store_base_keep(s, KEY1, "fast", &err));
	record_put(s, "second");
	ok(store_base_keep(s, KEY1, "fast", &err)); /* the first one stays */
	assert_int_equal(store_base_get(s, KEY2, record, &err), 0);
	assert_int_equal(store_base_get(s, KEY1, record, &err), 1);
	assert_string_equal(record->reason, "first");
	ok(store_probe_put(s, &probe, &err)); /* leaves the record that is there */
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 1);
	assert_true(back.kept);
	assert_string_equal(back.class_hex, A);
	assert_int_equal(back.state, PROBE_WAITING);
	assert_int_equal(store_record_get(s, KEY1, "fast", record, &err), 1);
	assert_string_equal(record->reason, "second");
	ok(store_probe_drop(s, KEY1, "fast", &err));
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 0);
	assert_int_equal(store_record_get(s, KEY1, "fast", record, &err), 0);
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	assert_int_equal(store_base_get(s, KEY1, record, &err), 0);
	free(record);
	store_close(s);
}

/* ---- cost and saving ---- */

static struct store_cost cost[8];
static unsigned n_cost;

static int see_cost(const struct store_cost *c, void *arg)
{
	(void)arg;
	assert_true(n_cost < 8);
	cost[n_cost++] = *c;
	return 0;
}

static void costs(struct store *s, uint32_t uid, int64_t since)
{
	int n;

	n_cost = 0;
	n = store_costs_each(s, uid, since, see_cost, NULL, &err);
	assert_int_equal(n, n_cost);
}

static void run_put(struct store *s, uint32_t job, uint32_t uid, const char *partition, uint32_t asked, uint32_t set, double took)
{
	struct store_run r = {.jobid = job, .submit_time = NOW, .uid = uid, .user_limit_min = asked, .limit_min = set, .nodes = 3,
			      .start_time = NOW + 1, .end_time = NOW + 2, .elapsed_s = took, .end_state = "COMPLETED"};

	strcpy(r.partition, partition);
	ok(store_run_put(s, &r, &err));
}

/* It asked for an hour. limit_min: DURATION_UNSET: it kept its limit. */
static void planned_put(struct store *s, uint32_t job, uint32_t limit_min, uint32_t plan_min, double took)
{
	struct store_run r;

	run_put(s, job, 1000, "fast", 60, limit_min, took);
	assert_int_equal(store_run_get(s, job, &r, &err), 1);
	assert_int_equal(r.plan_min, 0);
	r.plan_min = plan_min;
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, job, &r, &err), 1);
	assert_int_equal(r.plan_min, plan_min);
}

static void test_costs(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_run open = {.jobid = 10, .submit_time = NOW, .uid = 1000, .partition = "fast", .user_limit_min = 60,
				 .limit_min = 5, .nodes = 2, .start_time = NOW};

	(void)state;
	costs(s, STORE_ALL_USERS, 0);
	assert_int_equal(n_cost, 0);
	ok(store_cost_add(s, NOW, 1000, "slow:big", 40, &err));
	ok(store_cost_add(s, NOW + 1, 1000, "slow:other", 2, &err));
	ok(store_cost_add(s, NOW + 86400, 1000, "slow", 8, &err));
	ok(store_cost_add(s, NOW, 1001, "fast", 1, &err));
	run_put(s, 1, 1000, "fast", 60, 10, 300);		   /* frees 50 minutes of 3 nodes */
	run_put(s, 2, 1000, "fast", 60, 60, 300);		   /* raised up to what was asked */
	run_put(s, 3, 1000, "fast", DURATION_UNSET, 10, 300);	   /* asked for nothing */
	run_put(s, 4, 1000, "fast", 60, DURATION_UNSET, 300);	   /* not set */
	run_put(s, 5, 1000, "fast", DURATION_UNLIMITED, 10, 300);
	ok(store_run_put(s, &open, &err)); /* not yet at its end */
	planned_put(s, 6, DURATION_UNSET, 10, 300);  /* frees 50 minutes, too */
	planned_put(s, 7, DURATION_UNSET, 10, 1200); /* ran for twenty, and frees 40 */
	planned_put(s, 8, DURATION_UNSET, 10, 3630); /* ran up to its own limit, and frees none */
	planned_put(s, 9, 60, 10, 300);		     /* backfill lowered its limit, and precedentd restored it */
	costs(s, STORE_ALL_USERS, 0);
	assert_int_equal(n_cost, 3);
	assert_int_equal(cost[0].uid, 1000);
	assert_string_equal(cost[0].partition, "fast");
	assert_int_equal(cost[0].jobs, 9);
	assert_int_equal(cost[0].limited, 4);
	assert_true(cost[0].used_node_s == 7 * 900 + 3 * (1200 + 3630));
	assert_true(cost[0].asked_node_s == 4 * 3 * 3600 && cost[0].freed_node_s == 3 * (3000 + 3000 + 2400));
	assert_true(cost[0].probes == 0 && cost[0].probe_node_s == 0);
	assert_string_equal(cost[1].partition, "slow");
	assert_true(cost[1].probes == 3 && cost[1].probe_node_s == 50 && cost[1].jobs == 0);
	assert_int_equal(cost[2].uid, 1001);
	costs(s, 1001, 0);
	assert_int_equal(n_cost, 1);
	assert_true(cost[0].probe_node_s == 1);
	costs(s, STORE_ALL_USERS, NOW + 86400);
	assert_int_equal(n_cost, 1);
	assert_true(cost[0].probe_node_s == 8);
	store_close(s);
}

/* ---- retention ---- */

static void year(struct store *s, int64_t from)
{
	ok(store_begin(s, &err));
	for (uint32_t i = 0; i < 3000; i++) {
		char key[33];
		struct store_program p;
		struct store_estimate e = {.candidate = "fast", .e = {1, 1, 1, ESTIMATE_BLEND, 0}, .node_class = A};
		struct store_probe probe = {.candidate = "fast", .state = PROBE_DONE, .result = "record"};

		snprintf(key, sizeof(key), "%016llx%016x", (unsigned long long)from, i);
		p = program(key, PROGRAM_READY, from + i);
		strcpy(probe.key, key);
		ok(store_program_put(s, &p, &err));
		ok(store_estimate_put(s, key, &e, &err));
		ok(store_probe_put(s, &probe, &err));
		snprintf(key, sizeof(key), "%s", "");
		for (uint32_t job = 0; job < 2; job++) {
			struct store_run r = {.jobid = 2 * i + job, .submit_time = from + i, .start_time = from + i,
					      .end_time = from + i + 1, .end_state = "COMPLETED"};

			strcpy(r.key, p.key);
			ok(store_run_put(s, &r, &err));
		}
	}
	ok(store_cost_add(s, from, 1000, "fast", 1, &err));
	ok(store_commit(s, &err));
}

static void test_retention(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_pruning at = {0};
	struct store_counts c;
	int steps = 0, total = 0;
	int64_t bytes;

	(void)state;
	year(s, NOW);
	year(s, NOW + 1000000);
	ok(store_meta_set(s, STORE_META_LAYOUT "000000006553f100000000000000000a", "x", &err));
	ok(store_counts(s, &c, &err));
	bytes = c.file_bytes;
	while (!at.done) {
		int n = store_prune_step(s, NOW + 500000, 100, &at, &err);

		ok(n);
		assert_true(n <= 100);
		total += n;
		steps++;
		ok(store_counts(s, &c, &err));
		/* programs go after all their runs */
		assert_true(c.programs == 6000 || c.runs == 6000);
	}
	assert_int_equal(total, 6000 + 3000 + 1);
	assert_true(steps >= 90 && steps <= 95);
	assert_int_equal(c.programs, 3000);
	assert_int_equal(c.estimates, 3000);
	assert_int_equal(c.probes, 3000);
	assert_int_equal(c.runs, 6000);
	costs(s, STORE_ALL_USERS, 0);
	/* a year later the same room is enough */
	for (int i = 2; i < 5; i++) {
		year(s, NOW + i * 1000000);
		ok(store_prune(s, NOW + i * 1000000 - 500000, &err));
	}
	ok(store_counts(s, &c, &err));
	assert_true(c.file_bytes < bytes + bytes / 10);
	ok(store_check(s, &err));
	store_close(s);
}

/* Programs that are old but still run are passed by, and never looked at for ever. */
static void test_retention_passes_by(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_pruning at = {0};
	struct store_counts c;
	int steps = 0;

	(void)state;
	ok(store_begin(s, &err));
	for (uint32_t i = 0; i < 500; i++) {
		struct store_run r = {.jobid = i, .submit_time = NOW + 1000, .end_time = NOW + 1001, .end_state = "FAILED"};
		struct store_program p;
		char key[33];

		snprintf(key, sizeof(key), "%032x", i);
		p = program(key, PROGRAM_FAILED, NOW); /* all at one time */
		ok(store_program_put(s, &p, &err));
		if (i % 10)
			continue;
		strcpy(r.key, key);
		ok(store_run_put(s, &r, &err));
	}
	ok(store_commit(s, &err));
	for (; !at.done; steps++)
		ok(store_prune_step(s, NOW + 500, 64, &at, &err));
	assert_true(steps <= 11);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.programs, 50);
	store_close(s);
}

/* ---- backup ---- */

static void test_backup(void **state)
{
	struct store *s = must_open(STORE_WRITE), *copy;
	struct store_program p = program(KEY1, PROGRAM_READY, NOW), back;
	char to[128], saved[96];
	struct stat st;
	struct dirent *d;
	DIR *entries;

	(void)state;
	snprintf(to, sizeof(to), "%s/backup", dir);
	ok(store_program_put(s, &p, &err));
	ok(store_begin(s, &err)); /* a writer at work */
	strcpy(p.key, KEY2);
	ok(store_program_put(s, &p, &err));
	ok(store_backup(path, to, &err));
	ok(store_commit(s, &err));
	ok(stat(to, &st));
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_uid, geteuid());
	strcpy(saved, path);
	strcpy(path, to);
	copy = must_open(STORE_READ);
	assert_int_equal(store_program_get(copy, KEY1, &back, &err), 1);
	assert_string_equal(back.name, "melt");
	assert_int_equal(store_program_get(copy, KEY2, &back, &err), 0);
	store_close(copy);
	strcpy(path, saved);
	/* over an older one, and nothing beside it */
	ok(store_backup(path, to, &err));
	entries = opendir(dir);
	while ((d = readdir(entries)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, "backup") && strncmp(d->d_name, "precedent.db", 12))
			fail_msg("%s was left behind", d->d_name);
	closedir(entries);
	store_close(s);
	/* and back: what the manual says */
	assert_int_equal(rename(to, path), 0);
	snprintf(to, sizeof(to), "%s-wal", path);
	unlink(to);
	snprintf(to, sizeof(to), "%s-shm", path);
	unlink(to);
	s = must_open(STORE_WRITE);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 1);
	ok(store_check(s, &err));
	store_close(s);
}

static void test_backup_refused(void **state)
{
	char to[128];

	(void)state;
	snprintf(to, sizeof(to), "%s/backup", dir);
	assert_int_equal(store_backup(path, to, &err), -1);
	assert_int_equal(store_last_fault(), STORE_MISSING);
	assert_int_equal(access(to, F_OK), -1);
	store_close(must_open(STORE_WRITE));
	snprintf(to, sizeof(to), "%s/none/backup", dir);
	assert_int_equal(store_backup(path, to, &err), -1);
	assert_non_null(strstr(err.text, "none/backup"));
	assert_int_equal(store_backup(path, dir, &err), -1);
	assert_non_null(strstr(err.text, "not a regular file"));
}

/* ---- readers and the writer ---- */

struct reader {
	pthread_t thread;
	unsigned found, failed;
};

/* As the plugin does it: opened for reading, never waiting for a lock. */
static void *read_on(void *arg)
{
	struct reader *r = arg;
	struct errbuf e;
	struct store_partition part;
	struct store_lookup l;
	struct store *s;
	int64_t when;

	if (store_open(path, STORE_READ, &s, &e) < 0) {
		r->failed = 1;
		return NULL;
	}
	for (int i = 0; i < 2000; i++) {
		if (store_lookup(s, KEY1, &l, &e) == 1 && l.program.state == PROGRAM_NEW && store_heartbeat_get(s, &when, &e) == 0 &&
		    when == NOW && store_partition_get(s, "fast", &part, &e) == 1)
			r->found++;
		else
			r->failed++;
	}
	store_close(s);
	return NULL;
}

/* A transaction of many pages stays open: readers that begin before, during and after it see what was before. */
static void test_long_write(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);
	struct store_partition part = {.name = "fast", .is_default = true, .max_min = 60};
	struct reader r[4] = {0};

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_heartbeat_set(s, NOW, &err));
	ok(store_partitions_put(s, &part, 1, &err));
	ok(store_begin(s, &err));
	p.state = PROGRAM_READY;
	ok(store_program_put(s, &p, &err));
	ok(store_heartbeat_set(s, NOW + 1, &err));
	for (int i = 0; i < 20000; i++) { /* more than the cache: pages go to the log before the commit */
		snprintf(p.key, sizeof(p.key), "%032x", i + 7);
		ok(store_program_put(s, &p, &err));
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&r[i].thread, NULL, read_on, &r[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(r[i].thread, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(r[i].failed, 0);
		assert_int_equal(r[i].found, 2000);
	}
	ok(store_commit(s, &err));
	store_close(s);
}

static void test_nested(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW), back;

	(void)state;
	ok(store_begin(s, &err));
	ok(store_program_put(s, &p, &err));
	ok(store_begin(s, &err));
	strcpy(p.key, KEY2);
	ok(store_program_put(s, &p, &err));
	store_rollback(s);
	ok(store_begin(s, &err));
	strcpy(p.key, KEY3);
	ok(store_program_put(s, &p, &err));
	ok(store_commit(s, &err));
	ok(store_commit(s, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 0);
	assert_int_equal(store_program_get(s, KEY3, &back, &err), 1);
	ok(store_begin(s, &err));
	ok(store_begin(s, &err));
	assert_int_equal(store_program_forget(s, KEY3, &err), 1);
	ok(store_commit(s, &err));
	store_rollback(s);
	assert_int_equal(store_program_get(s, KEY3, &back, &err), 1);
	store_rollback(s); /* without one it is nothing */
	assert_int_equal(store_commit(s, &err), -1);
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_classes),	 T(test_mixed_classes), T(test_forged_classes), T(test_stale_for_its_user), T(test_stale_estimates),
		T(test_bases),		 T(test_costs),		T(test_retention),
		T(test_retention_passes_by), T(test_backup),	T(test_backup_refused),
		T(test_long_write),	 T(test_nested),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_keep", tests, NULL, NULL);
}
