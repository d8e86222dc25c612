/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: opening, faults, statements, transactions, and the small tables (meta, partitions): see store.h.
 * Programs and probes are in store_programs.c, runs in store_runs.c, the schema in store_migrate.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/store/internal.h"

#define WAIT_MS	       5000
#define CACHE_KIB      16384 /* holds the inner nodes of the trees of 10^6 programs */
#define META_HEARTBEAT "heartbeat"

static _Thread_local enum store_fault last_fault;

#define RUN_VALUES                                                                                                                    \
	"?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,"         \
	" ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34"

/* Two look-ups by key: for "key IN (...)" SQLite builds a table for each row. */
#define DRIFTED_OF(name)                                                                                                              \
	"EXISTS(SELECT 1 FROM drifts d WHERE d.key = " name " AND d.candidate = r.candidate"                                          \
	" AND r.submit_time BETWEEN d.since AND d.acted)"

/* The latest runs by one index. The last column tells which of them are asked for. Only told predictions can be refuted by a drift. */
#define PAST_RUNS(by, also)                                                                                                           \
	"SELECT jobid, submit_time, key, vars, elapsed_s, end_state, restarts, pred_candidate, pred_s, lo_s, hi_s, pred_kind,"        \
	" pred_scale, hi_s > 0 AND candidate = pred_candidate,"                                                                       \
	" hi_s > 0 AND candidate = pred_candidate AND (" DRIFTED_OF("r.key") " OR " DRIFTED_OF("r.kin") "),"                          \
	" array_job, array_task, candidate,"                                                                                          \
	" (?1 IS NULL OR candidate = ?1) AND elapsed_s > 0 AND submit_time >= ?2" also " FROM runs r"                                 \
	" WHERE " by " AND (?7 = 0 OR submit_time < ?7) ORDER BY submit_time DESC, jobid DESC LIMIT ?5"

