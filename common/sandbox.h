/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a program that cannot change anything. All files are read-only. Directories that the program may write are
 * private copies in memory, which are dropped at its end. The program sees only its own processes and their
 * network. It needs no privileges: user, mount, process, IPC and network namespaces, an overlay per writable
 * directory, and a seccomp filter with a supervisor outside. If a part is not available, the program is not
 * started.
 *
 * A program is ended when it tries to write a file that it could have written outside, or to connect elsewhere.
 *
 * Not contained are processor time, memory up to `memory`, and the devices of the MPI network.
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
#define SANDBOX_NODE_WAIT 30 /* seconds to wait until the first process of a node has made the sandbox */

struct sandbox {
	const char *dir;          /* working directory, absolute */
	const char *overlay[SANDBOX_DIRS_MAX]; /* directories to copy on write; absent ones are skipped */
	/* directories that are really written; [0] is needed, all must exist */
	const char *shared[SANDBOX_DIRS_MAX];
	/* true: the node's network, but only to listeners of the same run and to `servers`; false: none */
	bool network;
	const char *servers;      /* "ADDRESS:PORT ADDRESS:PORT ..." or NULL */
	/* name of a shared sandbox, the same for all that share it; NULL: a sandbox of its own */
	const char *join;
	bool first;               /* this process makes the shared sandbox */
	uint64_t memory;          /* largest size of the private copies in bytes */
	char *const *env;         /* NULL-terminated "NAME=VALUE" to set inside, or NULL */
	/* standard input: a file is read from its beginning; NULL: inherited */
	const char *input;
	const char *log;          /* output is appended to this file; NULL: inherited */
	double limit_s;           /* time limit; 0: none */
};

/* Run argv in a sandbox with the caller's environment. Returns the exit status or 128 + signal. Returns -1 if the
 * program could not be contained, was stopped or did not end in time (err says why). */
int sandbox_run(const struct sandbox *s, char *const argv[], struct errbuf *err);

/* Check the requirements without starting a program. Returns 0 if this node meets them, -1 otherwise (err says
 * why). */
int sandbox_check(struct errbuf *err);

#endif
