/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See forget.h. */
#include <sqlite3.h>

#include "predictor/store/busy.h"
#include "predictor/store/forget.h"
#include "predictor/store/internal.h"
#include "predictor/store/spool_use.h"

#define KEYS "(SELECT key FROM programs WHERE uid = ?1 UNION SELECT key FROM runs WHERE uid = ?1 AND key IS NOT NULL)"

#define NOTES 2 /* statements that note what was forgotten */
/* ?1 uid, ?2 now. Rows of runs and programs go last: the others are found by them. */
static const char *const statements[] = {
	"INSERT OR REPLACE INTO meta SELECT '" STORE_META_FORGOTTEN "' || lower(hex(key)), CAST(?2 AS TEXT) FROM " KEYS,
	"INSERT OR REPLACE INTO meta VALUES('" STORE_META_FORGOTTEN STORE_FORGOTTEN_USER "' || ?1, CAST(?2 AS TEXT))",
	"DELETE FROM families WHERE (family, kin) IN (SELECT family, kin FROM runs WHERE uid = ?1)",
	"DELETE FROM models WHERE kin IN (SELECT kin FROM runs WHERE uid = ?1)",
	"DELETE FROM points WHERE kin IN (SELECT kin FROM runs WHERE uid = ?1)",
	"DELETE FROM drifts WHERE key IN " KEYS,
	"DELETE FROM estimates WHERE key IN " KEYS,
	"DELETE FROM probes WHERE key IN " KEYS,
	"DELETE FROM probe_bases WHERE key IN " KEYS,
	"DELETE FROM meta WHERE name IN (SELECT '" STORE_META_LAYOUT "' || lower(hex(key)) FROM " KEYS ")",
	"DELETE FROM meta WHERE name IN ('asked.' || ?1, 'probes.barred.' || ?1, '" STORE_META_SPOOL "' || ?1)",
	"DELETE FROM limits WHERE jobid IN (SELECT jobid FROM runs WHERE uid = ?1 AND end_state <> '')",
	"DELETE FROM trials WHERE uid = ?1",
	"DELETE FROM node_classes WHERE uid = ?1",
	"DELETE FROM probe_costs WHERE uid = ?1",
	"DELETE FROM groups WHERE uid = ?1",
	"DELETE FROM unscripted WHERE (jobid, submit_time) IN (SELECT jobid, submit_time FROM runs WHERE uid = ?1)",
	"DELETE FROM access WHERE uid = ?1",
	"DELETE FROM waits WHERE uid = ?1",
	"DELETE FROM programs WHERE uid = ?1",
	"DELETE FROM runs WHERE uid = ?1",
};

static int run_all(struct store *s, uint32_t uid, int64_t now, struct errbuf *err)
{
	int rows = 0;

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		sqlite3_stmt *st = store_prepare(s, statements[i], err);
		int n;

		if (!st)
			return -1;
		sqlite3_bind_int64(st, 1, uid);
		if (sqlite3_bind_parameter_count(st) > 1)
			sqlite3_bind_int64(st, 2, now);
		n = store_run_stmt(s, st, "cannot forget the user", err);
		sqlite3_finalize(st);
		if (n < 0)
			return -1;
		rows += i >= NOTES ? n : 0;
	}
	return rows;
}

int store_user_forget(struct store *s, uint32_t uid, int64_t now, struct errbuf *err)
{
	int rows;

	if (store_begin(s, err) < 0)
		return -1;
	rows = run_all(s, uid, now, err);
	if (rows < 0 || store_commit(s, err) < 0) {
		store_rollback(s);
		return -1;
	}
	return rows;
}
