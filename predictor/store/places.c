/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doors, shapes and waits in the store: see places.h. Every change raises a counter, by which readers know that what they
 * hold in memory is old. A few hundred rows, so each statement is prepared when it is needed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/store/places.h"
#include "predictor/store/internal.h"

#define META_GENERATION "places"
#define META_DOORS_SEEN "doors_seen"

static sqlite3_stmt *prepare(struct store *s, const char *sql, struct errbuf *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		store_fail(s, rc, "cannot prepare", err);
	return rc == SQLITE_OK ? st : NULL;
}

/* Runs a statement that gives no rows and drops it; st NULL: it could not be prepared. Returns the rows changed. */
static int finish(struct store *s, sqlite3_stmt *st, struct errbuf *err)
{
	int n = st ? store_run_stmt(s, st, "cannot write places", err) : -1;

	sqlite3_finalize(st);
	return n;
}

int store_places_generation(struct store *s, int64_t *generation, struct errbuf *err)
{
	char text[24];
	int rv = store_meta_get(s, META_GENERATION, text, sizeof(text), err);

	*generation = rv == 1 ? strtoll(text, NULL, 10) : 0;
	return rv < 0 ? -1 : 0;
}

int store_doors_seen_set(struct store *s, int64_t seen, struct errbuf *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, seen);
	return store_meta_set(s, META_DOORS_SEEN, text, err);
}

int store_doors_seen(struct store *s, int64_t *seen, struct errbuf *err)
{
	char text[24];
	int rv = store_meta_get(s, META_DOORS_SEEN, text, sizeof(text), err);

	*seen = rv == 1 ? strtoll(text, NULL, 10) : 0;
	return rv < 0 ? -1 : 0;
}

