/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work of the tracer's own in which the kernel must not signal the program: a file that reaches the program's limit
 * (RLIMIT_FSIZE) raises SIGXFSZ, a message to a closed pipe SIGPIPE, and both end a process by default.
 *
 *	quiet_begin(&q);
 *	... write; EFBIG and EPIPE are errors like others ...
 *	quiet_end(&q);
 */
#ifndef PRECEDENT_SPANK_TRACER_QUIET_H
#define PRECEDENT_SPANK_TRACER_QUIET_H

#include <signal.h>

struct quiet {
	sigset_t mask;    /* the thread's own */
	sigset_t pending; /* what the program has waiting for it already, and keeps */
};

void quiet_begin(struct quiet *q);
void quiet_end(const struct quiet *q);

#endif
