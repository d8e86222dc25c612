/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Node classes of candidates, and the records of traced classes: see store/keep.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/keep.h"

#define EVERYONE (-1) /* uid of the rows that count for the programs of all users */

/* Run to the end a statement about a record: ?1 candidate, ?2 class, ?3 text, ?4 now, ?5 uid of the rows, ?6 uid of the record. */
static int class_run(struct store *s, const char *sql, const struct store_class_record *r, int64_t now, int64_t uid,
		     struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, sql, err);
	int n;

	if (!st)
		return -1;
	store_bind_text(st, 1, r->candidate);
	store_bind_text(st, 2, r->class_hex);
	store_bind_text(st, 3, r->text);
	sqlite3_bind_int64(st, 4, now);
	sqlite3_bind_int64(st, 5, uid);
	sqlite3_bind_int64(st, 6, r->uid);
	n = store_run_stmt(s, st, "cannot write a node class", err);
	sqlite3_finalize(st);
	return n < 0 ? -1 : 0;
}

/* The record counts for the rows of this uid. */
static int class_count(struct store *s, const struct store_class_record *r, int64_t now, int64_t uid, struct errbuf *err)
{
	if (class_run(s, "UPDATE node_classes SET others = others + 1, told_by = -1 WHERE candidate = ?1 AND class_hex <> ?2"
		      " AND uid = ?5", r, now, uid, err) < 0)
		return -1;
	return class_run(s, "INSERT INTO node_classes VALUES(?1, ?2, ?5, ?3, ?4, ?4, 1, 0, 0, ?6)"
			 " ON CONFLICT(candidate, class_hex, uid) DO UPDATE SET text = ?3, last_seen = ?4, seen = seen + 1,"
			 " returns = returns + (" STORE_CLASS_HAS_GONE("node_classes") "), others = 0", r, now, uid, err);
}

/* The number that a query gives about a record, of which ?1 is the candidate, ?2 the class and ?3 the uid; 0 without a row. */
static int ask(struct store *s, const char *sql, const struct store_class_record *r, int64_t *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, sql, err);
	int rv;

	*out = 0;
	if (!st)
		return -1;
	store_bind_text(st, 1, r->candidate);
	store_bind_text(st, 2, r->class_hex);
	sqlite3_bind_int64(st, 3, r->uid);
	rv = store_step(s, st, "cannot read node classes", err);
	if (rv == 1)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

/* Was the record before this one, of the same class and not yet outdated, of another user? */
static int told_by_another(struct store *s, const struct store_class_record *r, struct errbuf *err)
{
	int64_t is;

	if (ask(s, "SELECT told_by NOT IN (-1, ?3) FROM node_classes WHERE candidate = ?1 AND class_hex = ?2 AND uid = -1", r, &is, err) < 0)
		return -1;
	return is != 0;
}

int store_class_seen(struct store *s, const struct store_class_record *r, int64_t now, struct errbuf *err)
{
	int another;

	if (!r->class_hex[0])
		return 0;
	if (store_begin(s, err) < 0)
		return -1;
	another = told_by_another(s, r, err);
	if (another < 0 || class_count(s, r, now, r->uid, err) < 0 || (another && class_count(s, r, now, EVERYONE, err) < 0) ||
	    class_run(s, "INSERT INTO node_classes VALUES(?1, ?2, ?5, ?3, ?4, ?4, 0, 0, 0, ?6)"
		      " ON CONFLICT(candidate, class_hex, uid) DO UPDATE SET told_by = ?6", r, now, EVERYONE, err) < 0 ||
	    store_commit(s, err) < 0) {
		store_rollback(s);
		return -1;
	}
	return 0;
}

int store_class_gone(struct store *s, uint32_t uid, const char *candidate, const char *class_hex, struct errbuf *err)
{
	const struct store_class_record r = {uid, candidate, class_hex, ""};
	int64_t gone;

	if (ask(s, "SELECT max(" STORE_CLASS_HAS_GONE("c") ") FROM node_classes c WHERE candidate = ?1 AND class_hex = ?2"
		" AND uid IN (-1, ?3)", &r, &gone, err) < 0)
		return -1;
	return gone != 0;
}

int store_classes_gone(struct store *s, struct errbuf *err)
{
	const struct store_class_record any = {0, "", "", ""};
	int64_t n;

	if (ask(s, "SELECT count(*) FROM node_classes c WHERE " STORE_CLASS_HAS_GONE("c"), &any, &n, err) < 0)
		return -1;
	return (int)n;
}

int store_class_told(struct store *s, const char *candidate, int64_t *when, struct errbuf *err)
{
	const struct store_class_record r = {0, candidate, "", ""};

	return ask(s, "SELECT coalesce(max(last_seen), 0) FROM node_classes WHERE candidate = ?1", &r, when, err);
}

/* ---- records of traced classes ---- */

static int bad_key(struct store *s, sqlite3_stmt *st, const char *key, struct errbuf *err)
{
	sqlite3_finalize(st);
	return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, key);
}

int store_probe_drop(struct store *s, const char *key, const char *candidate, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM probes WHERE key = ?1 AND candidate = ?2", err);
	int n;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return bad_key(s, st, key, err);
	store_bind_text(st, 2, candidate);
	n = store_run_stmt(s, st, "cannot drop a probe", err);
	sqlite3_finalize(st);
	return n < 0 ? -1 : 0;
}
