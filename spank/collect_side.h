/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the files of runs that died. Each rank records into a directory of its node until its program ends. When
 * a step ends on a node, `precedent collect` runs as the user. It moves the files in that directory to the job's
 * spool directory and makes a partial trace. Without files the program is not started.
 *
 * The directory is LocalDir/precedent/UID-JOB. Root owns LocalDir/precedent and makes the names in it, so no user can
 * take the name of another user's job. The files belong to the user: root reads neither them nor the directory.
 *
 * The program runs in a PID namespace of its own. All its processes are killed when slurmstepd stops waiting.
 */
#ifndef PRECEDENT_SPANK_COLLECT_SIDE_H
#define PRECEDENT_SPANK_COLLECT_SIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

/* longest wait at the end of a step, unless configured otherwise */
#define COLLECT_PATIENCE_S 30
/* root's directory in LocalDir */
#define COLLECT_DIR "precedent"

struct collect {
	char local[PATH_MAX];   /* LocalDir/precedent/UID-JOB on this node, or "" */
	char into[PATH_MAX];    /* the job's spool directory */
	char program[PATH_MAX]; /* precedent-collect, which users can execute but not read, and so not trace */
	uid_t uid;
	gid_t gid;
	gid_t *groups;          /* the user's supplementary groups, borrowed */
	int n_groups;
	unsigned patience_s;    /* 0: COLLECT_PATIENCE_S */
	bool last;              /* the batch step, which ends last */
	bool made;              /* by this step: mpirun may record there when other steps of the job have ended */
	char ended[64];         /* how the first failed task ended, or "" */
};

/* Fill in the names from the configuration. local_dir "" leaves c->local empty. Returns 0, or -1 if a name is too
 * long. */
int collect_name(struct collect *c, const char *local_dir, uid_t uid, uint32_t job_id, struct errbuf *err);

/* As root: open LocalDir/precedent, and make it if it is missing. Returns a descriptor, or -1 if other users could make
 * names in it (err says why). */
int collect_open_top(const char *local_dir, struct errbuf *err);

/* As root: make c->local for the user alone. Follows no link below local_dir. Returns 1 if it was made, 0 if it was
 * there, or -1 on error (err says why). */
int collect_make(const struct collect *c, const char *local_dir, struct errbuf *err);

/* As the user, in a task: can the directory be used here? Returns 0, or -1 (err says why not). */
int collect_check(const struct collect *c, struct errbuf *err);

/* A task ended with this wait status. rank: its number in the step; -1: it is no rank. */
void collect_task_ended(struct collect *c, int rank, int status);

/* As root, when the step has ended on this node: run the collector. Remove the directory if it is empty and c->made.
 * Returns within patience_s, or within seconds if the spool does not answer. Then files stay in the directory.
 * Returns 0, or -1 if they stay there (err says why). */
int collect_run(const struct collect *c, struct errbuf *err);

#endif
