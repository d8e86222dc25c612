/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of a traced run, by call of the merged tree and by rank. The gap before a call is split into strata over the
 * call's executions, so that drift and phases are kept.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_TIMES_H
#define PRECEDENT_SKELGEN_TIMING_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/timing/gap_rank_order.h"
#include "skelgen/timing/gap_record.h"
#include "skelgen/timing/series_collect.h"
#include "skelgen/tree/tree.h"
#include "trace/cpu_time/pace.h"

#define SKEL_STRATA    16
#define SKEL_DELAYED_LEAST 0.01 /* of the traced time: time lost to other processes is reported from this share on */
#define SKEL_QUANTILES_BYTES (256u << 20) /* most memory for the quantiles of all ranks and calls */

/* One leaf on one rank. Execution occ belongs to stratum occ * n_stratum / n. */
struct skel_leaf_time {
	uint64_t n;              /* executions, those left out (SKEL_NOTHING) included */
	uint64_t made;           /* executions that make the call */
	uint64_t timed;          /* of `made`: executions with known times, single or in histograms */
	double gap_ns, dur_ns;   /* sums over all `made` executions; an execution without times counts as the mean */
	uint32_t n_stratum;      /* 1 if all strata agree */
	double stratum_ns[SKEL_STRATA]; /* mean gap */
	/* By stratum: means of SKEL_QUANTILES equal shares of its gaps, in ascending order. The mean of the shares is
	 * stratum_ns. n_quantile is 1 and quantile_ns NULL if the shares agree. The same holds if the call is too rare or too
	 * short to matter. */
	uint32_t n_quantile;
	float (*quantile_ns)[SKEL_QUANTILES];
	/* Executions 0, period, 2 * period, ... of the first call of a loop enter the loop. Another call precedes them, so
	 * they have another gap. Their times are in `entry`; the strata and quantiles here are of the other executions.
	 * entry is NULL if the gaps are alike. */
	uint64_t period;
	struct skel_leaf_time *entry;
	/* Of these executions: how many, and the sum of their durations, if they wait longer than the others do; else 0. */
	uint64_t entered;
	double entered_dur_ns;
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
	/* By node id, of leaves: part of node_ns in executions that enter the loop; of loops: sum over their leaves. */
	double *entry_ns;
	double *rank_wall_ns;         /* of each rank */
	double wall_ns;               /* of the longest */
	double gap_ns;                /* of all calls but MPI_Init, mean over ranks: computation */
	double polled_ns;             /* part of gap_ns in unsuccessful tests that are work, mean over ranks */
	double vain_ns;               /* unsuccessful tests that wait, in no node; mean over ranks */
	/* Time in gaps in which a rank was ready but other processes had its processor. Only the wall times include this
	 * time: gaps and calls are the rank's own time (trace/cpu_time/own_iter.h). */
	double delayed_ns, delayed_most_ns; /* mean over ranks, and of the rank that lost most */
	double waited_ns, waited_most_ns;   /* the same in calls */
	double elapsed_ns;            /* in calls and gaps of all threads, by the clock: see own_iter_elapsed(); mean over ranks */
	uint64_t events, untimed;
	double differs;               /* relative half width by which runs differ: see pace.h */
	struct pace pace;
	struct skel_series series;    /* iteration times of the longest loops */
	struct gap_orders orders;     /* of gaps over the executions of a call */
	struct gap_records records;   /* gaps of all executions */
	struct arena *arena;          /* owns the quantiles */
};

/* Walk the tree and the trace's times together. The tree must be made from this trace. */
int skel_times_collect(const struct skel_tree *tree, struct skel_times *out, struct errbuf *err);
void skel_times_free(struct skel_times *t);

#endif
