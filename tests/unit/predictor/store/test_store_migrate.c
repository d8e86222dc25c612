/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores that earlier versions wrote. The schema of each is here word for word as it was released, with rows; opened by this
 * version every field is still there, and what is new has been filled from it. Killed in the midst of it, the file is of
 * one version or of the other.
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "predictor/estimate/array.h"
#include "predictor/estimate/combine.h"
#include "predictor/store/busy.h"
#include "predictor/store/evidence.h"
#include "predictor/store/kin.h"
#include "predictor/store/probes.h"
#include "predictor/store/keep.h"
#include "predictor/store/records.h"
#include "predictor/store/trials.h"
#include "tests/unit/store_fixture.h"

static const char version_1[] =
	"PRAGMA journal_mode = WAL;"
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE partitions(name TEXT PRIMARY KEY, is_default INT NOT NULL, default_min INT NOT NULL,"
	" max_min INT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE programs(key BLOB PRIMARY KEY, family BLOB, uid INT NOT NULL, state INT NOT NULL,"
	" reason TEXT NOT NULL, name TEXT NOT NULL, source_job INT NOT NULL, source_candidate TEXT NOT NULL,"
	" source_elapsed_s REAL NOT NULL, n_traces INT NOT NULL, mpi_s REAL NOT NULL, nodes INT NOT NULL,"
	" tasks INT NOT NULL, created INT NOT NULL, updated INT NOT NULL, retrace_at INT NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX programs_updated ON programs(updated);"
	"CREATE INDEX programs_family ON programs(family, updated);"
	"CREATE INDEX programs_busy ON programs(state, updated) WHERE state < 3;"
	"CREATE TABLE estimates(key BLOB NOT NULL, candidate TEXT NOT NULL, mean_s REAL NOT NULL,"
	" lo_s REAL NOT NULL, hi_s REAL NOT NULL, kind INT NOT NULL, n INT NOT NULL, node_class TEXT NOT NULL,"
	" updated INT NOT NULL, PRIMARY KEY(key, candidate)) WITHOUT ROWID;"
	"CREATE TABLE probes(key BLOB NOT NULL, candidate TEXT NOT NULL, jobid INT NOT NULL, state INT NOT NULL,"
	" tries INT NOT NULL, reason TEXT NOT NULL, submitted INT NOT NULL, updated INT NOT NULL,"
	" not_before INT NOT NULL, cost_node_s REAL NOT NULL, result TEXT, PRIMARY KEY(key, candidate));"
	"CREATE INDEX probes_busy ON probes(state) WHERE state < 2;"
	"CREATE TABLE runs(jobid INT NOT NULL, submit_time INT NOT NULL, uid INT NOT NULL, key BLOB, family BLOB,"
	" name TEXT NOT NULL, act INT NOT NULL, mode INT NOT NULL, partition TEXT NOT NULL, candidate TEXT NOT NULL,"
	" pred_candidate TEXT NOT NULL, pred_s REAL NOT NULL, lo_s REAL NOT NULL, hi_s REAL NOT NULL,"
	" user_limit_min INT NOT NULL, limit_min INT NOT NULL, nodes INT NOT NULL, tasks INT NOT NULL,"
	" start_time INT NOT NULL, end_time INT NOT NULL, elapsed_s REAL NOT NULL, end_state TEXT NOT NULL,"
	" extensions INT NOT NULL, PRIMARY KEY(jobid, submit_time)) WITHOUT ROWID;"
	"CREATE INDEX runs_submit ON runs(submit_time);"
	"CREATE INDEX runs_user ON runs(uid, submit_time);"
	"CREATE INDEX runs_key ON runs(key, submit_time);"
	"CREATE INDEX runs_family ON runs(family, submit_time);"
	"CREATE INDEX runs_open ON runs(submit_time) WHERE end_state = '';"
	"PRAGMA application_id = 1347568963; PRAGMA user_version = 1;";

#define K1 "x'0123456789abcdef0123456789abcdef'"
#define F1 "x'fedcba9876543210fedcba9876543210'"

static const char rows_1[] =
	"INSERT INTO meta VALUES('heartbeat', '1700000123'), ('layout.0123456789abcdef0123456789abcdef',"
	" '100 2 1 0 1 a=acct\tq=q');"
	"INSERT INTO partitions VALUES('fast', 1, 60, 4294967295);"
	"INSERT INTO programs VALUES(" K1 ", " F1 ", 1000, 3, 'a remark', 'melt', 17, 'fast', 190.5, 2, 180.25, 2, 32,"
	" 1700000000, 1700000001, 1700000002);"
	"INSERT INTO estimates VALUES(" K1 ", 'fast', 190, 185, 200, 3, 4, '0123456789abcdef', 1700000003),"
	" (" K1 ", 'slow:big', 400, 390, 420, 1, 0, '', 1700000004);"
	"INSERT INTO probes VALUES(" K1 ", 'fast', 18, 2, 1, '', 1700000005, 1700000006, 0, 42.5, 'precedent-result 1'),"
	" (" K1 ", 'slow:big', 19, 3, 3, 'no room', 1700000007, 1700000008, 1700000009, 7.5, NULL);"
	"INSERT INTO runs VALUES(20, 1700000010, 1000, " K1 ", " F1 ", 'melt', 2, 2, 'fast', 'fast', 'fast', 190, 185, 200,"
	" 60, 5, 2, 32, 1700000011, 1700000202, 191, 'COMPLETED', 1),"
	" (21, 1700000300, 1001, NULL, NULL, 'other', 3, 1, 'slow', '', '', 0, 0, 0, 4294967294, 4294967294, 1, 1, 0, 0, 0,"
	" '', 0);";

/* What made version 2 of it. */
static const char step_2[] =
	"ALTER TABLE probes ADD COLUMN class_hex TEXT NOT NULL DEFAULT '';"
	"UPDATE probes SET class_hex = coalesce((SELECT node_class FROM estimates e WHERE e.key = probes.key"
	" AND e.candidate = probes.candidate), '');"
	"CREATE TABLE probe_bases(key BLOB PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE node_classes(candidate TEXT NOT NULL, class_hex TEXT NOT NULL, text TEXT NOT NULL,"
	" first_seen INT NOT NULL, last_seen INT NOT NULL, seen INT NOT NULL, others INT NOT NULL,"
	" returns INT NOT NULL, PRIMARY KEY(candidate, class_hex)) WITHOUT ROWID;"
	"INSERT INTO node_classes SELECT candidate, node_class, '', min(updated), max(updated), count(*), 0, 0"
	" FROM estimates WHERE node_class <> '' GROUP BY candidate, node_class;"
	"CREATE TABLE probe_costs(day INT NOT NULL, uid INT NOT NULL, partition TEXT NOT NULL,"
	" probes INT NOT NULL, node_s REAL NOT NULL, PRIMARY KEY(day, uid, partition)) WITHOUT ROWID;"
	"INSERT INTO probe_costs SELECT b.submitted / 86400, p.uid,"
	" CASE WHEN instr(b.candidate, ':') THEN substr(b.candidate, 1, instr(b.candidate, ':') - 1)"
	" ELSE b.candidate END, sum(b.tries), sum(b.cost_node_s) FROM probes b JOIN programs p ON p.key = b.key"
	" WHERE b.cost_node_s > 0 GROUP BY 1, 2, 3;"
	"ALTER TABLE runs ADD COLUMN suspended_s REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE runs ADD COLUMN restarts INT NOT NULL DEFAULT 0;"
	"ALTER TABLE runs ADD COLUMN array_job INT NOT NULL DEFAULT 0;"
	"ALTER TABLE runs ADD COLUMN kin BLOB;"
	"ALTER TABLE runs ADD COLUMN vars TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE runs ADD COLUMN pred_kind INT NOT NULL DEFAULT -1;"
	"ALTER TABLE runs ADD COLUMN pred_scale REAL NOT NULL DEFAULT 1;"
	"ALTER TABLE estimates ADD COLUMN scale REAL NOT NULL DEFAULT 1;"
	"CREATE TABLE families(kin BLOB NOT NULL, candidate TEXT NOT NULL, mean_s REAL NOT NULL, lo_s REAL NOT NULL,"
	" hi_s REAL NOT NULL, runs INT NOT NULL, programs INT NOT NULL, ranges TEXT NOT NULL, reason TEXT NOT NULL,"
	" scale REAL NOT NULL, updated INT NOT NULL, PRIMARY KEY(kin, candidate)) WITHOUT ROWID;"
	"CREATE TABLE drifts(key BLOB NOT NULL, candidate TEXT NOT NULL, stage INT NOT NULL, since INT NOT NULL,"
	" acted INT NOT NULL, PRIMARY KEY(key, candidate)) WITHOUT ROWID;"
	"ALTER TABLE programs ADD COLUMN shape INT NOT NULL DEFAULT 0;"
	"CREATE TABLE places(name TEXT PRIMARY KEY, open INT NOT NULL, restricted INT NOT NULL, min_nodes INT NOT NULL,"
	" max_nodes INT NOT NULL, total_nodes INT NOT NULL, allow_groups TEXT NOT NULL, allow_accounts TEXT NOT NULL,"
	" deny_accounts TEXT NOT NULL, allow_qos TEXT NOT NULL, deny_qos TEXT NOT NULL, is_default INT NOT NULL,"
	" default_min INT NOT NULL, max_min INT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE access(uid INT NOT NULL, partition TEXT NOT NULL, checked INT NOT NULL,"
	" PRIMARY KEY(uid, partition)) WITHOUT ROWID;"
	"CREATE TABLE shapes(id INTEGER PRIMARY KEY, nodes INT NOT NULL, tasks INT NOT NULL, tasks_per_node INT NOT NULL,"
	" cpus_per_task INT NOT NULL, memory INT NOT NULL, exclusive INT NOT NULL, account TEXT NOT NULL,"
	" qos TEXT NOT NULL, used INT NOT NULL);"
	"CREATE TABLE waits(shape INT NOT NULL, candidate TEXT NOT NULL, limit_min INT NOT NULL, uid INT NOT NULL,"
	" used INT NOT NULL, asked INT NOT NULL, answer INT NOT NULL, wait_s REAL NOT NULL, cost_ms REAL NOT NULL,"
	" reason TEXT NOT NULL, PRIMARY KEY(shape, candidate, limit_min)) WITHOUT ROWID;"
	"PRAGMA user_version = 2;";

/* What made version 4 of it, and version 5. */
static const char step_4[] =
	"ALTER TABLE runs ADD COLUMN weighed TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE runs ADD COLUMN array_task INT NOT NULL DEFAULT 0;"
	"DROP TABLE families;"
	"CREATE TABLE families(family BLOB NOT NULL, kin BLOB NOT NULL, candidate TEXT NOT NULL, mean_s REAL NOT NULL,"
	" lo_s REAL NOT NULL, hi_s REAL NOT NULL, runs INT NOT NULL, programs INT NOT NULL, ranges TEXT NOT NULL,"
	" reason TEXT NOT NULL, scale REAL NOT NULL, updated INT NOT NULL, PRIMARY KEY(family, kin, candidate)) WITHOUT ROWID;"
	"CREATE TABLE models(kin BLOB NOT NULL, candidate TEXT NOT NULL, law TEXT NOT NULL, runs INT NOT NULL,"
	" points INT NOT NULL, reason TEXT NOT NULL, scale REAL NOT NULL, updated INT NOT NULL, PRIMARY KEY(kin, candidate));"
	"CREATE INDEX runs_kin ON runs(kin, submit_time) WHERE kin IS NOT NULL;"
	"PRAGMA user_version = 4;";

static const char step_5[] =
	"CREATE TABLE evidence(key BLOB NOT NULL, candidate TEXT NOT NULL, kind INT NOT NULL, mean_s REAL NOT NULL,"
	" lo_s REAL NOT NULL, hi_s REAL NOT NULL, runs INT NOT NULL, weight REAL NOT NULL, error REAL NOT NULL,"
	" programs INT NOT NULL, PRIMARY KEY(key, candidate, kind)) WITHOUT ROWID;"
	"CREATE TRIGGER evidence_goes AFTER DELETE ON estimates BEGIN DELETE FROM evidence WHERE key = old.key"
	" AND candidate = old.candidate; END;"
	"PRAGMA user_version = 5;";

static void sql(const char *text)
{
	char *why = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	sqlite3_close(db);
}

static void check_programs(struct store *s)
{
	struct store_lookup l;
	const struct store_program *p = &l.program;

	assert_int_equal(store_lookup(s, KEY1, &l, &err), 1);
	assert_string_equal(p->key, KEY1);
	assert_string_equal(p->family, FAMILY);
	assert_int_equal(p->uid, 1000);
	assert_int_equal(p->state, PROGRAM_READY);
	assert_string_equal(p->reason, "a remark");
	assert_string_equal(p->name, "melt");
	assert_int_equal(p->source_job, 17);
	assert_string_equal(p->source_candidate, "fast");
	assert_true(p->source_elapsed_s == 190.5 && p->mpi_s == 180.25);
	assert_int_equal(p->n_traces, 2);
	assert_int_equal(p->nodes, 2);
	assert_int_equal(p->tasks, 32);
	assert_int_equal(p->created, 1700000000);
	assert_int_equal(p->updated, 1700000001);
	assert_int_equal(p->retrace_at, 1700000002);
	assert_int_equal(l.n_estimates, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct store_estimate *e = &l.estimates[i];
		bool fast = !strcmp(e->candidate, "fast");

		assert_true(fast || !strcmp(e->candidate, "slow:big"));
		assert_true(e->e.mean_s == (fast ? 190 : 400) && e->e.lo_s == (fast ? 185 : 390) &&
			    e->e.hi_s == (fast ? 200 : 420));
		assert_int_equal(e->e.kind, fast ? ESTIMATE_BLEND : ESTIMATE_SKELETON);
		assert_int_equal(e->e.n, fast ? 4 : 0);
		assert_string_equal(e->node_class, fast ? "0123456789abcdef" : "");
		assert_int_equal(e->updated, fast ? 1700000003 : 1700000004);
		assert_true(e->scale == 1);
		assert_false(e->stale);
	}
}

static void check_probes(struct store *s)
{
	struct store_probe p;
	char *text;

	assert_int_equal(store_probe_get(s, KEY1, "fast", &p, &err), 1);
	assert_int_equal(p.jobid, 18);
	assert_int_equal(p.state, PROBE_DONE);
	assert_int_equal(p.tries, 1);
	assert_int_equal(p.submitted, 1700000005);
	assert_int_equal(p.updated, 1700000006);
	assert_true(p.cost_node_s == 42.5);
	assert_int_equal(store_record_text(s, KEY1, "fast", &text, &err), 1);
	assert_string_equal(text, "precedent-result 1");
	assert_string_equal(p.class_hex, "0123456789abcdef");
	free(text);
	assert_int_equal(store_probe_get(s, KEY1, "slow:big", &p, &err), 1);
	assert_int_equal(p.state, PROBE_FAILED);
	assert_int_equal(p.tries, 3);
	assert_string_equal(p.reason, "no room");
	assert_int_equal(p.not_before, 1700000009);
	assert_false(p.kept);
	assert_string_equal(p.class_hex, "");
}

static void check_runs(struct store *s)
{
	struct store_run r;

	assert_int_equal(store_run_get(s, 20, &r, &err), 1);
	assert_int_equal(r.submit_time, 1700000010);
	assert_int_equal(r.uid, 1000);
	assert_string_equal(r.key, KEY1);
	assert_string_equal(r.family, FAMILY);
	assert_string_equal(r.name, "melt");
	assert_int_equal(r.act, 2);
	assert_int_equal(r.mode, MODE_LIMIT);
	assert_string_equal(r.partition, "fast");
	assert_string_equal(r.candidate, "fast");
	assert_string_equal(r.pred_candidate, "fast");
	assert_true(r.pred_s == 190 && r.lo_s == 185 && r.hi_s == 200 && r.elapsed_s == 191);
	assert_int_equal(r.user_limit_min, 60);
	assert_int_equal(r.limit_min, 5);
	assert_int_equal(r.nodes, 2);
	assert_int_equal(r.tasks, 32);
	assert_int_equal(r.start_time, 1700000011);
	assert_int_equal(r.end_time, 1700000202);
	assert_string_equal(r.end_state, "COMPLETED");
	assert_int_equal(r.extensions, 1);
	assert_true(r.suspended_s == 0 && r.restarts == 0 && r.array_job == 0 && r.pred_scale == 1);
	assert_string_equal(r.kin, "");
	assert_string_equal(r.vars, "");
	assert_int_equal(r.pred_kind, -1);
	assert_int_equal(store_run_get(s, 21, &r, &err), 1);
	assert_string_equal(r.key, "");
	assert_int_equal(r.user_limit_min, DURATION_UNSET);
	assert_string_equal(r.end_state, "");
}

static struct store_cost cost_seen[4];
static unsigned n_costs;

static int see_cost(const struct store_cost *c, void *arg)
{
	(void)arg;
	assert_true(n_costs < 4);
	cost_seen[n_costs++] = *c;
	return 0;
}

static void check_rest(struct store *s)
{
	struct store_partition p;
	char layout[100];
	int64_t when;

	ok(store_heartbeat_get(s, &when, &err));
	assert_int_equal(when, 1700000123);
	assert_int_equal(store_meta_get(s, STORE_META_LAYOUT KEY1, layout, sizeof(layout), &err), 1);
	assert_string_equal(layout, "100 2 1 0 1 a=acct\tq=q");
	assert_int_equal(store_partition_get(s, NULL, &p, &err), 1);
	assert_string_equal(p.name, "fast");
	assert_int_equal(p.default_min, 60);
	assert_int_equal(p.max_min, DURATION_UNLIMITED);
	/* what is new: classes, and what the probes had cost */
	assert_int_equal(store_class_gone(s, 1000, "fast", "0123456789abcdef", &err), 0);
	ok(store_class_told(s, "fast", &when, &err));
	assert_int_equal(when, 1700000003);
	n_costs = 0;
	assert_int_equal(store_costs_each(s, 1000, 0, see_cost, NULL, &err), 2);
	assert_string_equal(cost_seen[0].partition, "fast");
	assert_true(cost_seen[0].probe_node_s == 42.5 && cost_seen[0].probes == 1 && cost_seen[0].jobs == 1);
	assert_true(cost_seen[0].freed_node_s == 2 * 55 * 60);
	assert_string_equal(cost_seen[1].partition, "slow");
	assert_true(cost_seen[1].probe_node_s == 7.5 && cost_seen[1].probes == 3);
}

static void check_all(struct store *s)
{
	check_programs(s);
	check_probes(s);
	check_runs(s);
	check_rest(s);
	ok(store_check(s, &err));
}

static void test_from_1(void **state)
{
	struct store *s, *r;
	struct store_counts c;

	(void)state;
	sql(version_1);
	sql(rows_1);
	assert_int_equal(store_open(path, STORE_READ, &r, &err), -1);
	assert_int_equal(store_last_fault(), STORE_OLDER);
	s = must_open(STORE_WRITE);
	check_all(s);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.schema, STORE_SCHEMA_VERSION);
	r = must_open(STORE_READ);
	check_programs(r);
	store_close(r);
	store_close(s);
	s = must_open(STORE_WRITE); /* and a second time does nothing */
	check_all(s);
	store_close(s);
}

