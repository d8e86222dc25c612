/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent-agent LIB DIR LOCAL COMMAND [ARGUMENT...]: the exec agent of PRRTE, the launcher of Open MPI since version 5. PRRTE
 * starts each process of mpirun through its exec agent. The agent becomes the command, with the tracer LIB before the
 * LD_PRELOAD that the process has. DIR and LOCAL ("-": none) are directories of the trace. If the tracer cannot be preloaded,
 * the command runs without it.
 *
 * RATIONALE. /usr/bin/env cannot do this. PRRTE finds a command without '/' also in the working directory, and passes the
 * agent the name as it was typed. PRRTE cuts a parameter at its second '=' when it passes it to other nodes.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/inject.h"

enum { ARG_LIB = 1, ARG_DIR, ARG_LOCAL, ARG_COMMAND };

static bool is_command(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The file of a command as PRRTE finds it: in PATH, then in the working directory. Returns name if there is none. */
static const char *command_find(const char *name, char *path, size_t cap)
{
	const char *dir = getenv("PATH");
	while (dir && *dir && !strchr(name, '/')) {
		size_t len = strcspn(dir, ":");
		int n = snprintf(path, cap, "%.*s%s%s", (int)len, dir, len ? "/" : "./", name);
		if (n > 0 && (size_t)n < cap && is_command(path))
			return path;
		dir += len + (dir[len] == ':');
	}
	return name;
}

int main(int argc, char **argv)
{
	char preload[INJECT_VALUE_MAX], path[PATH_MAX];
	if (argc <= ARG_COMMAND) {
		fprintf(stderr, "usage: precedent-agent LIB DIR LOCAL COMMAND [ARGUMENT...]; mpirun starts it\n");
		return 2;
	}
	if (inject_preload(getenv("LD_PRELOAD"), argv[ARG_LIB], preload, sizeof(preload)) == 0) {
		setenv("LD_PRELOAD", preload, 1);
		setenv("PRECEDENT_TRACE_DIR", argv[ARG_DIR], 1);
		if (strcmp(argv[ARG_LOCAL], "-") != 0)
			setenv("PRECEDENT_TRACE_LOCAL", argv[ARG_LOCAL], 1);
	}
	execv(command_find(argv[ARG_COMMAND], path, sizeof(path)), argv + ARG_COMMAND);
	fprintf(stderr, "precedent-agent: %s: %s\n", argv[ARG_COMMAND], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
