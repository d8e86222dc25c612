/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retention, in steps that look at a bounded number of rows each: see store/keep.h. First the runs, then the programs that no
 * run is left of, in the order in which they were changed. Then groups and launches, and last what is small.
 */
#include <stdio.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/keep.h"
#include "predictor/store/busy.h"

enum { STAGE_RUNS, STAGE_PROGRAMS, STAGE_GROUPS, STAGE_REST };

static int prune_runs(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s,
					 "DELETE FROM runs WHERE (jobid, submit_time) IN (SELECT jobid, submit_time FROM runs"
					 " WHERE submit_time < ?1 AND end_time > 0 AND end_time < ?1 ORDER BY submit_time LIMIT ?2)",
					 err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, before);
	sqlite3_bind_int64(st, 2, max);
	n = store_run_stmt(s, st, "cannot prune", err);
	sqlite3_finalize(st);
	if (n >= 0 && (unsigned)n < max)
		at->stage = STAGE_PROGRAMS;
	return n;
}

/* All that belongs to one program. */
static int program_drop(struct store *s, const char *key, struct errbuf *err)
{
	char layout[64];

	snprintf(layout, sizeof(layout), STORE_META_LAYOUT "%.32s", key);
	return store_meta_drop(s, layout, err) < 0 ? -1 : store_program_forget(s, key, err);
}

#define KEYS_MAX 256

/* The next programs not touched since `before`: the keys of those without runs, and the position reached. */
static int programs_next(struct store *s, int64_t before, unsigned max, struct store_pruning *at, char (*keys)[IDENTITY_KEY_LEN + 1],
			 unsigned *n_keys, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s,
					 "SELECT key, updated, EXISTS(SELECT 1 FROM runs r WHERE r.key = p.key) FROM programs p"
					 " WHERE updated < ?1 AND (updated, key) > (?2, ?3) ORDER BY updated, key LIMIT ?4",
					 err);
	unsigned seen = 0;
	int rv;

	*n_keys = 0;
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, before);
	sqlite3_bind_int64(st, 2, at->key[0] ? at->updated : INT64_MIN);
	if (at->key[0])
		store_bind_key(st, 3, at->key);
	else
		sqlite3_bind_zeroblob(st, 3, 0);
	sqlite3_bind_int64(st, 4, max);
	while ((rv = store_step(s, st, "cannot prune", err)) == 1) {
		seen++;
		at->updated = sqlite3_column_int64(st, 1);
		store_column_key(st, 0, at->key);
		if (!sqlite3_column_int(st, 2))
			memcpy(keys[(*n_keys)++], at->key, sizeof(at->key));
	}
	sqlite3_finalize(st);
	if (rv == 0 && seen < max)
		at->stage = STAGE_GROUPS;
	return rv;
}