/* With all that version 2 could hold of a run. */
/* A class that had gone in version 6 has gone for the programs of all users. */
static void test_classes_from_6(void **state)
{
	struct store *s;

	(void)state;
	sql(version_1);
	sql(rows_1);
	sql(step_2);
	sql("INSERT INTO node_classes VALUES('fast', 'aaaaaaaaaaaaaaaa', 'old node', 1, 2, 1, 1, 0)");
	s = must_open(STORE_WRITE);
	for (uint32_t uid = 1000; uid < 1003; uid++)
		assert_int_equal(store_class_gone(s, uid, "fast", "aaaaaaaaaaaaaaaa", &err), 1);
	store_close(s);
}

static void test_from_2(void **state)
{
	struct store_run r;
	struct store *s;

	(void)state;
	sql(version_1);
	sql(rows_1);
	sql(step_2);
	sql("UPDATE runs SET suspended_s = 3, restarts = 1, array_job = 19, kin = " F1 ", vars = '1,2', pred_kind = 3,"
	    " pred_scale = 1.5 WHERE jobid = 21");
	s = must_open(STORE_WRITE);
	check_all(s);
	assert_int_equal(store_run_get(s, 21, &r, &err), 1);
	assert_true(r.suspended_s == 3 && r.restarts == 1 && r.array_job == 19 && r.pred_kind == 3 && r.pred_scale == 1.5);
	assert_string_equal(r.kin, FAMILY);
	assert_string_equal(r.vars, "1,2");
	assert_string_equal(r.weighed, "");
	strcpy(r.weighed, "slow/0/460");
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, 21, &r, &err), 1);
	assert_string_equal(r.weighed, "slow/0/460");
	store_close(s);
}

