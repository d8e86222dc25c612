/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of computation for a predicted rank. They come from the traced rank with the most similar block times. They
 * are placed at the same calls, and stretched with the times of those calls. Samples show the kind of work of a block,
 * not its duration.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PREDICTED_SAMPLES_H
#define PRECEDENT_MODEL_INPUTS_PREDICTED_SAMPLES_H

#include "model/inputs/pattern.h"
#include "trace/format/samples.h"

struct predicted_sample {
	uint32_t pattern;
	uint64_t occurrence; /* of the pattern: in the traced rank, then in the predicted one */
	bool placed;
};
struct predicted_samples {
	struct pattern_set *set;
	uint32_t source; /* rank of the set, PATTERN_NONE: none */
	struct trace_samples s;
	struct predicted_sample *where; /* by sample of the source */
	/* Of the rank being predicted. */
	struct trace_sample *now;
	uint32_t *order, *first; /* samples by pattern and occurrence; by pattern, the next one of it */
	uint64_t *passed;	 /* by pattern */
	uint32_t n_patterns;
};

/* The traced rank nearest to a predicted rank with sum[] (by pattern). PATTERN_NONE without patterns. */
uint32_t predicted_nearest(const struct pattern_set *set, const struct pattern_sum *sum, bool sampled);
/* Begins a rank with that sum. Returns -1 with the reason. */
int predicted_samples_begin(struct predicted_samples *p, struct pattern_set *set, const struct pattern_sum *sum, struct errbuf *err);
/* An event of the rank. Its gap lasts from t0 to t1, in ticks; the event itself ends at t2 or later. */
void predicted_samples_pass(struct predicted_samples *p, uint32_t pattern, uint64_t event, uint64_t t0, uint64_t t1);
/* The page's content into raw, nothing when there are no samples; n events, the last one at tick `end`. */
int predicted_samples_end(struct predicted_samples *p, const struct pattern_sum *sum, uint64_t n, uint64_t end, struct buf *raw);
void predicted_samples_free(struct predicted_samples *p);

#endif
