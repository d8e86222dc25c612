/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a planned skeleton as C: skel.c (the program), skel.c.data (values that no expression gives, linked in),
 * skel.ops (both, for machines without a compiler), Makefile, report.txt. It links with libprecedent_skel.a and MPI, nothing else.
 */
#ifndef PRECEDENT_SKELGEN_EMIT_SKELETON_H
#define PRECEDENT_SKELGEN_EMIT_SKELETON_H

#include "common/errbuf.h"
#include "skelgen/pieces/pieces.h"
#include "skelgen/plan/plan.h"
#include "skelgen/profile/compute_profile.h"
#include "skelgen/runtime/piece_interval.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define SKEL_DATA_MAX (8 << 20) /* bytes of skel.c.data: gaps take what values of calls and arrays leave of them */

#define SKEL_ROUNDS_MOST PIECES_ROUNDS_MOST /* of the pieces in a skeleton */

/* What the stages before have found; borrowed. */
struct skel_planned {
	const struct skel_tree *tree; /* resolved */
	const struct skel_times *times;
	const struct compute_profile *profile;
	const struct skel_plan *plan;
	const struct skel_buffered *buffered; /* sends that rely on buffers, for the report; may be NULL */
	const struct pieces *pieces;  /* of the run that the tree is an excerpt of; NULL: it is the whole run */
	uint64_t events;              /* of the whole run */
};

struct skel_emit_report {
	uint32_t calls, lines;   /* in the source */
	uint64_t data_bytes;     /* of skel.c.data */
	double confidence;       /* share of the traced time that the skeleton reproduces, 0 .. 1 */
};

/* All may be NULL. */
struct skel_emit_options {
	struct skel_emit_report *report; /* filled on success */
	const char *include_dir; /* holds skelgen/runtime/skel.h; NULL: the Makefile's user says */
	const char *lib_dir;     /* holds the runtime */
	const char *runtime;     /* libprecedent_skel.a (NULL), or the file for another MPI library */
	const char *mpicc;       /* the compiler wrapper; NULL: mpicc */
	const char *trace_name;  /* for comments; may be NULL */
	/* Function and line of a call site, into buf, which it returns; NULL: module and offset. */
	const char *(*site)(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf, size_t size);
	void *site_arg;
};

/* Write the files of the skeleton to dir, which is created if it does not exist. Each file is written under a temporary
 * name first. On failure, the files of an earlier skeleton are unchanged and no file of this skeleton is left. */
int skel_emit_c(const struct skel_planned *in, const char *dir, const struct skel_emit_options *options, struct errbuf *err);
/* The skeleton's size; nothing is written. Returns 0, or -1 with the reason. */
int skel_emit_measure(const struct skel_planned *in, struct skel_emit_report *out, struct errbuf *err);

#endif