static const char *const queries[Q_N] = {
    [Q_BEGIN] = "BEGIN IMMEDIATE",
    [Q_BEGIN_READ] = "BEGIN",
    [Q_COMMIT] = "COMMIT",
    [Q_ROLLBACK] = "ROLLBACK",
    [Q_SAVE] = "SAVEPOINT nested",
    [Q_SAVE_RELEASE] = "RELEASE nested",
    [Q_SAVE_BACK] = "ROLLBACK TO nested",
    [Q_DATA_VERSION] = "PRAGMA data_version",
    [Q_META_GET] = "SELECT value FROM meta WHERE name = ?1",
    [Q_META_SET] = "INSERT INTO meta VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2",
    [Q_PARTITION_GET] = "SELECT name, is_default, default_min, max_min FROM partitions WHERE name = ?1",
    [Q_PARTITION_DEFAULT] = "SELECT name, is_default, default_min, max_min FROM partitions WHERE is_default "
			    "ORDER BY name LIMIT 1",
    [Q_PARTITION_PUT] = "INSERT OR REPLACE INTO partitions VALUES(?1, ?2, ?3, ?4)",
    [Q_LIMIT_PUT] = "INSERT OR REPLACE INTO limits VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [Q_LIMIT_DROP] = "DELETE FROM limits WHERE jobid = ?1",
    [Q_LIMIT_GET] = "SELECT * FROM limits WHERE jobid = ?1",
    [Q_LIMIT_LIST] = "SELECT * FROM limits ORDER BY jobid",
    [Q_PARTITION_CLEAR] = "DELETE FROM partitions",
    [Q_PARTITION_ALL] = "SELECT name, is_default, default_min, max_min FROM partitions ORDER BY name",
    [Q_PROGRAM_PUT] =
	"INSERT OR REPLACE INTO programs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
	" ?13, ?14, ?15, ?16, ?17)",
    [Q_PROGRAM_GET] = "SELECT * FROM programs WHERE key = ?1",
    [Q_PROGRAM_STATE] = "UPDATE programs SET state = ?2, reason = ?3, updated = ?4 WHERE key = ?1",
    [Q_PROGRAM_DROP] = "DELETE FROM programs WHERE key = ?1",
    [Q_PROGRAM_LIST] = "SELECT key FROM programs WHERE (?1 < 0 OR uid = ?1) AND (?2 IS NULL OR family = ?2)"
		       " AND (?3 = 0 OR (1 << state) & ?3) ORDER BY updated DESC, key LIMIT ?4",
    [Q_PROGRAM_LATEST] = "SELECT key FROM (SELECT key, uid, family, state, updated FROM programs ORDER BY updated DESC LIMIT ?5)"
			 " WHERE (?1 < 0 OR uid = ?1) AND (?2 IS NULL OR family = ?2) AND (?3 = 0 OR (1 << state) & ?3)"
			 " ORDER BY updated DESC, key LIMIT ?4",
    [Q_ESTIMATE_PUT] = "INSERT OR REPLACE INTO estimates VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [Q_ESTIMATE_DROP] = "DELETE FROM estimates WHERE key = ?1 AND candidate = ?2",
    [Q_ESTIMATE_DROP_ALL] = "DELETE FROM estimates WHERE key = ?1",
    [Q_ESTIMATE_LIST] = "SELECT e.candidate, mean_s, lo_s, hi_s, kind, n, node_class, updated, scale,"
			" e.node_class <> '' AND EXISTS(SELECT 1 FROM node_classes c WHERE c.candidate = e.candidate AND c.class_hex = e.node_class"
			" AND (c.uid = -1 OR c.uid = (SELECT uid FROM programs WHERE key = ?1)) AND " STORE_CLASS_HAS_GONE("c") ")"
			" FROM estimates e WHERE e.key = ?1",
    [Q_ESTIMATE_UPDATED] = "SELECT kind, updated FROM estimates WHERE key = ?1 AND candidate = ?2",
    [Q_EVIDENCE_CLEAR] = "DELETE FROM evidence WHERE key = ?1 AND candidate = ?2",
    [Q_EVIDENCE_ADD] = "INSERT INTO evidence VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [Q_EVIDENCE_GET] = "SELECT kind, mean_s, lo_s, hi_s, runs, weight, error, programs FROM evidence"
		       " WHERE key = ?1 AND candidate = ?2 ORDER BY kind",
    [Q_FAMILY_PUT] = "INSERT OR REPLACE INTO families VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [Q_FAMILY_LIST] = "SELECT candidate, mean_s, lo_s, hi_s, runs, programs, ranges, reason, scale, updated FROM families"
		      " WHERE family = ?1 AND kin = ?2",
    [Q_ARRAY_RUNS] = "SELECT candidate, array_task, elapsed_s, end_state, restarts, array_job AND elapsed_s > 0 AND submit_time >="
		     " coalesce((SELECT since FROM drifts d WHERE d.key = ?1 AND d.candidate = r.candidate), 0)"
		     " FROM runs r WHERE key = ?1 ORDER BY submit_time DESC LIMIT ?2",
    [Q_POINTS_GET] = "SELECT list, job, updated FROM points WHERE kin = ?1 AND candidate = ?2",
    [Q_MODEL_PUT] = "INSERT OR REPLACE INTO models VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [Q_MODEL_LIST] = "SELECT candidate, law, runs, points, reason, scale, updated FROM models WHERE kin = ?1"
		     " ORDER BY updated DESC",
    [Q_PROBE_PUT] = "INSERT INTO probes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
		    " ON CONFLICT(key, candidate) DO UPDATE SET jobid = ?3, state = ?4, tries = ?5, reason = ?6,"
		    " submitted = ?7, updated = ?8, not_before = ?9, cost_node_s = ?10,"
		    " result = coalesce(?11, result), class_hex = ?12",
    [Q_PROBE_GET] = "SELECT * FROM probes WHERE key = ?1 AND candidate = ?2",
    [Q_PROBE_LIST] = "SELECT key, candidate FROM probes WHERE key = ?1 AND (?2 = 0 OR (1 << state) & ?2)"
		     " ORDER BY candidate",
    [Q_PROBE_LIST_ALL] = "SELECT key, candidate FROM probes WHERE ?2 = 0 OR (1 << state) & ?2"
			 " ORDER BY key, candidate",
    [Q_PROBE_DROP_ALL] = "DELETE FROM probes WHERE key = ?1",
    [Q_RECORD_GET] = "SELECT result FROM probes WHERE key = ?1 AND candidate = ?2",
    [Q_BASE_GET] = "SELECT record FROM probe_bases WHERE key = ?1",
    [Q_BASE_DROP] = "DELETE FROM probe_bases WHERE key = ?1",
    [Q_RUN_PUT] = "INSERT OR REPLACE INTO runs VALUES(" RUN_VALUES ")",
    [Q_RUN_ADD] = "INSERT OR IGNORE INTO runs VALUES(" RUN_VALUES ")",
    [Q_RUN_GET] = "SELECT * FROM runs WHERE jobid = ?1 AND submit_time = ?2",
    [Q_RUN_GET_LAST] = "SELECT * FROM runs WHERE jobid = ?1 ORDER BY submit_time DESC LIMIT 1",
    /* An array has the job id of its last task. Its tasks have its submit time until they are queued again. */
    [Q_RUN_TASK] = "SELECT jobid FROM runs WHERE submit_time IN (SELECT submit_time FROM runs WHERE jobid = ?1)"
		   " AND array_job = ?1 AND array_task = ?2 AND start_time > 0 ORDER BY submit_time DESC LIMIT 1",
    /* However many tasks an array has, few rows are read: they have one submit time, unless they are queued again. */
    [Q_RUN_KEY] = "SELECT EXISTS(SELECT 1 FROM runs WHERE key = ?1 AND submit_time < ?2 AND NOT (?3 AND array_job = ?3))"
		  " OR EXISTS(SELECT 1 FROM runs WHERE key = ?1 AND submit_time > ?2 AND NOT (?3 AND array_job = ?3)),"
		  " (SELECT array_job FROM runs WHERE key = ?1 LIMIT 1)",
    [Q_RUN_PAST] = "SELECT elapsed_s, CASE WHEN pred_candidate = ?2 THEN pred_s ELSE 0 END FROM runs"
		   " WHERE key = ?1 AND candidate = ?2 AND end_state = 'COMPLETED' AND restarts = 0"
		   " AND elapsed_s > 0 ORDER BY submit_time DESC LIMIT ?3",
    [Q_ACCURACY] = "SELECT candidate, elapsed_s, pred_s, hi_s, lo_s, user_limit_min, limit_min, extensions,"
		   " end_state = 'TIMEOUT' FROM runs WHERE (?1 < 0 OR uid = ?1) AND (?2 IS NULL OR key = ?2)"
		   " AND submit_time >= ?3 AND pred_s > 0 AND elapsed_s > 0 AND candidate = pred_candidate"
		   " AND end_state IN ('COMPLETED', 'TIMEOUT') ORDER BY candidate",
    [Q_GROUPS_GET] = "SELECT id, data FROM groups WHERE id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [Q_GROUP_GET] = "SELECT data FROM groups WHERE id = ?1",
    [Q_GROUP_PUT] = "INSERT OR REPLACE INTO groups VALUES(?1, ?2, ?3, ?4)",
    [Q_UNSCRIPTED_ADD] = "INSERT OR IGNORE INTO unscripted VALUES(?1, ?2)",
    [Q_UNSCRIPTED_HAS] = "SELECT 1 FROM unscripted WHERE jobid = ?1 AND submit_time = ?2",
    [Q_UNSCRIPTED_DROP] = "DELETE FROM unscripted WHERE jobid = ?1 AND submit_time = ?2",
    [Q_TRIAL_PUT] = "INSERT OR REPLACE INTO trials VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    [Q_TRIAL_GET] = "SELECT * FROM trials WHERE name = ?1",
    [Q_PAST_KEY] = PAST_RUNS("key = ?3", ""),
    [Q_PAST_FAMILY] = PAST_RUNS("family = ?3", ""),
    [Q_PAST_FAMILY_KIN] = PAST_RUNS("family = ?3", " AND kin = ?6"),
    [Q_PAST_KIN] = PAST_RUNS("kin = ?3", ""),
    [Q_PAST_USER] = PAST_RUNS("uid = ?4", ""),
    [Q_PAST_USER_EXCEPT] = PAST_RUNS("uid = ?4", " AND family IS NOT ?6"),
    [Q_DRIFT_PUT] = "INSERT OR REPLACE INTO drifts VALUES(?1, ?2, ?3, ?4, ?5)",
    [Q_DRIFT_GET] = "SELECT stage, since, acted FROM drifts WHERE key = ?1 AND candidate = ?2",
};

