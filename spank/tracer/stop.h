/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's other use: stop the program on all ranks at the same place, known from an earlier trace, and tell when
 * it came by there (trace/format/stop.h). PRECEDENT_STOP_AT names a directory with the stop file; marks are put there. Nothing
 * is traced then.
 *
 * All ranks meet before any ends, on a communicator of their own, so that those that have arrived go on serving the
 * messages of the others. Then they end without the program's exit handlers. A run that is not the one expected, or
 * cannot be stopped, is ended at once: what it would do otherwise is not known.
 */
#ifndef PRECEDENT_SPANK_TRACER_STOP_H
#define PRECEDENT_SPANK_TRACER_STOP_H

#include <stdbool.h>

#include "spank/tracer/run.h"

bool stop_wanted(void);
/* Collective, after rec_begin and before rec_go. */
void stop_begin(const struct run *r);
/* In MPI_Finalize: the program has ended too early. Does not return. */
void stop_missed(void);

#endif
