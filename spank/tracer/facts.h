/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the run as lines key=value: the job page of a trace, the header of a spill file. */
#ifndef PRECEDENT_SPANK_TRACER_FACTS_H
#define PRECEDENT_SPANK_TRACER_FACTS_H

#include "common/buf.h"
#include "spank/tracer/run.h"

/* Nothing when value is NULL or empty. */
void facts_put(struct buf *b, const char *key, const char *value);
/* All that is needed to run the same again: command, directory, input, environment (of it, what decides how fast), each as
 * words (trace/format/words.h). Nothing when the command line is too long to be kept. */
void facts_put_command(struct buf *b);
/* What this process knows by itself: program, arguments, job, step, launcher, mpi, ranks, date, run. */
void facts_put_job(struct buf *b, const struct run *r);

#endif
