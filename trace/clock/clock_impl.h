/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the two halves of the clock share: see clock.h. A rank's time is corrected twice: linearly, then by jumps of the
 * logical clock, each with a ramp before it and a decay behind it.
 */
#ifndef PRECEDENT_TRACE_CLOCK_IMPL_H
#define PRECEDENT_TRACE_CLOCK_IMPL_H

#include "trace/clock/clock.h"

/* Behind a jump time runs slower by 1 in 128 until it is back on the linear correction; before it, where it can, faster
 * by as much. A rank with very many jumps falls back more slowly: 1 in 2^slow. */
#define CLOCK_AMORTISE 7
#define CLOCK_DENSE    4096 /* jumps after which `slow` grows */
#define CLOCK_ADD_MAX  (1ull << 55)

/* At linear time t the shift becomes `add`; the way there begins at `begin`. */
struct clock_jump {
	uint64_t t, begin;
	uint64_t add : 56, slow : 8;
};

/* What is left of a jump at t, not before it. */
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
	double error_ns;    /* of the measured offsets, < 0: none */
};

/* How far jump i rises over what the one before has left. */
uint64_t clock_rise(const struct clock_rank *k, uint32_t i);
uint64_t clock_linear(const struct clock_rank *k, uint64_t local_ns);
/* The shift of the logical clock at linear time t. */
uint64_t clock_shift(const struct clock_rank *k, uint64_t t);

#endif
