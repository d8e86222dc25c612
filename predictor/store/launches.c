/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See launches.h. A row's length tells what it is: a group, a key or a count. */
#include <string.h>
#define XXH_INLINE_ALL /* runs in every submission */
#include <xxhash.h>

#include "predictor/store/internal.h"
#include "predictor/store/launches.h"
#include "predictor/store/programs.h"

#define LAUNCHES_LEN 35 /* "v1:<32 hex>" */
/* Highest bits of names: never those of a group, nor of the other kind of row; SQLite's row ids are signed.
 */
#define LAUNCH_BIT (UINT64_C(1) << 61)
#define KIND_BIT   (UINT64_C(1) << 60)

uint64_t store_launch_name(uint32_t uid, const struct identity_layout *l, const char *launches)
{
	struct {
		uint32_t numbers[7];
		char hash[LAUNCHES_LEN - 3];
	} in = {.numbers = {uid, l->nodes_min, l->nodes_max, l->tasks, l->tasks_per_node, l->cpus_per_task,
			    l->cpus_min}};

	if (!launches || strnlen(launches, LAUNCHES_LEN + 1) != LAUNCHES_LEN ||
	    strncmp(launches, "v1:", 3) != 0 || !identity_key_valid(launches + 3))
		return 0;
	memcpy(in.hash, launches + 3, sizeof(in.hash));
	return (XXH3_64bits(&in, sizeof(in)) & (LAUNCH_BIT - 1)) | LAUNCH_BIT;
}

uint64_t store_kind_name(uint32_t uid, const char *name, const char *family)
{
	char in[sizeof(uid) + IDENTITY_KEY_LEN +
		CONF_CANDIDATE_MAX]; /* as much of a name as the store keeps */
	size_t n = sizeof(uid) + IDENTITY_KEY_LEN;

	if (!identity_key_valid(family))
		return 0;
	memcpy(in, &uid, sizeof(uid));
	memcpy(in + sizeof(uid), family, IDENTITY_KEY_LEN);
	for (size_t i = 0; name && name[i] && i + 1 < CONF_CANDIDATE_MAX; i++)
		if (name[i] < '0' || name[i] > '9')
			in[n++] = name[i];
	return (XXH3_64bits(in, n) & (KIND_BIT - 1)) | KIND_BIT;
}

/* ---- rows ---- */

/* As the index has it when it is built from the rows: the digits of the name as bytes, as hex digits. */
static const char *index_name(uint64_t name, char out[IDENTITY_KEY_LEN + 1])
{
	for (int i = 0; i < 16; i++) {
		unsigned digit = name >> (60 - 4 * i) & 15;

		out[2 * i] = digit < 10 ? '3' : '6';
		out[2 * i + 1] = (char)('0' + (digit < 10 ? digit : digit - 9));
	}
	out[IDENTITY_KEY_LEN] = '\0';
	return out;
}

/* The row's statement if the row has this length; NULL: no such row, or an error: *rv tells it. */
static sqlite3_stmt *row_get(struct store *s, uint64_t name, int bytes, int *rv, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, Q_GROUP_GET, err);

	*rv = -1;
	if (!st)
		return NULL;
	sqlite3_bind_int64(st, 1, (int64_t)name);
	*rv = store_step(s, st, "cannot read what a program launches", err);
	if (*rv == 1 && sqlite3_column_bytes(st, 0) == bytes)
		return st;
	sqlite3_reset(st);
	*rv = *rv < 0 ? -1 : 0;
	return NULL;
}

struct row_of {
	uint64_t name;
	uint32_t uid;
	int64_t now;
};

/* sought: submissions must find it. Not so a kind with few new keys. */
static int row_put(struct store *s, const struct row_of *row, sqlite3_stmt *st, bool sought,
		   struct errbuf *err)
{
	char text[IDENTITY_KEY_LEN + 1];

	sqlite3_bind_int64(st, 1, (int64_t)row->name);
	sqlite3_bind_int64(st, 3, row->now);
	sqlite3_bind_int64(st, 4, row->uid);
	if (store_run_stmt(s, st, "cannot write what a program launches", err) < 0)
		return -1;
	return sought ? store_index_add(s, STORE_INDEX_LAUNCH, index_name(row->name, text), NULL, err) : 0;
}

static int launch_read(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err)
{
	int rv;
	sqlite3_stmt *st = row_get(s, launch, STORE_KEY_BYTES, &rv, err);

	if (!st)
		return rv;
	store_column_key(st, 0, key);
	sqlite3_reset(st);
	return 1;
}

