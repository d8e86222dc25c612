/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From MPI_Init to MPI_Finalize: whether this process records, and how ranks agree to write one trace.
 *
 * The tracer may be missing on some nodes. So before MPI_Init, each rank adds its number to its node's marker in
 * the trace's directory. In MPI_Finalize, rank 0 reads the markers. If every rank occurs once, the ranks write a
 * trace (agree.h). Otherwise there is no trace, and no rank waits. No message is ever sent to a rank without the
 * tracer.
 */
#ifndef PRECEDENT_SPANK_TRACER_RUN_H
#define PRECEDENT_SPANK_TRACER_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/buf.h"
#include "common/errbuf.h"
#include "spank/tracer/clock.h"

struct run {
	bool wanted;             /* the environment asks for a trace */
	char dir[PATH_MAX];      /* directory of the markers, and of the trace unless it has an exact name */
	char file[PATH_MAX];     /* exact name, or "" */
	/* identifies this start of this program, the same on all ranks; "": not known */
	char id[192];
	int rank;                /* from the launcher's environment; -1: not known */
	uint64_t before_ns, init_mono_ns, init_ns, start_mono_ns, start_real_ns, start_cpu_ns;
	uint64_t start_ticks;    /* tick 0 of the recorder, set in MPI_Finalize */
	struct clock_moment start;
	double ns_per_tick;      /* set in MPI_Finalize */
	/* when this rank wrote its marker, by the file system's clock */
	struct timespec marked;
	int thread_level;
	int world_rank, world_size;
	/* Seen after MPI_Init, for a directory that does not answer later: the marker of rank 0; on rank 0, all markers. */
	bool root_seen, all_seen;
	bool aloud;              /* messages go to standard error, since no directory was given */
	/* started by MPI_Comm_spawn of another program, whose trace is the run's trace */
	bool spawned;
	/* Values at MPI_Init: the program may change its environment and directory, or delete its file. */
	char host[64], program[PATH_MAX];
	uint64_t file_share;     /* largest size of this rank's part of the trace; set in MPI_Finalize */
	struct buf facts;        /* lines key=value; on rank 0 with the command */
};
extern struct run run;

void run_before_init(void);
void run_after_init(bool ok, uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa);
void run_before_finalize(uint16_t fn, uintptr_t ra, uintptr_t cfa);

/* ---- launch.c ---- */
void launch_read(struct run *r);          /* reads the environment */
int launch_host(char *host, size_t size); /* name of this node */
void launch_mark(struct run *r);          /* writes this process's markers */
bool launch_root_present(const struct run *r); /* if the directory does not answer: root_seen */
/* Number of ranks that have the tracer, by the markers; -1 if the markers contradict each other. A node here means
 * the processes that one process of the launcher started on a node.
 *
 * Returns 0 if the directory does not answer (patience_lost).
 *
 * leader: world_size entries. Each is the lowest rank of the rank's node, or -1 if the rank has no tracer or does not
 * know its number. */
int64_t launch_count(const struct run *r, int32_t *leader);
/* Number of ranks in this node's marker. *lowest: is this the lowest of them? */
int64_t launch_here(const struct run *r, bool *lowest);
/* Make a decision for all ranks: the first one counts. Returns the decision, malloced; NULL if it cannot be known. */
char *launch_decide(const struct run *r, const char *text);
char *launch_decision(const struct run *r); /* NULL: no decision yet */
void launch_unmark(const struct run *r);  /* rank 0: removes all markers of this run */
int launch_trace_path(const struct run *r, char *path, size_t size); /* path of the new trace; -1: too long */
void launch_report(const struct run *r, const char *text); /* in the log, or where it does not disturb the program */

/* ---- gather.c ---- */
enum gathered {
	GATHERED_NOTHING, /* a rank has no tracer or no memory: the ranks do not synchronise */
	GATHERED_NOT_WRITTEN,
	GATHERED_WRITTEN,
};
/* Collective: the ranks agree and write one file. Returns the same on all ranks. */
enum gathered gather_trace(struct run *r);
/* Collective, after any result but GATHERED_NOTHING: ranks of MPICH continue together. Before MPICH 4.2, its
 * MPI_Finalize over UCX may hang. There a rank that waits in PMI does not answer a rank that still disconnects,
 * and rank 0 is late because it writes the file. */
void gather_part(void);

/* ---- passthrough.c ---- */
struct trace_defs;
struct spill;
void passthrough_define(struct trace_defs *d);
/* Move the counters to the spill file. */
void passthrough_protect(struct spill *s);

#endif
