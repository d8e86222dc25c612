/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's shortened limits: see limits.h. */
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
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

int store_limits_missed(struct store *s, int64_t since, struct store_limits_missed *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT coalesce(sum(end_state = 'TIMEOUT'), 0), coalesce(sum(end_state = 'UNKNOWN'), 0),"
					 " coalesce(max(CASE end_state WHEN 'TIMEOUT' THEN jobid END), 0) FROM runs"
					 " WHERE submit_time >= ?1 AND limit_min < user_limit_min AND limit_min < ?2 AND user_limit_min <> ?2"
					 " AND (end_state = 'UNKNOWN' OR (end_state = 'TIMEOUT' AND elapsed_s < 60.0 * user_limit_min))", err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, since);
	sqlite3_bind_int64(st, 2, DURATION_UNSET);
	rv = store_step(s, st, "cannot count shortened runs", err);
	if (rv == 1)
		*out = (struct store_limits_missed){(uint64_t)sqlite3_column_int64(st, 0), (uint64_t)sqlite3_column_int64(st, 1),
						    (uint32_t)sqlite3_column_int64(st, 2)};
	sqlite3_finalize(st);
	return rv == 1 ? 0 : -1;
}

/* In the table meta. */
static const char *const notes[] = {
	[STORE_LIMITS_STOPPED] = "limits_stopped", [STORE_LIMITS_REFUSED] = "limits_refused", [STORE_LIMITS_RULES] = "limits_rules",
};

int store_limits_note_get(struct store *s, enum store_limits_note note, char *text, size_t size, struct errbuf *err)
{
	return store_meta_get(s, notes[note], text, size, err);
}

int store_limits_note_set(struct store *s, enum store_limits_note note, const char *text, struct errbuf *err)
{
	char before[1024]; /* a longer text is written each time */
	int rc = store_limits_note_get(s, note, before, sizeof(before), err);

	if (rc < 0 || (rc == 1 && !strcmp(before, text)) || (rc == 0 && !*text))
		return rc < 0 ? -1 : 0;
	return *text ? store_meta_set(s, notes[note], text, err) : store_meta_drop(s, notes[note], err);
}