/* Version 3: what its families said is of kins that no run has any more; runs and the rest stay. */
static void test_from_3(void **state)
{
	struct store_model model = {.kin = FAMILY, .candidate = "fast", .law = "law1 3 3 1|1:9||1/0/2", .updated = NOW}, back;
	struct store_family family;
	struct store *s;

	(void)state;
	sql(version_1);
	sql(rows_1);
	sql(step_2);
	sql("ALTER TABLE runs ADD COLUMN weighed TEXT NOT NULL DEFAULT '';"
	    "ALTER TABLE runs ADD COLUMN array_task INT NOT NULL DEFAULT 0;"
	    "INSERT INTO families VALUES(" F1 ", 'fast', 100, 95, 106, 5, 3, '1:4', '', 1, 1700000000);"
	    "PRAGMA user_version = 3;");
	s = must_open(STORE_WRITE);
	check_all(s);
	assert_int_equal(store_family_lookup(s, FAMILY, FAMILY, &family, 1, &err), 0);
	assert_int_equal(store_model_lookup(s, FAMILY, &back, 1, &err), 0);
	ok(store_model_put(s, &model, &err));
	assert_int_equal(store_model_lookup(s, FAMILY, &back, 1, &err), 1);
	assert_string_equal(back.law, model.law);
	assert_int_equal(back.updated, NOW);
	assert_true(back.scale == 1);
	store_close(s);
}

