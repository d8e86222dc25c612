/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the runs of a kin say of members that have not run, as rows: runs that are alike, and models over inputs. See store.h. */
#include <stdio.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/kin.h"

static int bad_key(struct store *s, struct errbuf *err)
{
	return store_fault_set(STORE_FAILED, err, "%s: not a key of 32 hex digits", s->path);
}

/* ---- runs that are alike ---- */

static int family_write(struct store *s, const struct store_family *f, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_FAMILY_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, f->family) < 0 || store_bind_key(st, 2, f->kin) < 0)
		return bad_key(s, err);
	store_bind_text(st, 3, f->candidate);
	sqlite3_bind_double(st, 4, f->e.mean_s);
	sqlite3_bind_double(st, 5, f->e.lo_s);
	sqlite3_bind_double(st, 6, f->e.hi_s);
	sqlite3_bind_int64(st, 7, f->e.n);
	sqlite3_bind_int64(st, 8, f->programs);
	store_bind_text(st, 9, f->ranges);
	store_bind_text(st, 10, f->reason);
	sqlite3_bind_double(st, 11, f->scale > 0 ? f->scale : 1);
	sqlite3_bind_int64(st, 12, f->updated);
	return store_run_stmt(s, st, "cannot write what is known of a family", err) < 0 ? -1 : 0;
}

int store_family_put(struct store *s, const struct store_family *f, struct errbuf *err)
{
	if (store_begin(s, err) < 0)
		return -1;
	if (family_write(s, f, err) == 0 && store_index_add(s, STORE_INDEX_FAMILY, f->family, f->kin, err) == 0 && store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

int store_family_lookup(struct store *s, const char *family, const char *kin, struct store_family *out, size_t max,
			struct errbuf *err)
{
	sqlite3_stmt *st;
	size_t n = 0;
	int rv = 0;

	if (store_index_lacks(s, STORE_INDEX_FAMILY, family, kin))
		return 0;
	st = store_stmt(s, Q_FAMILY_LIST, err);
	if (!st)
		return -1;
	if (store_bind_key(st, 1, family) < 0 || store_bind_key(st, 2, kin) < 0)
		return bad_key(s, err);
	while (n < max && (rv = store_step(s, st, "cannot read what is known of a family", err)) == 1) {
		struct store_family *f = &out[n++];

		*f = (struct store_family){.e.kind = ESTIMATE_FAMILY};
		snprintf(f->family, sizeof(f->family), "%s", family);
		snprintf(f->kin, sizeof(f->kin), "%s", kin);
		store_column_text(st, 0, f->candidate, sizeof(f->candidate));
		f->e.mean_s = sqlite3_column_double(st, 1);
		f->e.lo_s = sqlite3_column_double(st, 2);
		f->e.hi_s = sqlite3_column_double(st, 3);
		f->e.n = (unsigned)sqlite3_column_int64(st, 4);
		f->programs = (unsigned)sqlite3_column_int64(st, 5);
		store_column_text(st, 6, f->ranges, sizeof(f->ranges));
		store_column_text(st, 7, f->reason, sizeof(f->reason));
		f->scale = sqlite3_column_double(st, 8);
		f->updated = sqlite3_column_int64(st, 9);
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : (int)n;
}

/* ---- models over inputs ---- */

static int model_write(struct store *s, const struct store_model *m, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_MODEL_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, m->kin) < 0)
		return bad_key(s, err);
	store_bind_text(st, 2, m->candidate);
	store_bind_text(st, 3, m->law);
	sqlite3_bind_int64(st, 4, m->runs);
	sqlite3_bind_int64(st, 5, m->points);
	store_bind_text(st, 6, m->reason);
	sqlite3_bind_double(st, 7, m->scale > 0 ? m->scale : 1);
	sqlite3_bind_int64(st, 8, m->updated);
	return store_run_stmt(s, st, "cannot write a model over inputs", err) < 0 ? -1 : 0;
}

int store_model_put(struct store *s, const struct store_model *m, struct errbuf *err)
{
	if (store_begin(s, err) < 0)
		return -1;
	if (model_write(s, m, err) == 0 && store_index_add(s, STORE_INDEX_MODEL, m->kin, NULL, err) == 0 && store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

int store_model_lookup(struct store *s, const char *kin, struct store_model *out, size_t max, struct errbuf *err)
{
	sqlite3_stmt *st;
	size_t n = 0;
	int rv = 0;

	if (store_index_lacks(s, STORE_INDEX_MODEL, kin, NULL))
		return 0;
	st = store_stmt(s, Q_MODEL_LIST, err);
	if (!st)
		return -1;
	if (store_bind_key(st, 1, kin) < 0)
		return bad_key(s, err);
	while (n < max && (rv = store_step(s, st, "cannot read a model over inputs", err)) == 1) {
		struct store_model *m = &out[n++];

		snprintf(m->kin, sizeof(m->kin), "%s", kin);
		store_column_text(st, 0, m->candidate, sizeof(m->candidate));
		store_column_text(st, 1, m->law, sizeof(m->law));
		m->runs = (unsigned)sqlite3_column_int64(st, 2);
		m->points = (unsigned)sqlite3_column_int64(st, 3);
		store_column_text(st, 4, m->reason, sizeof(m->reason));
		m->scale = sqlite3_column_double(st, 5);
		m->updated = sqlite3_column_int64(st, 6);
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : (int)n;
}
