/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * endings WHERE [STATUS=1] [LINES=0]: every rank prints LINES lines to standard output and ends. WHERE: before
 * MPI_Init (before), after MPI_Init (init), or after MPI_Finalize (end). STATUS: exit status; segv or kill: death
 * by that signal.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leave(const char *status)
{
	if (!strcmp(status, "segv"))
		raise(SIGSEGV);
	if (!strcmp(status, "kill"))
		raise(SIGKILL);
	if (strcmp(status, "0"))
		fprintf(stderr, "endings: this input is refused\n");
	exit(atoi(status));
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "end", *status = argc > 2 ? argv[2] : "1";
	int rank = 0, sum = 0;

	for (int i = argc > 3 ? atoi(argv[3]) : 0; i > 0; i--)
		printf("{\"line\": %d} and no more JSON than that\n", i);
	fflush(stdout);
	if (!strcmp(where, "before"))
		leave(status);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!strcmp(where, "init"))
		leave(status);
	MPI_Finalize();
	leave(status);
}