/* Version 4: of its estimates nobody knows what they were made of; of new ones it is kept, and goes with them. */
static void test_from_4(void **state)
{
	struct combine_part part = {{190, 180, 200, ESTIMATE_MODEL, 7}, 0.25, 0.03, 4}, back[COMBINE_PARTS];
	struct store *s;

	(void)state;
	sql(version_1);
	sql(rows_1);
	sql(step_2);
	sql(step_4);
	s = must_open(STORE_WRITE);
	check_all(s);
	assert_int_equal(store_evidence_get(s, KEY1, "fast", back, COMBINE_PARTS, &err), 0);
	ok(store_evidence_put(s, KEY1, "fast", &part, 1, &err));
	ok(store_evidence_put(s, KEY1, "slow:big", &part, 1, &err));
	assert_int_equal(store_evidence_get(s, KEY1, "fast", back, COMBINE_PARTS, &err), 1);
	assert_memory_equal(&back[0].e, &part.e, sizeof(part.e));
	assert_true(back[0].weight == 0.25 && back[0].error == 0.03 && back[0].programs == 4);
	ok(store_estimate_drop(s, KEY1, "fast", &err));
	assert_int_equal(store_evidence_get(s, KEY1, "fast", back, COMBINE_PARTS, &err), 0);
	assert_int_equal(store_evidence_get(s, KEY1, "slow:big", back, COMBINE_PARTS, &err), 1);
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	assert_int_equal(store_evidence_get(s, KEY1, "slow:big", back, COMBINE_PARTS, &err), 0);
	store_close(s);
}

