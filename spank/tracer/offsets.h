/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the clocks of other nodes are from that of rank 0: ping-pongs of rank 0 with the lowest rank of each node, after
 * MPI_Init and in MPI_Finalize; the shortest round trip of a few counts. The other ranks of a node have the same clock.
 *
 * After MPI_Init nobody may wait for a rank that has no tracer, and a message that nobody takes would come into the
 * program's hands. So it is decided by a file (launch_decide), which has the same answer for all: rank 0 says GO and to
 * whom where it sees every rank's marker, otherwise NO; who has waited too long says NO too, and whoever is first, is
 * obeyed by all. Runs on one node decide nothing.
 */
#ifndef PRECEDENT_SPANK_TRACER_OFFSETS_H
#define PRECEDENT_SPANK_TRACER_OFFSETS_H

#include <mpi.h>
#include <stdint.h>

#include "spank/tracer/run.h"
#include "trace/format/defs.h"

/* At one moment: the tick of the other rank half way through the round trip that rank 0 measured. */
struct offset_at {
	uint64_t root_tick, tick, round_ticks;
	bool known;
};

/* What rank 0 knows of a rank, sent to it. */
struct offset_pair {
	uint64_t n;
	uint64_t tick[2];
	double root_ns[2], error_ns[2]; /* since the start of rank 0 */
};

/* After MPI_Init, all ranks. */
void offsets_begin(const struct run *r);

/* In MPI_Finalize on an own communicator: rank 0, of each node's first rank (as in hosts, of host_bytes each). -1 without
 * memory. */
int offsets_end(const struct run *r, MPI_Comm c, const char *hosts, size_t host_bytes);
/* ... and what that rank does when the first ping (TAG_PING) is there. */
void offsets_echo(MPI_Comm c);
/* Rank 0: what it knows of rank i. */
void offsets_of(const struct run *r, int i, struct offset_pair *out);
void offsets_free(void);
/* The rank's own fix. */
void offsets_fix(const struct run *r, const struct offset_pair *p, struct trace_clock_fix *fix);

#endif
