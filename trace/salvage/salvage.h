/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes one partial trace of what the ranks of a run that died have left: each rank's spill file (spank/tracer/spill),
 * which survives a kill at any instant up to the last recorded call. Spill files are user data: every length is
 * checked, a damaged tail is cut off.
 */
#ifndef PRECEDENT_TRACE_SALVAGE_H
#define PRECEDENT_TRACE_SALVAGE_H

#include <stdint.h>

#include "common/errbuf.h"

/* A collector may say beside each spill file how the tasks of its node ended: <file>.ended, a line of text. */
#define SALVAGE_ENDED ".ended"

struct salvage_run {
	char id[192];          /* of the run, the same on all ranks */
	uint32_t world_size;   /* 0 when no file knows it */
	uint32_t n_found;      /* spill files of it */
};

struct salvage_report {
	uint32_t n_ranks, n_found;
	uint64_t events;       /* over all ranks */
	char path[4096];       /* the trace that was written */
};

/* Runs that have spill files in dir: *run is malloced. The number, or -1. */
int salvage_find(const char *dir, struct salvage_run **run, struct errbuf *err);

/* A spill file's time of modification tells until when the run is known to have lived: who collects the files when the
 * processes end touches them (futimens), so that a call that never returned has its length.
 *
 * Write out_file, or <out_dir>/<id>.partial.ptrace in place of an older one, from the spill files of run `id` in dir,
 * marked partial; `ended` says why for people ("killed by signal 9", "time limit"). Afterwards removes the spill files,
 * but those of a run of which some are still missing: when they come, it can be written again. */
int salvage_write(const char *dir, const char *id, const char *out_dir, const char *out_file, const char *ended,
		  struct salvage_report *report, struct errbuf *err);

#endif