/* A program of version 5 with its last traced run, jobs 31 and on: its number in the key, and how the run ended. */
static void program_5(unsigned number, enum program_state program, enum job_act act, const char *end_state, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "INSERT INTO programs VALUES(x'%032x', " F1 ", 1000, %d, 'traced job %u ended %s; the next run is traced again', 'app', %u,"
		 " 'fast', 0, 0, 0, 2, 4, 1, 2, 3, 0);"
		 "INSERT INTO runs(jobid, submit_time, uid, key, family, name, act, mode, partition, candidate, pred_candidate, pred_s, lo_s,"
		 " hi_s, user_limit_min, limit_min, nodes, tasks, start_time, end_time, elapsed_s, end_state, extensions) VALUES(%u, 7, 1000,"
		 " x'%032x', " F1 ", 'app', %d, 1, 'fast', 'fast', '', 0, 0, 0, 60, 60, 2, 4, 8, 9, 1.5, '%s', 0);"
		 "UPDATE runs SET %s WHERE jobid = %u;",
		 number, program, 30 + number, end_state, 30 + number, 30 + number, number, act, end_state, more, 30 + number);
	sql(text);
}

static int trial_5(struct store *s, unsigned number, struct store_trial *t)
{
	char name[IDENTITY_KEY_LEN + 1];

	snprintf(name, sizeof(name), "%032x", number);
	return store_trial_get(s, name, t, &err);
}

