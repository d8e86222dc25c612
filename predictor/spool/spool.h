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
	uint64_t dirs; /* empty directories of jobs */
	uint64_t kept; /* old enough, but this user of ours may not remove them */
};

struct spool_order {
	int64_t before;	      /* leftovers that nobody has written since then go */
	int64_t empty_before; /* so do empty directories of jobs */
	uint64_t quota_bytes; /* of each user; 0: no quota */
	const uint32_t *jobs; /* that slurmctld knows, sorted: their directories stay */
	const uint32_t *live; /* of these, that have not ended, sorted: their leftovers stay too */
	size_t n_jobs, n_live;
	const atomic_bool *stop;
};

/* One user's part of the spool, after it was brought below the quota. */
struct spool_use {
	uint32_t uid;
	uint64_t bytes, files;
	uint64_t removed_bytes, removed_files;
	uint64_t closed; /* directories that could not be looked into as a whole: closed, too deep, or with too many names */
	bool over;	 /* still above the quota, or with closed directories */
};
typedef void spool_use_fn(const struct spool_use *use, void *arg);

/* The quota in files of a quota in bytes. */
#define SPOOL_QUOTA_FILES(bytes) ((bytes) / 102400)

/*
 * Removes temporary files (spool_is_leftover) from the directories of all users' jobs. A file must belong to the user, be a
 * regular file, and not have been written since order->before. Removes empty directories of jobs. Then brings each user below the
 * quota. Entries beside the directories of jobs go first, then directories of jobs, the oldest first. Calls `tell` for each user
 * whose files were removed for the quota, and for each user who stays above the quota. Ends early when *stop is set.
 *
 * RATIONALE: users change all of this while we look. Each step goes by directory descriptor, follows no link and checks the
 * owner. So only entries of a user's own directories can be removed.
 */
void spool_sweep(const char *spool_dir, const struct spool_order *order, spool_use_fn *tell, void *arg, struct spool_swept *out);

/* Has the file system of the spool no room left? Also when it cannot be written to at all. `why` says which. */
bool spool_is_full(const char *spool_dir, struct errbuf *why);

#endif
