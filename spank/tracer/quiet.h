/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protects the program from signals that the tracer's own writes would raise. A file that reaches the program's limit
 * (RLIMIT_FSIZE) raises SIGXFSZ; a message to a closed pipe raises SIGPIPE. Both end a process by default.
 *
 *	quiet_begin(&q);
 *	... write; EFBIG and EPIPE are ordinary errors ...
 *	quiet_end(&q);
 */
#ifndef PRECEDENT_SPANK_TRACER_QUIET_H
#define PRECEDENT_SPANK_TRACER_QUIET_H

#include <signal.h>

struct quiet {
	sigset_t mask;    /* the thread's mask */
	sigset_t pending; /* signals that already wait for the program, and stay */
};

void quiet_begin(struct quiet *q);
void quiet_end(const struct quiet *q);

#endif