/* Version 5: after the update too, a program whose traced run failed is not traced. The index of version 5 does not hide that. */
static void test_from_5(void **state)
{
	struct store_program p;
	struct store_trial t;
	struct store *s, *r;
	char name[128];

	(void)state;
	sql(version_1);
	sql(rows_1);
	sql(step_2);
	sql(step_4);
	sql(step_5);
	program_5(1, PROGRAM_FAILED, ACT_TRACE, "FAILED", "array_task = 5");
	program_5(2, PROGRAM_FAILED, ACT_TRACE, "TIMEOUT", "kin = " F1 ", array_job = 31, array_task = 5");
	program_5(3, PROGRAM_FAILED, ACT_TRACE, "CANCELLED", "mode = 1");
	program_5(4, PROGRAM_FAILED, ACT_OBSERVE, "FAILED", "mode = 1");
	program_5(5, PROGRAM_READY, ACT_TRACE, "FAILED", "mode = 1");
	program_5(6, PROGRAM_FAILED, ACT_TRACE, "OUT_OF_MEMORY", "uid = 1001");
	sql("INSERT INTO meta VALUES('index', '00000000000000ab')"); /* of an index that knows no such names */
	s = must_open(STORE_WRITE);
	check_programs(s);
	check_runs(s);
	ok(store_check(s, &err));
	assert_int_equal(trial_5(s, 1, &t), 1);
	assert_string_equal(t.key, "00000000000000000000000000000001");
	assert_int_equal(t.uid, 1000);
	assert_int_equal(t.guard, TRIAL_DOUBT);
	assert_int_equal(t.traced_job, 31);
	assert_string_equal(t.end_state, "FAILED");
	assert_true(t.elapsed_s == 1.5 && t.memory == 0 && t.updated == 9);
	assert_int_equal(t.array_task, ARRAY_NO_INDEX);
	assert_int_equal(t.control_job, 0);
	assert_int_equal(t.pair, TRIAL_NO_PAIR);
	assert_int_equal(store_trial_get(s, FAMILY, &t, &err), 1); /* by its kin */
	assert_string_equal(t.key, "00000000000000000000000000000002");
	assert_int_equal(t.array_task, 5);
	for (unsigned i = 2; i <= 6; i++)
		assert_int_equal(trial_5(s, i, &t), 0);
	assert_int_equal(store_program_get(s, "00000000000000000000000000000001", &p, &err), 1);
	assert_string_equal(p.reason, "traced job 31 ended FAILED; the next run goes without the tracer");
	assert_int_equal(store_program_get(s, "00000000000000000000000000000003", &p, &err), 1);
	assert_string_equal(p.reason, "traced job 33 ended CANCELLED; the next run is traced again");
	assert_int_equal(store_meta_get(s, "index", name, sizeof(name), &err), 0);
	assert_int_equal(store_index_renew(s, &err), 1);
	r = must_open(STORE_READ);
	assert_int_equal(store_index_check(r, &err), 1);
	assert_int_equal(store_trial_withholds(r, FAMILY, KEY1, &t, &err), 1);
	store_close(r);
	store_close(s);
	snprintf(name, sizeof(name), "%s" STORE_INDEX_SUFFIX, path);
	unlink(name);
}

