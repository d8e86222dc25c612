/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scratch files of skeletons that were killed before they could remove them. */
#ifndef PRECEDENT_CLI_ADMIN_SCRATCH_LEFT_H
#define PRECEDENT_CLI_ADMIN_SCRATCH_LEFT_H

#include "skelgen/runtime/scratch_name.h"

#define SCRATCH_PATTERN SKEL_SCRATCH_PREFIX "*"

/* How many in `dir` nobody has written to for so many seconds, and the bytes that they take on disk. */
unsigned scratch_left(const char *dir, long seconds, double *bytes);

#endif
