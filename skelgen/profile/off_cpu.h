/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time asleep, by block. What the tracer knows is how long a thread slept between two of its samples; in which of the
 * gaps and calls between them is found from what they have in common: a block that sleeps lasts long whenever it is in an
 * interval with sleep, and is not in those without. Shares are refined until they explain the intervals
 * (expectation-maximisation).
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_OFF_CPU_H
#define PRECEDENT_SKELGEN_PROFILE_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format/samples.h"

struct mix_sleep;

/* The intervals of a rank's first thread. NULL without memory. */
struct mix_sleep *mix_sleep_create(const struct trace_samples *s, double ns_per_tick, uint32_t n_block);
/* Block k ran from t0 to t1, in ns since the rank's start: in order of time. */
void mix_sleep_add(struct mix_sleep *m, uint32_t k, double t0, double t1);
/* Adds to asleep_ns of each block, as much as wall_ns of it was added at most. */
void mix_sleep_share(const struct mix_sleep *m, double *asleep_ns);
void mix_sleep_destroy(struct mix_sleep *m);

#endif
