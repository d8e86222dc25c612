/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's probes: see probes.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/store/internal.h"
#include "predictor/store/probes.h"

static const char *const probe_names[] = {
    [PROBE_WAITING] = "waiting",
    [PROBE_SUBMITTED] = "submitted",
    [PROBE_DONE] = "done",
    [PROBE_FAILED] = "failed",
};

const char *probe_state_name(enum probe_state state)
{
	return (unsigned)state <= PROBE_FAILED ? probe_names[state] : "unknown";
}

int store_probe_put(struct store *s, const struct store_probe *p, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PROBE_PUT, err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, p->key) < 0)
		return store_bad_key(s, p->key, err);
	if (p->result && strlen(p->result) > STORE_RESULT_MAX)
		return store_fault_set(STORE_FAILED, err, "%s: a result record is longer than %d bytes",
				       s->path, STORE_RESULT_MAX);
	store_bind_text(st, 2, p->candidate);
	sqlite3_bind_int64(st, 3, p->jobid);
	sqlite3_bind_int(st, 4, (int)p->state);
	sqlite3_bind_int64(st, 5, p->tries);
	store_bind_text(st, 6, p->reason);
	sqlite3_bind_int64(st, 7, p->submitted);
	sqlite3_bind_int64(st, 8, p->updated);
	sqlite3_bind_int64(st, 9, p->not_before);
	sqlite3_bind_double(st, 10, p->cost_node_s);
	if (p->result)
		store_bind_text(st, 11, p->result);
	store_bind_text(st, 12, p->class_hex);
	return store_run_stmt(s, st, "cannot write a probe", err) < 0 ? -1 : 0;
}

static void read_probe(sqlite3_stmt *st, struct store_probe *p)
{
	int state = sqlite3_column_int(st, 3);

	store_column_key(st, 0, p->key);
	store_column_text(st, 1, p->candidate, sizeof(p->candidate));
	p->jobid = (uint32_t)sqlite3_column_int64(st, 2);
	p->state = state < 0 || state > PROBE_FAILED ? PROBE_FAILED : (enum probe_state)state;
	p->tries = (uint32_t)sqlite3_column_int64(st, 4);
	store_column_text(st, 5, p->reason, sizeof(p->reason));
	p->submitted = sqlite3_column_int64(st, 6);
	p->updated = sqlite3_column_int64(st, 7);
	p->not_before = sqlite3_column_int64(st, 8);
	p->cost_node_s = sqlite3_column_double(st, 9);
	store_column_text(st, 11, p->class_hex, sizeof(p->class_hex));
	p->kept = sqlite3_column_type(st, 10) != SQLITE_NULL;
	p->result = NULL;
}

int store_probe_get(struct store *s, const char *key, const char *candidate, struct store_probe *p,
		    struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_PROBE_GET, err);
	int rv;

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0)
		return store_bad_key(s, key, err);
	store_bind_text(st, 2, candidate);
	rv = store_step(s, st, "cannot read a probe", err);
	if (rv == 1)
		read_probe(st, p);
	sqlite3_reset(st);
	return rv;
}

struct probe_name {
	char key[IDENTITY_KEY_LEN + 1];
	char candidate[CONF_CANDIDATE_MAX];
};

static struct probe_name *list_probes(struct store *s, const char *key, unsigned state_mask, size_t *n,
				      struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, key ? Q_PROBE_LIST : Q_PROBE_LIST_ALL, err);
	struct probe_name *names = NULL;
	size_t cap = 0;
	int rv;

	*n = 0;
	if (!st)
		return NULL;
	if (key && store_bind_key(st, 1, key) < 0) {
		store_bad_key(s, key, err);
		return NULL;
	}
	sqlite3_bind_int64(st, 2, state_mask);
	while ((rv = store_step(s, st, "cannot list probes", err)) == 1) {
		if (*n == cap) {
			struct probe_name *p = realloc(names, (cap = cap ? cap * 2 : 16) * sizeof(*p));

			if (!p) {
				store_fault_set(STORE_FAILED, err, "out of memory");
				rv = -1;
				break;
			}
			names = p;
		}
		store_column_key(st, 0, names[*n].key);
		store_column_text(st, 1, names[*n].candidate, sizeof(names[*n].candidate));
		(*n)++;
	}
	sqlite3_reset(st);
	if (rv < 0) {
		free(names);
		return NULL;
	}
	return names ? names : calloc(1, sizeof(*names));
}

int store_probes_each(struct store *s, const char *key, unsigned state_mask, store_probe_fn fn, void *arg,
		      struct errbuf *err)
{
	size_t n;
	struct probe_name *names = list_probes(s, key, state_mask, &n, err);
	int seen = 0, rv = 0;

	if (!names)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct store_probe p;

		rv = store_probe_get(s, names[i].key, names[i].candidate, &p, err);
		if (rv < 0)
			break;
		if (rv == 0)
			continue;
		seen++;
		if (fn(&p, arg))
			break;
	}
	free(names);
	return rv < 0 ? -1 : seen;
}
