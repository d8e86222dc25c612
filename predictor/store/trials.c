/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traced runs against untraced ones, as rows: see store_trials.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/trials.h"

#define META_TRACING "tracing"

static int bad_name(struct store *s, struct errbuf *err)
{
	return store_fault_set(STORE_FAILED, err, "%s: not a key of 32 hex digits", s->path);
}

/* ---- rows ---- */

static int trial_write(struct store *s, const struct store_trial *t, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_TRIAL_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, t->name) < 0 || store_bind_key(st, 2, t->key) < 0)
		return bad_name(s, err);
	sqlite3_bind_int64(st, 3, t->uid);
	sqlite3_bind_int(st, 4, (int)t->guard);
	sqlite3_bind_int64(st, 5, t->traced_job);
	store_bind_text(st, 6, t->end_state);
	sqlite3_bind_double(st, 7, t->elapsed_s);
	sqlite3_bind_int64(st, 8, (int64_t)t->memory);
	sqlite3_bind_int64(st, 9, t->array_task);
	sqlite3_bind_int64(st, 10, t->control_job);
	store_bind_text(st, 11, t->control_state);
	sqlite3_bind_int64(st, 12, t->updated);
	sqlite3_bind_int(st, 13, (int)t->pair);
	sqlite3_bind_int64(st, 14, t->pair_traced);
	sqlite3_bind_int64(st, 15, t->pair_untraced);
	sqlite3_bind_int64(st, 16, t->pair_at);
	return store_run_stmt(s, st, "cannot write a trial of the tracer", err) < 0 ? -1 : 0;
}

int store_trial_put(struct store *s, const struct store_trial *t, struct errbuf *err)
{
	if (store_begin(s, err) < 0)
		return -1;
	/* Readers of the index ask for guarded programs alone. */
	if (trial_write(s, t, err) == 0 &&
	    (t->guard == TRIAL_FREE || store_index_add(s, STORE_INDEX_TRIAL, t->name, NULL, err) == 0) && store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

static void trial_read(sqlite3_stmt *st, struct store_trial *t)
{
	int guard = sqlite3_column_int(st, 3), pair = sqlite3_column_int(st, 12);

	store_column_key(st, 0, t->name);
	store_column_key(st, 1, t->key);
	t->uid = (uint32_t)sqlite3_column_int64(st, 2);
	t->guard = guard < 0 || guard > TRIAL_SUSPECT ? TRIAL_SUSPECT : (enum trial_guard)guard;
	t->traced_job = (uint32_t)sqlite3_column_int64(st, 4);
	store_column_text(st, 5, t->end_state, sizeof(t->end_state));
	t->elapsed_s = sqlite3_column_double(st, 6);
	t->memory = (uint64_t)sqlite3_column_int64(st, 7);
	t->array_task = (uint32_t)sqlite3_column_int64(st, 8);
	t->control_job = (uint32_t)sqlite3_column_int64(st, 9);
	store_column_text(st, 10, t->control_state, sizeof(t->control_state));
	t->updated = sqlite3_column_int64(st, 11);
	t->pair = pair < 0 || pair >= TRIAL_PAIRS ? TRIAL_NO_PAIR : (enum trial_pair)pair;
	t->pair_traced = (uint32_t)sqlite3_column_int64(st, 13);
	t->pair_untraced = (uint32_t)sqlite3_column_int64(st, 14);
	t->pair_at = sqlite3_column_int64(st, 15);
}

int store_trial_get(struct store *s, const char *name, struct store_trial *t, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_TRIAL_GET, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, name) < 0)
		return bad_name(s, err);
	rv = store_step(s, st, "cannot read a trial of the tracer", err);
	if (rv == 1)
		trial_read(st, t);
	sqlite3_reset(st);
	return rv;
}

int store_trial_withholds(struct store *s, const char *name, const char *key, struct store_trial *t, struct errbuf *err)
{
	int rv = store_index_lacks(s, STORE_INDEX_TRIAL, name, NULL) ? 0 : store_trial_get(s, name, t, err);

	if (rv == 1 && (t->guard == TRIAL_FREE || (t->guard == TRIAL_DOUBT_KEY && strcmp(t->key, key) != 0)))
		return 0;
	return rv;
}

int store_trial_lift(struct store *s, const char *name, int64_t now, struct errbuf *err)
{
	struct store_trial t;
	int rv = store_trial_get(s, name, &t, err);

	if (rv <= 0)
		return rv;
	t.guard = TRIAL_FREE;
	t.end_state[0] = '\0';
	t.updated = now;
	return store_trial_put(s, &t, err);
}

