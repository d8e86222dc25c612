/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index beside the store (index_file.h). It tells which programs, families and kin the store does not have. A submission of
 * an unknown program then costs slurmctld one transaction: the look at groups of similar runs (groups.c).
 *
 * Invariant: the file with the id that the store holds in meta names every row of any committed state of the store with that
 * id. So names are added before the commit that makes their row visible. If that fails, the same transaction drops the id.
 * Names are never removed, so the index also covers a restored backup. A new index is built under the write lock. Before its id
 * becomes visible, the old file is filled with ones, so that its readers ask the store. A Precedent without index support
 * writes a heartbeat that is not in the file; the file then counts no more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "predictor/store/internal.h"
#include "predictor/store/busy.h"

#define META_INDEX "index"
#define NAMES_MIN  16384

static int index_path(const struct store *s, char *out, size_t size)
{
	int n = snprintf(out, size, "%s" STORE_INDEX_SUFFIX, s->path);

	return n > 0 && (size_t)n < size ? 0 : -1;
}

/* Of the index that the store takes for its own; 0: none. -1: fault. */
static int index_id(struct store *s, uint64_t *id, struct errbuf *err)
{
	char text[24];
	int rv = store_meta_get(s, META_INDEX, text, sizeof(text), err);

	*id = rv == 1 ? strtoull(text, NULL, 16) : 0;
	return rv < 0 ? -1 : 0;
}

static void index_close(struct store *s)
{
	index_file_close(s->index);
	s->index = NULL;
}

/* Have the file with that id open, if it is there. */
static bool index_have(struct store *s, uint64_t id)
{
	char path[4096];
	struct stat st;

	if (s->index && id && index_file_id(s->index) == id)
		return true;
	index_close(s);
	if (!id || index_path(s, path, sizeof(path)) < 0 || stat(s->path, &st) < 0 ||
	    index_file_open(path, st.st_uid, s->writable, &s->index, NULL) < 0)
		return false;
	if (index_file_id(s->index) == id)
		return true;
	index_close(s);
	return false;
}

/* ---- readers ---- */

/* A family's name is both keys. */
static size_t name_of(char out[2 * IDENTITY_KEY_LEN], const char *key, const char *kin)
{
	memcpy(out, key, IDENTITY_KEY_LEN);
	if (!kin)
		return IDENTITY_KEY_LEN;
	memcpy(out + IDENTITY_KEY_LEN, kin, IDENTITY_KEY_LEN);
	return 2 * IDENTITY_KEY_LEN;
}

/* What is as long and no key is in no store either. */
static bool is_long_enough(const char *key)
{
	return strnlen(key, IDENTITY_KEY_LEN + 1) == IDENTITY_KEY_LEN;
}

bool store_index_lacks(const struct store *s, enum store_index_kind kind, const char *key, const char *kin)
{
	char name[2 * IDENTITY_KEY_LEN];

	if (!s->index_counts || !is_long_enough(key) || (kin && !is_long_enough(kin)))
		return false;
	/* What is asked of a program's family and kin is asked after it. */
	if (kind == STORE_INDEX_PROGRAM)
		index_file_look(s->index);
	return !index_file_may_hold(s->index, kind, name, name_of(name, key, kin));
}

int store_index_check(struct store *s, struct errbuf *err)
{
	int64_t heartbeat, beat;
	uint64_t id;

	s->index_counts = false;
	if (s->writable)
		return 0;
	/* Its beat is written before the store's, so it is read after it. */
	if (index_id(s, &id, err) < 0 || store_heartbeat_get(s, &heartbeat, err) < 0)
		return -1;
	s->index_counts = index_have(s, id) && index_file_beat(s->index, &beat) && beat >= heartbeat;
	if (s->index_counts)
		index_file_remember(s->index);
	return s->index_counts;
}

/* ---- writers ---- */

int store_index_add(struct store *s, enum store_index_kind kind, const char *key, const char *kin, struct errbuf *err)
{
	char name[2 * IDENTITY_KEY_LEN];
	uint64_t id;

	if (index_id(s, &id, err) < 0)
		return -1;
	if (!id || (index_have(s, id) && index_file_add(s->index, kind, name, name_of(name, key, kin)) == 0))
		return 0;
	index_close(s);
	return store_meta_drop(s, META_INDEX, err);
}

void store_index_beat(struct store *s, int64_t when)
{
	/* Where it fails, readers see an older beat and leave the index alone. */
	if (s->index)
		index_file_beat_set(s->index, when);
}

/* ---- building ---- */

