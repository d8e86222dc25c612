/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of probes, parsed and formatted: see records.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/probes.h"
#include "predictor/store/records.h"

int store_record_put(struct store *s, const struct store_probe *row, const struct result *record, struct errbuf *err)
{
	struct store_probe with = *row;
	struct buf text = {0};
	int rv = result_format(record, &text, err);

	buf_put_u8(&text, '\0');
	if (rv == 0 && text.failed)
		rv = store_fault_set(STORE_FAILED, err, "%s: no memory for a record", s->path);
	with.result = (const char *)text.data;
	if (rv == 0)
		rv = store_probe_put(s, &with, err);
	buf_free(&text);
	return rv;
}

/* A statement that selects one text by key and candidate (NULL: by key alone). */
static int text_read(struct store *s, enum store_query q, const char *key, const char *candidate, char **text, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);
	const char *found;
	int rv;

	*text = NULL;
	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	if (candidate)
		store_bind_text(st, 2, candidate);
	rv = store_step(s, st, "cannot read a record", err);
	found = rv == 1 ? (const char *)sqlite3_column_text(st, 0) : NULL;
	if (rv == 1)
		rv = found != NULL;
	if (rv == 1 && !(*text = strdup(found)))
		rv = store_fault_set(STORE_FAILED, err, "out of memory");
	sqlite3_reset(st);
	return rv;
}

static int text_parse(int rv, char *text, struct result *out)
{
	if (rv == 1)
		rv = result_parse(text, strlen(text), out, NULL) == 0;
	free(text);
	return rv;
}

int store_record_text(struct store *s, const char *key, const char *candidate, char **text, struct errbuf *err)
{
	return text_read(s, Q_RECORD_GET, key, candidate, text, err);
}

int store_record_get(struct store *s, const char *key, const char *candidate, struct result *out, struct errbuf *err)
{
	char *text;
	int rv = store_record_text(s, key, candidate, &text, err);

	return text_parse(rv, text, out);
}

int store_base_keep(struct store *s, const char *key, const char *candidate, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "INSERT OR IGNORE INTO probe_bases SELECT key, result FROM probes WHERE key = ?1"
					 " AND candidate = ?2 AND result IS NOT NULL", err);
	int n;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0) {
		sqlite3_finalize(st);
		return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, key);
	}
	store_bind_text(st, 2, candidate);
	n = store_run_stmt(s, st, "cannot write a record", err);
	sqlite3_finalize(st);
	return n < 0 ? -1 : 0;
}

int store_base_get(struct store *s, const char *key, struct result *out, struct errbuf *err)
{
	char *text;
	int rv = text_read(s, Q_BASE_GET, key, NULL, &text, err);

	return text_parse(rv, text, out);
}
