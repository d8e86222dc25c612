/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank's time line in at most 4096 equal steps: ticks in each state per step. The recorder fills it while it
 * runs, without knowing how long the run will be: when the steps are used up, neighbours join and the width
 * doubles. Written as one LEVELS page per rank; time outside every step, or that no state claims, is not known.
 */
#ifndef PRECEDENT_TRACE_LEVELS_H
#define PRECEDENT_TRACE_LEVELS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/event.h"

#define LEVELS_STEPS 4096u
/* As written: this many steps, and one more for each so many calls. */
#define LEVELS_LEAST 64u
#define LEVELS_CALLS 16u

struct levels {
	unsigned shift;             /* a step is 1 << shift ticks wide; step 0 begins at the rank's tick 0 */
	uint32_t n;                 /* steps in use */
	uint64_t (*step)[TSTATE_N]; /* room for LEVELS_STEPS */
};

static inline uint64_t levels_width(const struct levels *l)
{
	return 1ull << l->shift;
}

/* Steps of 1 << shift ticks to begin with. -1 without memory. */
int levels_init(struct levels *l, unsigned shift);
void levels_free(struct levels *l);
/* levels_add for what is not within one step in use. */
void levels_add_steps(struct levels *l, uint64_t t0, uint64_t t1, enum trace_state state);
/* [t0, t1) was spent in that state; an interval beyond 2^62 ticks is ignored. */
static inline void levels_add(struct levels *l, uint64_t t0, uint64_t t1, enum trace_state state)
{
	uint64_t step = t0 >> l->shift;

	if (t1 > t0 && step < l->n && (t1 - 1) >> l->shift == step)
		l->step[step][state] += t1 - t0;
	else
		levels_add_steps(l, t0, t1, state);
}
/* At most so many steps: neighbours join until it fits. A run of few calls needs no more steps than calls. */
void levels_limit(struct levels *l, uint64_t n_steps);
/* uv ticks per step, uv steps, per step uv ticks in each state. */
void levels_encode(const struct levels *l, struct buf *out);
/* -1 on bad input, l freed. */
int levels_decode(struct rdbuf *in, struct levels *l, struct errbuf *err);

#endif
