/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's schema, as the steps that lead to it: migrations[v] brings version v to v + 1. Steps that were
 * released are never changed. The version is PRAGMA user_version; the application id tells our file from
 * other people's databases.
 */
#include <stdio.h>

#include "predictor/store/internal.h"

static const char *const migrations[STORE_SCHEMA_VERSION] = {
    /*
     * 0 -> 1. Keys are 16-byte blobs: rows lie in the order of the keys, one look-up is one walk down one
     * tree.
     */
    [0] =
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE partitions(name TEXT PRIMARY KEY, is_default INT NOT NULL, default_min INT NOT NULL,"
	" max_min INT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE programs(key BLOB PRIMARY KEY, family BLOB, uid INT NOT NULL, state INT NOT NULL,"
	" reason TEXT NOT NULL, name TEXT NOT NULL, source_job INT NOT NULL, source_candidate TEXT NOT NULL,"
	" source_elapsed_s REAL NOT NULL, n_traces INT NOT NULL, mpi_s REAL NOT NULL, nodes INT NOT NULL,"
	" tasks INT NOT NULL, created INT NOT NULL, updated INT NOT NULL, retrace_at INT NOT NULL) WITHOUT "
	"ROWID;"
	"CREATE INDEX programs_updated ON programs(updated);"
	"CREATE INDEX programs_family ON programs(family, updated);"
	"CREATE INDEX programs_busy ON programs(state, updated) WHERE state < 3;"
	"CREATE TABLE estimates(key BLOB NOT NULL, candidate TEXT NOT NULL, mean_s REAL NOT NULL,"
	" lo_s REAL NOT NULL, hi_s REAL NOT NULL, kind INT NOT NULL, n INT NOT NULL, node_class TEXT NOT "
	"NULL,"
	" updated INT NOT NULL, PRIMARY KEY(key, candidate)) WITHOUT ROWID;"
	"CREATE TABLE probes(key BLOB NOT NULL, candidate TEXT NOT NULL, jobid INT NOT NULL, state INT NOT "
	"NULL,"
	" tries INT NOT NULL, reason TEXT NOT NULL, submitted INT NOT NULL, updated INT NOT NULL,"
	" not_before INT NOT NULL, cost_node_s REAL NOT NULL, result TEXT, PRIMARY KEY(key, candidate));"
	"CREATE INDEX probes_busy ON probes(state) WHERE state < 2;"
	"CREATE TABLE runs(jobid INT NOT NULL, submit_time INT NOT NULL, uid INT NOT NULL, key BLOB, family "
	"BLOB,"
	" name TEXT NOT NULL, act INT NOT NULL, mode INT NOT NULL, partition TEXT NOT NULL, candidate TEXT "
	"NOT NULL,"
	" pred_candidate TEXT NOT NULL, pred_s REAL NOT NULL, lo_s REAL NOT NULL, hi_s REAL NOT NULL,"
	" user_limit_min INT NOT NULL, limit_min INT NOT NULL, nodes INT NOT NULL, tasks INT NOT NULL,"
	" start_time INT NOT NULL, end_time INT NOT NULL, elapsed_s REAL NOT NULL, end_state TEXT NOT NULL,"
	" extensions INT NOT NULL, PRIMARY KEY(jobid, submit_time)) WITHOUT ROWID;"
	"CREATE INDEX runs_submit ON runs(submit_time);"
	"CREATE INDEX runs_user ON runs(uid, submit_time);"
	"CREATE INDEX runs_key ON runs(key, submit_time);"
	"CREATE INDEX runs_family ON runs(family, submit_time);"
	"CREATE INDEX runs_open ON runs(submit_time) WHERE end_state = '';",
    /*
     * 1 -> 2. Adds the node class of each probe and candidate, the record of the source candidate on the traced class, and the
     * cost of probes by day.
     */
    [1] =
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
	/* Adds suspended time, restarts, kin and numbers of runs, the factor of intervals, estimates for members that have not
	 * run yet, and drifts. */
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
	/* Whom partitions let in, of which shapes jobs are, how long they would wait (places.h). */
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
	" reason TEXT NOT NULL, PRIMARY KEY(shape, candidate, limit_min)) WITHOUT ROWID;",
    /* 2 -> 3. Between which candidates a job's place was chosen; the index of a task of an array. */
    [2] = "ALTER TABLE runs ADD COLUMN weighed TEXT NOT NULL DEFAULT '';"
	  "ALTER TABLE runs ADD COLUMN array_task INT NOT NULL DEFAULT 0;",
    /* 3 -> 4. A kin now includes all layouts, so estimates of alike runs are stored by family and kin. Old rows name another
     * kin and are dropped; later runs make them again. Adds models over inputs. */
    [3] = "DROP TABLE families;"
	  "CREATE TABLE families(family BLOB NOT NULL, kin BLOB NOT NULL, candidate TEXT NOT NULL, mean_s REAL NOT NULL,"
	  " lo_s REAL NOT NULL, hi_s REAL NOT NULL, runs INT NOT NULL, programs INT NOT NULL, ranges TEXT NOT NULL,"
	  " reason TEXT NOT NULL, scale REAL NOT NULL, updated INT NOT NULL, PRIMARY KEY(family, kin, candidate)) WITHOUT ROWID;"
	  "CREATE TABLE models(kin BLOB NOT NULL, candidate TEXT NOT NULL, law TEXT NOT NULL, runs INT NOT NULL,"
	  " points INT NOT NULL, reason TEXT NOT NULL, scale REAL NOT NULL, updated INT NOT NULL, PRIMARY KEY(kin, candidate));"
	  "CREATE INDEX runs_kin ON runs(kin, submit_time) WHERE kin IS NOT NULL;",
    /* 4 -> 5. Adds the evidence of each estimate. */
    [4] = "CREATE TABLE evidence(key BLOB NOT NULL, candidate TEXT NOT NULL, kind INT NOT NULL, mean_s REAL NOT NULL,"
	  " lo_s REAL NOT NULL, hi_s REAL NOT NULL, runs INT NOT NULL, weight REAL NOT NULL, error REAL NOT NULL,"
	  " programs INT NOT NULL, PRIMARY KEY(key, candidate, kind)) WITHOUT ROWID;"
	  "CREATE TRIGGER evidence_goes AFTER DELETE ON estimates BEGIN DELETE FROM evidence WHERE key = old.key"
	  " AND candidate = old.candidate; END;",
    /*
     * 5 -> 6. Traced runs against untraced ones. A program whose traced run failed under version 5 is guarded too. An index that
     * version 5 built does not know the names of such programs.
     */
    [5] = "CREATE TABLE trials(name BLOB PRIMARY KEY, key BLOB NOT NULL, uid INT NOT NULL, guard INT NOT NULL,"
	  " traced_job INT NOT NULL, end_state TEXT NOT NULL, elapsed_s REAL NOT NULL, memory INT NOT NULL, array_task INT NOT NULL,"
	  " control_job INT NOT NULL, control_state TEXT NOT NULL, updated INT NOT NULL, pair INT NOT NULL, pair_traced INT NOT NULL,"
	  " pair_untraced INT NOT NULL, pair_at INT NOT NULL) WITHOUT ROWID;"
	  "CREATE INDEX trials_odd ON trials(uid, pair_at) WHERE pair > 2;"
	  "INSERT OR IGNORE INTO trials SELECT coalesce(r.kin, r.key), r.key, r.uid, 1, r.jobid, r.end_state, r.elapsed_s, 0,"
	  " CASE WHEN r.array_job > 0 THEN r.array_task ELSE 4294967295 END, 0, '', r.end_time, 0, 0, 0, 0"
	  " FROM programs p JOIN runs r ON r.key = p.key AND r.jobid = p.source_job WHERE p.state = 4 AND r.uid = p.uid AND r.act = 1"
	  " AND r.end_state IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY') ORDER BY p.updated DESC;"
	  "UPDATE programs SET reason = replace(reason, 'the next run is traced again', 'the next run goes without the tracer')"
	  " WHERE key IN (SELECT key FROM trials);"
	  "DELETE FROM meta WHERE name = 'index';",
    /* 6 -> 7. Node classes for each user, and for all (uid -1) where several users told them. Shortened limits (limits.h), and the
     * OverTimeLimit of each partition. */
    [6] = "ALTER TABLE node_classes RENAME TO classes_of_all;"
	  "CREATE TABLE node_classes(candidate TEXT NOT NULL, class_hex TEXT NOT NULL, uid INT NOT NULL, text TEXT NOT NULL,"
	  " first_seen INT NOT NULL, last_seen INT NOT NULL, seen INT NOT NULL, others INT NOT NULL, returns INT NOT NULL,"
	  " told_by INT NOT NULL, PRIMARY KEY(candidate, class_hex, uid)) WITHOUT ROWID;"
	  "INSERT INTO node_classes SELECT candidate, class_hex, -1, text, first_seen, last_seen, seen, others, returns, -1"
	  " FROM classes_of_all;"
	  "DROP TABLE classes_of_all;"
	  "CREATE TABLE limits(jobid INTEGER PRIMARY KEY, submit_time INT NOT NULL, asked_min INT NOT NULL,"
	  " wish_min INT NOT NULL, set_min INT NOT NULL, seen INT NOT NULL, soft INT NOT NULL);"
	  "ALTER TABLE places ADD COLUMN overtime_min INT NOT NULL DEFAULT 0;",
    /* 7 -> 8. Groups of similar runs (groups.h), and what they told when a job was submitted. */
    [7] = "CREATE TABLE groups(id INTEGER PRIMARY KEY, data BLOB NOT NULL, updated INT NOT NULL,"
	  " uid INT NOT NULL);" /* of an account: of the last run */
	  "ALTER TABLE runs ADD COLUMN similar TEXT NOT NULL DEFAULT '';",
    /* 8 -> 9. Computed points (points.h). */
    [8] = "CREATE TABLE points(kin BLOB NOT NULL, candidate TEXT NOT NULL, list TEXT NOT NULL, job INT NOT NULL,"
	  " updated INT NOT NULL, PRIMARY KEY(kin, candidate)) WITHOUT ROWID;",
    /* 9 -> 10. Imported runs whose scripts were not yet asked for (unscripted.h). */
    [9] = "CREATE TABLE unscripted(jobid INT NOT NULL, submit_time INT NOT NULL, PRIMARY KEY(jobid, submit_time)) WITHOUT ROWID;",
    /* 10 -> 11. Planned times of runs (runs.h). */
    [10] = "ALTER TABLE runs ADD COLUMN plan_min INT NOT NULL DEFAULT 0;",
};

static int read_number(struct store *s, const char *sql, int *out, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int(st, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : store_fail(s, rc, "cannot read its schema", err);
}

int store_schema_read(struct store *s, int *version, bool *ours, bool *empty, struct errbuf *err)
{
	int id = 0, tables = 0;

	if (read_number(s, "PRAGMA user_version", version, err) < 0 ||
	    read_number(s, "PRAGMA application_id", &id, err) < 0 ||
	    read_number(s, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	*ours = id == STORE_APPLICATION_ID;
	*empty = tables == 0;
	return 0;
}

static int exec(struct store *s, const char *sql, struct errbuf *err)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : store_fail(s, rc, "cannot bring its schema up to date", err);
}

int store_migrate(struct store *s, struct errbuf *err)
{
	bool ours, empty;
	char sql[128];
	int version;

	/* The write lock first: two daemons that start at once must not both migrate. */
	if (exec(s, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (store_schema_read(s, &version, &ours, &empty, err) < 0)
		goto fail;
	if (version < 0 || version > STORE_SCHEMA_VERSION) {
		store_fault_set(
		    STORE_NEWER, err,
		    "%s: its schema is version %d, this Precedent knows up to %d: upgrade precedent", s->path,
		    version, STORE_SCHEMA_VERSION);
		goto fail;
	}
	if (!ours && !empty) {
		store_fault_set(STORE_CORRUPT, err, "%s: is the database of another program: move it away",
				s->path);
		goto fail;
	}
	for (; version < STORE_SCHEMA_VERSION; version++) {
		if (exec(s, migrations[version], err) < 0)
			goto fail;
	}
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		 STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (exec(s, sql, err) < 0)
		goto fail;
	return 0;
fail:
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}