static int kind_read(struct store *s, uint64_t kind, uint32_t *fresh, struct errbuf *err)
{
	int rv;
	sqlite3_stmt *st = row_get(s, kind, sizeof(*fresh), &rv, err);

	*fresh = 0;
	if (!st)
		return rv;
	memcpy(fresh, sqlite3_column_blob(st, 0), sizeof(*fresh));
	sqlite3_reset(st);
	return 1;
}

static bool is_lacking(const struct store *s, uint64_t name)
{
	char text[IDENTITY_KEY_LEN + 1];

	return !name || store_index_lacks(s, STORE_INDEX_LAUNCH, index_name(name, text), NULL);
}

int store_launch_get(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err)
{
	return is_lacking(s, launch) ? 0 : launch_read(s, launch, key, err);
}

int store_kind_get(struct store *s, uint64_t kind, uint32_t *fresh, struct errbuf *err)
{
	int rv = is_lacking(s, kind) ? 0 : kind_read(s, kind, fresh, err);

	return rv == 1 ? *fresh >= STORE_KIND_FRESH : rv;
}

/* What of the program that is known for these launches? */
enum known { KNOWN_NOT, KNOWN_KEEPS, KNOWN_YIELDS };

/* A program without a trace yields to another text. If the tracer is suspected of its failure, it stays: the others
 * are not traced. */
static int launch_known(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err)
{
	struct store_program p;
	int rv = launch_read(s, launch, key, err);

	if (rv == 1)
		rv = store_program_get(s, key, &p, err);
	if (rv != 1)
		return rv < 0 ? -1 : KNOWN_NOT;
	return store_program_lacks_trace(&p) && !strstr(p.reason, STORE_NOT_BY_ITSELF) ? KNOWN_YIELDS : KNOWN_KEEPS;
}

static int launch_write(struct store *s, const struct row_of *row, const char *key, struct errbuf *err)
{
	char old[IDENTITY_KEY_LEN + 1];
	int known = launch_known(s, row->name, old, err);
	sqlite3_stmt *st;

	if (known < 0)
		return -1;
	if (known == KNOWN_KEEPS)
		key = old;
	st = store_stmt(s, Q_GROUP_PUT, err);
	if (!st)
		return -1;
	if (store_bind_key(st, 2, key) < 0)
		return store_bad_key(s, key, err);
	return row_put(s, row, st, true, err);
}

int store_launch_put(struct store *s, uint64_t launch, const char *key, uint32_t uid, int64_t now,
		     struct errbuf *err)
{
	const struct row_of row = {launch, uid, now};

	if (!launch)
		return 0;
	if (store_begin(s, err) < 0)
		return -1;
	if (launch_write(s, &row, key, err) == 0 && store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}

int store_launch_yield(struct store *s, uint64_t launch, const char *key, uint32_t uid, int64_t now,
		       struct errbuf *err)
{
	char old[IDENTITY_KEY_LEN + 1];
	struct store_program p;
	int rv = launch ? launch_known(s, launch, old, err) : KNOWN_NOT;

	if (rv != KNOWN_YIELDS)
		return rv < 0 ? -1 : 0;
	rv = store_program_get(s, key, &p, err);
	return rv ? (rv < 0 ? -1 : 0) : store_launch_put(s, launch, key, uid, now, err);
}

int store_launch_forget(struct store *s, const char *key, struct errbuf *err)
{
	sqlite3_stmt *st = store_prepare(s, "DELETE FROM groups WHERE id >= ?1 AND data = ?2", err);
	int rv;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)LAUNCH_BIT);
	rv = store_bind_key(st, 2, key) < 0 ? store_bad_key(s, key, err)
					    : store_run_stmt(s, st, "cannot forget what a program launches", err);
	sqlite3_finalize(st);
	return rv < 0 ? -1 : 0;
}

static int kind_write(struct store *s, const struct row_of *row, bool again, struct errbuf *err)
{
	sqlite3_stmt *st;
	uint32_t fresh;

	if (kind_read(s, row->name, &fresh, err) < 0)
		return -1;
	fresh = again ? 0 : fresh + (fresh < UINT32_MAX);
	st = store_stmt(s, Q_GROUP_PUT, err);
	if (!st)
		return -1;
	sqlite3_bind_blob(st, 2, &fresh, sizeof(fresh), SQLITE_TRANSIENT);
	return row_put(s, row, st, fresh >= STORE_KIND_FRESH, err);
}

int store_kind_add(struct store *s, uint64_t kind, bool again, uint32_t uid, int64_t now, struct errbuf *err)
{
	const struct row_of row = {kind, uid, now};

	if (!kind)
		return 0;
	if (store_begin(s, err) < 0)
		return -1;
	if (kind_write(s, &row, again, err) == 0 && store_commit(s, err) == 0)
		return 0;
	store_rollback(s);
	return -1;
}
