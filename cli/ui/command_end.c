/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a traced command ended, in words: see command_end.h. */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/command_end.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/util.h"
#include "trace/ending/ending.h"

#define TIMEOUT_STATUS 124 /* of timeout(1) when the time is over */

/* One of these names, or one of them with a suffix: mpirun.mpich. */
static bool is_launcher(const char *word)
{
	static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "srun"};
	const char *name = basename(word);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(name, names[i], n) && (!name[n] || name[n] == '.'))
			return true;
	}
	return false;
}

/* The place of the launcher in the command, or NULL. */
static char *const *launcher_at(char *const cmd[])
{
	while (*cmd && !is_launcher(*cmd))
		cmd++;
	return *cmd ? cmd : NULL;
}

static const char *launcher_of(char *const cmd[])
{
	char *const *at = launcher_at(cmd);

	return at ? *at : NULL;
}

static bool is_executable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) && !is_launcher(path);
}

/* A launcher starts a name without '/' from PATH. The word after an option may be the option's value. */
static bool is_in_path(char *const word[], bool after_option)
{
	char path[PATH_MAX];
	bool behind = word[-1][0] == '-' && !strchr(word[-1], '=');

	return behind == after_option && word[0][0] != '-' && !strchr(word[0], '/') && mpi_in_path(word[0], path, sizeof(path));
}

const char *command_program(char *const cmd[])
{
	char *const *launcher = launcher_at(cmd), *const *word;

	for (word = launcher ? launcher + 1 : cmd; *word; word++)
		if (is_executable_file(*word) || (launcher && is_in_path(word, false)))
			return *word;
	for (word = launcher; word && *++word;)
		if (is_in_path(word, true))
			return *word;
	return launcher ? *launcher : cmd[0];
}

/* MPICH's launcher gives the number of a signal as exit status, so that 11 may be either. */
static bool is_hydra(char *const cmd[])
{
	const char *launcher = launcher_of(cmd);
	char path[PATH_MAX], real[PATH_MAX];

	if (!launcher)
		return false;
	if (strchr(launcher, '/'))
		snprintf(path, sizeof(path), "%s", launcher);
	else if (!mpi_in_path(launcher, path, sizeof(path)))
		return false;
	return realpath(path, real) && strstr(basename(real), "hydra");
}

/* Open MPI's launcher refuses root, with exit status 1, unless an option or two variables allow it. */
static bool root_is_refused(char *const cmd[], int rc)
{
	const char *launcher = launcher_of(cmd);
	const char *a = getenv("OMPI_ALLOW_RUN_AS_ROOT"), *b = getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");

	if (rc != 1 || geteuid() != 0 || !launcher || !strncmp(basename(launcher), "srun", 4) || is_hydra(cmd) || (a && b))
		return false;
	for (; *cmd; cmd++)
		if (!strcmp(*cmd, "--allow-run-as-root"))
			return false;
	return true;
}

int command_is_signal(int rc)
{
	return rc > 128 && rc <= 128 + SIGRTMAX ? rc - 128 : 0;
}

/* The signal that the exit status stands for or may stand for, or 0. */
static int possible_signal(char *const cmd[], int rc)
{
	static const int ends[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (rc == ends[i] && is_hydra(cmd))
			return rc;
	return command_is_signal(rc);
}

int command_signal(char *const cmd[], int rc)
{
	return rc == TIMEOUT_STATUS && cmd[0] && !strcmp(basename(cmd[0]), "timeout") ? SIGTERM : possible_signal(cmd, rc);
}

enum command_left command_left(const struct trace *t)
{
	if (!t || !trace_is_partial(t))
		return t ? LEFT_WHOLE : LEFT_NOTHING;
	return ending_ends(t).perhaps ? LEFT_AT_ONCE : LEFT_PARTIAL;
}

void command_how_ended(char *const cmd[], int rc, enum command_left left, char *text, size_t size)
{
	const char *program = command_program(cmd), *when = left == LEFT_WHOLE ? "after" : "before";
	int number = possible_signal(cmd, rc);
	char perhaps[80] = "", unstarted[128] = "";

	if (rc == 0 && left == LEFT_NOTHING) {
		snprintf(text, size, "%s did not reach MPI_Finalize, is not an MPI program, or uses another MPI library (see precedent doctor)",
			 program);
		return;
	}
	if (left == LEFT_NOTHING && root_is_refused(cmd, rc)) {
		snprintf(text, size, "%s refuses to start programs as root: run it as another user, or with --allow-run-as-root", launcher_of(cmd));
		return;
	}
	if (rc && cli_outlived()) {
		snprintf(text, size, "%s was ended by signal %d (%s) %s MPI_Finalize", program, cli_outlived(), strsignal(cli_outlived()),
			 when);
		return;
	}
	/* A launcher that starts nothing has exit statuses of its own above 128. */
	if (command_is_signal(rc) && !is_launcher(program)) {
		snprintf(text, size, "%s was killed by signal %d (%s) %s MPI_Finalize", program, number, strsignal(number), when);
		return;
	}
	if (number)
		snprintf(perhaps, sizeof(perhaps), ", or was killed by signal %d (%s),", number, strsignal(number));
	else if (left == LEFT_AT_ONCE && launcher_of(cmd))
		snprintf(perhaps, sizeof(perhaps), ", or was killed when a signal ended %.20s,", basename(launcher_of(cmd)));
	/* A launcher that has no room for the ranks, for example, gives an exit status of its own. */
	if (rc && left == LEFT_NOTHING && launcher_of(cmd) && !is_launcher(program))
		snprintf(unstarted, sizeof(unstarted), ", or %.80s did not start it", launcher_of(cmd));
	snprintf(text, size, "%s ended by itself with exit status %d%s %s MPI_Finalize%s%s", program, rc, perhaps, when, unstarted,
		 rc ? " (messages are above)" : "");
}