/* ---- sums ---- */

static int pairs_count(struct store *s, int64_t since, struct store_trial_tally *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT pair, count(*) FROM trials WHERE pair > 0 AND pair_at >= ?1 GROUP BY pair", err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, since);
	while ((rv = store_step(s, st, "cannot count trials of the tracer", err)) == 1) {
		int pair = sqlite3_column_int(st, 0);

		if (pair < TRIAL_PAIRS)
			out->pairs[pair] = (uint64_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	return rv;
}

int store_trial_count(struct store *s, int64_t since, struct store_trial_tally *out, struct errbuf *err)
{
	unsigned of_user = 0;
	int64_t uid = -1;
	sqlite3_stmt *st;
	int rv;

	*out = (struct store_trial_tally){0};
	_Static_assert(TRIAL_TRACED_FAILED == 3 && TRIAL_UNTRACED_FAILED == 4 && TRIAL_PAIRS == 5, "pairs in the queries here");
	if (pairs_count(s, since, out, err) < 0)
		return -1;
	st = store_prepare(s, "SELECT uid, pair FROM trials WHERE pair > 2 AND pair_at >= ?1 ORDER BY uid, pair_at DESC, name", err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, since);
	while ((rv = store_step(s, st, "cannot count trials of the tracer", err)) == 1) {
		if (sqlite3_column_int64(st, 0) != uid)
			of_user = 0;
		uid = sqlite3_column_int64(st, 0);
		if (of_user++ >= TRIAL_PER_USER)
			continue;
		if (sqlite3_column_int(st, 1) == TRIAL_TRACED_FAILED)
			out->traced_failed++;
		else
			out->untraced_failed++;
	}
	sqlite3_finalize(st);
	return rv;
}

int store_trials_against(struct store *s, int64_t since, store_trial_fn fn, void *arg, struct errbuf *err)
{
	static const char sql[] = "SELECT * FROM trials WHERE pair > 2 AND pair = 3 AND pair_at >= ?1 ORDER BY pair_at DESC, name";
	sqlite3_stmt *st = store_prepare(s, sql, err);
	struct store_trial t;
	int seen = 0, rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, since);
	while ((rv = store_step(s, st, "cannot read trials of the tracer", err)) == 1) {
		trial_read(st, &t);
		seen++;
		if (fn(&t, arg))
			break;
	}
	sqlite3_finalize(st);
	return rv < 0 ? -1 : seen;
}

/* ---- does tracing go on ---- */

int store_tracing_set(struct store *s, const struct store_tracing *t, struct errbuf *err)
{
	char text[48];

	snprintf(text, sizeof(text), "%s %lld", tracing_state_name(t->state), (long long)t->since);
	return store_meta_set(s, META_TRACING, text, err);
}

int store_tracing_get(struct store *s, struct store_tracing *t, struct errbuf *err)
{
	char text[48], word[16];
	long long since;
	int rv = store_meta_get(s, META_TRACING, text, sizeof(text), err);

	*t = (struct store_tracing){TRACING_ON, 0};
	if (rv <= 0 || sscanf(text, "%15s %lld", word, &since) != 2)
		return rv < 0 ? -1 : 0;
	t->since = since;
	for (int i = TRACING_ON; i <= TRACING_STOPPED; i++)
		if (!strcmp(word, tracing_state_name((enum tracing_state)i)))
			t->state = (enum tracing_state)i;
	return 0;
}

static int count_guarded(struct store *s, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT count(*) FROM trials WHERE guard > 0", err);
	int rv = st ? store_step(s, st, "cannot count trials of the tracer", err) : -1;

	if (rv == 1)
		rv = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return rv;
}

int store_tracing_resume(struct store *s, int64_t now, struct errbuf *err)
{
	struct store_tracing on = {TRACING_ON, now};
	sqlite3_stmt *st = NULL;
	int guarded;

	if (store_begin(s, err) < 0)
		return -1;
	guarded = count_guarded(s, err);
	if (guarded < 0 || !(st = store_prepare(s, "DELETE FROM trials", err)) || store_run_stmt(s, st, "cannot drop trials", err) < 0)
		goto fail;
	sqlite3_finalize(st);
	st = NULL;
	if (store_tracing_set(s, &on, err) < 0 || store_commit(s, err) < 0)
		goto fail;
	return guarded;
fail:
	sqlite3_finalize(st);
	store_rollback(s);
	return -1;
}
