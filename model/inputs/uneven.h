/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops whose trip count differs from entry to entry: time steps, each with a solver that ends by a tolerance. Exact
 * contraction writes such steps as many loops. Here these loops become one, whose trip count is left open.
 */
#ifndef PRECEDENT_MODEL_INPUTS_UNEVEN_H
#define PRECEDENT_MODEL_INPUTS_UNEVEN_H

#include "skelgen/contract/contract.h"

/*
 * Folds the loops of a tree. A loop with an open trip count has count 0 in *out, which the caller frees. Returns 1, 0 if
 * no loop was folded, -1 without memory.
 */
int uneven_fold(const struct contract_tree *tree, struct contract_tree *out, struct errbuf *err);

#endif
