/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the run as lines key=value: the job page of a trace, the header of a spill file. */
#ifndef PRECEDENT_SPANK_TRACER_FACTS_H
#define PRECEDENT_SPANK_TRACER_FACTS_H

#include "common/buf.h"
#include "spank/tracer/run.h"

/* Writes nothing if value is NULL or empty. */
void facts_put(struct buf *b, const char *key, const char *value);
/* Write the data to repeat the run: command, directory, input, and the environment variables that influence its
 * speed, each as words (trace/format/words.h). Writes nothing if the command line is too long. */
void facts_put_command(struct buf *b);
/* Write the facts that this process knows alone: program, arguments, job, step, launcher, mpi, ranks, date, run. */
void facts_put_job(struct buf *b, const struct run *r);

#endif
