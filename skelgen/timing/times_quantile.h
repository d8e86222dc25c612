/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distribution of the gaps of a leaf on one rank, stratum by stratum: means of equal shares in ascending order.
 * Executions come in order, so only the present stratum of each leaf is held. A stratum holds at most RESERVOIR gaps;
 * from a longer stratum, a uniform random sample. This takes a quarter of a byte per event.
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
	uint64_t given_up;    /* executions whose times are known only as a histogram */
	uint32_t symbol;      /* of the last such execution */
};

/* -1 without memory. */
int gap_draw_add(struct gap_draw *d, uint32_t stratum, double gap_ns);
/* Fill lt->quantile_ns and lt->n_quantile, and empty d for the next rank. Call it after all executions, when the strata
 * of lt are closed. given_up: histograms of the rank. fn: function of the symbol d->symbol. Returns 0, or -1 without
 * memory. */
struct arena;
int gap_draw_close(struct gap_draw *d, const struct hist_table *given_up, uint16_t fn, struct arena *arena,
		   struct skel_leaf_time *lt);
void gap_draw_free(struct gap_draw *d);

#endif