/* ---- faults ---- */

enum store_fault store_last_fault(void)
{
	return last_fault;
}

int store_fault_set(enum store_fault fault, struct errbuf *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;

	last_fault = fault;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, "%s", text);
}

int store_fail(struct store *s, int rc, const char *what, struct errbuf *err)
{
	const char *reason = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);

	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return store_fault_set(STORE_LOCKED, err, "%s: %s: locked by another process: try again",
				       s->path, what);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return store_fault_set(STORE_CORRUPT, err,
				       "%s: %s: %s: stop precedentd, move the file away, start it again",
				       s->path, what, reason);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return store_fault_set(STORE_DENIED, err,
				       "%s: %s: %s: file and directory must belong to SlurmUser", s->path,
				       what, reason);
	case SQLITE_FULL:
		return store_fault_set(STORE_FULL, err, "%s: %s: the file system is full", s->path, what);
	default:
		return store_fault_set(STORE_FAILED, err, "%s: %s: %s", s->path, what, reason);
	}
}

/* ---- statements ---- */

sqlite3_stmt *store_stmt(struct store *s, enum store_query q, struct errbuf *err)
{
	int rc;

	if (s->stmt[q]) {
		sqlite3_reset(s->stmt[q]);
		sqlite3_clear_bindings(s->stmt[q]);
		return s->stmt[q];
	}
	rc = sqlite3_prepare_v3(s->db, queries[q], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[q], NULL);
	if (rc != SQLITE_OK) {
		store_fail(s, rc, "cannot prepare", err);
		return NULL;
	}
	return s->stmt[q];
}

sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		store_fail(s, rc, "cannot prepare", err);
	return rc == SQLITE_OK ? st : NULL;
}

int store_step(struct store *s, sqlite3_stmt *st, const char *what, struct errbuf *err)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		store_fail(s, rc, what, err);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

int store_run_stmt(struct store *s, sqlite3_stmt *st, const char *what, struct errbuf *err)
{
	int rv = store_step(s, st, what, err);

	sqlite3_reset(st);
	return rv < 0 ? -1 : sqlite3_changes(s->db);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int store_bad_key(struct store *s, const char *key, struct errbuf *err)
{
	return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, key ? key : "");
}

int store_bind_key(sqlite3_stmt *st, int column, const char *key)
{
	unsigned char b[STORE_KEY_BYTES];

	if (!identity_key_valid(key))
		return -1;
	for (int i = 0; i < STORE_KEY_BYTES; i++)
		b[i] = (unsigned char)(hex_value(key[2 * i]) << 4 | hex_value(key[2 * i + 1]));
	return sqlite3_bind_blob(st, column, b, sizeof(b), SQLITE_TRANSIENT) == SQLITE_OK ? 0 : -1;
}

void store_column_key(sqlite3_stmt *st, int column, char key[IDENTITY_KEY_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *b = sqlite3_column_blob(st, column);

	key[0] = '\0';
	if (!b || sqlite3_column_bytes(st, column) != STORE_KEY_BYTES)
		return;
	for (int i = 0; i < STORE_KEY_BYTES; i++) {
		key[2 * i] = hex[b[i] >> 4];
		key[2 * i + 1] = hex[b[i] & 15];
	}
	key[IDENTITY_KEY_LEN] = '\0';
}

void store_column_text(sqlite3_stmt *st, int column, char *out, size_t size)
{
	const unsigned char *text = sqlite3_column_text(st, column);
	size_t n = text ? (size_t)sqlite3_column_bytes(st, column) : 0;

	if (n >= size)
		n = size - 1;
	if (n)
		memcpy(out, text, n);
	out[n] = '\0';
}

void store_bind_text(sqlite3_stmt *st, int column, const char *text)
{
	sqlite3_bind_text(st, column, text ? text : "", -1, SQLITE_STATIC);
}

/* ---- opening ---- */

static int fault_of_errno(struct store *s, int e, struct errbuf *err)
{
	switch (e) {
	case ENOENT:
	case ENOTDIR:
		if (s->writable)
			return store_fault_set(STORE_MISSING, err,
					       "%s: no such directory: create it for SlurmUser", s->path);
		return store_fault_set(STORE_MISSING, err,
				       "%s: there is no store yet: is precedentd running?", s->path);
	case EACCES:
	case EPERM:
	case EROFS:
		return store_fault_set(STORE_DENIED, err,
				       "%s: %s: file and directory must belong to SlurmUser", s->path,
				       strerror(e));
	case ENOSPC:
	case EDQUOT:
		return store_fault_set(STORE_FULL, err, "%s: the file system is full", s->path);
	default:
		return store_fault_set(STORE_FAILED, err, "%s: %s", s->path, strerror(e));
	}
}

/*
 * The file must be there for a reader; a writer creates it, readable by its owner and group alone. A file
 * that exists is never opened here: closing it again would drop the locks that SQLite holds on it in this
 * process.
 */
static int find_file(struct store *s, struct errbuf *err)
{
	struct stat st;
	int fd;

	if (stat(s->path, &st) == 0) {
		if (S_ISREG(st.st_mode))
			return 0;
		return store_fault_set(STORE_CORRUPT, err, "%s: is not a regular file", s->path);
	}
	if (errno != ENOENT || !s->writable)
		return fault_of_errno(s, errno, err);
	fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno == EEXIST ? 0 : fault_of_errno(s, errno, err);
}

static int run_sql(struct store *s, const char *sql, struct errbuf *err)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : store_fail(s, rc, "cannot open", err);
}

