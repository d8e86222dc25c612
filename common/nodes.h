/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells which nodes have the tracer. A job is traced on all of its nodes or on none: the gathering of a trace waits
 * for all ranks. An exec agent that is missing on one node would end the job. Each node has a file spool/nodes/NAME, owned by
 * root. The file names the tracer and the exec agent. slurmd writes it at its start, and every step of a marked job renews it. The batch step checks all files once, before the job runs.
 */
#ifndef PRECEDENT_COMMON_NODES_H
#define PRECEDENT_COMMON_NODES_H

#include <stdbool.h>

#include "common/errbuf.h"

/* A name of a node and its file: letters, digits, '.', '_' and '-', at most 200, without '.' at the start. */
bool nodes_name_valid(const char *node);

/*
 * As root: write that this node has the tracer `lib`, or no tracer (NULL). Only changes are written. spool must
 * belong to root or to the caller, and only its owner may write. Returns 0 on success, -1 on error (err says why).
 */
int nodes_mark(const char *spool, const char *node, const char *lib, struct errbuf *err);

/* Has this node the tracer `lib`, by its file? Returns 0 if it has, -1 if not (err says why). */
int nodes_check(const char *spool, const char *node, const char *lib, struct errbuf *err);

#endif
