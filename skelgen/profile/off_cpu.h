/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time asleep, by block. The tracer knows the time that a thread slept between two of its samples, but not in which gaps and
 * calls. A block that sleeps appears in intervals with sleep, and not in intervals without. Shares are refined until they explain
 * the intervals (expectation-maximisation).
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_OFF_CPU_H
#define PRECEDENT_SKELGEN_PROFILE_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format/samples.h"

struct off_cpu;

/* The intervals of a rank's first thread. NULL without memory. */
struct off_cpu *off_cpu_create(const struct trace_samples *s, double ns_per_tick, uint32_t n_block);
/* Block k ran from t0 to t1, in ns since the rank's start: in order of time. */
void off_cpu_add(struct off_cpu *m, uint32_t k, double t0, double t1);
/* The thread slept from t0 to t1, which is in no block. Call as off_cpu_add. */
void off_cpu_drop(struct off_cpu *m, double t0, double t1);
/* Adds to asleep_ns of each block, as much as wall_ns of it was added at most. */
void off_cpu_share(const struct off_cpu *m, double *asleep_ns);
/*
 * The part of `wall_ns` in which no thread worked, 0 to 1: the first thread slept for `asleep_ns`, and the others worked
 * for `others_ns`. All work of the others counts as done while the first thread slept, since nobody knows better.
 */
double off_cpu_part(double wall_ns, double asleep_ns, double others_ns);
void off_cpu_destroy(struct off_cpu *m);

#endif