/* past_memory.h answers the queries that these indexes serve. Each row would update them. Nothing is undone. */
static int open_memory(struct store *s, struct errbuf *err)
{
	s->past = past_memory_create();
	if (!s->past)
		return store_past_full(s, err);
	return run_sql(s, "PRAGMA journal_mode = OFF;"
			     "DROP INDEX runs_submit; DROP INDEX runs_user; DROP INDEX runs_family; DROP INDEX runs_kin;"
			     "DROP INDEX runs_open; DROP INDEX programs_updated; DROP INDEX programs_family; DROP INDEX programs_busy", err);
}

static int open_writer(struct store *s, struct errbuf *err)
{
	int keep = 1;

	/*
	 * The log stays behind when the last one closes, so that readers without write permission can still
	 * open.
	 */
	sqlite3_file_control(s->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
	if (run_sql(s, "PRAGMA journal_mode = WAL", err) < 0 || store_migrate(s, err) < 0)
		return -1;
	/* FULL: commits survive a power loss, at one fsync each; precedentd makes few and large ones. */
	return run_sql(s, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF", err);
}

static int open_reader(struct store *s, struct errbuf *err)
{
	bool ours, empty;
	int version;

	if (store_schema_read(s, &version, &ours, &empty, err) < 0)
		return -1;
	if (empty && !ours)
		return store_fault_set(STORE_MISSING, err, "%s: is still empty: is precedentd running?",
				       s->path);
	if (!ours)
		return store_fault_set(STORE_CORRUPT, err, "%s: is the database of another program", s->path);
	if (version > STORE_SCHEMA_VERSION || version < 0)
		return store_fault_set(
		    STORE_NEWER, err,
		    "%s: its schema is version %d, this Precedent knows up to %d: upgrade precedent", s->path,
		    version, STORE_SCHEMA_VERSION);
	if (version < STORE_SCHEMA_VERSION)
		return store_fault_set(
		    STORE_OLDER, err,
		    "%s: its schema is version %d, this Precedent wants %d: restart precedentd, which "
		    "brings it up to date",
		    s->path, version, STORE_SCHEMA_VERSION);
	return 0;
}

int store_open(const char *path, unsigned flags, struct store **out, struct errbuf *err)
{
	struct store *s = calloc(1, sizeof(*s));
	char pragma[64];
	int rc;

	*out = NULL;
	last_fault = STORE_OK;
	if (!s || !(s->path = strdup(path))) {
		free(s);
		return store_fault_set(STORE_FAILED, err, "%s: out of memory", path);
	}
	s->writable = flags & STORE_WRITE;
	if (!(flags & STORE_MEMORY) && find_file(s, err) < 0)
		goto fail;
	rc = sqlite3_open_v2(flags & STORE_MEMORY ? ":memory:" : path, &s->db,
			     (s->writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
				 SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			     NULL);
	if (rc != SQLITE_OK) {
		store_fail(s, rc, "cannot open", err);
		goto fail;
	}
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, flags & STORE_WAIT ? WAIT_MS : 0);
	snprintf(pragma, sizeof(pragma), "PRAGMA cache_size = -%d", CACHE_KIB);
	if (run_sql(s, pragma, err) < 0)
		goto fail;
	if ((s->writable ? open_writer(s, err) : open_reader(s, err)) < 0)
		goto fail;
	if (flags & STORE_MEMORY && open_memory(s, err) < 0)
		goto fail;
	*out = s;
	return 0;
fail:
	store_close(s);
	return -1;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	index_file_close(s->index);
	past_memory_destroy(s->past);
	for (int q = 0; q < Q_N; q++)
		sqlite3_finalize(s->stmt[q]);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

int store_check(struct store *s, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	char text[200] = "";
	int rc = sqlite3_prepare_v2(s->db, "PRAGMA integrity_check(1)", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		store_column_text(st, 0, text, sizeof(text));
	sqlite3_finalize(st);
	if (rc != SQLITE_ROW)
		return store_fail(s, rc, "cannot check", err);
	if (strcmp(text, "ok"))
		return store_fault_set(STORE_CORRUPT, err,
				       "%s: damaged: %s: stop precedentd, move the file away, start it again",
				       s->path, text);
	return 0;
}

/* ---- transactions ---- */

static int run_simple(struct store *s, enum store_query q, const char *what, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);

	return st && store_run_stmt(s, st, what, err) >= 0 ? 0 : -1;
}

/* Where SQLite itself has undone everything (a full disk, say), nothing of ours is left to go on with. */
static int still_open(struct store *s, struct errbuf *err)
{
	if (s->depth && sqlite3_get_autocommit(s->db))
		return store_fault_set(STORE_FAILED, err, "%s: the transaction was undone already", s->path);
	return 0;
}

/* A store in memory undoes nothing, so transactions within one need no savepoint. outer: transactions around. */
static bool is_within_memory(const struct store *s, unsigned outer)
{
	return s->past && outer;
}

int store_begin(struct store *s, struct errbuf *err)
{
	enum store_query how = s->depth ? Q_SAVE : s->writable ? Q_BEGIN : Q_BEGIN_READ;

	if (still_open(s, err) < 0 || (!is_within_memory(s, s->depth) && run_simple(s, how, "cannot begin", err) < 0))
		return -1;
	s->depth++;
	return 0;
}

int store_commit(struct store *s, struct errbuf *err)
{
	if (still_open(s, err) < 0 || (!is_within_memory(s, s->depth - 1) &&
				       run_simple(s, s->depth > 1 ? Q_SAVE_RELEASE : Q_COMMIT, "cannot commit", err) < 0))
		return -1;
	s->depth--;
	return 0;
}

void store_rollback(struct store *s)
{
	bool open = !s->past && !sqlite3_get_autocommit(s->db);

	if (open && s->depth > 1) {
		run_simple(s, Q_SAVE_BACK, "cannot roll back", NULL);
		run_simple(s, Q_SAVE_RELEASE, "cannot roll back", NULL);
	} else if (open) {
		run_simple(s, Q_ROLLBACK, "cannot roll back", NULL);
	}
	if (s->depth)
		s->depth--;
}

/* ---- meta ---- */

int store_meta_set(struct store *s, const char *name, const char *value, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_META_SET, err);

	if (!st)
		return -1;
	store_bind_text(st, 1, name);
	store_bind_text(st, 2, value);
	return store_run_stmt(s, st, "cannot write", err) < 0 ? -1 : 0;
}

int store_meta_drop(struct store *s, const char *name, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM meta WHERE name = ?1", err);
	int rv;

	if (!st)
		return -1;
	store_bind_text(st, 1, name);
	rv = store_run_stmt(s, st, "cannot drop a value", err);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

int store_meta_get(struct store *s, const char *name, char *value, size_t size, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_META_GET, err);
	int rv;

	value[0] = '\0';
	if (!st)
		return -1;
	store_bind_text(st, 1, name);
	rv = store_step(s, st, "cannot read", err);
	if (rv == 1)
		store_column_text(st, 0, value, size);
	sqlite3_reset(st);
	return rv;
}

int store_data_version(struct store *s, int64_t *version, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_DATA_VERSION, err);
	int rv;

	*version = 0;
	if (!st)
		return -1;
	rv = store_step(s, st, "cannot read", err);
	if (rv == 1)
		*version = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rv < 0 ? -1 : 0;
}

int store_heartbeat_set(struct store *s, int64_t now, struct errbuf *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)now);
	store_index_beat(s, now);
	return store_meta_set(s, META_HEARTBEAT, text, err);
}

