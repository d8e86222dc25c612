/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of a merged leaf as functions of the rank. */
#ifndef PRECEDENT_SKELGEN_MERGE_CALL_PARAMS_H
#define PRECEDENT_SKELGEN_MERGE_CALL_PARAMS_H

#include "common/arena.h"
#include "skelgen/tree/tree.h"

/* Fill leaf->param, n_param and varies from its by_rank. -1 without memory. */
int leaf_params_fit(const struct trace *t, struct arena *a, struct skel_node *leaf);

#endif
