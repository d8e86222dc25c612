/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's rows that are under way, which precedentd reads at every poll, and the statements of `precedent forget`. The
 * conditions repeat those of the partial indexes programs_busy and probes_busy word for word, so that SQLite reads only these
 * rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/launches.h"
#include "predictor/store/busy.h"
#include "predictor/store/probes.h"

/* Reads keys first: the caller may then write. `at` is that of the last row. */
static int pairs_read(struct store *s, sqlite3_stmt *st, struct store_place *at, size_t max, struct store_pair **out, size_t *n,
		      struct errbuf *err)
{
	struct store_pair *list = st ? malloc(max * sizeof(*list)) : NULL;
	int rc;

	*out = NULL;
	*n = 0;
	if (!list) {
		sqlite3_finalize(st);
		return st ? err_set(err, "no memory for what is under way") : -1;
	}
	while ((rc = store_step(s, st, "cannot read what is under way", err)) == 1 && *n < max) {
		store_column_key(st, 0, list[*n].key);
		store_column_text(st, 1, list[*n].candidate, sizeof(list[*n].candidate));
		at->row = sqlite3_column_int64(st, 2);
		at->state = sqlite3_column_int64(st, 3);
		at->updated = sqlite3_column_int64(st, 4);
		memcpy(at->key, list[*n].key, sizeof(at->key));
		++*n;
	}
	sqlite3_finalize(st);
	if (rc < 0) {
		free(list);
		*n = 0;
		return -1;
	}
	if (*n < max)
		*at = (struct store_place){0};
	*out = list;
	return 0;
}

int store_busy_probes(struct store *s, struct store_place *at, size_t max, struct store_pair **out, size_t *n, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT key, candidate, rowid, 0, 0 FROM probes WHERE state < 2 AND state = 0 AND rowid > ?1"
					 " ORDER BY rowid LIMIT ?2", err);

	if (st) {
		sqlite3_bind_int64(st, 1, at->row);
		sqlite3_bind_int64(st, 2, (int64_t)max);
	}
	return pairs_read(s, st, at, max, out, n, err);
}

int store_busy_programs(struct store *s, struct store_place *at, size_t max, struct store_pair **out, size_t *n, struct errbuf *err)
{
	sqlite3_stmt *st;

	_Static_assert(PROGRAM_TRACED == 1 && PROGRAM_BUILDING == 2, "states in the query below");
	st = store_prepare(s, "SELECT key, '', 0, state, updated FROM programs WHERE state < 3 AND (state, updated, key) > (?1, ?2, ?3)"
			   " ORDER BY state, updated, key LIMIT ?4", err);
	if (st) {
		sqlite3_bind_int64(st, 1, at->key[0] ? at->state : PROGRAM_TRACED);
		sqlite3_bind_int64(st, 2, at->key[0] ? at->updated : INT64_MIN);
		if (!at->key[0] || store_bind_key(st, 3, at->key) < 0)
			sqlite3_bind_zeroblob(st, 3, 0);
		sqlite3_bind_int64(st, 4, (int64_t)max);
	}
	return pairs_read(s, st, at, max, out, n, err);
}

int store_busy_submitted(struct store *s, struct store_submitted **out, size_t *n, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT b.key, b.candidate, coalesce(p.uid, -1) FROM probes b LEFT JOIN programs p ON p.key = b.key"
					 " WHERE b.state < 2 AND b.state = 1 ORDER BY b.rowid", err);
	struct store_submitted *list = NULL, *more;
	size_t cap = 0;
	int rc;

	_Static_assert(PROBE_SUBMITTED == 1 && PROBE_WAITING == 0, "states in the queries here");
	*out = NULL;
	*n = 0;
	if (!st)
		return -1;
	while ((rc = store_step(s, st, "cannot read what is under way", err)) == 1) {
		if (*n == cap) {
			cap = cap ? 2 * cap : 64;
			more = realloc(list, cap * sizeof(*list));
			if (!more) {
				rc = err_set(err, "no memory for what is under way");
				break;
			}
			list = more;
		}
		store_column_key(st, 0, list[*n].of.key);
		store_column_text(st, 1, list[*n].of.candidate, sizeof(list[*n].of.candidate));
		list[(*n)++].uid = (uint32_t)sqlite3_column_int64(st, 2);
	}
	sqlite3_finalize(st);
	if (rc < 0) {
		free(list);
		*n = 0;
		return -1;
	}
	*out = list;
	return 0;
}

