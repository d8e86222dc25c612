/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank's time line in at most 4096 equal steps: ticks in each state per step. The recorder fills the steps
 * without knowing how long the run will be. When all steps are in use, neighbours are joined and the width of a
 * step doubles. A rank has one LEVELS page. Time that no state claims is not known.
 */
#ifndef PRECEDENT_TRACE_LEVELS_H
#define PRECEDENT_TRACE_LEVELS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/event.h"

#define LEVELS_STEPS 4096u
/* Number of steps to write: LEVELS_LEAST, and one more per LEVELS_CALLS calls. */
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

/* Start with steps of 1 << shift ticks. Returns 0 on success, -1 if memory runs out. */
int levels_init(struct levels *l, unsigned shift);
void levels_free(struct levels *l);
/* levels_add for an interval that does not lie within one step in use. */
void levels_add_steps(struct levels *l, uint64_t t0, uint64_t t1, enum trace_state state);
/* The rank spent [t0, t1) in this state. Intervals beyond 2^62 ticks are ignored. */
static inline void levels_add(struct levels *l, uint64_t t0, uint64_t t1, enum trace_state state)
{
	uint64_t step = t0 >> l->shift;

	if (t1 > t0 && step < l->n && (t1 - 1) >> l->shift == step)
		l->step[step][state] += t1 - t0;
	else
		levels_add_steps(l, t0, t1, state);
}
/* Join neighbours until at most n_steps are in use. */
void levels_limit(struct levels *l, uint64_t n_steps);
/* Encoding: uv ticks per step, uv number of steps, then per step uv ticks in each state. */
void levels_encode(const struct levels *l, struct buf *out);
/* Decode. Returns 0 on success; -1 on bad input, with *l freed. */
int levels_decode(struct rdbuf *in, struct levels *l, struct errbuf *err);

#endif
