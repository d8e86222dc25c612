/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a traced run went, by call of the merged tree and rank. The gap before a call is split into
 * strata over its executions, so that drift and phases survive.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_TIMES_H
#define PRECEDENT_SKELGEN_TIMING_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/timing/gap_rank_order.h"
#include "skelgen/timing/series_collect.h"
#include "skelgen/tree/tree.h"

#define SKEL_STRATA    16
#define SKEL_DELAYED_LEAST 0.01 /* of the traced time: from here on what others took is worth saying */
#define SKEL_QUANTILES_BYTES (256u << 20) /* that quantiles take at most, of all ranks and calls */

/* One leaf on one rank. Execution occ belongs to stratum occ * n_stratum / n. */
struct skel_leaf_time {
	uint64_t n;              /* executions, those left out (SKEL_NOTHING) included */
	uint64_t made;           /* executions that make the call */
	uint64_t timed;          /* of these, with known times, one by one or in histograms */
	double gap_ns, dur_ns;   /* sums over all that make it; those without times count as the mean of the others */
	uint32_t n_stratum;      /* 1 when all agree */
	double stratum_ns[SKEL_STRATA]; /* mean gap */
	/* By stratum: means of SKEL_QUANTILES equal shares of its gaps, in ascending order; their mean is stratum_ns.
	 * n_quantile 1: they agree, or the call is too rare or too short to matter, and quantile_ns is NULL. */
	uint32_t n_quantile;
	float (*quantile_ns)[SKEL_QUANTILES];
	/* The first call of a loop has another one before it when the loop is entered, and another gap: executions 0, period,
	 * 2 * period, ... are `entry`, and the strata and quantiles here are of the others. NULL: they are alike. */
	uint64_t period;
	struct skel_leaf_time *entry;
};

/* Execution occ of a leaf enters the loop. */
static inline bool skel_enters(const struct skel_leaf_time *t, uint64_t occ)
{
	return t->entry != NULL && occ % t->period == 0;
}

struct skel_times {
	uint32_t n_leaf, n_node, n_ranks;
	struct skel_leaf_time **leaf; /* by leaf_id, then by index of the rank in the leaf's set */
	double *node_ns;              /* by node id: gaps and calls inside, mean over all ranks of the job */
	double *rank_wall_ns;         /* of each rank */
	double wall_ns;               /* of the longest */
	double gap_ns;                /* of all calls but MPI_Init, mean over ranks: computation */
	double polled_ns;             /* of these gaps, in unsuccessful tests that are work, the ranks' clocks: mean over ranks */
	/* Of these gaps, what a rank was ready and others had its processor. It is in no other figure here but the wall
	 * times: gaps and calls are the rank's own (trace/cpu_time/own_iter.h). */
	double delayed_ns, delayed_most_ns; /* mean over ranks, and of the rank that lost most */
	uint64_t events, untimed;
	struct skel_series series;    /* iteration times of the longest loops */
	struct gap_orders orders;     /* of gaps over the executions of a call */
	struct arena *arena;          /* owns the quantiles */
};

/* Expands the tree beside the trace's times: they must belong to each other. */
int skel_times_collect(const struct skel_tree *tree, struct skel_times *out, struct errbuf *err);
void skel_times_free(struct skel_times *t);

#endif
