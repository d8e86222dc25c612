/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the threads of the library run: on a spare core, at the lowest priority (SCHED_IDLE). A spare core is one that
 * no thread of the program and no other process is bound to. Spare cores are known only where programs are bound, as
 * Slurm and MPI do. The lowest priority lets any other thread take the core at once.
 */
#ifndef PRECEDENT_MODEL_API_PLACE_H
#define PRECEDENT_MODEL_API_PLACE_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Chooses a whole core of `allowed` that shares no processor with `used`. Cores of the package of `own` go first.
 * `turn` selects among the cores that remain. Returns 0 with the core's processors in `out`, or -1. */
int place_choose(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, hwloc_const_cpuset_t own, hwloc_const_cpuset_t used,
		 unsigned turn, hwloc_cpuset_t out);

struct place {
	uint64_t next_ns; /* when to look again; begin with 0 */
	unsigned looks;
	bool normal_priority;
	int core; /* first processor of the core, or -1 */
};
/* Moves the calling thread to a spare core. Looks again after a second, because other ranks start, and then every
 * minute. Returns the core. */
int place_look(struct place *p);
/* In the child of fork. The fork may have interrupted hwloc in the middle of a call, so hwloc is not called any more. */
void place_forked(void);

#endif
