/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In what order the quantiles of a gap are replayed. Each rank has the distribution of its own gaps, stratum by stratum;
 * what the slowest rank of an execution takes depends on which values meet. So a few executions of every stratum are
 * looked at, the same ones on all ranks: the order of a rank's gaps at these decides in which slot which of its quantiles
 * is used (the Schaake shuffle). Ranks that were slow together are slow together, ranks that varied by themselves do so
 * again, and each rank keeps its distribution. Sorting all alike would make the slowest too fast where ranks vary by
 * themselves; drawing anew on every rank would make it too slow where they vary together.
 * Source: algorithms, C.6.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_GAP_RANK_ORDER_H
#define PRECEDENT_SKELGEN_TIMING_GAP_RANK_ORDER_H

#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/timing/timed_walk.h"
#include "skelgen/tree/tree.h"

#define SKEL_QUANTILES 8 /* equal shares of the gaps of a stratum */

/* By 2 * leaf_id, and one more for what enters its loop, then by index of the rank in the leaf's set: n_stratum rows of
 * gaps at the executions looked at; NULL where there are no quantiles on this rank. Gaps whose time is not known are NAN. */
struct gap_orders {
	uint32_t n_leaf;
	float (***at)[SKEL_QUANTILES];
	const struct skel_tree *tree;
};

struct skel_times;
struct order_reader;

/* out->at stays NULL where there is nothing to look at, or so much that means must do. NULL with the reason. */
struct order_reader *order_reader_create(const struct skel_tree *tree, const struct skel_times *times, struct gap_orders *out,
					 struct errbuf *err);
/* struct timed_reader */
int order_reader_begin(void *reader, uint32_t rank, struct errbuf *err);
void order_reader_call(void *reader, const struct timed_walk *w);
void order_reader_destroy(struct order_reader *x);

void gap_orders_free(struct gap_orders *o);
/* Execution looked at for slot j of stratum s, of n executions in n_stratum strata. */
uint64_t gap_order_execution(uint64_t n, uint32_t n_stratum, uint32_t s, uint32_t j);
/* Quantile of each slot: the order of the gaps; where one is not known, an order that alternates, the same for all. */
void gap_order_slots(const float *gap, uint32_t slot[SKEL_QUANTILES]);

#endif
