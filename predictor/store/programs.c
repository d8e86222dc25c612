/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's programs and estimates: see programs.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/keep.h"

static const char *const state_names[] = {
    [PROGRAM_NEW] = "new",     [PROGRAM_TRACED] = "traced", [PROGRAM_BUILDING] = "building",
    [PROGRAM_READY] = "ready", [PROGRAM_FAILED] = "failed",
};

const char *program_state_name(enum program_state state)
{
	return (unsigned)state <= PROGRAM_FAILED ? state_names[state] : "unknown";
}

bool store_program_lacks_trace(const struct store_program *p)
{
	return p->state == PROGRAM_FAILED && !p->n_traces && p->retrace_at;
}

/* ---- programs ---- */

static int program_write(struct store *s, const struct store_program *p, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PROGRAM_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, p->key) < 0)
		return store_bad_key(s, p->key, err);
	if (p->family[0] && store_bind_key(st, 2, p->family) < 0)
		return store_bad_key(s, p->family, err);
	sqlite3_bind_int64(st, 3, p->uid);
	sqlite3_bind_int(st, 4, (int)p->state);
	store_bind_text(st, 5, p->reason);
	store_bind_text(st, 6, p->name);
	sqlite3_bind_int64(st, 7, p->source_job);
	store_bind_text(st, 8, p->source_candidate);
	sqlite3_bind_double(st, 9, p->source_elapsed_s);
	sqlite3_bind_int64(st, 10, p->n_traces);
	sqlite3_bind_double(st, 11, p->mpi_s);
	sqlite3_bind_int64(st, 12, p->nodes);
	sqlite3_bind_int64(st, 13, p->tasks);
	sqlite3_bind_int64(st, 14, p->created);
	sqlite3_bind_int64(st, 15, p->updated);
	sqlite3_bind_int64(st, 16, p->retrace_at);
	sqlite3_bind_int64(st, 17, p->shape);
	return store_run_stmt(s, st, "cannot write a program", err) < 0 ? -1 : 0;
}

int store_program_put(struct store *s, const struct store_program *p, struct errbuf *err)
{
	if (store_begin(s, err) < 0)
		return -1;
	if (program_write(s, p, err) == 0 && store_index_add(s, STORE_INDEX_PROGRAM, p->key, NULL, err) == 0 &&
	    store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

static void read_program(sqlite3_stmt *st, struct store_program *p)
{
	int state = sqlite3_column_int(st, 3);

	store_column_key(st, 0, p->key);
	store_column_key(st, 1, p->family);
	p->uid = (uint32_t)sqlite3_column_int64(st, 2);
	p->state = state < 0 || state > PROGRAM_FAILED ? PROGRAM_FAILED : (enum program_state)state;
	store_column_text(st, 4, p->reason, sizeof(p->reason));
	store_column_text(st, 5, p->name, sizeof(p->name));
	p->source_job = (uint32_t)sqlite3_column_int64(st, 6);
	store_column_text(st, 7, p->source_candidate, sizeof(p->source_candidate));
	p->source_elapsed_s = sqlite3_column_double(st, 8);
	p->n_traces = (uint32_t)sqlite3_column_int64(st, 9);
	p->mpi_s = sqlite3_column_double(st, 10);
	p->nodes = (uint32_t)sqlite3_column_int64(st, 11);
	p->tasks = (uint32_t)sqlite3_column_int64(st, 12);
	p->created = sqlite3_column_int64(st, 13);
	p->updated = sqlite3_column_int64(st, 14);
	p->retrace_at = sqlite3_column_int64(st, 15);
	p->shape = sqlite3_column_int64(st, 16);
}

int store_program_get(struct store *s, const char *key, struct store_program *p, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PROGRAM_GET, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	rv = store_step(s, st, "cannot read a program", err);
	if (rv == 1)
		read_program(st, p);
	sqlite3_reset(st);
	return rv;
}

int store_program_set_state(struct store *s, const char *key, enum program_state state, const char *reason,
			    int64_t now, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PROGRAM_STATE, err);
	char cut[STORE_REASON_MAX];
	int n;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	snprintf(cut, sizeof(cut), "%s", reason ? reason : "");
	sqlite3_bind_int(st, 2, (int)state);
	store_bind_text(st, 3, cut);
	sqlite3_bind_int64(st, 4, now);
	n = store_run_stmt(s, st, "cannot write a program", err);
	if (!n)
		return store_fault_set(STORE_FAILED, err, "%s: no program has the key %s", s->path, key);
	return n < 0 ? -1 : 0;
}

static int drop_by_key(struct store *s, enum store_query q, const char *key, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	return store_run_stmt(s, st, "cannot drop a program", err);
}

int store_program_forget(struct store *s, const char *key, struct errbuf *err)
{
	bool own = !s->depth;
	int n;

	if (own && store_begin(s, err) < 0)
		return -1;
	if (drop_by_key(s, Q_ESTIMATE_DROP_ALL, key, err) < 0 ||
	    drop_by_key(s, Q_PROBE_DROP_ALL, key, err) < 0 || drop_by_key(s, Q_BASE_DROP, key, err) < 0)
		goto fail;
	n = drop_by_key(s, Q_PROGRAM_DROP, key, err);
	if (n < 0 || (own && store_commit(s, err) < 0))
		goto fail;
	return n > 0;
fail:
	if (own)
		store_rollback(s);
	return -1;
}

/* The keys that match, first of all: the callback may change the table that we walk. */
static char *list_program_keys(struct store *s, const struct store_program_filter *f, size_t *n,
			       struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, f->within ? Q_PROGRAM_LATEST : Q_PROGRAM_LIST, err);
	char *keys = NULL;
	size_t cap = 0;
	int rv;

	*n = 0;
	if (!st)
		return NULL;
	sqlite3_bind_int64(st, 1, f->uid == STORE_ALL_USERS ? -1 : (int64_t)f->uid);
	if (f->family && store_bind_key(st, 2, f->family) < 0) {
		store_bad_key(s, f->family, err);
		return NULL;
	}
	sqlite3_bind_int64(st, 3, f->state_mask);
	sqlite3_bind_int64(st, 4, f->max ? (int64_t)f->max : -1);
	if (f->within)
		sqlite3_bind_int64(st, 5, f->within);
	while ((rv = store_step(s, st, "cannot list programs", err)) == 1) {
		if (*n == cap) {
			char *p = realloc(keys, (cap = cap ? cap * 2 : 64) * (IDENTITY_KEY_LEN + 1));

			if (!p) {
				store_fault_set(STORE_FAILED, err, "out of memory");
				rv = -1;
				break;
			}
			keys = p;
		}
		store_column_key(st, 0, keys + (*n)++ * (IDENTITY_KEY_LEN + 1));
	}
	sqlite3_reset(st);
	if (rv < 0) {
		free(keys);
		return NULL;
	}
	return keys ? keys : calloc(1, 1);
}

