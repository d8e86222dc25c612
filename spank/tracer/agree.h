/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All ranks gather, or none. In MPI_Finalize rank 0 decides by the markers (launch_count), tells every rank that has
 * the tracer, and waits until all have answered; only then is anything collective done.
 */
#ifndef PRECEDENT_SPANK_TRACER_AGREE_H
#define PRECEDENT_SPANK_TRACER_AGREE_H

#include <mpi.h>
#include <stdbool.h>

#include "spank/tracer/run.h"

/* Empty messages on MPI_COMM_WORLD: where a program left a receive open, nothing can be overwritten. */
enum { TAG_GO = 32700, TAG_NO_GO, TAG_READY, TAG_COMMIT, TAG_CANCEL, TAG_PING, TAG_PONG };

/* True on all ranks, or on none. A rank 0 that is not able says no, and has said why. */
bool agree(const struct run *r, bool able);

/* Wait until a message with tag a or b is there; the tag, or -1 when the patience of that many seconds ends or `on`
 * (NULL: always) says no. */
int agree_await(MPI_Comm c, int from, int a, int b, int patience_s, bool (*on)(const struct run *r), const struct run *r);

#endif
