/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that start containers: inside, this library is not there, and the dynamic loader of every program would
 * complain. So such a program takes it out of its LD_PRELOAD before it starts anything.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/loader/loader.h"

#define PRELOAD "LD_PRELOAD="

static const char *base_name(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return path + len;
}

bool container_starter(const char *program)
{
	/* enroot and udocker are scripts: what they end in is listed */
	static const char *const name[] = {"apptainer", "singularity", "starter", "starter-suid", "podman", "docker",
					   "ch-run", "enroot", "enroot-nsenter", "enroot-mount", "enroot-switchroot",
					   "shifter", "shifterimg", "sarus", "udocker", "crun", "runc", "nerdctl",
					   "proot", "bwrap"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (!strcmp(program, name[i]))
			return true;
	return false;
}

bool container_strip(char *value, const char *name)
{
	char *out = value;
	bool removed = false;

	for (const char *p = value; *p;) {
		size_t n = strcspn(p, ": "), sep = p[n] != '\0';
		const char *base = base_name(p, n);
		size_t len = (size_t)(p + n - base);

		if (len == strlen(name) && !memcmp(base, name, len)) {
			removed = true;
		} else if (n) {
			if (out != value)
				*out++ = ':';
			memmove(out, p, n);
			out += n;
		}
		p += n + sep;
	}
	if (removed)
		*out = '\0';
	return removed;
}

/* The text is changed where the kernel put it: a Go program reads its environment there, not through the C library. */
__attribute__((constructor)) static void leave_containers(int argc, char **argv, char **envp)
{
	char exe[PATH_MAX];
	ssize_t n;

	(void)argc;
	(void)argv;
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	if (!container_starter(base_name(exe, (size_t)n)))
		return;
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, PRELOAD, sizeof(PRELOAD) - 1))
			container_strip(*envp + sizeof(PRELOAD) - 1, "libprecedent_trace.so");
}
