/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the threads of the library run: on a core that neither a thread of the program nor another process is bound to,
 * which is only known where programs are bound, as Slurm and MPI do; and always at the lowest priority (SCHED_IDLE), so
 * that whoever comes there later takes the core at once.
 */
#ifndef PRECEDENT_MODEL_API_PLACE_H
#define PRECEDENT_MODEL_API_PLACE_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

/* A whole core of `allowed` of which nothing is in `used`: of the package of `own` if it has one, the turn-th of them.
 * 0 with its processors in `out`, or -1. */
int place_choose(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, hwloc_const_cpuset_t own, hwloc_const_cpuset_t used,
		 unsigned turn, hwloc_cpuset_t out);

struct place {
	uint64_t next_ns; /* when to look again; begin with 0 */
	unsigned looks;
	bool normal_priority;
	int core; /* first processor of the core, or -1 */
};
/* Puts the calling thread there; looks again after a second, as other ranks start, and then every minute. Returns the
 * core. */
int place_look(struct place *p);
/* In the child of fork: hwloc may have been left in the middle of something, and is not asked any more then. */
void place_forked(void);

#endif
