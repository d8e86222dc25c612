/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's other use: stop the program on all ranks at a place that is known from an earlier trace. The marks tell
 * when the program passed this place and earlier ones (trace/format/stop.h). PRECEDENT_STOP_AT names a directory with
 * the stop file; the marks are written there. No trace is made.
 *
 * All ranks meet before any rank ends. They wait on a communicator of their own, so that MPI still serves the
 * messages of the other ranks. Then they end without the program's exit handlers. A run that differs from the
 * expected one, or that cannot be stopped, is ended at once, since its further behaviour is not known.
 */
#ifndef PRECEDENT_SPANK_TRACER_STOP_H
#define PRECEDENT_SPANK_TRACER_STOP_H

#include <stdbool.h>

#include "spank/tracer/run.h"

bool stop_wanted(void);
/* Collective, after rec_begin and before rec_go. */
void stop_begin(const struct run *r);
/* In MPI_Finalize: the program has ended before the stop. Does not return. */
void stop_missed(void);

#endif
