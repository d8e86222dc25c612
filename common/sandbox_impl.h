/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the parts of the sandbox: see sandbox.h. */
#ifndef PRECEDENT_COMMON_SANDBOX_IMPL_H
#define PRECEDENT_COMMON_SANDBOX_IMPL_H

#include "common/sandbox.h"

/* ---- sandbox_mounts.c: in new user and mount namespaces ---- */
/* Everything read-only, copies in place. */
int sandbox_mount(const struct sandbox *s, struct errbuf *err);
/* As the first process of a new process namespace. */
int sandbox_mount_proc(struct errbuf *err);

/* ---- sandbox_filter.c ---- */
/* From here on only what the supervisor allows; its descriptor, or -1. No capabilities, none to be gained. */
int sandbox_filter(bool network, struct errbuf *err);

/* ---- sandbox_watch.c: the supervisor ---- */
struct sandbox_watch {
	const struct sandbox *s;
	int listener;
	char ports[4200]; /* file with the listeners of this part of the run */
	char stopped[512]; /* why the program is to be ended, or "" */
};
/* Answer one question. False: end the program. */
bool sandbox_watch_one(struct sandbox_watch *w);

#endif
