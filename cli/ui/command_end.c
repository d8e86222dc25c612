/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a traced command ended, in words: see command_end.h. */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ui/command_end.h"
#include "cli/ui/mpi_tools.h"

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

/* The word of the command that is a launcher, or NULL. */
static const char *launcher_of(char *const cmd[])
{
	while (*cmd && !is_launcher(*cmd))
		cmd++;
	return *cmd;
}

const char *command_program(char *const cmd[])
{
	const char *launcher = launcher_of(cmd);

	for (int i = 0; cmd[i]; i++) {
		struct stat st;

		if (stat(cmd[i], &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) && !is_launcher(cmd[i]))
			return cmd[i];
	}
	return launcher ? launcher : cmd[0];
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

void command_how_ended(char *const cmd[], int rc, enum command_left left, char *text, size_t size)
{
	const char *program = command_program(cmd), *when = left == LEFT_WHOLE ? "after" : "before";
	int number = possible_signal(cmd, rc);
	char perhaps[80] = "";

	if (rc == 0 && left == LEFT_NOTHING) {
		snprintf(text, size, "%s did not reach MPI_Finalize, is not an MPI program, or uses another MPI library (see precedent doctor)",
			 program);
		return;
	}
	/* A launcher that starts nothing has exit statuses of its own above 128. */
	if (command_is_signal(rc) && !is_launcher(program)) {
		snprintf(text, size, "%s was killed by signal %d (%s) %s MPI_Finalize", program, number, strsignal(number), when);
		return;
	}
	if (number)
		snprintf(perhaps, sizeof(perhaps), ", or was killed by signal %d (%s),", number, strsignal(number));
	snprintf(text, size, "%s ended by itself with exit status %d%s %s MPI_Finalize%s", program, rc, perhaps, when,
		 rc ? " (its messages are above)" : "");
}
