/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock offsets of other nodes to rank 0. Rank 0 exchanges ping-pong messages with the lowest rank of each node,
 * after MPI_Init and in MPI_Finalize. The shortest round trip of a few counts. All ranks of a node share a clock.
 *
 * After MPI_Init, no rank may wait for a rank without the tracer, and no message may reach the program. A file
 * (launch_decide) gives the same decision to all ranks. If rank 0 sees every rank's marker, it writes GO and the
 * partners; otherwise it writes NO. A rank that has waited too long writes NO. The first decision counts. Runs on
 * one node need no decision.
 */
#ifndef PRECEDENT_SPANK_TRACER_OFFSETS_H
#define PRECEDENT_SPANK_TRACER_OFFSETS_H

#include <mpi.h>
#include <stdint.h>

#include "spank/tracer/run.h"
#include "trace/format/defs.h"

/* One measurement. tick: the other rank's time in the middle of the round trip that rank 0 measured. */
struct offset_at {
	uint64_t root_tick, tick, round_ticks;
	bool known;
};

/* Offsets of a rank, which rank 0 sends to it. */
struct offset_pair {
	uint64_t n;
	uint64_t tick[2];
	double root_ns[2], error_ns[2]; /* since the start of rank 0 */
};

/* Call on all ranks after MPI_Init. */
void offsets_begin(struct run *r);

/* On rank 0 in MPI_Finalize, on a communicator of the tracer: measure the first rank of each node. hosts has
 * host_bytes per rank. Returns 0, or -1 if memory runs out. */
int offsets_end(const struct run *r, MPI_Comm c, const char *hosts, size_t host_bytes);
/* On such a rank, when the first ping (TAG_PING) has arrived. */
void offsets_echo(MPI_Comm c);
/* On rank 0: the measured offsets of rank i. */
void offsets_of(const struct run *r, int i, struct offset_pair *out);
void offsets_free(void);
/* Convert the measured offsets to the rank's own fix. */
void offsets_fix(const struct run *r, const struct offset_pair *p, struct trace_clock_fix *fix);

#endif