static const struct {
	enum store_index_kind kind;
	const char *from;
} sources[] = {
    {STORE_INDEX_PROGRAM, "key, NULL FROM programs"},
    {STORE_INDEX_FAMILY, "family, kin FROM families"},
    {STORE_INDEX_MODEL, "kin, NULL FROM models"},
    {STORE_INDEX_TRIAL, "name, NULL FROM trials WHERE guard > 0"},
    /* launches and kinds (launches.c): groups have smaller ids */
    {STORE_INDEX_LAUNCH, "CAST(printf('%016x', id) AS BLOB), NULL FROM groups WHERE id >= 1 << 60"},
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* b NULL: count alone. Returns how many names, -1 with err. */
static int64_t names_each(struct store *s, size_t source, struct index_build *b, struct errbuf *err)
{
	char sql[128], name[2 * IDENTITY_KEY_LEN], key[IDENTITY_KEY_LEN + 1], kin[IDENTITY_KEY_LEN + 1];
	sqlite3_stmt *st;
	int64_t n = 0;
	int rv;

	snprintf(sql, sizeof(sql), "SELECT %s%s", b ? "" : "count(*), ", sources[source].from);
	st = store_prepare(s, sql, err);
	if (!st)
		return -1;
	while ((rv = store_step(s, st, "cannot read names for the index", err)) == 1) {
		if (!b) {
			n = sqlite3_column_int64(st, 0);
			continue;
		}
		store_column_key(st, 0, key);
		store_column_key(st, 1, kin);
		if (key[0]) /* else nobody finds it either */
			index_build_add(b, sources[source].kind, name, name_of(name, key, kin[0] ? kin : NULL));
		n++;
	}
	sqlite3_finalize(st);
	return rv < 0 ? -1 : n;
}

static struct index_build *names_gather(struct store *s, struct errbuf *err)
{
	struct index_build *b;
	int64_t names = 0, n;

	for (size_t i = 0; i < SOURCES; i++, names += n)
		if ((n = names_each(s, i, NULL, err)) < 0)
			return NULL;
	/* Twice as many have room before it is built again. */
	b = index_build_create((size_t)(names * 2 > NAMES_MIN ? names * 2 : NAMES_MIN));
	if (!b) {
		err_set(err, "no memory for an index of %" PRId64 " names", names);
		return NULL;
	}
	for (size_t i = 0; i < SOURCES; i++)
		if (names_each(s, i, b, err) < 0) {
			index_build_destroy(b);
			return NULL;
		}
	return b;
}

/* Readers of the old one, and of one that lost its name, go on to ask the store. */
static int old_fill(struct store *s, struct index_file *old, const char *path, struct errbuf *err)
{
	if ((s->index && index_file_fill(s->index) < 0) || (old && index_file_fill(old) < 0))
		return err_set(err, "%s: the old one cannot be written", path);
	return 0;
}

/* The write lock is held. */
static int index_publish(struct store *s, struct index_build *b, struct errbuf *err)
{
	char path[4096], text[24];
	struct index_file *old = NULL;
	struct stat st;
	int64_t heartbeat;
	uint64_t id;
	int rv = -1;

	if (index_path(s, path, sizeof(path)) < 0 || stat(s->path, &st) < 0)
		return err_set(err, "%s: cannot be indexed", s->path);
	index_file_open(path, st.st_uid, true, &old, NULL);
	if (store_heartbeat_get(s, &heartbeat, err) < 0 ||
	    index_build_publish(b, path, heartbeat, st.st_mode & 0644, st.st_uid, st.st_gid, &id, err) < 0)
		goto out;
	snprintf(text, sizeof(text), "%016" PRIx64, id);
	if (store_meta_set(s, META_INDEX, text, err) == 0)
		rv = old_fill(s, old, path, err);
out:
	index_file_close(old);
	return rv;
}

static int index_build(struct store *s, struct errbuf *err)
{
	struct index_build *b;
	uint64_t id;
	int rv = -1;

	if (store_begin(s, err) < 0)
		return -1;
	b = names_gather(s, err);
	if (b && index_publish(s, b, err) == 0 && store_commit(s, err) == 0)
		rv = 1;
	else
		store_rollback(s);
	index_build_destroy(b);
	index_close(s);
	/* Opened while the file has a name: names are added to it even if somebody removes the file later. */
	if (rv == 1 && index_id(s, &id, err) == 0)
		index_have(s, id);
	return rv;
}

/* As a reader that opens it now would find it. */
static bool index_will_do(struct store *s, uint64_t id, int64_t heartbeat)
{
	struct index_file *kept = s->index;
	int64_t beat;
	bool good;

	s->index = NULL;
	good = index_have(s, id) && index_file_beat(s->index, &beat) && beat >= heartbeat &&
	       index_file_fullness(s->index) < INDEX_FILL_MAX;
	if (good) {
		index_file_close(kept);
	} else if (kept) {
		index_close(s);
		s->index = kept;
	}
	return good;
}

int store_index_renew(struct store *s, struct errbuf *err)
{
	int64_t heartbeat;
	uint64_t id;

	if (!s->writable || s->depth)
		return 0;
	if (index_id(s, &id, err) < 0 || store_heartbeat_get(s, &heartbeat, err) < 0)
		return -1;
	return index_will_do(s, id, heartbeat) ? 0 : index_build(s, err);
}
