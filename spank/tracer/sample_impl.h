/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the handler of samples leaves to the one that encodes them: see sample.h. */
#ifndef PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H
#define PRECEDENT_SPANK_TRACER_SAMPLE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/samples.h"

#define SAMPLE_THREADS 64

struct sample_kept {
	struct trace_sample s;
	uint64_t pc;
	bool drop;
};

struct sample_state {
	struct sample_kept *kept; /* `room` of them; NULL: nothing is sampled */
	uint32_t n, room, n_thread;
	uint32_t rank, counters;
	uint64_t period_ns;
};
extern struct sample_state sampling;

/* Half of the samples, each of which stands for the time of those that went before it. */
void sample_thin(struct sample_kept *kept, uint32_t *n);

#endif
