/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes of caches and memory, which decide how much data a kernel touches. Read from /sys and sysconf, not through hwloc: a
 * skeleton must link with nothing but MPI and the C library.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_CACHES_H
#define PRECEDENT_SKELGEN_RUNTIME_CACHES_H

#include <stdint.h>

#include "skelgen/runtime/kernel.h"

struct caches {
	uint64_t l1, l2, l3; /* bytes of one data cache; 0: there is none */
	int n_l3;            /* last-level caches of the machine, at least 1 */
	uint64_t memory;     /* bytes that this process and those beside it may use */
};

/* root: "/sys" but in tests. Unreadable sizes are taken from sysconf, or left 0. */
void caches_read(const char *root, struct caches *out);
/* The last-level cache as sysconf tells it: of AMD's processors all of a package's together, of which a core reaches one. */
uint64_t caches_l3_of(int amd, uint64_t told);
/* Bytes that the memory limits of the control groups allow this process, at most `most`. */
uint64_t caches_memory_limit(const char *root, const char *self, uint64_t most);
/* Sizes for `ranks` ranks that work on this machine at the same time. */
void caches_shape(const struct caches *c, int ranks, struct kernel_shape *out);
/* The sizes that the traced program worked on, where they are known (0: not) and make sense for these levels. */
void caches_shape_like(const struct caches *c, int ranks, const double want[LEVEL_N], struct kernel_shape *shape);
/* Make the data of these classes no more than a share of this machine's memory. */
void caches_bound(const struct caches *c, int ranks, unsigned classes, struct kernel_shape *shape);

#endif
