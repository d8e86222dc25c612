/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a trace becomes a skeleton: the stages in their order.
 */
#ifndef PRECEDENT_SKELGEN_PIPELINE_H
#define PRECEDENT_SKELGEN_PIPELINE_H

#include "common/errbuf.h"
#include "skelgen/emit/skeleton.h"
#include "skelgen/pieces/pieces.h"
#include "skelgen/plan/plan.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define SKEL_LINES_MAX 5000      /* of the source of a skeleton */

/* Sums over a run, ns. Those without most are means over ranks. */
struct run_totals {
	double wall_ns; /* of the longest rank */
	double gap_ns;  /* computation */
	/* Others had a rank's processor in computation and in calls. most: of the rank that lost most there. */
	double delayed_ns, delayed_most_ns, waited_ns, waited_most_ns;
	double overlap; /* further threads of a rank that are in MPI at the same time, mean; 0: none */
	uint64_t events;
	double differs; /* relative half width by which runs of the program differ: see pace.h */
};

/* What each stage makes. Zeroed before; freed with skel_stages_free(). */
struct skel_stages {
	struct skel_tree tree;
	struct skel_times times;
	struct compute_profile profile;
	struct skel_plan plan;
	struct skel_match_report match;
	struct skel_buffered buffered;
	struct trace *excerpt; /* of which all is made; NULL: of the whole trace */
	struct pieces pieces;
	struct run_totals run; /* of the whole run */
	uint32_t lines;        /* of the source; of a short or a very long source not exact, unless it is measured */
	bool measured;
	uint64_t data_bytes;   /* 0: few, not counted */
};

/* Does the run repeat, so that a tree of the whole run is made? Otherwise its skeleton is made of pieces. */
bool skel_repeats(const struct trace *t);

/* Can a tree of the whole run be made with little memory? A tree of a run that does not repeat grows with the run. */
bool skel_tree_fits(const struct trace *t);

/* The merged tree, proved to be the trace. with_optional: see skel_contract(). The trace must outlive the tree. Returns 0,
 * or -1 with the reason. */
int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err);
int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err);

/* Tree, times, profile of computation, and a plan that cannot deadlock. All are of the whole run, or of pieces of it. The
 * latter is done if the whole exceeds the budget, SKEL_LINES_MAX or SKEL_DATA_MAX. With a budget, a skeleton that exceeds
 * SKEL_LINES_MAX is refused. Returns 0, or -1 with the reason. */
int skel_understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err);
/* The same of pieces of the run. Returns 1 if it cannot be cut. */
int skel_understand_pieces(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err);
/* Writes the files of the skeleton into `dir`. Returns 0, or -1 with the reason and the files as they were. */
int skel_write(const struct skel_stages *s, const char *dir, const struct skel_emit_options *opt, struct errbuf *err);
void skel_stages_free(struct skel_stages *s);

#endif
