/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: one SQLite file (write-ahead log) with all data of Precedent. precedentd creates it and opens it for writing. The
 * job_submit plugin and the command line open it for reading. SQL is in predictor/store/ alone.
 *
 * A program is one exact key (common/identity.h). Times are seconds since the epoch; durations are seconds (_s) or minutes
 * (_min). Functions return 0 on success and -1 with err filled, unless their comment tells otherwise. A struct store is used by
 * one thread at a time. Writes are atomic one by one; store_begin and store_commit group them. kill -9 or power loss at any
 * time loses at most the transaction under way.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_STORE_H
#define PRECEDENT_PREDICTOR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/errbuf.h"
#include "common/identity.h"

#define STORE_SCHEMA_VERSION 11
#define STORE_ESTIMATES_MAX  CONF_CANDIDATES_MAX
#define STORE_REASON_MAX     304
#define STORE_RESULT_MAX     65536
#define STORE_ALL_USERS	     UINT32_MAX

struct store;

enum store_flags {
	STORE_READ = 0,	 /* never creates, never writes, never waits for a lock unless STORE_WAIT */
	STORE_WRITE = 1, /* creates the file (0640) and brings an older schema up to date */
	STORE_WAIT = 2,	 /* wait up to 5 s for a lock instead of failing at once */
	/*
	 * An empty store without a file, for this handle alone; with STORE_WRITE. path names it in messages. Rows are never dropped
	 * or undone: after store_rollback only store_close is legal.
	 */
	STORE_MEMORY = 4,
};

/* Why store_open or a later call failed; the text is in err. */
enum store_fault {
	STORE_OK,
	STORE_MISSING, /* no such file (yet) */
	STORE_LOCKED,
	STORE_NEWER,   /* written by a newer Precedent */
	STORE_OLDER,   /* opened for reading before precedentd has migrated it */
	STORE_CORRUPT, /* not a database, or damaged */
	STORE_DENIED,  /* permission, read-only file system */
	STORE_FULL,
	STORE_FAILED, /* anything else */
};

int store_open(const char *path, unsigned flags, struct store **out, struct errbuf *err);
void store_close(struct store *s); /* NULL is legal */

/*
 * Beside the store is an index file of programs, families and models that the store does not have (index_file.h). For these,
 * store_lookup, store_family_lookup and store_model_lookup do not ask SQLite. The latter two are called right after
 * store_lookup and use the index as of that call.
 */
#define STORE_INDEX_SUFFIX "-index"
/* For a reader, about once a second: checks whether the index is valid. Later look-ups use it, also for rows written
 * afterwards. Returns 1 if it is valid, 0 if SQLite is asked for everything. */
int store_index_check(struct store *s, struct errbuf *err);
/* For precedentd, at every look, outside transactions: build the index where there is none, or none that will do. 1: built, 0:
 * nothing to do, -1: readers ask SQLite. */
int store_index_renew(struct store *s, struct errbuf *err);

/* Of the last failed call on this thread, store_open included. */
enum store_fault store_last_fault(void);
/* Read through the whole file: 0 sound, -1 damaged (or unreadable). Slow; for doctor. */
int store_check(struct store *s, struct errbuf *err);

/* Transactions nest. An inner rollback undoes the inner transaction alone; an inner commit lasts with the outermost one. */
int store_begin(struct store *s, struct errbuf *err);
int store_commit(struct store *s, struct errbuf *err);
void store_rollback(struct store *s);

/* ---- the cluster's partitions, as precedentd last saw them: the plugin cannot ask slurmctld ---- */

struct store_partition {
	char name[CONF_NAME_MAX];
	bool is_default;
	uint32_t default_min; /* DefaultTime; DURATION_UNSET: none, max_min counts */
	uint32_t max_min;     /* MaxTime; DURATION_UNLIMITED */
};
/* Replace the whole table (in one transaction); does nothing when it is the same already. */
int store_partitions_put(struct store *s, const struct store_partition *p, size_t n, struct errbuf *err);
/* name NULL: the default partition. 1 found, 0 none. */
int store_partition_get(struct store *s, const char *name, struct store_partition *p, struct errbuf *err);

/* ---- the daemon's own ---- */

/*
 * A small named value ("" when there is none); 1 found, 0 none. For cursors of the daemon; names of at most
 * 63 bytes.
 */
/* Lists of uids for Only (struct only_uids). */
#define STORE_ONLY_USERS    "only.users"
#define STORE_ONLY_DEFAULTS "only.defaults"

int store_meta_set(struct store *s, const char *name, const char *value, struct errbuf *err);
int store_meta_get(struct store *s, const char *name, char *value, size_t size, struct errbuf *err);
int store_meta_drop(struct store *s, const char *name, struct errbuf *err);
/* Another number whenever another connection has written since; only numbers of one connection compare. Outside transactions. */
int store_data_version(struct store *s, int64_t *version, struct errbuf *err);
/* precedentd says "alive"; the plugin reads it. 0 as time: never. */
int store_heartbeat_set(struct store *s, int64_t now, struct errbuf *err);
int store_heartbeat_get(struct store *s, int64_t *when, struct errbuf *err);

#endif
