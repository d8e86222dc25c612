/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the parts of the sandbox share: see sandbox.h. */
#ifndef PRECEDENT_COMMON_SANDBOX_IMPL_H
#define PRECEDENT_COMMON_SANDBOX_IMPL_H

#include "common/sandbox.h"

/* ---- sandbox_mounts.c: in new user and mount namespaces ---- */
/* Make all mounts read-only, with the private copies in place. */
int sandbox_mount(const struct sandbox *s, struct errbuf *err);
/* Mount /proc, as the first process of a new process namespace. */
int sandbox_mount_proc(struct errbuf *err);

/* ---- sandbox_filter.c ---- */
/* From here on, only permitted calls pass. Drops all capabilities for good. Returns the supervisor's descriptor,
 * or -1. */
int sandbox_filter(bool network, struct errbuf *err);

/* ---- sandbox_watch.c: the supervisor ---- */
struct sandbox_watch {
	const struct sandbox *s;
	int listener;
	char ports[4200]; /* file with the listeners of this part of the run */
	char stopped[512]; /* reason to end the program, or "" */
};
/* Answer one question. Returns false if the program must be ended. */
bool sandbox_watch_one(struct sandbox_watch *w);

#endif
