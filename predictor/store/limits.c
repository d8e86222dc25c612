/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's shortened limits: see limits.h. */
#include <stdlib.h>

#include "predictor/store/internal.h"
#include "predictor/store/limits.h"

int store_limit_put(struct store *s, const struct store_limit *l, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_LIMIT_PUT, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, l->jobid);
	sqlite3_bind_int64(st, 2, l->submit_time);
	sqlite3_bind_int64(st, 3, l->asked_min);
	sqlite3_bind_int64(st, 4, l->wish_min);
	sqlite3_bind_int64(st, 5, l->set_min);
	sqlite3_bind_int(st, 6, l->seen);
	sqlite3_bind_int(st, 7, l->soft);
	return store_run_stmt(s, st, "cannot write a limit", err) < 0 ? -1 : 0;
}

int store_limit_drop(struct store *s, uint32_t jobid, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_LIMIT_DROP, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, jobid);
	return store_run_stmt(s, st, "cannot drop a limit", err) < 0 ? -1 : 0;
}

static struct store_limit limit_of(sqlite3_stmt *st)
{
	return (struct store_limit){
		.jobid = (uint32_t)sqlite3_column_int64(st, 0),
		.submit_time = sqlite3_column_int64(st, 1),
		.asked_min = (uint32_t)sqlite3_column_int64(st, 2),
		.wish_min = (uint32_t)sqlite3_column_int64(st, 3),
		.set_min = (uint32_t)sqlite3_column_int64(st, 4),
		.seen = sqlite3_column_int(st, 5) != 0,
		.soft = sqlite3_column_int(st, 6) != 0,
	};
}

int store_limit_get(struct store *s, uint32_t jobid, struct store_limit *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_LIMIT_GET, err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, jobid);
	rv = store_step(s, st, "cannot read a limit", err);
	if (rv == 1)
		*out = limit_of(st);
	sqlite3_reset(st);
	return rv;
}

int store_limits_load(struct store *s, struct store_limit **out, size_t *n, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_LIMIT_LIST, err);
	size_t room = 0;
	int rv;

	*out = NULL;
	*n = 0;
	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot read limits", err)) == 1) {
		if (*n == room) {
			struct store_limit *more = realloc(*out, (room = room ? 2 * room : 64) * sizeof(*more));

			if (!more) {
				rv = store_fault_set(STORE_FAILED, err, "out of memory");
				break;
			}
			*out = more;
		}
		(*out)[(*n)++] = limit_of(st);
	}
	sqlite3_reset(st);
	if (rv == 0)
		return 0;
	free(*out);
	*out = NULL;
	return -1;
}