static int prune_programs(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err)
{
	char keys[KEYS_MAX][IDENTITY_KEY_LEN + 1];
	unsigned n;

	if (programs_next(s, before, max < KEYS_MAX ? max : KEYS_MAX, at, keys, &n, err) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (program_drop(s, keys[i], err) < 0)
			return -1;
	return (int)n;
}

/* The last of the next rows of groups and launches. */
static int groups_next(struct store *s, unsigned max, struct store_pruning *at, struct errbuf *err)
{
	sqlite3_stmt *st =
	    store_prepare(s, "SELECT max(id), count(*) FROM (SELECT id FROM groups WHERE id > ?1 ORDER BY id LIMIT ?2)", err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, at->group);
	sqlite3_bind_int64(st, 2, max);
	rv = store_step(s, st, "cannot prune", err);
	if (rv == 1 && (unsigned)sqlite3_column_int64(st, 1) < max)
		at->stage = STAGE_REST;
	if (rv == 1 && sqlite3_column_int64(st, 1))
		at->group = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

static int prune_groups(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err)
{
	const int64_t from = at->group;
	sqlite3_stmt *st;
	int n;

	if (groups_next(s, max, at, err) < 0)
		return -1;
	st = store_prepare(s, "DELETE FROM groups WHERE id > ?1 AND id <= ?2 AND updated < ?3", err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, from);
	sqlite3_bind_int64(st, 2, at->group);
	sqlite3_bind_int64(st, 3, before);
	n = store_run_stmt(s, st, "cannot prune", err);
	sqlite3_finalize(st);
	return n;
}

static int prune_rest(struct store *s, int64_t before, struct store_pruning *at, struct errbuf *err)
{
	static const char *const statements[] = {
		"DELETE FROM probe_costs WHERE day < ?1 / 86400",
		"DELETE FROM families WHERE updated < ?1",
		"DELETE FROM models WHERE updated < ?1",
		"DELETE FROM points WHERE updated < ?1",
		"DELETE FROM drifts WHERE acted < ?1",
		"DELETE FROM unscripted WHERE submit_time < ?1",
		/* A program that still runs keeps its guard, however old. */
		"DELETE FROM trials WHERE updated < ?1 AND NOT EXISTS(SELECT 1 FROM runs r WHERE r.kin = trials.name)"
		" AND NOT EXISTS(SELECT 1 FROM runs r WHERE r.key = trials.name)",
		"DELETE FROM meta WHERE name >= 'spool.' AND name < 'spool/' AND CAST(value AS INTEGER) < ?1",
		"DELETE FROM node_classes WHERE last_seen < ?1 AND " STORE_CLASS_HAS_GONE("node_classes"),
	};
	int total = 0;

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		sqlite3_stmt *st = store_prepare(s, statements[i], err);
		int n;

		if (!st)
			return -1;
		sqlite3_bind_int64(st, 1, before);
		n = store_run_stmt(s, st, "cannot prune", err);
		sqlite3_finalize(st);
		if (n < 0)
			return -1;
		total += n;
	}
	at->done = true;
	return total;
}

int store_prune_step(struct store *s, int64_t before, unsigned max, struct store_pruning *at, struct errbuf *err)
{
	int n;

	if (store_begin(s, err) < 0)
		return -1;
	n = at->stage == STAGE_RUNS	? prune_runs(s, before, max, at, err)
	    : at->stage == STAGE_PROGRAMS ? prune_programs(s, before, max, at, err)
	    : at->stage == STAGE_GROUPS	  ? prune_groups(s, before, max, at, err)
					  : prune_rest(s, before, at, err);
	if (n < 0 || store_commit(s, err) < 0) {
		store_rollback(s);
		return -1;
	}
	return n;
}

int store_prune(struct store *s, int64_t before, struct errbuf *err)
{
	struct store_pruning at = {0};
	int total = 0;

	while (!at.done) {
		int n = store_prune_step(s, before, KEYS_MAX, &at, err);

		if (n < 0)
			return -1;
		total += n;
	}
	return total;
}

static int rows_count(struct store *s, const char *sql, uint64_t *out, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : store_fail(s, rc, "cannot count", err);
}

int store_counts(struct store *s, struct store_counts *c, struct errbuf *err)
{
	uint64_t pages = 0, size = 0, schema = 0;
	char sql[96];

	*c = (struct store_counts){0};
	if (rows_count(s, "SELECT count(*) FROM programs", &c->programs, err) < 0 ||
	    rows_count(s, "SELECT count(*) FROM estimates", &c->estimates, err) < 0 ||
	    rows_count(s, "SELECT count(*) FROM runs", &c->runs, err) < 0 ||
	    rows_count(s, "SELECT count(*) FROM runs WHERE end_state = ''", &c->runs_open, err) < 0 ||
	    rows_count(s, "SELECT count(*) FROM probes", &c->probes, err) < 0 ||
	    rows_count(s, "PRAGMA page_count", &pages, err) < 0 || rows_count(s, "PRAGMA page_size", &size, err) < 0 ||
	    rows_count(s, "PRAGMA user_version", &schema, err) < 0)
		return -1;
	for (int i = 0; i <= PROGRAM_FAILED; i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM programs WHERE state = %d", i);
		if (rows_count(s, sql, &c->by_state[i], err) < 0)
			return -1;
	}
	c->file_bytes = (int64_t)(pages * size);
	c->schema = (int)schema;
	return 0;
}
