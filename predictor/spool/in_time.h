/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks into the spool with a deadline: a file server that does not answer must not keep the daemon from its other duties. A look
 * runs in a thread. While a late look still runs, no other is begun.
 */
#ifndef PRECEDENT_PREDICTOR_SPOOL_IN_TIME_H
#define PRECEDENT_PREDICTOR_SPOOL_IN_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "common/errbuf.h"

/*
 * Run look(arg), and return 0. The look works on a copy of the `size` bytes of arg, which is copied back. Returns -1 if the look
 * is late, or has not begun because of an earlier one: arg is unchanged, and err says that spool_dir does not answer. The copy
 * holds no pointer to memory that the caller may free.
 */
typedef void spool_look(void *arg);
int spool_in_time(spool_look *look, void *arg, size_t size, const char *spool_dir, struct errbuf *err);

/* Does a late look still run? */
bool spool_is_silent(void);

#endif
