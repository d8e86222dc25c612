/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's runs, and how well they were predicted: see runs.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/store/internal.h"
#include "predictor/store/runs.h"

/* Returns the number of rows that changed, -1 on error. */
static int run_write(struct store *s, enum store_query q, const struct store_run *r, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, r->jobid);
	sqlite3_bind_int64(st, 2, r->submit_time);
	sqlite3_bind_int64(st, 3, r->uid);
	if ((r->key[0] && store_bind_key(st, 4, r->key) < 0) ||
	    (r->family[0] && store_bind_key(st, 5, r->family) < 0) ||
	    (r->kin[0] && store_bind_key(st, 27, r->kin) < 0))
		return store_fault_set(STORE_FAILED, err, "%s: job %u: '%.40s' is not a key of 32 hex digits",
				       s->path, r->jobid, r->key);
	store_bind_text(st, 6, r->name);
	sqlite3_bind_int(st, 7, (int)r->act);
	sqlite3_bind_int(st, 8, (int)r->mode);
	store_bind_text(st, 9, r->partition);
	store_bind_text(st, 10, r->candidate);
	store_bind_text(st, 11, r->pred_candidate);
	sqlite3_bind_double(st, 12, r->pred_s);
	sqlite3_bind_double(st, 13, r->lo_s);
	sqlite3_bind_double(st, 14, r->hi_s);
	sqlite3_bind_int64(st, 15, r->user_limit_min);
	sqlite3_bind_int64(st, 16, r->limit_min);
	sqlite3_bind_int64(st, 17, r->nodes);
	sqlite3_bind_int64(st, 18, r->tasks);
	sqlite3_bind_int64(st, 19, r->start_time);
	sqlite3_bind_int64(st, 20, r->end_time);
	sqlite3_bind_double(st, 21, r->elapsed_s);
	store_bind_text(st, 22, r->end_state);
	sqlite3_bind_int64(st, 23, r->extensions);
	sqlite3_bind_double(st, 24, r->suspended_s);
	sqlite3_bind_int64(st, 25, r->restarts);
	sqlite3_bind_int64(st, 26, r->array_job);
	store_bind_text(st, 28, r->vars);
	sqlite3_bind_int(st, 29, r->pred_kind);
	sqlite3_bind_double(st, 30, r->pred_scale > 0 ? r->pred_scale : 1);
	store_bind_text(st, 31, r->weighed);
	sqlite3_bind_int64(st, 32, r->array_task);
	store_bind_text(st, 33, r->similar);
	sqlite3_bind_int64(st, 34, r->plan_min);
	n = store_run_stmt(s, st, "cannot write a run", err);
	if (n > 0 && s->past && past_memory_run(s->past, r) < 0)
		return store_past_full(s, err);
	return n;
}

int store_run_put(struct store *s, const struct store_run *r, struct errbuf *err)
{
	return run_write(s, Q_RUN_PUT, r, err) < 0 ? -1 : 0;
}

int store_run_add(struct store *s, const struct store_run *r, struct errbuf *err)
{
	return run_write(s, Q_RUN_ADD, r, err);
}

