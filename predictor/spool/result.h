/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result record that a probe job leaves in its user's spool directory, and that precedentd reads. It is the only user data
 * that the daemon parses: text, at most 64 KiB, every key known, every number bounded, an `end` line at the end. Any other text
 * is refused as a whole.
 *
 *   precedent-result 1
 *   job <jobid>
 *   candidate <name>                      [A-Za-z0-9_.-], at most 63 bytes
 *   status ok|failed
 *   reason <text>                         only and always when failed
 *   node_class <16 hex> <description>
 *   startup_s <seconds>
 *   trace <n> mpi_s <s> skel_s <s> lo_s <s> hi_s <s> ran_s <s> events <int> confidence <0..1>   n = 0, 1, 2...
 *   compute <n> traced_s <s> skel_s <s>   computation within mpi_s and within skel_s; at most one for each trace, after it
 *   partial <n> whole_s <s> lo_s <s> hi_s <s> ran_s <s>     at most one for each trace, after it
 *   partial_compute <n> traced_s <s> whole_s <s>   the same within mpi_s and whole_s; at most one for each, after it
 *   unpartial <reason>                    why there is no partial execution, though there should be
 *   unskeleton <reason>                   why no skeleton was run, though the record is ok: no skeleton repeats the program.
 *                                         skel_s, lo_s, hi_s are 0, and each trace has a partial execution
 *   kernel <name> <ns per unit>
 *   point <numbers> <s> <claim>           seconds of a run with other numbers (common/identity.h), by the model of the calls, and the
 *                                         ratio, less 1, by which the model claims to be off. At most RESULT_MAX_POINTS, in ok records
 *   unpoint <reason>                      why there is no point, though points were asked for
 *   noise <share>                         relative standard deviation of the same work at different times
 *   interpreted <text>                    why the skeleton was not compiled, if it was not
 *   without_own <text>                    read, but no longer written or used
 *   hash <16 hex>
 *   end
 *
 * A record with status ok has node_class, startup_s, hash and at least one trace; a failed one may lack them.
 */
#ifndef PRECEDENT_PREDICTOR_SPOOL_RESULT_H
#define PRECEDENT_PREDICTOR_SPOOL_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/errbuf.h"

#define RESULT_MAX_BYTES   65536
#define RESULT_MAX_TRACES  64
#define RESULT_MAX_KERNELS 32
#define RESULT_MAX_POINTS  32
#define RESULT_POINTS_S	   60 /* at most for computing points, beside what a probe takes without points */
#define RESULT_LATE	   "a model took longer than" /* begins `unpoint` if computing points took too long */
#define RESULT_MAX_CLAIM   1e3
#define RESULT_MAX_SECONDS 1e9
#define RESULT_NAME_SIZE   64 /* a candidate's name with its NUL */

/* Part of the seconds in computation, mean over ranks; the rest is MPI and waiting. */
struct result_compute {
	bool present;
	double traced_s, skel_s; /* of the traced program; of the skeleton or the partial execution here */
};

/* The program itself, run until enough of its main loop was done. */
struct result_partial {
	bool present;
	double whole_s; /* predicted seconds of the whole program here */
	double lo_s, hi_s;
	double ran_s; /* what was run */
	struct result_compute compute; /* of whole_s */
};

struct result_trace {
	double mpi_s;  /* traced seconds from MPI_Init to MPI_Finalize */
	double skel_s; /* the skeleton's seconds here, scaled back to the whole program */
	double lo_s, hi_s;
	double ran_s; /* what the skeleton really took */
	uint64_t events;
	double confidence;
	struct result_partial partial;
	struct result_compute compute;
};

struct result_kernel {
	char name[33];
	double ns_per_unit;
};

struct result_point {
	char vars[128]; /* as identity_vars_format writes them: digits, and .,e+- */
	double seconds; /* from MPI_Init to MPI_Finalize, above 0 */
	double claim;
};

struct result {
	uint32_t job_id;
	char candidate[RESULT_NAME_SIZE];
	bool ok;
	char reason[301];
	bool has_class;
	char class_hex[17];
	char class_text[201];
	bool has_startup;
	double startup_s;
	bool has_hash;
	char hash_hex[17];
	bool has_noise;
	double noise; /* relative deviation, at most 10 */
	char interpreted[301]; /* why the skeleton was not compiled; "": it was */
	char unpartial[301]; /* "": not asked for, or there */
	char unskeleton[301]; /* "": the seconds are those of a skeleton */
	char unpoint[301]; /* "": not asked for, or there */
	unsigned traces_n, kernels_n, points_n;
	struct result_trace traces[RESULT_MAX_TRACES];
	struct result_kernel kernels[RESULT_MAX_KERNELS];
	struct result_point points[RESULT_MAX_POINTS];
};

/* A candidate (partition[:constraint]) as it appears in file names and records: [A-Za-z0-9_.-], other bytes
 * become '_', a leading '.' too. Cut to size. */
void result_candidate_name(const char *candidate, char *out, size_t size);

/* Parse len bytes; -1 with a message that names the line. *res is then undefined. */
int result_parse(const char *text, size_t len, struct result *res, struct errbuf *errp);

/* Appends the record's text to out. What is not clean in reason and class_text becomes '?'. A record that result_parse would
 * refuse (a number out of range, status ok without traces) is refused. */
int result_format(const struct result *res, struct buf *out, struct errbuf *errp);

/* Read the record `name` in the directory dirfd: no link followed, a regular file that belongs to uid and is at
 * most RESULT_MAX_BYTES long. Returns 1 when read, 0 when there is no such file, -1 with a message. */
int result_read(int dirfd, const char *name, uid_t uid, struct result *res, struct errbuf *errp);

/* Write the record as `name` in dirfd: written beside, synced, renamed, mode 0640. */
int result_write(int dirfd, const char *name, const struct result *res, struct errbuf *errp);

#endif
