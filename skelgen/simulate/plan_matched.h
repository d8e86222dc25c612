/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan that is proved to match: a skeleton that runs it cannot deadlock. */
#ifndef PRECEDENT_SKELGEN_SIMULATE_PLAN_MATCHED_H
#define PRECEDENT_SKELGEN_SIMULATE_PLAN_MATCHED_H

#include "skelgen/plan/plan.h"
#include "skelgen/simulate/mpi_sim.h"

/* Plan, and give up the cuts that do not match until the rest does. -1 when even the whole program does not, with
 * the reason. */
int skel_plan_matched(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		      struct skel_plan *out, struct skel_match_report *report, struct errbuf *err);

#endif
