/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the store share and nobody else may see: the connection, its prepared statements, and
 * helpers that turn SQLite's answers into faults and messages. Statements are prepared on first use and kept.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_INTERNAL_H
#define PRECEDENT_PREDICTOR_STORE_INTERNAL_H

#include <sqlite3.h>
#include <stddef.h>

#include "predictor/store/index_file.h"
#include "predictor/store/past_memory.h"
#include "predictor/store/store.h"

#define STORE_APPLICATION_ID 0x50524543 /* "PREC" */
#define STORE_KEY_BYTES	     (IDENTITY_KEY_LEN / 2)

/*
 * SQL: has this row of node_classes gone? See store_class_seen in store/keep.h. The rows of uid -1 count for the programs of
 * all users.
 */
#define STORE_CLASS_HAS_GONE(row) row ".others >= (1 << min(" row ".returns, 6))"

enum store_query {
	Q_BEGIN,
	Q_BEGIN_READ,
	Q_COMMIT,
	Q_ROLLBACK,
	Q_SAVE,
	Q_SAVE_RELEASE,
	Q_SAVE_BACK,
	Q_DATA_VERSION,
	Q_META_GET,
	Q_META_SET,
	Q_PARTITION_GET,
	Q_PARTITION_DEFAULT,
	Q_PARTITION_PUT,
	Q_PARTITION_CLEAR,
	Q_PARTITION_ALL,
	Q_PROGRAM_PUT,
	Q_PROGRAM_GET,
	Q_PROGRAM_STATE,
	Q_PROGRAM_DROP,
	Q_PROGRAM_LIST,
	Q_PROGRAM_LATEST,
	Q_ESTIMATE_PUT,
	Q_ESTIMATE_DROP,
	Q_ESTIMATE_DROP_ALL,
	Q_ESTIMATE_LIST,
	Q_ESTIMATE_UPDATED,
	Q_EVIDENCE_CLEAR,
	Q_EVIDENCE_ADD,
	Q_EVIDENCE_GET,
	Q_FAMILY_PUT,
	Q_FAMILY_LIST,
	Q_ARRAY_RUNS,
	Q_MODEL_PUT,
	Q_MODEL_LIST,
	Q_POINTS_GET,
	Q_PROBE_PUT,
	Q_PROBE_GET,
	Q_PROBE_LIST,
	Q_PROBE_LIST_ALL,
	Q_PROBE_DROP_ALL,
	Q_RECORD_GET,
	Q_BASE_GET,
	Q_BASE_DROP,
	Q_RUN_PUT,
	Q_RUN_ADD,
	Q_RUN_GET,
	Q_RUN_GET_LAST,
	Q_RUN_TASK,
	Q_RUN_KEY,
	Q_RUN_PAST,
	Q_ACCURACY,
	Q_LIMIT_PUT,
	Q_LIMIT_DROP,
	Q_LIMIT_GET,
	Q_LIMIT_LIST,
	Q_GROUPS_GET,
	Q_GROUP_GET,
	Q_GROUP_PUT,
	Q_UNSCRIPTED_ADD,
	Q_UNSCRIPTED_HAS,
	Q_UNSCRIPTED_DROP,
	Q_TRIAL_PUT,
	Q_TRIAL_GET,
	/* past.c has a statement for each kind of list */
	Q_PAST_KEY,
	Q_PAST_FAMILY,
	Q_PAST_FAMILY_KIN,
	Q_PAST_KIN,
	Q_PAST_USER,
	Q_PAST_USER_EXCEPT,
	Q_DRIFT_PUT,
	Q_DRIFT_GET,
	Q_N,
};

struct store {
	sqlite3 *db;
	char *path;
	bool writable;
	unsigned depth; /* of nested store_begin */
	struct index_file *index; /* the one that the store took for its own when it was last looked at; NULL: none */
	bool index_counts;	  /* of a reader: a name that the index lacks is not in the store */
	struct past_memory *past; /* of a store in memory; NULL: all is in SQLite */
	sqlite3_stmt *stmt[Q_N];
};

/* Note the fault and write the message for SQLite's code rc of the last call on s; returns -1. */
int store_fail(struct store *s, int rc, const char *what, struct errbuf *err);
/* The same for faults that SQLite did not report. */
int store_fault_set(enum store_fault fault, struct errbuf *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The statement, reset, without bindings; NULL with err filled. */
sqlite3_stmt *store_stmt(struct store *s, enum store_query q, struct errbuf *err);
/* A statement for once, to be finalised by the caller. */
sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct errbuf *err);
/* 1 a row, 0 done, -1 with err; the statement is reset unless it gave a row. */
int store_step(struct store *s, sqlite3_stmt *st, const char *what, struct errbuf *err);
/* Run a statement that gives no rows. Returns the number of rows it changed. */
int store_run_stmt(struct store *s, sqlite3_stmt *st, const char *what, struct errbuf *err);

/* Keys are 32 hex digits outside and 16 bytes inside. -1 when it is not a key. */
int store_bind_key(sqlite3_stmt *st, int column, const char *key);
/* Says that the text is no key; returns -1. */
int store_bad_key(struct store *s, const char *key, struct errbuf *err);
void store_column_key(sqlite3_stmt *st, int column, char key[IDENTITY_KEY_LEN + 1]);
/* Copy a text column, cut to size; NULL gives "". */
void store_column_text(sqlite3_stmt *st, int column, char *out, size_t size);
void store_bind_text(sqlite3_stmt *st, int column, const char *text); /* borrowed until reset */

/* Memory for runs, drifts or groups has run out; returns -1. */
int store_past_full(struct store *s, struct errbuf *err);

/* ---- index.c: the index, by readers (store_index_check in store.h) and writers ---- */

enum store_index_kind { STORE_INDEX_PROGRAM = 1, STORE_INDEX_FAMILY, STORE_INDEX_MODEL, STORE_INDEX_TRIAL, STORE_INDEX_LAUNCH };
/* Is it certain that the store has no such row? kin NULL but for a family. */
bool store_index_lacks(const struct store *s, enum store_index_kind kind, const char *key, const char *kin);
/* Before the commit that makes the row visible, under its lock: within a transaction that has written already. */
int store_index_add(struct store *s, enum store_index_kind kind, const char *key, const char *kin, struct errbuf *err);
/* Before the store's heartbeat is set. */
void store_index_beat(struct store *s, int64_t when);

/* Bring the schema of an opened, writable store to STORE_SCHEMA_VERSION. */
int store_migrate(struct store *s, struct errbuf *err);
/* The schema version and whose file it is; -1 with err. */
int store_schema_read(struct store *s, int *version, bool *ours, bool *empty, struct errbuf *err);

#endif
