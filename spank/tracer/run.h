/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From MPI_Init to MPI_Finalize: whether this process records at all, and how ranks agree to write one trace.
 *
 * Nothing is sent before MPI_Finalize. To know there that every rank has the tracer (it may not be installed on
 * all nodes), each rank adds a byte to its node's marker in the trace's directory before MPI_Init. In MPI_Finalize
 * rank 0 adds up their lengths. As many as there are ranks: they gather. Any other number (some have no tracer, or
 * a marker was left by a run that died): no trace, and nobody waits.
 */
#ifndef PRECEDENT_SPANK_TRACER_RUN_H
#define PRECEDENT_SPANK_TRACER_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

struct run {
	bool wanted;             /* the environment asks for a trace */
	char dir[PATH_MAX];      /* of the markers, and of the trace unless it has an exact name */
	char file[PATH_MAX];     /* exact name, or "" */
	char id[192];            /* of this start of this program, the same on all ranks; "" when unknown */
	int rank;                /* from the launcher's environment, -1 when unknown */
	uint64_t before_ns, init_mono_ns, init_ns, start_mono_ns, start_real_ns, start_cpu_ns;
	uint64_t start_ticks;
	int thread_level;
	int world_rank, world_size;
};
extern struct run run;

void run_before_init(void);
void run_after_init(bool ok, uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa);
void run_before_finalize(uint16_t fn, uintptr_t ra, uintptr_t cfa);

/* ---- launch.c ---- */
void launch_read(struct run *r);          /* the environment */
void launch_mark(const struct run *r);    /* leave this process's markers */
bool launch_root_present(const struct run *r);
int64_t launch_count(const struct run *r); /* ranks that have the tracer, by the markers */
void launch_unmark(const struct run *r);  /* rank 0: take all markers of this run away */
int launch_trace_path(const struct run *r, char *path, size_t size); /* of the new trace; -1 too long */
void launch_report(const struct run *r, const char *text); /* where it disturbs nobody */

/* ---- gather.c ---- */
/* Collective: all ranks agree and write one file. */
void gather_trace(const struct run *r);

/* ---- passthrough.c ---- */
struct trace_defs;
void passthrough_define(struct trace_defs *d);

#endif
