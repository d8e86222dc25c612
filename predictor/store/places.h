/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's record of partitions, shapes of jobs and waits (cluster/places.h). Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_PLACES_H
#define PRECEDENT_PREDICTOR_STORE_PLACES_H

#include "predictor/cluster/places.h"
#include "predictor/store/store.h"

/* Grows with each change of the tables below; 0: they are empty. */
int store_places_generation(struct store *s, int64_t *generation, struct errbuf *err);
/*
 * slurmctld's own time of the look at its partitions that they are known from; 0: never. A change at that second or later is
 * not in them.
 */
int store_doors_seen_set(struct store *s, int64_t seen, struct errbuf *err);
int store_doors_seen(struct store *s, int64_t *seen, struct errbuf *err);
/* Read all of it in one snapshot, the waits of the latest used first max_waits of them (0: all). *out is freed first. */
int store_places_load(struct store *s, size_t max_waits, struct places *out, struct errbuf *err);
/* Replace the partitions; does nothing when they are the same already. */
int store_places_put(struct store *s, const struct place_partition *p, size_t n, struct errbuf *err);
/* Note (or take back) that a user is in one of the partition's groups. */
int store_access_put(struct store *s, uint32_t uid, const char *partition, bool in, int64_t now, struct errbuf *err);
/* Insert, or note its use. */
int store_shape_put(struct store *s, const struct place_shape *shape, struct errbuf *err);
/* Which shape the jobs of a program have; does nothing when it is known or there is no such program. */
int store_program_shape(struct store *s, const char *key, int64_t shape, struct errbuf *err);
/* A question that is to be asked from now on: insert, or note use and user. The answer that is there stays. */
int store_wait_want(struct store *s, const struct place_wait *w, struct errbuf *err);
/* An answer. */
int store_wait_put(struct store *s, const struct place_wait *w, struct errbuf *err);
/* Drop what was not used (and memberships that were not checked) since `before`. */
int store_places_prune(struct store *s, int64_t before, struct errbuf *err);

#endif
