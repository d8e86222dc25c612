/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which the quantiles of a gap are replayed. Each rank has the distribution of its own gaps, stratum by
 * stratum. The time of the slowest rank in an execution depends on the combination of values over the ranks.
 *
 * So a few executions of every stratum are sampled, the same executions on all ranks. The rank order of the sampled gaps
 * assigns a quantile to each slot. This is the Schaake shuffle. Ranks that were slow together are slow together again.
 * Ranks that varied independently do so again. Each rank keeps its distribution.
 *
 * The same order on all ranks would be wrong for independent ranks, and a random order on each rank would be wrong for
 * ranks that vary together.
 *
 * Eight executions mostly hold no gap that is long once in forty. Then the longest quantiles of ranks that are long together
 * would meet by chance only. So several sets of eight are sampled. The set is kept whose replay has the waits of all sampled
 * executions: the mean difference between the slowest rank and the mean rank.
 *
 * Source: Clark, Gangopadhyay, Hay, Rajagopalan, Wilby, "The Schaake shuffle", J. Hydrometeorology 5(1), 2004.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_GAP_RANK_ORDER_H
#define PRECEDENT_SKELGEN_TIMING_GAP_RANK_ORDER_H

#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/timing/timed_walk.h"
#include "skelgen/tree/tree.h"

#define SKEL_QUANTILES 8 /* equal shares of the gaps of a stratum */
#define GAP_ORDER_SETS 16 /* of 128 executions of a stratum one is long in 24 of 25 strata, if one in forty is */

/* Gaps at the sampled executions, n_stratum rows each. First index: 2 * leaf_id, or 2 * leaf_id + 1 for the executions
 * that enter the leaf's loop. Second index: place of the rank in the leaf's set; NULL if the rank has no quantiles. A gap
 * of unknown time is NAN. */
struct gap_orders {
	uint32_t n_leaf;
	float (***at)[SKEL_QUANTILES];
	uint32_t *n_rank; /* places of the rows of at[] */
};

struct skel_times;
struct order_reader;

/* out->at stays NULL if no leaf has quantiles, or if the gaps would need too much memory: then means are replayed.
 * Returns NULL with the reason in err. */
struct order_reader *order_reader_create(const struct skel_tree *tree, const struct skel_times *times, struct gap_orders *out,
					 struct errbuf *err);
/* struct timed_reader */
int order_reader_begin(void *reader, uint32_t rank, struct errbuf *err);
void order_reader_call(void *reader, const struct timed_walk *w);
/* All ranks were read: keep one set of each stratum. Returns 0, or -1 without memory. */
int order_reader_close(struct order_reader *x, struct errbuf *err);
void order_reader_destroy(struct order_reader *x);

void gap_orders_free(struct gap_orders *o);
/* Execution j of n_draw that are sampled in stratum s, of n executions in n_stratum strata. */
uint64_t gap_order_execution(uint64_t n, uint32_t n_stratum, uint32_t s, uint32_t j, uint32_t n_draw);
/* Quantile of each slot: the rank order of the gaps. If a gap is not known: an alternating order, the same for all. */
void gap_order_slots(const float *gap, uint32_t slot[SKEL_QUANTILES]);

#endif
