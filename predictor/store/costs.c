/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probes cost and what shorter limits freed, by user and partition: see store/keep.h. Costs are added up by day as tries
 * end, so that they outlive their programs; savings are read off the runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/store/internal.h"
#include "predictor/store/keep.h"

#define DAY_S 86400

int store_cost_add(struct store *s, int64_t now, uint32_t uid, const char *candidate, double node_s, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s,
					 "INSERT INTO probe_costs VALUES(?1, ?2, ?3, 1, ?4) ON CONFLICT(day, uid, partition)"
					 " DO UPDATE SET probes = probes + 1, node_s = node_s + ?4",
					 err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, now / DAY_S);
	sqlite3_bind_int64(st, 2, uid);
	sqlite3_bind_text(st, 3, candidate, (int)strcspn(candidate, ":"), SQLITE_STATIC);
	sqlite3_bind_double(st, 4, node_s);
	n = store_run_stmt(s, st, "cannot write the cost of a probe", err);
	sqlite3_finalize(st);
	return n < 0 ? -1 : 0;
}

int store_cost_probes(struct store *s, double *node_s, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT coalesce(sum(node_s), 0) FROM probe_costs", err);
	int rv = st ? store_step(s, st, "cannot add up costs", err) : -1;

	*node_s = rv == 1 ? sqlite3_column_double(st, 0) : 0;
	sqlite3_finalize(st);
	return rv == 1 ? 0 : -1;
}

/*
 * Columns as in struct store_cost. A run counts as limited when its limit was below the user's own in the end. A run that was
 * planned with less counts, too, with its run time if that was longer, and at most with the user's limit. If its limit was
 * changed, too, the limit in the end counts. Numbers from DURATION_UNSET on are none.
 */
static const char costs_sql[] =
	"SELECT uid, partition, sum(probes), sum(probe_s), sum(jobs), sum(used), sum(limited), sum(asked), sum(freed) FROM ("
	"SELECT uid, partition, sum(probes) AS probes, sum(node_s) AS probe_s, 0 AS jobs, 0 AS used, 0 AS limited, 0 AS asked,"
	" 0 AS freed FROM probe_costs WHERE day >= ?2 / 86400%s GROUP BY uid, partition"
	" UNION ALL "
	"SELECT uid, partition, 0, 0, count(*), sum(nodes * elapsed_s), sum(less), sum(less * nodes * user_limit_min * 60.0),"
	" sum(less * nodes * (user_limit_min * 60.0 - set_s)) FROM ("
	"SELECT *, set_s IS NOT NULL AND user_limit_min < ?3 AS less FROM ("
	"SELECT uid, partition, nodes, elapsed_s, user_limit_min,"
	" CASE WHEN limit_min > 0 AND limit_min < user_limit_min THEN limit_min * 60.0"
	" WHEN limit_min = ?3 AND plan_min > 0 THEN min(max(plan_min * 60.0, elapsed_s), user_limit_min * 60.0) END AS set_s FROM runs%s"
	" WHERE submit_time >= ?2%s AND start_time > 0 AND end_time > 0 AND end_state NOT IN ('', 'UNKNOWN')))"
	" GROUP BY uid, partition) GROUP BY uid, partition ORDER BY uid, partition";

static sqlite3_stmt *costs_prepare(struct store *s, uint32_t uid, int64_t since, struct errbuf *err)
{
	const char *mine = uid == STORE_ALL_USERS ? "" : " AND uid = ?1";
	/* Of everybody: in the order of the table. By submit_time every row would be looked up, which takes ten times as long. */
	const char *how = uid == STORE_ALL_USERS ? " NOT INDEXED" : "";
	char sql[sizeof(costs_sql) + 32];
	sqlite3_stmt *st;

	snprintf(sql, sizeof(sql), costs_sql, mine, how, mine);
	st = store_prepare(s, sql, err);
	if (!st)
		return NULL;
	sqlite3_bind_int64(st, 1, uid);
	sqlite3_bind_int64(st, 2, since);
	sqlite3_bind_int64(st, 3, DURATION_UNSET);
	return st;
}

int store_costs_each(struct store *s, uint32_t uid, int64_t since, store_cost_fn fn, void *arg, struct errbuf *err)
{
	sqlite3_stmt *st = costs_prepare(s, uid, since, err);
	int rv, n = 0;

	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot add up costs", err)) == 1) {
		struct store_cost c = {
			.uid = (uint32_t)sqlite3_column_int64(st, 0),
			.probes = (uint64_t)sqlite3_column_int64(st, 2),
			.probe_node_s = sqlite3_column_double(st, 3),
			.jobs = (uint64_t)sqlite3_column_int64(st, 4),
			.used_node_s = sqlite3_column_double(st, 5),
			.limited = (uint64_t)sqlite3_column_int64(st, 6),
			.asked_node_s = sqlite3_column_double(st, 7),
			.freed_node_s = sqlite3_column_double(st, 8),
		};

		store_column_text(st, 1, c.partition, sizeof(c.partition));
		n++;
		if (fn(&c, arg))
			break;
	}
	sqlite3_finalize(st);
	return rv < 0 ? -1 : n;
}