int store_heartbeat_get(struct store *s, int64_t *when, struct errbuf *err)
{
	char text[24];
	int rv = store_meta_get(s, META_HEARTBEAT, text, sizeof(text), err);

	*when = rv == 1 ? strtoll(text, NULL, 10) : 0;
	return rv < 0 ? -1 : 0;
}

/* ---- partitions ---- */

static void read_partition(sqlite3_stmt *st, struct store_partition *p)
{
	*p = (struct store_partition){
	    .is_default = sqlite3_column_int(st, 1) != 0,
	    .default_min = (uint32_t)sqlite3_column_int64(st, 2),
	    .max_min = (uint32_t)sqlite3_column_int64(st, 3),
	};
	store_column_text(st, 0, p->name, sizeof(p->name));
}

static int compare_partitions(const void *a, const void *b)
{
	return strcmp(((const struct store_partition *)a)->name, ((const struct store_partition *)b)->name);
}

/* 1 when the table holds exactly these (sorted), 0 when not. */
static int partitions_same(struct store *s, const struct store_partition *p, size_t n, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PARTITION_ALL, err);
	struct store_partition have;
	size_t i = 0;
	int rv, same = 1;

	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot read", err)) == 1 && same) {
		read_partition(st, &have);
		same = i < n && !strcmp(have.name, p[i].name) && have.is_default == p[i].is_default &&
		       have.default_min == p[i].default_min && have.max_min == p[i].max_min;
		i++;
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : same && i == n;
}