static void read_run(sqlite3_stmt *st, struct store_run *r)
{
	int act = sqlite3_column_int(st, 6), mode = sqlite3_column_int(st, 7);

	r->jobid = (uint32_t)sqlite3_column_int64(st, 0);
	r->submit_time = sqlite3_column_int64(st, 1);
	r->uid = (uint32_t)sqlite3_column_int64(st, 2);
	store_column_key(st, 3, r->key);
	store_column_key(st, 4, r->family);
	store_column_text(st, 5, r->name, sizeof(r->name));
	r->act = act < 0 || act > ACT_PROBE ? ACT_NONE : (enum job_act)act;
	r->mode = mode < 0 || mode > MODE_PLACE ? MODE_OBSERVE : (enum precedent_mode)mode;
	store_column_text(st, 8, r->partition, sizeof(r->partition));
	store_column_text(st, 9, r->candidate, sizeof(r->candidate));
	store_column_text(st, 10, r->pred_candidate, sizeof(r->pred_candidate));
	r->pred_s = sqlite3_column_double(st, 11);
	r->lo_s = sqlite3_column_double(st, 12);
	r->hi_s = sqlite3_column_double(st, 13);
	r->user_limit_min = (uint32_t)sqlite3_column_int64(st, 14);
	r->limit_min = (uint32_t)sqlite3_column_int64(st, 15);
	r->nodes = (uint32_t)sqlite3_column_int64(st, 16);
	r->tasks = (uint32_t)sqlite3_column_int64(st, 17);
	r->start_time = sqlite3_column_int64(st, 18);
	r->end_time = sqlite3_column_int64(st, 19);
	r->elapsed_s = sqlite3_column_double(st, 20);
	store_column_text(st, 21, r->end_state, sizeof(r->end_state));
	r->extensions = (uint32_t)sqlite3_column_int64(st, 22);
	r->suspended_s = sqlite3_column_double(st, 23);
	r->restarts = (uint32_t)sqlite3_column_int64(st, 24);
	r->array_job = (uint32_t)sqlite3_column_int64(st, 25);
	store_column_key(st, 26, r->kin);
	store_column_text(st, 27, r->vars, sizeof(r->vars));
	r->pred_kind = sqlite3_column_int(st, 28);
	r->pred_scale = sqlite3_column_double(st, 29);
	store_column_text(st, 30, r->weighed, sizeof(r->weighed));
	r->array_task = (uint32_t)sqlite3_column_int64(st, 31);
	store_column_text(st, 32, r->similar, sizeof(r->similar));
	r->plan_min = (uint32_t)sqlite3_column_int64(st, 33);
}

static int finish_get(struct store *s, sqlite3_stmt *st, struct store_run *r, struct errbuf *err)
{
	int rv = store_step(s, st, "cannot read a run", err);

	if (rv == 1)
		read_run(st, r);
	sqlite3_reset(st);
	return rv;
}

int store_run_get(struct store *s, uint32_t jobid, struct store_run *r, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_RUN_GET_LAST, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, jobid);
	return finish_get(s, st, r, err);
}

int store_run_get_task(struct store *s, uint32_t array_job, uint32_t task, struct store_run *r, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_RUN_TASK, err);
	uint32_t jobid = 0;
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, array_job);
	sqlite3_bind_int64(st, 2, task);
	rv = store_step(s, st, "cannot find a task", err);
	if (rv == 1)
		jobid = (uint32_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rv == 1 ? store_run_get(s, jobid, r, err) : rv;
}

int store_run_of(struct store *s, const struct store_run_id *id, struct store_run *r, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_RUN_GET, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, id->jobid);
	sqlite3_bind_int64(st, 2, id->submit_time);
	return finish_get(s, st, r, err);
}

struct run_name {
	uint32_t jobid;
	int64_t submit_time;
};

/*
 * One condition per filter that is set, so that SQLite can choose the index. Values are bound, never written
 * in.
 */
static sqlite3_stmt *prepare_list(struct store *s, const struct store_run_filter *f, const char *columns,
				  const char *order, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	char sql[512];
	int rc;

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM runs WHERE submit_time >= ?5%s%s%s%s%s%s%s%s"
		 " ORDER BY %s LIMIT ?6",
		 columns,
		 f->uid == STORE_ALL_USERS ? "" : " AND uid = ?1", f->key ? " AND key = ?2" : "",
		 f->family ? " AND family = ?3" : "", f->candidate ? " AND candidate = ?4" : "",
		 f->finished ? " AND end_state <> ''" : "", f->unfinished ? " AND end_state = ''" : "",
		 f->completed ? " AND end_state = 'COMPLETED'" : "", f->predicted ? " AND pred_s > 0" : "", order);
	rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK) {
		store_fail(s, rc, "cannot list runs", err);
		return NULL;
	}
	sqlite3_bind_int64(st, 1, f->uid);
	if ((f->key && store_bind_key(st, 2, f->key) < 0) ||
	    (f->family && store_bind_key(st, 3, f->family) < 0)) {
		store_fault_set(STORE_FAILED, err, "%s: not a key of 32 hex digits", s->path);
		sqlite3_finalize(st);
		return NULL;
	}
	if (f->candidate)
		store_bind_text(st, 4, f->candidate);
	sqlite3_bind_int64(st, 5, f->since);
	sqlite3_bind_int64(st, 6, f->max ? (int64_t)f->max : -1);
	return st;
}

