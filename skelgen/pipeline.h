/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a trace becomes a skeleton: the stages in their order.
 */
#ifndef PRECEDENT_SKELGEN_PIPELINE_H
#define PRECEDENT_SKELGEN_PIPELINE_H

#include "common/errbuf.h"
#include "skelgen/emit/skeleton.h"
#include "skelgen/plan/plan.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

/* What each stage makes. Zeroed before; freed with skel_stages_free(). */
struct skel_stages {
	struct skel_tree tree;
	struct skel_times times;
	struct compute_profile profile;
	struct skel_plan plan;
	struct skel_match_report match;
	struct skel_buffered buffered;
};

/* The merged tree, proved to be the trace. with_optional: see skel_contract(). The trace must outlive the tree. Returns 0,
 * or -1 with the reason. */
int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err);
int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err);

/* Tree, times, profile of computation, and a plan that cannot deadlock. Returns 0, or -1 with the reason. */
int skel_understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err);
/* Writes the files of the skeleton into `dir`. Returns 0, or -1 with the reason and the files as they were. */
int skel_write(const struct skel_stages *s, const char *dir, const struct skel_emit_options *opt, struct errbuf *err);
void skel_stages_free(struct skel_stages *s);

#endif
