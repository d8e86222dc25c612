/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two kinds of rows in the table of groups of similar runs (groups.h). Their names have 60 bits or more. Names of
 * groups have 48 bits. The index beside the store knows the names.
 *
 * - A launch: which program (exact key) is known for launching this (common/launches.h). Its name is a hash
 * of user, layout and launches.
 *
 * - A kind: jobs of one user with the same job name and family key. Digits in the name do not count. It
 * counts jobs in a row whose exact keys were new, and that were not predicted.
 *
 * Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_LAUNCHES_H
#define PRECEDENT_PREDICTOR_STORE_LAUNCHES_H

#include "predictor/store/store.h"

/* Jobs with new keys in a row from which the kind's next jobs are mostly not traced: their traces would
 * predict nothing. */
#define STORE_KIND_FRESH 8

/* 0: launches is NULL or malformed. */
uint64_t store_launch_name(uint32_t uid, const struct identity_layout *layout, const char *launches);
/* name: the job's, NULL or "" counts as none. Returns 0 if there is no family. */
uint64_t store_kind_name(uint32_t uid, const char *name, const char *family);

/* Which program launches this? 1 found (*key), 0 none. Called after store_lookup, as in store.h. */
int store_launch_get(struct store *s, uint64_t launch, char key[IDENTITY_KEY_LEN + 1], struct errbuf *err);
/* Jobs of this kind in a row with new keys, if there are STORE_KIND_FRESH or more. 1, 0 if there are fewer.
 * Called after store_lookup. */
int store_kind_get(struct store *s, uint64_t kind, uint32_t *fresh, struct errbuf *err);
/* The traced run with this key launches this. A program that the store still has is replaced only if it lacks a
 * trace. */
int store_launch_put(struct store *s, uint64_t launch, const char *key, uint32_t uid, int64_t now,
		     struct errbuf *err);
/* An untraced run launches this. If the program that is known for it lacks a trace, and this key has no program, this
 * key takes its place: the next run is traced. */
int store_launch_yield(struct store *s, uint64_t launch, const char *key, uint32_t uid, int64_t now,
		       struct errbuf *err);
/* Nothing is known any more to lead to this key. */
int store_launch_forget(struct store *s, const char *key, struct errbuf *err);
/* A job of this kind: its key was new, or has come again. A predicted job counts as one that has come again. */
int store_kind_add(struct store *s, uint64_t kind, bool again, uint32_t uid, int64_t now, struct errbuf *err);

#endif
