/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks on processors of one kind have one calibration: their mean. Each measures by itself, and what disturbed one of them
 * would be less work for it on every other machine, where the others would wait for each other.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_ALIKE_H
#define PRECEDENT_SKELGEN_RUNTIME_ALIKE_H

#include <stdint.h>

#include "skelgen/runtime/caches.h"
#include "skelgen/runtime/compute.h"

/* A number that stands for the kind of processor, its caches and how many ranks share the machine. `cpuinfo` is
 * "/proc/cpuinfo" but in tests; where it tells no model the caches have to do. */
uint64_t alike_kind(const char *cpuinfo, const struct caches *c, int ranks);
/* Of n ranks' calibrations those of the same kind become their mean, number by number, unless the slowest of them takes more than
 * 1.3 times as long as the quickest in the mean over blocks: then they are not alike, whatever they are called. */
void alike_mean(struct calibration *all, const uint64_t *kind, int n);

#endif
