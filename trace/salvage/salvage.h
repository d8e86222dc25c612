/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes one partial trace from the spill files of a run that died. A spill file (spank/tracer/spill) holds all
 * calls up to the kill. Spill files are user data: every length is checked, and a damaged tail is cut off.
 */
#ifndef PRECEDENT_TRACE_SALVAGE_H
#define PRECEDENT_TRACE_SALVAGE_H

#include <stdint.h>

#include "common/errbuf.h"

/* Suffix of a line of text beside a spill file, in which a collector says how the tasks of the node ended. */
#define SALVAGE_ENDED ".ended"
/* Suffix of a file beside the spill file of the rank that ended before all others. Its line: the seconds between the first end
 * and the last, and the signal that killed the launcher, or 0. */
#define SALVAGE_FIRST ".first"

struct salvage_run {
	char id[192];          /* id of the run, the same on all ranks */
	uint32_t world_size;   /* 0 if no file tells it */
	uint32_t n_found;      /* number of its spill files */
};

struct salvage_report {
	uint32_t n_ranks, n_found;
	uint64_t events;       /* events of all ranks */
	char path[4096];       /* path of the trace */
};

/* Find the runs with spill files in dir. *run is malloced. Returns their number, or -1 on error (err says why). */
int salvage_find(const char *dir, struct salvage_run **run, struct errbuf *err);

/* Write a partial trace from the spill files of run `id` in dir to out_file, or to <out_dir>/<id>.partial.ptrace.
 * An older trace is replaced. `ended` tells readers how the run ended ("killed by signal 9", "time limit").
 *
 * If all spill files of the run were there, they are removed. Otherwise they are kept, so that a later call can
 * use them together with the others.
 *
 * The modification time of a spill file is taken as the last time at which the run lived. A collector touches the
 * files (futimens) when the processes end. So a call that never returned gets its duration. */
int salvage_write(const char *dir, const char *id, const char *out_dir, const char *out_file, const char *ended,
		  struct salvage_report *report, struct errbuf *err);

#endif