int store_programs_each(struct store *s, const struct store_program_filter *f, store_program_fn fn, void *arg,
			struct errbuf *err)
{
	size_t n;
	char *keys = list_program_keys(s, f, &n, err);
	struct store_program p;
	int seen = 0, rv = 0;

	if (!keys)
		return -1;
	for (size_t i = 0; i < n; i++) {
		rv = store_program_get(s, keys + i * (IDENTITY_KEY_LEN + 1), &p, err);
		if (rv < 0)
			break;
		if (rv == 0)
			continue;
		seen++;
		if (fn(&p, arg))
			break;
	}
	free(keys);
	return rv < 0 ? -1 : seen;
}

/* ---- estimates ---- */

int store_estimate_put(struct store *s, const char *key, const struct store_estimate *e, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ESTIMATE_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	store_bind_text(st, 2, e->candidate);
	sqlite3_bind_double(st, 3, e->e.mean_s);
	sqlite3_bind_double(st, 4, e->e.lo_s);
	sqlite3_bind_double(st, 5, e->e.hi_s);
	sqlite3_bind_int(st, 6, (int)e->e.kind);
	sqlite3_bind_int64(st, 7, e->e.n);
	store_bind_text(st, 8, e->node_class);
	sqlite3_bind_int64(st, 9, e->updated);
	sqlite3_bind_double(st, 10, e->scale > 0 ? e->scale : 1);
	return store_run_stmt(s, st, "cannot write an estimate", err) < 0 ? -1 : 0;
}

int store_estimate_drop(struct store *s, const char *key, const char *candidate, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ESTIMATE_DROP, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	store_bind_text(st, 2, candidate);
	return store_run_stmt(s, st, "cannot drop an estimate", err) < 0 ? -1 : 0;
}

int store_estimate_updated(struct store *s, const char *key, const char *candidate, enum estimate_kind *kind, int64_t *updated,
			   struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ESTIMATE_UPDATED, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	store_bind_text(st, 2, candidate);
	rv = store_step(s, st, "cannot read an estimate", err);
	if (rv == 1) {
		*kind = (enum estimate_kind)sqlite3_column_int(st, 0);
		*updated = sqlite3_column_int64(st, 1);
	}
	sqlite3_reset(st);
	return rv;
}

static void read_estimate(sqlite3_stmt *st, struct store_estimate *e)
{
	store_column_text(st, 0, e->candidate, sizeof(e->candidate));
	e->e.mean_s = sqlite3_column_double(st, 1);
	e->e.lo_s = sqlite3_column_double(st, 2);
	e->e.hi_s = sqlite3_column_double(st, 3);
	e->e.kind = (enum estimate_kind)sqlite3_column_int(st, 4);
	e->e.n = (unsigned)sqlite3_column_int64(st, 5);
	store_column_text(st, 6, e->node_class, sizeof(e->node_class));
	e->updated = sqlite3_column_int64(st, 7);
	e->scale = sqlite3_column_double(st, 8);
	e->stale = sqlite3_column_int(st, 9) != 0;
	if (e->stale) { /* measured on nodes that are no more */
		e->e.lo_s = fmin(e->e.lo_s, STORE_STALE_LO * e->e.mean_s);
		e->e.hi_s = fmax(e->e.hi_s, STORE_STALE_HI * e->e.mean_s);
	}
}

static int read_estimates(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_ESTIMATE_LIST, err);
	int rv = 0;

	out->n_estimates = 0;
	if (!st)
		return -1;
	store_bind_key(st, 1, key);
	while (out->n_estimates < STORE_ESTIMATES_MAX &&
	       (rv = store_step(s, st, "cannot read estimates", err)) == 1)
		read_estimate(st, &out->estimates[out->n_estimates++]);
	sqlite3_reset(st);
	return rv < 0 ? -1 : 0;
}

int store_lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	sqlite3_stmt *st;
	int rv;

	if (store_index_lacks(s, STORE_INDEX_PROGRAM, key, NULL))
		return 0;
	st = store_stmt(s, Q_PROGRAM_GET, err);
	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	rv = store_step(s, st, "cannot read a program", err);
	if (rv == 1) {
		read_program(st, &out->program);
		/* The first statement is still open: both see one snapshot. */
		if (read_estimates(s, key, out, err) < 0)
			rv = -1;
	}
	sqlite3_reset(st);
	return rv;
}