static struct run_name *list_runs(struct store *s, const struct store_run_filter *f, size_t *n,
				  struct errbuf *err)
{
	sqlite3_stmt *st = prepare_list(s, f, "jobid, submit_time", "submit_time DESC, jobid DESC", err);
	struct run_name *names = NULL;
	size_t cap = 0;
	int rv;

	*n = 0;
	if (!st)
		return NULL;
	while ((rv = store_step(s, st, "cannot list runs", err)) == 1) {
		if (*n == cap) {
			struct run_name *p = realloc(names, (cap = cap ? cap * 2 : 64) * sizeof(*p));

			if (!p) {
				rv = store_fault_set(STORE_FAILED, err, "out of memory");
				break;
			}
			names = p;
		}
		names[*n].jobid = (uint32_t)sqlite3_column_int64(st, 0);
		names[(*n)++].submit_time = sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	if (rv < 0) {
		free(names);
		return NULL;
	}
	return names ? names : calloc(1, sizeof(*names));
}

int store_run_key(struct store *s, const struct store_run *r, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_RUN_KEY, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, r->key) < 0)
		return store_bad_key(s, r->key, err);
	sqlite3_bind_int64(st, 2, r->submit_time);
	sqlite3_bind_int64(st, 3, r->array_job);
	rv = store_step(s, st, "cannot read the runs of a key", err);
	if (rv == 1 && sqlite3_column_int(st, 0))
		rv = RUN_KEY_AGAIN;
	else if (rv == 1 && sqlite3_column_type(st, 1) == SQLITE_NULL)
		rv = RUN_KEY_NEW;
	else if (rv == 1)
		rv = r->array_job && sqlite3_column_int64(st, 1) == r->array_job ? RUN_KEY_ARRAY : RUN_KEY_AGAIN;
	sqlite3_reset(st);
	return rv;
}

int store_runs_each(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err)
{
	size_t n;
	struct run_name *names = list_runs(s, f, &n, err);
	struct store_run r;
	int seen = 0, rv = 0;

	if (!names)
		return -1;
	for (size_t i = 0; i < n; i++) {
		sqlite3_stmt *st = store_stmt(s, Q_RUN_GET, err);

		if (!st) {
			rv = -1;
			break;
		}
		sqlite3_bind_int64(st, 1, names[i].jobid);
		sqlite3_bind_int64(st, 2, names[i].submit_time);
		rv = finish_get(s, st, &r, err);
		if (rv < 0)
			break;
		if (rv == 0)
			continue;
		seen++;
		if (fn(&r, arg))
			break;
	}
	free(names);
	return rv < 0 ? -1 : seen;
}

int store_runs_scan(struct store *s, const struct store_run_filter *f, store_run_fn fn, void *arg,
		    struct errbuf *err)
{
	/* The order of the table itself: by submit_time every row would be looked up, which takes ten times as long. */
	sqlite3_stmt *st = prepare_list(s, f, "*", "jobid DESC, submit_time DESC", err);
	struct store_run r;
	int seen = 0, rv;

	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot read runs", err)) == 1) {
		read_run(st, &r);
		seen++;
		if (fn(&r, arg))
			break;
	}
	sqlite3_finalize(st);
	return rv < 0 ? -1 : seen;
}

int store_runs_past(struct store *s, const char *key, const char *candidate, struct estimate_past *past,
		    size_t max, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_RUN_PAST, err);
	int n = 0, rv = 0;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_fault_set(STORE_FAILED, err, "%s: not a key of 32 hex digits", s->path);
	store_bind_text(st, 2, candidate);
	sqlite3_bind_int64(st, 3, (int64_t)max);
	while ((size_t)n < max && (rv = store_step(s, st, "cannot read runs", err)) == 1) {
		past[n++] = (struct estimate_past){sqlite3_column_double(st, 0), sqlite3_column_double(st, 1), false};
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : n;
}

/* ---- accuracy ---- */

struct tally {
	struct store_accuracy a;
	double *rel; /* |error| of the completed runs */
	size_t n, cap;
	double bias, requested, limited;
	uint64_t inside, under, n_requested, n_limited;
};

static double share_used(double elapsed_s, uint32_t limit_min)
{
	return elapsed_s / (60.0 * limit_min);
}

static bool is_limit(uint32_t minutes)
{
	return minutes && minutes < DURATION_UNSET;
}