static int partition_put(struct store *s, const struct store_partition *p, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PARTITION_PUT, err);

	if (!st)
		return -1;
	store_bind_text(st, 1, p->name);
	sqlite3_bind_int(st, 2, p->is_default);
	sqlite3_bind_int64(st, 3, p->default_min);
	sqlite3_bind_int64(st, 4, p->max_min);
	return store_run_stmt(s, st, "cannot write", err);
}

int store_partitions_put(struct store *s, const struct store_partition *p, size_t n, struct errbuf *err)
{
	struct store_partition *sorted = calloc(n ? n : 1, sizeof(*sorted));
	bool own = false;
	int rv = -1, same;

	if (!sorted)
		return store_fault_set(STORE_FAILED, err, "out of memory");
	if (n)
		memcpy(sorted, p, n * sizeof(*p));
	qsort(sorted, n, sizeof(*sorted), compare_partitions);
	same = partitions_same(s, sorted, n, err);
	if (same) {
		rv = same < 0 ? -1 : 0;
		goto out;
	}
	if (!s->depth) {
		if (store_begin(s, err) < 0)
			goto out;
		own = true;
	}
	if (run_simple(s, Q_PARTITION_CLEAR, "cannot write", err) < 0)
		goto out;
	for (size_t i = 0; i < n; i++) {
		if (partition_put(s, &sorted[i], err) < 0)
			goto out;
	}
	rv = own ? store_commit(s, err) : 0;
out:
	if (rv < 0 && own)
		store_rollback(s);
	free(sorted);
	return rv;
}

int store_partition_get(struct store *s, const char *name, struct store_partition *p, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, name ? Q_PARTITION_GET : Q_PARTITION_DEFAULT, err);
	int rv;

	if (!st)
		return -1;
	if (name)
		store_bind_text(st, 1, name);
	rv = store_step(s, st, "cannot read", err);
	if (rv == 1)
		read_partition(st, p);
	sqlite3_reset(st);
	return rv;
}
