/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computed points as a row of the store: see points.h. They are one text, a line "NUMBERS SECONDS CLAIM" for each. */
#include <stdio.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/points.h"

#define LINE_MAX_BYTES (sizeof(((struct result_point *)0)->vars) + 64)

int store_points_put(struct store *s, const char *kin, const char *candidate, const struct store_points *p, struct errbuf *err)
{
	char text[RESULT_MAX_POINTS * LINE_MAX_BYTES + 1] = "";
	sqlite3_stmt *st = store_prepare(s, "INSERT OR REPLACE INTO points VALUES(?1, ?2, ?3, ?4, ?5)", err);
	size_t len = 0;
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, kin) < 0) {
		sqlite3_finalize(st);
		return store_bad_key(s, kin, err);
	}
	store_bind_text(st, 2, candidate);
	for (unsigned i = 0; i < p->n && i < RESULT_MAX_POINTS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.127s %.9g %.4g\n", p->p[i].vars, p->p[i].seconds, p->p[i].claim);
	store_bind_text(st, 3, text);
	sqlite3_bind_int64(st, 4, p->job);
	sqlite3_bind_int64(st, 5, p->updated);
	rv = store_run_stmt(s, st, "cannot write computed points", err);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

/* Stops at the first line that is not of this form. */
static void text_parse(const char *text, struct store_points *out)
{
	struct result_point *p = out->p;
	int used = 0;

	while (out->n < RESULT_MAX_POINTS && sscanf(text, "%127s %lf %lf%n", p->vars, &p->seconds, &p->claim, &used) == 3 && text[used] == '\n') {
		text += used + 1;
		out->n++;
		p++;
	}
}

int store_points_get(struct store *s, const char *kin, const char *candidate, struct store_points *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_POINTS_GET, err);
	int rv;

	memset(out, 0, sizeof(*out));
	if (!st)
		return -1;
	if (store_bind_key(st, 1, kin) < 0)
		return store_bad_key(s, kin, err);
	store_bind_text(st, 2, candidate);
	rv = store_step(s, st, "cannot read computed points", err);
	if (rv == 1) {
		const char *text = (const char *)sqlite3_column_text(st, 0);

		if (text)
			text_parse(text, out);
		out->job = (uint32_t)sqlite3_column_int64(st, 1);
		out->updated = sqlite3_column_int64(st, 2);
	}
	sqlite3_reset(st);
	return rv;
}
