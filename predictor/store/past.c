/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past runs as evidence: by program, kin, family or user, the latest first. Also the table of drifts; tables of kin are in
 * kin.c. A query is bounded: see STORE_PAST_WINDOW.
 */
#include <stdio.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/past.h"

static int bad_key(struct store *s, struct errbuf *err)
{
	return store_fault_set(STORE_FAILED, err, "%s: not a key of 32 hex digits", s->path);
}

static void past_read(sqlite3_stmt *st, struct store_past *p)
{
	char end_state[24];

	p->jobid = (uint32_t)sqlite3_column_int64(st, 0);
	p->submit_time = sqlite3_column_int64(st, 1);
	store_column_key(st, 2, p->key);
	store_column_text(st, 3, p->vars, sizeof(p->vars));
	p->actual_s = sqlite3_column_double(st, 4);
	store_column_text(st, 5, end_state, sizeof(end_state));
	p->evidence = run_evidence_of(end_state, (unsigned)sqlite3_column_int64(st, 6));
	p->told = sqlite3_column_int(st, 13) != 0;
	p->lo_s = sqlite3_column_double(st, 9);
	p->hi_s = sqlite3_column_double(st, 10);
	p->pred_kind = sqlite3_column_int(st, 11);
	p->pred_scale = sqlite3_column_double(st, 12);
	p->drifted = sqlite3_column_int(st, 14) != 0;
	p->array_job = (uint32_t)sqlite3_column_int64(st, 15);
	p->array_task = (uint32_t)sqlite3_column_int64(st, 16);
	store_column_text(st, 17, p->candidate, sizeof(p->candidate));
	p->pred_s = p->told && !p->array_job ? sqlite3_column_double(st, 8) : 0;
}

int store_past_full(struct store *s, struct errbuf *err)
{
	return store_fault_set(STORE_FAILED, err, "%s: out of memory", s->path);
}

static bool are_keys(const struct store_past_filter *f)
{
	const char *also = f->key ? NULL : f->kin ? f->kin : f->family ? NULL : f->except;

	return (!f->key || identity_key_valid(f->key)) && (f->key || !f->family || identity_key_valid(f->family)) &&
	       (!also || identity_key_valid(also));
}

int store_past_read(struct store *s, const struct store_past_filter *f, struct store_past *out, size_t max, struct errbuf *err)
{
	enum store_query q = f->key ? Q_PAST_KEY
			     : f->family ? (f->kin ? Q_PAST_FAMILY_KIN : Q_PAST_FAMILY)
			     : f->kin ? Q_PAST_KIN
			     : f->except ? Q_PAST_USER_EXCEPT : Q_PAST_USER;
	const char *key = f->key ? f->key : f->family ? f->family : f->kin;
	const char *also = q == Q_PAST_FAMILY_KIN ? f->kin : q == Q_PAST_USER_EXCEPT ? f->except : NULL;
	sqlite3_stmt *st;
	int n = 0, rv = 0;

	if (s->past)
		return are_keys(f) ? past_memory_read(s->past, f, out, max) : bad_key(s, err);
	st = store_stmt(s, q, err);
	if (!st)
		return -1;
	if (f->candidate)
		store_bind_text(st, 1, f->candidate);
	sqlite3_bind_int64(st, 2, f->since);
	sqlite3_bind_int64(st, 4, f->uid);
	sqlite3_bind_int64(st, 5, f->max_rows ? (int64_t)f->max_rows : STORE_PAST_WINDOW * (int64_t)max);
	sqlite3_bind_int64(st, 7, f->before);
	if ((key && store_bind_key(st, 3, key) < 0) || (also && store_bind_key(st, 6, also) < 0))
		return bad_key(s, err);
	for (unsigned row = 0; (size_t)n < max && (rv = store_step(s, st, "cannot read past runs", err)) == 1; row++) {
		if (!sqlite3_column_int(st, 18))
			continue;
		past_read(st, &out[n]);
		out[n].row = row;
		n += out[n].evidence != RUN_NO_EVIDENCE;
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : n;
}

int store_array_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ARRAY_RUNS, err);
	size_t n = 0, read = 0;
	int rv = 0;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return bad_key(s, err);
	sqlite3_bind_int64(st, 2, (int64_t)max);
	for (; (rv = store_step(s, st, "cannot read runs of an array", err)) == 1 && read < max; read++) {
		enum run_evidence evidence;
		char end_state[24];

		if (!sqlite3_column_int(st, 5))
			continue;
		store_column_text(st, 0, out[n].candidate, sizeof(out[n].candidate));
		store_column_text(st, 3, end_state, sizeof(end_state));
		evidence = run_evidence_of(end_state, (unsigned)sqlite3_column_int64(st, 4));
		out[n].run = (struct array_run){(uint32_t)sqlite3_column_int64(st, 1), sqlite3_column_double(st, 2),
						evidence == RUN_LOWER_BOUND};
		n += evidence != RUN_NO_EVIDENCE;
	}
	sqlite3_reset(st);
	*all = read < max;
	return rv < 0 ? -1 : (int)n;
}

bool store_array_depends(const struct store_array_run *runs, size_t n, struct array_view *view, const char **candidate)
{
	for (size_t first = 0; first < n; first++) {
		struct array_run there[ARRAY_LOOK];
		size_t m = 0;

		for (size_t i = 0; i < n && m < ARRAY_LOOK; i++) {
			if (strcmp(runs[i].candidate, runs[first].candidate))
				continue;
			if (i < first) /* this candidate was checked already */
				break;
			there[m++] = runs[i].run;
		}
		if (!m)
			continue;
		array_judge(there, m, view);
		*candidate = runs[first].candidate;
		if (view->word == ARRAY_LONGEST)
			return true;
	}
	return false;
}

/* ---- drifts ---- */

int store_drift_put(struct store *s, const char *key, const char *candidate, const struct drift *d, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_DRIFT_PUT, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return bad_key(s, err);
	store_bind_text(st, 2, candidate);
	sqlite3_bind_int(st, 3, (int)d->stage);
	sqlite3_bind_int64(st, 4, d->since);
	sqlite3_bind_int64(st, 5, d->acted);
	rv = store_run_stmt(s, st, "cannot write a drift", err);
	if (rv >= 0 && s->past && past_memory_drift(s->past, key, candidate, d) < 0)
		return store_past_full(s, err);
	return rv < 0 ? -1 : 0;
}

int store_drift_get(struct store *s, const char *key, const char *candidate, struct drift *out, struct errbuf *err)
{
	sqlite3_stmt *st;
	int rv;

	*out = (struct drift){DRIFT_NONE, 0, 0};
	if (s->past && identity_key_valid(key))
		return past_memory_drift_of(s->past, key, candidate, out);
	st = store_stmt(s, Q_DRIFT_GET, err);
	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return bad_key(s, err);
	store_bind_text(st, 2, candidate);
	rv = store_step(s, st, "cannot read a drift", err);
	if (rv == 1) {
		int stage = sqlite3_column_int(st, 0);

		out->stage = stage < 0 || stage > DRIFT_RETRACED ? DRIFT_NONE : (enum drift_stage)stage;
		out->since = sqlite3_column_int64(st, 1);
		out->acted = sqlite3_column_int64(st, 2);
	}
	sqlite3_reset(st);
	return rv;
}
