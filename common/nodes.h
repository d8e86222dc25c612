/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which nodes have the tracer. A job is traced on all of its nodes or on none: a rank without the tracer would be missing
 * when the others gather the trace. Every node says what it has in spool/nodes/NAME, a file of root's that holds the name
 * of the tracer; slurmd writes it when it starts, every step of a marked job renews it. The batch step looks once, before
 * anything of the job runs.
 */
#ifndef PRECEDENT_COMMON_NODES_H
#define PRECEDENT_COMMON_NODES_H

#include <stdbool.h>

#include "common/errbuf.h"

/* Letters, digits, '.', '_' and '-', at most 200, not starting with '.': the name of a file and of a node. */
bool nodes_name_valid(const char *node);

/*
 * As root: say that this node has (lib) or has not (NULL) the tracer. spool must belong to root or to us and be writable
 * by its owner alone. Writes only what changes. -1 with err filled.
 */
int nodes_mark(const char *spool, const char *node, const char *lib, struct errbuf *err);

/* Has this node said that it has the tracer `lib`? 0 yes, -1 no, with err filled. */
int nodes_check(const char *spool, const char *node, const char *lib, struct errbuf *err);

#endif
