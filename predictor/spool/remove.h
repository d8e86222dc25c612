/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes the part of the spool that belongs to one user. */
#ifndef PRECEDENT_PREDICTOR_SPOOL_REMOVE_H
#define PRECEDENT_PREDICTOR_SPOOL_REMOVE_H

#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

/*
 * As root: remove SpoolDir/<uid>. Its contents are removed with the user's rights, by directory descriptor, without following
 * links: the user may change all of it meanwhile. *files: how many entries went. Returns 0, also if there is no such directory;
 * -1 if something remains (err says what).
 */
int spool_user_remove(const char *spool_dir, uid_t uid, gid_t gid, uint64_t *files, struct errbuf *err);

#endif
