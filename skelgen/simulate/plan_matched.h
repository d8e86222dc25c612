/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan with a proof that all calls match: its skeleton cannot deadlock. */
#ifndef PRECEDENT_SKELGEN_SIMULATE_PLAN_MATCHED_H
#define PRECEDENT_SKELGEN_SIMULATE_PLAN_MATCHED_H

#include "skelgen/plan/plan.h"
#include "skelgen/simulate/mpi_sim.h"

/* Make a plan, and drop cuts that do not match until the plan matches. Returns 0, or -1 with the reason in err if even
 * the whole program does not match. */
int skel_plan_matched(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		      struct skel_plan *out, struct skel_match_report *report, struct errbuf *err);

#endif
