/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that check skel.ops share. */
#ifndef PRECEDENT_SKELGEN_REPLAY_CHECK_H
#define PRECEDENT_SKELGEN_REPLAY_CHECK_H

#include "skelgen/replay/ops.h"

/* Of each varying call, how many values it has on every rank that makes it; malloced. NULL with the reason. */
uint64_t *ops_data_check(const struct ops_file *f, uint64_t *n_vary, const char **why);

#endif
