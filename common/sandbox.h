/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running a program that changes nothing: everything it sees is read-only, what it may write is a private copy in memory
 * that is gone afterwards, it sees no other processes, and no network but that of its own processes. For ordinary users:
 * user, mount, process, IPC and network namespaces, an overlay on each directory that it may write, a seccomp filter
 * with a supervisor outside. Where any of this cannot be had, nothing is run.
 *
 * A program that tries to write elsewhere, where it could have outside, or to connect elsewhere, is ended.
 *
 * What is not contained: time on the processor, memory up to `memory`, and the devices of the MPI network.
 */
#ifndef PRECEDENT_COMMON_SANDBOX_H
#define PRECEDENT_COMMON_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

#define SANDBOX_DIRS_MAX  32
#define SANDBOX_MEMORY    (1ull << 30)
#define SANDBOX_NODE_WAIT 30 /* seconds until the first process of a node has made the sandbox */

struct sandbox {
	const char *dir;          /* working directory, absolute */
	const char *overlay[SANDBOX_DIRS_MAX]; /* what it may write a private copy of; absent ones are passed over */
	const char *shared[SANDBOX_DIRS_MAX];  /* what it really writes: [0] is needed, all must be there */
	bool network;             /* of the node, to listeners of the same run and to `servers` only; else none */
	const char *servers;      /* "ADDRESS:PORT ADDRESS:PORT ..." or NULL */
	const char *join;         /* NULL: a sandbox of its own. Else a name, the same for all that are to share one ... */
	bool first;               /* ... and whether this one makes it */
	uint64_t memory;          /* bytes of the private copies */
	char *const *env;         /* NULL-ended "NAME=VALUE" to be set inside, or NULL */
	const char *input;        /* read as standard input; NULL: inherited, a file from its beginning */
	const char *log;          /* output, appended; NULL: inherited */
	double limit_s;           /* 0: none */
};

/* Run argv inside, with the environment as it is. Its exit status, 128 + signal, or -1 with the reason: it could not be
 * protected, it was stopped, or it did not end in time. */
int sandbox_run(const struct sandbox *s, char *const argv[], struct errbuf *err);

/* The same as far as starting nothing: 0 where this node has what is needed. */
int sandbox_check(struct errbuf *err);

#endif
