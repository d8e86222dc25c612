/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See unscripted.h. */
#include "predictor/store/internal.h"
#include "predictor/store/unscripted.h"

static sqlite3_stmt *statement(struct store *s, enum store_query q, uint32_t jobid, int64_t submit_time, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);

	if (st) {
		sqlite3_bind_int64(st, 1, jobid);
		sqlite3_bind_int64(st, 2, submit_time);
	}
	return st;
}

static int change(struct store *s, sqlite3_stmt *st, struct errbuf *err)
{
	return st && store_run_stmt(s, st, "cannot note an imported run", err) >= 0 ? 0 : -1;
}

int store_unscripted_add(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err)
{
	return change(s, statement(s, Q_UNSCRIPTED_ADD, jobid, submit_time, err), err);
}

int store_unscripted_drop(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err)
{
	return change(s, statement(s, Q_UNSCRIPTED_DROP, jobid, submit_time, err), err);
}

int store_unscripted_has(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err)
{
	sqlite3_stmt *st = statement(s, Q_UNSCRIPTED_HAS, jobid, submit_time, err);
	int rv = st ? store_step(s, st, "cannot read imported runs", err) : -1;

	if (st)
		sqlite3_reset(st);
	return rv;
}

int store_unscripted_clear(struct store *s, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM unscripted", err);
	int rv = change(s, st, err);

	sqlite3_finalize(st);
	return rv;
}
