/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From MPI_Init to MPI_Finalize: whether this process records at all, and how ranks agree to write one trace.
 *
 * To know that every rank has the tracer (it may not be installed on all nodes), each rank adds its number to its
 * node's marker in the trace's directory before MPI_Init. In MPI_Finalize rank 0 reads them. Every rank once: they
 * gather (agree.h). Anything else (some have no tracer, or a marker was left by a run that died): no trace, and nobody
 * waits. Nothing is ever sent to a rank that has no tracer.
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
	char dir[PATH_MAX];      /* of the markers, and of the trace unless it has an exact name */
	char file[PATH_MAX];     /* exact name, or "" */
	char id[192];            /* of this start of this program, the same on all ranks; "" when unknown */
	int rank;                /* from the launcher's environment, -1 when unknown */
	uint64_t before_ns, init_mono_ns, init_ns, start_mono_ns, start_real_ns, start_cpu_ns;
	uint64_t start_ticks;    /* tick 0 of the recorder, in MPI_Finalize */
	struct clock_moment start;
	double ns_per_tick;      /* in MPI_Finalize */
	struct timespec marked;  /* when this rank left its marker, on the clock of the file system */
	int thread_level;
	int world_rank, world_size;
	bool aloud;              /* what there is to say goes to standard error: no directory was given */
	bool spawned;            /* by MPI_Comm_spawn of another program, whose trace is the one of the run */
	/* As they were in MPI_Init: the program may change its environment and directory, or delete its file. */
	char host[64], program[PATH_MAX];
	uint64_t file_share;     /* bytes of the trace, of this rank, at most; known in MPI_Finalize */
	struct buf facts;        /* lines key=value; rank 0: with the command */
};
extern struct run run;

void run_before_init(void);
void run_after_init(bool ok, uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa);
void run_before_finalize(uint16_t fn, uintptr_t ra, uintptr_t cfa);

/* ---- launch.c ---- */
void launch_read(struct run *r);          /* the environment */
int launch_host(char *host, size_t size); /* this node's name */
void launch_mark(struct run *r);          /* leave this process's markers */
bool launch_root_present(const struct run *r);
/* Ranks that have the tracer, by the markers; -1 when these contradict each other. leader[rank], for world_size ranks, is
 * the lowest rank of its node (of what one process of the launcher started there), -1 where there is no tracer or ranks
 * do not know their number. */
int64_t launch_count(const struct run *r, int32_t *leader);
/* How many ranks this node's marker has, and whether this is the lowest of them. */
int64_t launch_here(const struct run *r, bool *lowest);
/* One answer for all ranks, whoever gives it first: what was decided (malloced), or NULL where that cannot be known. */
char *launch_decide(const struct run *r, const char *text);
char *launch_decision(const struct run *r); /* NULL: none yet */
void launch_unmark(const struct run *r);  /* rank 0: take all markers of this run away */
int launch_trace_path(const struct run *r, char *path, size_t size); /* of the new trace; -1 too long */
void launch_report(const struct run *r, const char *text); /* where it disturbs nobody */

/* ---- gather.c ---- */
enum gathered {
	GATHERED_NOTHING, /* a rank has no tracer, or no memory: nobody has to do with anybody */
	GATHERED_NOT_WRITTEN,
	GATHERED_WRITTEN,
};
/* Collective: all ranks agree and write one file; the same answer on all of them. */
enum gathered gather_trace(struct run *r);
/* Collective, after anything but GATHERED_NOTHING: ranks of MPICH go on together. Before 4.2 its MPI_Finalize over UCX may
 * hang, since a rank that waits in PMI does not answer one that still disconnects, and the root has a file to write. */
void gather_part(void);

/* ---- passthrough.c ---- */
struct trace_defs;
struct spill;
void passthrough_define(struct trace_defs *d);
/* Count in the spill file. */
void passthrough_protect(struct spill *s);

#endif
