/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Imported runs whose scripts the accounting was not yet asked for. An import that is killed leaves them, and the next
 * import asks. Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_UNSCRIPTED_H
#define PRECEDENT_PREDICTOR_STORE_UNSCRIPTED_H

#include <stdint.h>

#include "predictor/store/store.h"

int store_unscripted_add(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err);
/* 1 it is one, 0 not. */
int store_unscripted_has(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err);
int store_unscripted_drop(struct store *s, uint32_t jobid, int64_t submit_time, struct errbuf *err);
/* All of them. */
int store_unscripted_clear(struct store *s, struct errbuf *err);

#endif
