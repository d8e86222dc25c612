/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types that clock.c and clock_control.c share: see clock.h. A rank's time is corrected twice: linearly, then by
 * the jumps of the logical clock. Each jump has a ramp before it and a decay behind it.
 */
#ifndef PRECEDENT_TRACE_CLOCK_IMPL_H
#define PRECEDENT_TRACE_CLOCK_IMPL_H

#include "trace/clock/clock.h"

/* Behind a jump, time runs slower by 1 in 2^CLOCK_AMORTISE until the shift is 0 again. In the ramp before the
 * jump, time runs faster by the same rate. A rank with more than CLOCK_DENSE jumps decays more slowly: by 1 in
 * 2^slow. */
#define CLOCK_AMORTISE 7
#define CLOCK_DENSE    4096 /* jumps after which `slow` grows */
#define CLOCK_ADD_MAX  (1ull << 55)

/* The shift reaches `add` ns at linear time t; its ramp starts at `begin`. */
struct clock_jump {
	uint64_t t, begin;
	uint64_t add : 56, slow : 8;
};

/* The part of jump j that has not decayed at time t. t >= j->t. */
static inline uint64_t clock_left(const struct clock_jump *j, uint64_t t)
{
	uint64_t decay = (t - j->t) >> j->slow;

	return j->add > decay ? j->add - decay : 0;
}

struct clock_rank {
	int64_t shift;      /* linear: local + shift + drift * (local - anchor) */
	double drift;
	uint64_t anchor;
	struct clock_jump *jump;
	uint32_t n_jump, cap_jump;
};

struct trace_clock {
	uint32_t n_ranks;
	struct clock_rank *rank;
	double error_ns;    /* bound of the error of measured offsets; < 0: no offset was measured */
};

/* The rise of jump i above the part of the jump before it that has not decayed, ns. */
uint64_t clock_rise(const struct clock_rank *k, uint32_t i);
uint64_t clock_linear(const struct clock_rank *k, uint64_t local_ns);
/* The shift by the logical clock at linear time t, ns. */
uint64_t clock_shift(const struct clock_rank *k, uint64_t t);

#endif