static int generation_raise(struct store *s, struct errbuf *err)
{
	char text[24];
	int64_t generation;

	if (store_places_generation(s, &generation, err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%" PRId64, generation + 1);
	return store_meta_set(s, META_GENERATION, text, err);
}

/* ---- reading ---- */

/* Calls read for each row with room for one more element of that size in *list. */
static int read_all(struct store *s, sqlite3_stmt *st, void **list, size_t *n, size_t size,
		    int (*read)(sqlite3_stmt *st, void *element), struct errbuf *err)
{
	size_t cap = 0;
	int rv;

	*n = 0;
	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot read places", err)) == 1) {
		char *more = *list;

		if (*n == cap) {
			cap = cap ? 2 * cap : 32;
			more = realloc(*list, cap * size);
			if (more)
				*list = more;
		}
		if (!more || (++*n, read(st, more + (*n - 1) * size)) < 0) {
			rv = store_fault_set(STORE_FAILED, err, "out of memory");
			break;
		}
	}
	sqlite3_finalize(st);
	return rv;
}

static char *column_copy(sqlite3_stmt *st, int column)
{
	const unsigned char *text = sqlite3_column_text(st, column);

	return strdup(text ? (const char *)text : "");
}

static int read_partition(sqlite3_stmt *st, void *element)
{
	struct place_partition *p = element;

	*p = (struct place_partition){
		.open = sqlite3_column_int(st, 1) != 0,
		.restricted = sqlite3_column_int(st, 2) != 0,
		.min_nodes = (uint32_t)sqlite3_column_int64(st, 3),
		.max_nodes = (uint32_t)sqlite3_column_int64(st, 4),
		.total_nodes = (uint32_t)sqlite3_column_int64(st, 5),
		.allow_groups = column_copy(st, 6),
		.allow_accounts = column_copy(st, 7),
		.deny_accounts = column_copy(st, 8),
		.allow_qos = column_copy(st, 9),
		.deny_qos = column_copy(st, 10),
		.is_default = sqlite3_column_int(st, 11) != 0,
		.default_min = (uint32_t)sqlite3_column_int64(st, 12),
		.max_min = (uint32_t)sqlite3_column_int64(st, 13),
		.overtime_min = (uint32_t)sqlite3_column_int64(st, 14),
	};
	store_column_text(st, 0, p->name, sizeof(p->name));
	return p->allow_groups && p->allow_accounts && p->deny_accounts && p->allow_qos && p->deny_qos ? 0 : -1;
}

static int read_access(sqlite3_stmt *st, void *element)
{
	struct place_access *a = element;

	*a = (struct place_access){.uid = (uint32_t)sqlite3_column_int64(st, 0), .checked = sqlite3_column_int64(st, 2)};
	store_column_text(st, 1, a->partition, sizeof(a->partition));
	return 0;
}

static int read_shape(sqlite3_stmt *st, void *element)
{
	struct place_shape *p = element;

	*p = (struct place_shape){
		.id = sqlite3_column_int64(st, 0),
		.nodes = (uint32_t)sqlite3_column_int64(st, 1),
		.tasks = (uint32_t)sqlite3_column_int64(st, 2),
		.tasks_per_node = (uint32_t)sqlite3_column_int64(st, 3),
		.cpus_per_task = (uint32_t)sqlite3_column_int64(st, 4),
		.memory = (uint64_t)sqlite3_column_int64(st, 5),
		.exclusive = sqlite3_column_int(st, 6) != 0,
		.used = sqlite3_column_int64(st, 9),
	};
	store_column_text(st, 7, p->account, sizeof(p->account));
	store_column_text(st, 8, p->qos, sizeof(p->qos));
	return 0;
}

static int read_wait(sqlite3_stmt *st, void *element)
{
	struct place_wait *w = element;
	int answer = sqlite3_column_int(st, 6);

	*w = (struct place_wait){
		.shape = sqlite3_column_int64(st, 0),
		.limit_min = (uint32_t)sqlite3_column_int64(st, 2),
		.uid = (uint32_t)sqlite3_column_int64(st, 3),
		.used = sqlite3_column_int64(st, 4),
		.asked = sqlite3_column_int64(st, 5),
		.answer = answer < 0 || answer > PLACE_REFUSED ? PLACE_UNASKED : (enum place_answer)answer,
		.wait_s = sqlite3_column_double(st, 7),
		.cost_ms = sqlite3_column_double(st, 8),
	};
	store_column_text(st, 1, w->candidate, sizeof(w->candidate));
	store_column_text(st, 9, w->reason, sizeof(w->reason));
	return 0;
}

static int load_partitions(struct store *s, struct places *p, struct errbuf *err)
{
	return read_all(s, prepare(s, "SELECT * FROM places ORDER BY name", err), (void **)&p->partitions,
			&p->n_partitions, sizeof(*p->partitions), read_partition, err);
}

static int load_all(struct store *s, size_t max_waits, struct places *p, struct errbuf *err)
{
	sqlite3_stmt *waits;

	if (load_partitions(s, p, err) < 0 ||
	    read_all(s, prepare(s, "SELECT * FROM access", err), (void **)&p->access, &p->n_access, sizeof(*p->access),
		     read_access, err) < 0 ||
	    read_all(s, prepare(s, "SELECT * FROM shapes ORDER BY id", err), (void **)&p->shapes, &p->n_shapes,
		     sizeof(*p->shapes), read_shape, err) < 0)
		return -1;
	waits = prepare(s, "SELECT * FROM (SELECT * FROM waits ORDER BY used DESC, shape, candidate, limit_min LIMIT ?1)"
			   " ORDER BY shape, candidate, limit_min", err);
	if (waits)
		sqlite3_bind_int64(waits, 1, max_waits ? (int64_t)max_waits : -1);
	return read_all(s, waits, (void **)&p->waits, &p->n_waits, sizeof(*p->waits), read_wait, err);
}

int store_places_load(struct store *s, size_t max_waits, struct places *out, struct errbuf *err)
{
	places_free(out);
	if (store_begin(s, err) < 0)
		return -1;
	if (load_all(s, max_waits, out, err) >= 0 && store_commit(s, err) >= 0)
		return 0;
	store_rollback(s);
	places_free(out);
	return -1;
}

/* ---- partitions ---- */

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_partition(const struct place_partition *a, const struct place_partition *b)
{
	return !strcmp(a->name, b->name) && a->open == b->open && a->restricted == b->restricted &&
	       a->min_nodes == b->min_nodes && a->max_nodes == b->max_nodes && a->total_nodes == b->total_nodes &&
	       same_text(a->allow_groups, b->allow_groups) && same_text(a->allow_accounts, b->allow_accounts) &&
	       same_text(a->deny_accounts, b->deny_accounts) && same_text(a->allow_qos, b->allow_qos) &&
	       same_text(a->deny_qos, b->deny_qos) && a->is_default == b->is_default && a->default_min == b->default_min &&
	       a->max_min == b->max_min && a->overtime_min == b->overtime_min;
}

/* Who is in the groups of a list says nothing about another list. */
static int access_forget(struct store *s, const struct place_partition *old, const struct place_partition *p,
			 struct errbuf *err)
{
	sqlite3_stmt *st;

	if (old && same_text(old->allow_groups, p->allow_groups))
		return 0;
	st = prepare(s, "DELETE FROM access WHERE partition = ?1", err);
	if (st)
		store_bind_text(st, 1, p->name);
	return finish(s, st, err) < 0 ? -1 : 0;
}

/* 1 the table holds exactly these, 0 not; then memberships of other lists of groups are dropped. */
static int partitions_same(struct store *s, const struct place_partition *p, size_t n, struct errbuf *err)
{
	struct places have = {0};
	int rv = load_partitions(s, &have, err);
	bool same = have.n_partitions == n;

	for (size_t i = 0; i < n && same; i++) {
		const struct place_partition *old = places_partition(&have, p[i].name);

		same = old && same_partition(old, &p[i]);
	}
	for (size_t i = 0; i < n && !same && rv >= 0; i++)
		rv = access_forget(s, places_partition(&have, p[i].name), &p[i], err);
	places_free(&have);
	return rv < 0 ? -1 : same;
}

static int partition_put(struct store *s, const struct place_partition *p, struct errbuf *err)
{
	sqlite3_stmt *st = prepare(s, "INSERT OR REPLACE INTO places VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
				      " ?13, ?14, ?15)", err);

	if (!st)
		return -1;
	store_bind_text(st, 1, p->name);
	sqlite3_bind_int(st, 2, p->open);
	sqlite3_bind_int(st, 3, p->restricted);
	sqlite3_bind_int64(st, 4, p->min_nodes);
	sqlite3_bind_int64(st, 5, p->max_nodes);
	sqlite3_bind_int64(st, 6, p->total_nodes);
	store_bind_text(st, 7, p->allow_groups);
	store_bind_text(st, 8, p->allow_accounts);
	store_bind_text(st, 9, p->deny_accounts);
	store_bind_text(st, 10, p->allow_qos);
	store_bind_text(st, 11, p->deny_qos);
	sqlite3_bind_int(st, 12, p->is_default);
	sqlite3_bind_int64(st, 13, p->default_min);
	sqlite3_bind_int64(st, 14, p->max_min);
	sqlite3_bind_int64(st, 15, p->overtime_min);
	return finish(s, st, err);
}

int store_places_put(struct store *s, const struct place_partition *p, size_t n, struct errbuf *err)
{
	int same;

	if (store_begin(s, err) < 0)
		return -1;
	same = partitions_same(s, p, n, err);
	if (same < 0)
		goto fail;
	if (same)
		return store_commit(s, err);
	if (finish(s, prepare(s, "DELETE FROM places", err), err) < 0)
		goto fail;
	for (size_t i = 0; i < n; i++) {
		if (partition_put(s, &p[i], err) < 0)
			goto fail;
	}
	if (generation_raise(s, err) < 0 || store_commit(s, err) < 0)
		goto fail;
	return 0;
fail:
	store_rollback(s);
	return -1;
}

int store_access_put(struct store *s, uint32_t uid, const char *partition, bool in, int64_t now, struct errbuf *err)
{
	sqlite3_stmt *st = prepare(s, in ? "INSERT OR REPLACE INTO access VALUES(?1, ?2, ?3)"
					 : "DELETE FROM access WHERE uid = ?1 AND partition = ?2", err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, uid);
	store_bind_text(st, 2, partition);
	if (in)
		sqlite3_bind_int64(st, 3, now);
	n = finish(s, st, err);
	return n > 0 ? generation_raise(s, err) : n;
}

/* ---- shapes and waits ---- */

int store_shape_put(struct store *s, const struct place_shape *p, struct errbuf *err)
{
	sqlite3_stmt *st = prepare(s, "INSERT INTO shapes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
				      " ON CONFLICT(id) DO UPDATE SET used = ?10 WHERE used < ?10", err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, p->id);
	sqlite3_bind_int64(st, 2, p->nodes);
	sqlite3_bind_int64(st, 3, p->tasks);
	sqlite3_bind_int64(st, 4, p->tasks_per_node);
	sqlite3_bind_int64(st, 5, p->cpus_per_task);
	sqlite3_bind_int64(st, 6, (int64_t)p->memory);
	sqlite3_bind_int(st, 7, p->exclusive);
	store_bind_text(st, 8, p->account);
	store_bind_text(st, 9, p->qos);
	sqlite3_bind_int64(st, 10, p->used);
	n = finish(s, st, err);
	return n > 0 ? generation_raise(s, err) : n;
}

int store_program_shape(struct store *s, const char *key, int64_t shape, struct errbuf *err)
{
	sqlite3_stmt *st = prepare(s, "UPDATE programs SET shape = ?2 WHERE key = ?1 AND shape <> ?2", err);

	if (!st)
		return -1;
	if (store_bind_key(st, 1, key) < 0) {
		sqlite3_finalize(st);
		return store_fault_set(STORE_FAILED, err, "%s: '%.40s' is not a key of 32 hex digits", s->path, key);
	}
	sqlite3_bind_int64(st, 2, shape);
	return finish(s, st, err) < 0 ? -1 : 0;
}

static sqlite3_stmt *wait_bind(struct store *s, const char *sql, const struct place_wait *w, struct errbuf *err)
{
	sqlite3_stmt *st = prepare(s, sql, err);

	if (!st)
		return NULL;
	sqlite3_bind_int64(st, 1, w->shape);
	store_bind_text(st, 2, w->candidate);
	sqlite3_bind_int64(st, 3, w->limit_min);
	return st;
}

int store_wait_want(struct store *s, const struct place_wait *w, struct errbuf *err)
{
	sqlite3_stmt *st = wait_bind(s, "INSERT INTO waits VALUES(?1, ?2, ?3, ?4, ?5, 0, 0, 0, 0, '')"
					" ON CONFLICT DO UPDATE SET uid = ?4, used = ?5 WHERE used < ?5", w, err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 4, w->uid);
	sqlite3_bind_int64(st, 5, w->used);
	n = finish(s, st, err);
	return n > 0 ? generation_raise(s, err) : n;
}

int store_wait_put(struct store *s, const struct place_wait *w, struct errbuf *err)
{
	sqlite3_stmt *st = wait_bind(s, "UPDATE waits SET asked = ?4, answer = ?5, wait_s = ?6, cost_ms = ?7, reason = ?8"
					" WHERE shape = ?1 AND candidate = ?2 AND limit_min = ?3", w, err);
	int n;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 4, w->asked);
	sqlite3_bind_int(st, 5, (int)w->answer);
	sqlite3_bind_double(st, 6, w->wait_s);
	sqlite3_bind_double(st, 7, w->cost_ms);
	store_bind_text(st, 8, w->reason);
	n = finish(s, st, err);
	return n > 0 ? generation_raise(s, err) : n;
}

int store_places_prune(struct store *s, int64_t before, struct errbuf *err)
{
	static const char *const steps[] = {"DELETE FROM waits WHERE used < ?1", "DELETE FROM shapes WHERE used < ?1",
					    "DELETE FROM access WHERE checked < ?1"};
	int total = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		sqlite3_stmt *st = prepare(s, steps[i], err);
		int n;

		if (st)
			sqlite3_bind_int64(st, 1, before);
		n = finish(s, st, err);
		if (n < 0)
			return -1;
		total += n;
	}
	return total ? generation_raise(s, err) : 0;
}
