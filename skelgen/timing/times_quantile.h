/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distribution of the gaps of a leaf on one rank, stratum by stratum: means of equal shares in ascending order.
 * Executions come in order, so only the present stratum of each leaf is held: a quarter of a byte per event, and no
 * more than RESERVOIR gaps, of longer strata an even draw.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_TIMES_QUANTILE_H
#define PRECEDENT_SKELGEN_TIMING_TIMES_QUANTILE_H

#include "skelgen/timing/times.h"
#include "trace/format/hist.h"

struct gap_draw {
	float *gap;           /* of the present stratum */
	uint32_t n, cap;      /* held */
	uint64_t seen;        /* of the present stratum */
	uint64_t random;      /* state */
	uint32_t stratum;
	float (*mean)[SKEL_QUANTILES]; /* of finished strata; [s][0] < 0 where no gap was seen */
	uint64_t given_up;    /* executions of which only the histogram tells */
	uint32_t symbol;      /* of the last of them */
};

/* -1 without memory. */
int gap_draw_add(struct gap_draw *d, uint32_t stratum, double gap_ns);
/* After all executions, when lt's strata are closed: fill lt->quantile_ns and n_quantile, and empty d for the next
 * rank. given_up: histograms of the rank, and the function of the symbol that d names. -1 without memory. */
struct arena;
int gap_draw_close(struct gap_draw *d, const struct hist_table *given_up, uint16_t fn, struct arena *arena,
		   struct skel_leaf_time *lt);
void gap_draw_free(struct gap_draw *d);

#endif
