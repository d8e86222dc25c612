/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the files of runs that died. Each rank records into a directory of its node until its program ends. When
 * a step ends on a node, `precedent collect` runs as the user. It moves the files in that directory to the job's
 * spool directory and makes a partial trace. Without files no process is started.
 *
 * RATIONALE: the files belong to the user, so slurmstepd reads none of them. It lists names and forks.
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

struct collect {
	char local[PATH_MAX];   /* precedent-UID-JOB on this node, or "" */
	char into[PATH_MAX];    /* the job's spool directory */
	char program[PATH_MAX]; /* the precedent command */
	uid_t uid;
	gid_t gid;
	gid_t *groups;          /* the user's supplementary groups, borrowed */
	int n_groups;
	unsigned patience_s;    /* 0: COLLECT_PATIENCE_S */
	bool last;              /* the batch step, which ends last */
	char ended[64];         /* how the first failed task ended, or "" */
};

/* Fill in the names from the configuration. local_dir "" leaves c->local empty. Returns 0, or -1 if a name is too
 * long. */
int collect_name(struct collect *c, const char *local_dir, uid_t uid, uint32_t job_id, struct errbuf *err);

/* As the user: make the directory with access for the user only. Returns 0; -1 if it belongs to another user or
 * cannot be made (err says why). */
int collect_prepare(const struct collect *c, struct errbuf *err);

/* A task ended with this wait status. rank: its number in the step; -1: it is no rank. */
void collect_task_ended(struct collect *c, int rank, int status);

/* As root, when the step has ended on this node: run the collector, and remove the directory if it is empty.
 * Returns within patience_s. A collector that runs longer is killed; remaining files stay in the directory. */
void collect_run(const struct collect *c);

#endif
