/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Erases a user from the store. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_FORGET_H
#define PRECEDENT_PREDICTOR_STORE_FORGET_H

#include "predictor/store/store.h"

/*
 * Drop the records of one user: programs, runs, and families and models that they are part of. Returns how many rows went. Keys of runs
 * submitted before `now` stay forgotten, as in store_key_forget. Of running jobs whose limit was shortened only that is kept.
 */
int store_user_forget(struct store *s, uint32_t uid, int64_t now, struct errbuf *err);

#endif
