/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gaps in the order of the run. The master of a skeleton takes answers in the recorded order. If a worker's long and short tasks
 * change places, the master waits for the wrong worker. Rare long gaps that all ranks have at the same executions delay no
 * other rank. Quantiles (gap_rank_order.h) keep neither. So a skeleton has the gap of each execution that it runs, unless
 * these are too many.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_GAP_RECORD_H
#define PRECEDENT_SKELGEN_TIMING_GAP_RECORD_H

#include <math.h>

#include "common/errbuf.h"
#include "skelgen/timing/timed_walk.h"

/* of_leaf[leaf_id][place of the rank in the leaf's set][execution], ns; NAN: not known, or no call was made. NULL where strata
 * say the same or the gaps do not matter. of_leaf is NULL if the gaps would need too much memory. */
struct gap_records {
	uint32_t n_leaf;
	uint32_t *n_rank; /* by leaf */
	float ***of_leaf;
};

struct skel_times;

/* The strata of all calls are known. Returns 0, or -1 without memory. */
int gap_records_make(const struct skel_tree *tree, const struct skel_times *times, struct gap_records *out, struct errbuf *err);
void gap_records_free(struct gap_records *r);

/* struct timed_reader; arg: the records */
int gap_records_begin(void *records, uint32_t rank, struct errbuf *err);
void gap_records_call(void *records, const struct timed_walk *w);

/* The gaps of all executions that make the call, or NULL if not all are known. */
const float *gap_record_of(const struct gap_records *r, const struct skel_times *times, uint32_t leaf_id, uint32_t index);

/* The factor by which a skeleton's sampled gaps are scaled to add up to all. It is bounded: a sample may hold next to none. */
static inline double gap_scale(double all_ns, double sampled_ns)
{
	return sampled_ns > 0 ? fmin(fmax(all_ns / sampled_ns, 0.5), 2) : 1;
}

#endif
