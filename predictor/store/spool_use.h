/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the last sweep that had to do with a user's quota found and did. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_SPOOL_USE_H
#define PRECEDENT_PREDICTOR_STORE_SPOOL_USE_H

#include "predictor/spool/spool.h"
#include "predictor/store/store.h"

#define STORE_META_SPOOL "spool." /* and the uid; the value begins with the time */

/* A user who was above the quota this long ago may be below it by now: each sweep says so again. */
#define STORE_SPOOL_OVER_S 7200

int store_spool_use_put(struct store *s, const struct spool_use *use, int64_t now, struct errbuf *err);
/* 1 found, 0 none. */
int store_spool_use_get(struct store *s, uint32_t uid, struct spool_use *use, int64_t *when, struct errbuf *err);

#endif
