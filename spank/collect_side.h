/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs that die leave behind: each rank keeps what it has recorded in a directory of its node until its program
 * ends. When a step ends on a node, `precedent collect`, as the user, brings what is left there to the job's spool
 * directory and makes a partial trace of it. Nothing is started where nothing is left.
 * RATIONALE: slurmstepd reads none of these files, which are the user's; it looks at names and forks.
 */
#ifndef PRECEDENT_SPANK_COLLECT_SIDE_H
#define PRECEDENT_SPANK_COLLECT_SIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

#define COLLECT_PATIENCE_S 30 /* a step's end waits no longer, unless it is configured otherwise */

struct collect {
	char local[PATH_MAX];   /* precedent-UID-JOB on this node, or "" */
	char into[PATH_MAX];    /* the job's spool directory */
	char program[PATH_MAX]; /* the precedent command */
	uid_t uid;
	gid_t gid;
	gid_t *groups;          /* the user's further ones, borrowed */
	int n_groups;
	unsigned patience_s;    /* 0: COLLECT_PATIENCE_S */
	bool last;              /* the batch step: nothing comes after it */
	char ended[64];         /* how the first task ended that did not end well, or "" */
};

/* The names, from the configuration; local_dir "" leaves c->local empty. -1: too long. */
int collect_name(struct collect *c, const char *local_dir, uid_t uid, uint32_t job_id, struct errbuf *err);

/* As the user: make the directory, ours alone. -1: it is somebody else's, or cannot be made. */
int collect_prepare(const struct collect *c, struct errbuf *err);

/* A task ended with this wait status. rank: its number in the step, -1: it is no rank. */
void collect_task_ended(struct collect *c, int rank, int status);

/* As root, when the step has ended on this node. Removes the directory when it is empty. Returns within patience_s; what
 * runs then is killed, and what it has not brought stays in the directory. */
void collect_run(const struct collect *c);

#endif
