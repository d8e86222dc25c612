/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Node classes of candidates, and the records of traced classes: see store/keep.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/keep.h"

/* Run to the end a statement whose text parameters are candidate and class. */
static int class_run(struct store *s, const char *sql, const char *candidate, const char *class_hex, const char *text,
		     int64_t now, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, sql, err);
	int n;

	if (!st)
		return -1;
	store_bind_text(st, 1, candidate);
	store_bind_text(st, 2, class_hex);
	if (text) {
		store_bind_text(st, 3, text);
		sqlite3_bind_int64(st, 4, now);
	}
	n = store_run_stmt(s, st, "cannot write a node class", err);
	sqlite3_finalize(st);
	return n < 0 ? -1 : 0;
}

int store_class_seen(struct store *s, const char *candidate, const char *class_hex, const char *text, int64_t now,
		     struct errbuf *err)
{
	if (!class_hex[0])
		return 0;
	if (store_begin(s, err) < 0)
		return -1;
	if (class_run(s, "UPDATE node_classes SET others = others + 1 WHERE candidate = ?1 AND class_hex <> ?2", candidate,
		      class_hex, NULL, 0, err) < 0 ||
	    class_run(s,
		      "INSERT INTO node_classes VALUES(?1, ?2, ?3, ?4, ?4, 1, 0, 0) ON CONFLICT(candidate, class_hex)"
		      " DO UPDATE SET text = ?3, last_seen = ?4, seen = seen + 1,"
		      " returns = returns + (" STORE_CLASS_HAS_GONE("node_classes") "), others = 0",
		      candidate, class_hex, text, now, err) < 0 ||
	    store_commit(s, err) < 0) {
		store_rollback(s);
		return -1;
	}
	return 0;
}

/* One number, of a query with at most two texts; `none` when there is no row. */
static int ask(struct store *s, const char *sql, const char *a, const char *b, int64_t none, int64_t *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, sql, err);
	int rv;

	*out = none;
	if (!st)
		return -1;
	if (a)
		store_bind_text(st, 1, a);
	if (b)
		store_bind_text(st, 2, b);
	rv = store_step(s, st, "cannot read node classes", err);
	if (rv == 1)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

int store_class_gone(struct store *s, const char *candidate, const char *class_hex, struct errbuf *err)
{
	int64_t gone;

	if (ask(s, "SELECT " STORE_CLASS_HAS_GONE("c") " FROM node_classes c WHERE candidate = ?1 AND class_hex = ?2", candidate,
		class_hex, 0, &gone, err) < 0)
		return -1;
	return gone != 0;
}

int store_classes_gone(struct store *s, struct errbuf *err)
{
	int64_t n;

	if (ask(s, "SELECT count(*) FROM node_classes c WHERE " STORE_CLASS_HAS_GONE("c"), NULL, NULL, 0, &n, err) < 0)
		return -1;
	return (int)n;
}

int store_class_told(struct store *s, const char *candidate, int64_t *when, struct errbuf *err)
{
	return ask(s, "SELECT coalesce(max(last_seen), 0) FROM node_classes WHERE candidate = ?1", candidate, NULL, 0, when, err);
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