static int tally_add(struct tally *t, sqlite3_stmt *st)
{
	double elapsed = sqlite3_column_double(st, 1), pred = sqlite3_column_double(st, 2);
	double hi = sqlite3_column_double(st, 3), lo = sqlite3_column_double(st, 4);
	uint32_t user = (uint32_t)sqlite3_column_int64(st, 5), limit = (uint32_t)sqlite3_column_int64(st, 6);

	t->a.extended += sqlite3_column_int64(st, 7) > 0;
	if (sqlite3_column_int(st, 8)) {
		t->a.timed_out++;
		return 0;
	}
	if (t->n == t->cap) {
		double *p = realloc(t->rel, (t->cap = t->cap ? t->cap * 2 : 64) * sizeof(*p));

		if (!p)
			return -1;
		t->rel = p;
	}
	t->rel[t->n++] = fabs(elapsed - pred) / elapsed;
	t->bias += (pred - elapsed) / elapsed;
	t->under += elapsed > hi;
	t->inside += elapsed >= lo && elapsed <= hi;
	if (is_limit(user)) {
		t->requested += share_used(elapsed, user);
		t->n_requested++;
	}
	if (is_limit(limit)) {
		t->limited += share_used(elapsed, limit);
		t->n_limited++;
	}
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tally_finish(struct tally *t)
{
	struct store_accuracy *a = &t->a;
	double sum = 0;

	a->n = t->n;
	/* A run that was killed at its limit counts as predicted too short. */
	if (t->n + a->timed_out)
		a->share_under = (double)(t->under + a->timed_out) / (double)(t->n + a->timed_out);
	if (!t->n)
		return;
	qsort(t->rel, t->n, sizeof(*t->rel), compare_doubles);
	for (size_t i = 0; i < t->n; i++)
		sum += t->rel[i];
	a->mean_abs_rel = sum / (double)t->n;
	a->median_abs_rel = (t->rel[(t->n - 1) / 2] + t->rel[t->n / 2]) / 2;
	a->p90_abs_rel = t->rel[(size_t)ceil(0.9 * (double)t->n) - 1];
	a->bias_rel = t->bias / (double)t->n;
	a->share_inside = (double)t->inside / (double)t->n;
	a->used_of_requested = t->n_requested ? t->requested / (double)t->n_requested : 0;
	a->used_of_limit = t->n_limited ? t->limited / (double)t->n_limited : 0;
}

static void tally_clear(struct tally *t)
{
	free(t->rel);
	*t = (struct tally){0};
}

/* All candidates' sums, by name; the statement is closed before any callback. */
static int collect_accuracy(struct store *s, sqlite3_stmt *st, struct store_accuracy **out, size_t *n,
			    struct errbuf *err)
{
	struct tally t = {0};
	bool open = false;
	int rv;

	for (;;) {
		char name[CONF_CANDIDATE_MAX] = "";

		rv = store_step(s, st, "cannot read runs", err);
		if (rv == 1)
			store_column_text(st, 0, name, sizeof(name));
		if (open && (rv != 1 || strcmp(name, t.a.candidate))) {
			struct store_accuracy *p = realloc(*out, (*n + 1) * sizeof(*p));

			if (!p)
				goto memory;
			*out = p;
			tally_finish(&t);
			p[(*n)++] = t.a;
			tally_clear(&t);
			open = false;
		}
		if (rv != 1)
			break;
		if (!open)
			snprintf(t.a.candidate, sizeof(t.a.candidate), "%s", name);
		open = true;
		if (tally_add(&t, st) < 0)
			goto memory;
	}
	tally_clear(&t);
	return rv;
memory:
	tally_clear(&t);
	return store_fault_set(STORE_FAILED, err, "out of memory");
}

int store_accuracy_each(struct store *s, uint32_t uid, const char *key, int64_t since, store_accuracy_fn fn,
			void *arg, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ACCURACY, err);
	struct store_accuracy *all = NULL;
	size_t n = 0, seen = 0;
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, uid == STORE_ALL_USERS ? -1 : (int64_t)uid);
	if (key && store_bind_key(st, 2, key) < 0)
		return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits",
				       s->path, key);
	sqlite3_bind_int64(st, 3, since);
	rv = collect_accuracy(s, st, &all, &n, err);
	sqlite3_reset(st);
	while (rv == 0 && seen < n) {
		if (fn(&all[seen++], arg))
			break;
	}
	free(all);
	return rv < 0 ? -1 : (int)seen;
}