static void test_from_1_empty(void **state)
{
	struct store *s;
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);

	(void)state;
	sql(version_1);
	s = must_open(STORE_WRITE);
	ok(store_program_put(s, &p, &err));
	ok(store_check(s, &err));
	store_close(s);
}

static int schema_text(void *arg, int n, char **values, char **names)
{
	char **all = arg, *more;

	(void)names;
	if (asprintf(&more, "%s%s %s;\n", *all ? *all : "", values[0], n > 1 && values[1] ? values[1] : "") < 0)
		return 1;
	free(*all);
	*all = more;
	return 0;
}

/* Columns of every table, by name and order. */
static char *schema_of(const char *file)
{
	char *all = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "SELECT m.name, group_concat(c.cid || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\")"
				      " FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c WHERE m.type IN ('table', 'index')"
				      " AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name ORDER BY m.name",
				      schema_text, &all, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_non_null(all);
	return all;
}

/* A store that was migrated and one that is new are the same inside. */
static void test_same_as_new(void **state)
{
	char *old, *fresh;

	(void)state;
	sql(version_1);
	store_close(must_open(STORE_WRITE));
	old = schema_of(path);
	assert_int_equal(unlink(path), 0);
	store_close(must_open(STORE_WRITE));
	fresh = schema_of(path);
	assert_string_equal(old, fresh);
	free(old);
	free(fresh);
}

