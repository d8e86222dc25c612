/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks on processors of one kind have one calibration: their mean. Each rank measures by itself. Without the mean, a
 * disturbance of one rank would give this rank less work on every other machine.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_ALIKE_H
#define PRECEDENT_SKELGEN_RUNTIME_ALIKE_H

#include <stdint.h>

#include "skelgen/runtime/caches.h"
#include "skelgen/runtime/compute.h"

/* A number that stands for the kind of processor, its caches and how many ranks share the machine. cpuinfo: the path
 * "/proc/cpuinfo" but in tests. A file without a model of the processor leaves only caches and ranks. */
uint64_t alike_kind(const char *cpuinfo, const struct caches *c, int ranks);
/* Replaces calibrations of the same kind, of n ranks, by their mean, number by number. They stay as they are if the slowest
 * takes more than 1.3 times as long as the quickest, in the mean over blocks. */
void alike_mean(struct calibration *all, const uint64_t *kind, int n);

#endif