int store_busy_runs(struct store *s, struct store_run_id **out, size_t *n, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT jobid, submit_time FROM runs WHERE end_state = ''", err);
	struct store_run_id *list = NULL, *more;
	size_t cap = 0;
	int rc;

	*out = NULL;
	*n = 0;
	if (!st)
		return -1;
	while ((rc = store_step(s, st, "cannot read open runs", err)) == 1) {
		if (*n == cap) {
			cap = cap ? 2 * cap : 256;
			more = realloc(list, cap * sizeof(*list));
			if (!more) {
				rc = err_set(err, "no memory for the open runs");
				break;
			}
			list = more;
		}
		list[*n].jobid = (uint32_t)sqlite3_column_int64(st, 0);
		list[(*n)++].submit_time = sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	if (rc < 0) {
		free(list);
		*n = 0;
		return -1;
	}
	*out = list;
	return 0;
}

static int count_of(struct store *s, sqlite3_stmt *st, struct errbuf *err)
{
	int n = st ? store_step(s, st, "cannot count what is under way", err) : -1;

	if (n == 1)
		n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return n;
}

int store_busy_again(struct store *s, struct errbuf *err)
{
	return count_of(s, store_prepare(s, "SELECT count(*) FROM probes WHERE state < 2 AND result IS NOT NULL", err), err);
}

int store_busy_family(struct store *s, const struct store_program *p, struct errbuf *err)
{
	sqlite3_stmt *st;

	if (!p->family[0])
		return 0;
	st = store_prepare(s,
			   "SELECT count(*) FROM programs WHERE +state = 2 AND family = ?1 AND uid = ?2"
			   " AND nodes = ?3 AND tasks = ?4",
			   err);
	if (!st)
		return -1;
	if (store_bind_key(st, 1, p->family) < 0) {
		sqlite3_finalize(st);
		return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, p->family);
	}
	sqlite3_bind_int64(st, 2, p->uid);
	sqlite3_bind_int64(st, 3, p->nodes);
	sqlite3_bind_int64(st, 4, p->tasks);
	return count_of(s, st, err);
}

static int runs_forget(struct store *s, const char *key, uint32_t uid, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM runs WHERE key = ?1 AND uid = ?2", err);
	int n;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0) {
		sqlite3_finalize(st);
		return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, key);
	}
	sqlite3_bind_int64(st, 2, uid);
	n = store_run_stmt(s, st, "cannot drop runs", err);
	sqlite3_finalize(st);
	return n;
}

/* What its runs had a part in: the next run makes it anew. */
static int shares_forget(struct store *s, const char *key, struct errbuf *err)
{
	static const char *const statements[] = {
		"DELETE FROM families WHERE (family, kin) IN (SELECT family, kin FROM runs WHERE key = ?1)",
		"DELETE FROM models WHERE kin IN (SELECT kin FROM runs WHERE key = ?1)",
		"DELETE FROM points WHERE kin IN (SELECT kin FROM runs WHERE key = ?1)",
		"DELETE FROM drifts WHERE key = ?1",
		"DELETE FROM trials WHERE key = ?1 AND name IN (SELECT coalesce(kin, key) FROM runs WHERE key = ?1)",
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		sqlite3_stmt *st = store_prepare(s, statements[i], err);
		int n;

		if (!st)
			return -1;
		n = store_bind_key(st, 1, key) < 0 ? -1 : store_run_stmt(s, st, "cannot drop what runs had a part in", err);
		sqlite3_finalize(st);
		if (n < 0)
			return -1;
	}
	return 0;
}

int store_key_forgotten(struct store *s, const char *key, int64_t submit_time, struct errbuf *err)
{
	char name[64], when[32];
	int rc;

	snprintf(name, sizeof(name), STORE_META_FORGOTTEN "%s", key);
	rc = store_meta_get(s, name, when, sizeof(when), err);
	return rc == 1 ? strtoll(when, NULL, 10) >= submit_time : rc;
}

int store_user_forgotten(struct store *s, uint32_t uid, int64_t submit_time, struct errbuf *err)
{
	char name[IDENTITY_KEY_LEN + 1];

	snprintf(name, sizeof(name), STORE_FORGOTTEN_USER "%" PRIu32, uid);
	return store_key_forgotten(s, name, submit_time, err);
}

int store_forgotten_prune(struct store *s, int64_t before, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM meta WHERE name >= '" STORE_META_FORGOTTEN "' AND name < 'forgotten/'"
				      " AND CAST(value AS INTEGER) < ?1", err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, before);
	rv = store_run_stmt(s, st, "cannot drop old values", err);
	sqlite3_finalize(st);
	return rv;
}

int store_key_forget(struct store *s, const char *key, uint32_t uid, int64_t now, struct errbuf *err)
{
	char layout[64], forgotten[64], when[32];
	struct store_program p;
	int known, runs;

	if (store_begin(s, err) < 0)
		return -1;
	known = store_program_get(s, key, &p, err);
	runs = known < 0 || shares_forget(s, key, err) < 0 ? -1 : runs_forget(s, key, uid, err);
	snprintf(layout, sizeof(layout), STORE_META_LAYOUT "%s", key);
	snprintf(forgotten, sizeof(forgotten), STORE_META_FORGOTTEN "%s", key);
	snprintf(when, sizeof(when), "%" PRId64, now);
	if (runs < 0 || store_launch_forget(s, key, err) < 0 || (known && p.uid == uid && store_program_forget(s, key, err) < 0) ||
	    store_meta_drop(s, layout, err) < 0 || store_meta_set(s, forgotten, when, err) < 0 ||
	    store_commit(s, err) < 0) {
		store_rollback(s);
		return -1;
	}
	return runs + (known && p.uid == uid);
}