/* What a program of version 1 does with a file of a later version: it refuses it, and leaves it alone. */
static void test_later_is_refused(void **state)
{
	char text[64];
	struct store *s;

	(void)state;
	sql(version_1);
	sql(rows_1);
	store_close(must_open(STORE_WRITE));
	snprintf(text, sizeof(text), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION + 1);
	sql(text);
	for (unsigned flags = STORE_READ; flags <= STORE_WRITE; flags++) {
		assert_int_equal(store_open(path, flags, &s, &err), -1);
		assert_int_equal(store_last_fault(), STORE_NEWER);
		assert_non_null(strstr(err.text, "upgrade precedent"));
	}
	snprintf(text, sizeof(text), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
	sql(text);
	s = must_open(STORE_WRITE);
	check_all(s);
	store_close(s);
}

/* Many rows, so that a migration lasts. */
static void many_rows(void)
{
	sql(version_1);
	sql(rows_1);
	sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO programs SELECT"
	    " randomblob(16), " F1 ", 1001, 3, '', 'app', i, 'fast', 100, 1, 90, 2, 4, i, i, 0 FROM n;"
	    "INSERT INTO estimates SELECT key, 'fast', 1, 1, 1, 1, 0, 'abcdefabcdefabcd', 7 FROM programs WHERE uid = 1001;"
	    "INSERT INTO probes SELECT key, 'fast', 5, 2, 1, '', 1, 1, 0, 1, hex(zeroblob(200)) FROM programs WHERE uid = 1001;");
}

static int version_now(void)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	int v;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	v = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

static double migrate_in_child(double kill_after_s)
{
	struct timespec a, b, wait = {0, (long)(kill_after_s * 1e9)};
	struct store *s;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &a);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(store_open(path, STORE_WRITE, &s, &err) < 0);
	if (kill_after_s >= 0) {
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void remove_store(void)
{
	static const char *const suffix[] = {"", "-wal", "-shm"};
	char name[128];

	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffix[i]);
		unlink(name);
	}
}

/* Killed at instants spread over its length: the file is of version 1 or of this one, sound, and goes on. */
static void test_killed(void **state)
{
	unsigned before = 0, after = 0;
	struct store_counts c;
	struct store *s;
	double whole_s;

	(void)state;
	many_rows();
	whole_s = migrate_in_child(-1);
	for (int i = 0; i < 12; i++) {
		int version;

		remove_store();
		many_rows();
		migrate_in_child(whole_s * 1.2 * i / 12);
		version = version_now();
		assert_true(version == 1 || version == STORE_SCHEMA_VERSION);
		before += version == 1;
		after += version > 1;
		s = must_open(STORE_WRITE | STORE_WAIT);
		check_all(s);
		ok(store_counts(s, &c, &err));
		assert_int_equal(c.programs, 5001);
		assert_int_equal(c.schema, STORE_SCHEMA_VERSION);
		store_close(s);
	}
	assert_true(before > 0 && before + after == 12);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_from_1), T(test_from_2), T(test_classes_from_6), T(test_from_3), T(test_from_4), T(test_from_5), T(test_from_1_empty),
		T(test_same_as_new),
		T(test_later_is_refused), T(test_killed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_migrate", tests, NULL, NULL);
}
