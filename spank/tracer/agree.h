/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All ranks write a trace together, or none does. In MPI_Finalize, rank 0 decides by the markers (launch_count). It
 * tells every rank that has the tracer, and waits for all answers. Only then do collective operations start.
 */
#ifndef PRECEDENT_SPANK_TRACER_AGREE_H
#define PRECEDENT_SPANK_TRACER_AGREE_H

#include <mpi.h>
#include <stdbool.h>

#include "spank/tracer/run.h"

/* Tags of empty messages on MPI_COMM_WORLD. If a program left a receive open, they overwrite nothing. */
enum { TAG_GO = 32700, TAG_NO_GO, TAG_READY, TAG_COMMIT, TAG_CANCEL, TAG_PING, TAG_PONG };

/* Returns the same on all ranks. able: this rank can write its trace; if rank 0 cannot, it has reported why. */
bool agree(const struct run *r, bool able);

/* Wait for a message with tag a or b. Returns the tag; -1 after patience_s seconds or if `on` returns false. on
 * == NULL: always true. */
int agree_await(MPI_Comm c, int from, int a, int b, int patience_s, bool (*on)(const struct run *r), const struct run *r);

#endif
