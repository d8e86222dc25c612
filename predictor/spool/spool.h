/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spool directory as the daemon looks at it: SpoolDir/<uid>/<jobid>/. Everything below <uid> was made by a user, so
 * each step goes by directory descriptor, follows no link and checks the owner; of traces only the names are read.
 */
#ifndef PRECEDENT_PREDICTOR_SPOOL_SPOOL_H
#define PRECEDENT_PREDICTOR_SPOOL_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

#define SPOOL_NAME_SIZE	 128
#define SPOOL_LOOK_FILES 256 /* files that one look asks about; more than the traces that probes use (RESULT_MAX_TRACES) */

enum spool_gap {
	SPOOL_THERE,
	SPOOL_NO_ROOT, /* SpoolDir itself cannot be opened */
	SPOOL_NO_USER, /* SpoolDir/<uid> is missing */
	SPOOL_NO_JOB,  /* SpoolDir/<uid>/<jobid> is missing */
	SPOOL_UNSAFE,  /* a link, or somebody else's */
};

/* A descriptor of the job's directory, or -1 with *gap (may be NULL) and the reason. */
int spool_job_open(const char *spool_dir, uid_t uid, uint32_t job_id, enum spool_gap *gap, struct errbuf *errp);

/* Is this the name of a whole trace? Traces of runs that died (.partial.ptrace) are none: they give no skeleton. */
bool spool_is_trace(const char *name);

/* Names of the traces (regular files of that user, spool_is_trace), sorted, at most max of them; names may be
 * NULL with max 0. Returns how many there are, at most SPOOL_LOOK_FILES, or -1 on error. dirfd stays open. */
int spool_traces(int dirfd, uid_t uid, char (*names)[SPOOL_NAME_SIZE], size_t max, struct errbuf *errp);

/* Why a job left no trace, by the names of its files alone. */
enum spool_sign {
	SPOOL_BEGUN = 1,      /* the tracer's markers: a process entered MPI_Init, and the run never came to MPI_Finalize */
	SPOOL_COMPLAINED = 2, /* tracer.err: the tracer could not write the trace */
	SPOOL_REFUSED = 4,    /* untraced.txt: the nodes or the script did not let it in */
};

/* The signs in a job's directory, as bits; 0 when there are none or it cannot be read. dirfd stays open. */
unsigned spool_signs(int dirfd, uid_t uid);

/*
 * Is this the name of a temporary file of a traced or collected run? These are markers of the tracer (.present.*), locks of
 * collectors (.collect.*), parts of runs that died (*.spill, *.spill.part, *.spill.ended) and unfinished traces
 * (*.ptrace.tmp.N).
 */
bool spool_is_leftover(const char *name);

struct spool_swept {
	uint64_t removed, bytes;
	uint64_t kept; /* old enough, but this user of ours may not remove them */
};

/*
 * Removes temporary files (spool_is_leftover) from the directories of all users' jobs. A file must belong to the user, be a
 * regular file, and not have been written since `before`. Jobs in live (sorted ids) are left alone. Ends early when *stop is
 * set. RATIONALE: only names are checked. Whatever a user puts into a directory, only entries of that directory can be removed.
 */
void spool_sweep(const char *spool_dir, int64_t before, const uint32_t *live, size_t n_live, const atomic_bool *stop,
		 struct spool_swept *out);

/* Has the file system of the spool no room left? Also when it cannot be written to at all. `why` says which. */
bool spool_is_full(const char *spool_dir, struct errbuf *why);

#endif
