/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dies HOW STEPS: every rank exchanges STEPS messages with its neighbours. Then the last rank dies while the others
 * wait for it. HOW: kill, segv, term (a signal), abort (MPI_Abort), oom (unlimited memory), hang (endless), exit
 * (without MPI_Finalize), none (a normal end), or go-FILE (a normal end once FILE is there).
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void eat_memory(void)
{
	for (;;) {
		char *p = malloc(16u << 20);

		if (!p)
			abort();
		memset(p, 1, 16u << 20);
	}
}

static void end_badly(const char *how)
{
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "abort"))
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (!strcmp(how, "oom"))
		eat_memory();
	if (!strcmp(how, "exit"))
		_exit(4);
	while (!strcmp(how, "hang"))
		pause();
	while (!strncmp(how, "go-", 3) && access(how + 3, F_OK))
		usleep(20000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	int steps = argc > 2 ? atoi(argv[2]) : 10, rank, size, in, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < steps; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &in, 1, MPI_INT, (rank + size - 1) % size, 7,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += in;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1) {
		printf("dies: %s after %d steps\n", how, steps);
		fflush(stdout);
		end_badly(how);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return sum < 0;
}
