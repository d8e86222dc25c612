/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that clean the spool: careful steps through directories of users. See spool_sweep in spool.h. */
#ifndef PRECEDENT_PREDICTOR_SPOOL_WALK_H
#define PRECEDENT_PREDICTOR_SPOOL_WALK_H

#include "predictor/spool/spool.h"

#define WALK_ENTRIES 65536 /* of one directory at one time: users may make any number */
#define WALK_DEPTH   16

/* Directories are named by numbers as we write them; anything else is none of ours. */
bool walk_number(const char *name, uint32_t *number);

/* The directory `name`, which must belong to the user; -1 if it does not, or cannot be opened (errno). */
int walk_open(int parent, const char *name, uid_t uid);

typedef void walk_visit(void *arg, int dir, const char *name);
/* Calls visit for each entry but "." and "..". Takes fd, also -1. Returns false if there are more than WALK_ENTRIES. */
bool walk_each(int fd, const atomic_bool *stop, walk_visit *visit, void *arg);

/* Is it the directory of a job that slurmctld knows, or that may have come since it was asked? */
bool walk_is_live(const struct spool_order *order, const char *name);

/* Measures the user's directory, and removes from it what is above the quota. Takes fd. */
void quota_enforce(int fd, uint32_t uid, const struct spool_order *order, struct spool_use *use);

#endif
