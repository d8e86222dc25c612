/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between partial.c and partial_marks.c. */
#ifndef PRECEDENT_SKELGEN_PARTIAL_IMPL_H
#define PRECEDENT_SKELGEN_PARTIAL_IMPL_H

#include "skelgen/partial.h"

/* Iterations of the main loop that had begun before this leaf was given, over all executions of the loop. False: the leaf
 * is not in it. */
bool partial_iteration_now(const struct skel_iter *it, const struct skel_node *loop, uint64_t *now);

/* The marks, as numbers of iterations that are complete. -1 with the reason. */
int partial_marks_choose(const struct skel_tree *tree, const struct skel_node *loop, double seconds, uint64_t at[PARTIAL_MARKS],
			 struct errbuf *err);

#endif
