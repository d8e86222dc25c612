/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control groups of this process, version 1 or 2. */
#ifndef PRECEDENT_SPANK_TRACER_CGROUP_H
#define PRECEDENT_SPANK_TRACER_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct cgroup {
	bool old;        /* version 1 */
	char dir[4300];  /* current group, in /sys/fs/cgroup */
	size_t root;     /* length of dir in the topmost group */
};

/* Find the process's own group for a controller ("cpu", "memory"). Returns false if it is not known. */
bool cgroup_find(const char *controller, struct cgroup *c);
/* Go to the parent group. Returns false in the topmost group. */
bool cgroup_up(struct cgroup *c);
/* Read the start of a file of the group, with a NUL at its end. Returns false if it cannot be read. */
bool cgroup_read(const struct cgroup *c, const char *file, char *text, size_t size);

#endif
